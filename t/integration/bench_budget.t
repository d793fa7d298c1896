#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a workload costs in counts, which no load of the machine changes much: requests, bytes,
# passes, system calls and instructions, against the figures of t/bench/budget. More than 10 % above
# fails. So that a gain is not lost again, lower the figure there when a count has fallen.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
# shellcheck source=t/integration/tap.sh
. t/integration/tap.sh
# shellcheck source=t/bench/lib.sh
. t/bench/lib.sh
# shellcheck source=t/bench/count.sh
. t/bench/count.sh
need curl jq
figures=$dir/figures
FLEET_TRANSPORT=auto # the budget is that of HTTP/2 of our own
: >"$figures"

# within NAME TEXT: is the figure at most 10 % above the budget?
within() {
	budget=$(awk -v k="$1" '$1 == k { print $2 }' t/bench/budget)
	awk -v v="$(got "$1")" -v b="$budget" 'BEGIN { exit !(v > 0 && v <= b * 1.1) }'
	ok $? "$2: $(got "$1"), at most 10 % above $budget"
}

count_fleet "$B" && count_jobs warm 20 16
ok $? "a fleet is up"
scrape
passes=$(scraped multikueue_passes_total)
received=$(scraped multikueue_received_bytes_total)
count_jobs counted 200 16
ok $? "200 jobs came and went"
scrape
put requests "$(sed -n 's/^requests_per_job //p' "$dir/demo.figures")"
put passes "$(calc "($(scraped multikueue_passes_total) - $passes) / 200")"
put received_kib "$(calc "($(scraped multikueue_received_bytes_total) - $received) / 200 / 1024")"
fleet_stop
within requests "requests per workload"
within passes "passes of the engine per workload"
within received_kib "KiB received per workload"

if command -v strace >/dev/null && strace -c -o "$dir/strace" true 2>/dev/null; then
	count_syscalls "$B" 100 16 syscalls
	within syscalls "system calls per workload"
else
	skip "system calls per workload" "strace is missing or not allowed"
fi
if command -v valgrind >/dev/null && command -v callgrind_control >/dev/null; then
	count_instructions "$B" 60 instructions
	within instructions "million instructions per workload"
else
	skip "instructions per workload" "valgrind is missing"
fi
done_testing
