# SPDX-License-Identifier: Apache-2.0
# Counted costs of a workload, which are the same under any load of the machine: system calls by
# strace, instructions by callgrind, requests and bytes by kubesim. Sourced after t/bench/lib.sh by
# t/bench/run and t/integration/bench_budget.t. The figures are lines `name value` in $figures.
# shellcheck shell=sh disable=SC2034,SC2154

count_ready() {
	all_up 4
}
# A fleet whose daemon is of BUILD and runs under a command: count_fleet BUILD [COMMAND...].
count_fleet() {
	count_build=$1
	shift
	fleet_kubesim --run-ms 0 --admit-ms 0 || return 1
	count_under=${UNDER:-}
	UNDER=$*
	bench_manager "$count_build" counted 60s 50s 2s
	count_rc=$?
	UNDER=$count_under
	[ $count_rc = 0 ] && wait_for 120 count_ready
}
# Jobs once more than was warmed up with: count_jobs PREFIX N LIVE.
count_jobs() {
	fleet_demo --prefix "$1" --jobs "$2" --live "$3" --limit 600 --figures "$dir/demo.figures"
}

# System calls of a workload: count_syscalls BUILD N LIVE NAME.
count_syscalls() {
	count_fleet "$1" && count_jobs warm 20 "$3" || return 1
	strace -f -c -o "$dir/strace" -p "$MANAGER_PID" 2>"$dir/strace.err" &
	strace=$!
	wait_for 10 grep -q attached "$dir/strace.err" && count_jobs counted "$2" "$3"
	count_rc=$?
	kill -INT $strace
	wait $strace
	[ $count_rc = 0 ] || return 1
	put "$4" "$(awk -v n="$2" '$NF == "total" { t = $(NF - 1) ~ /^[0-9]+$/ && NF > 5 ? $(NF - 2) : $(NF - 1); printf "%.1f", t / n }' "$dir/strace")"
	fleet_stop
}

# Instructions of a workload, in millions: count_instructions BUILD N NAME. The counts of callgrind
# begin when the daemon is warm.
count_instructions() {
	count_fleet "$1" valgrind --tool=callgrind "--callgrind-out-file=$dir/callgrind" && count_jobs warm 10 10 || return 1
	callgrind_control -z "$MANAGER_PID" >/dev/null 2>&1 && count_jobs counted "$2" "$2" &&
		callgrind_control -d "$MANAGER_PID" >/dev/null 2>&1 && wait_for 60 test -s "$dir/callgrind.1" || return 1
	put "$3" "$(awk -v n="$2" '/^(totals|summary):/ { t = $2 } END { printf "%.3f", t / n / 1e6 }' "$dir/callgrind.1")"
	[ -z "${KEEP_CALLGRIND:-}" ] || cp "$dir/callgrind.1" "$KEEP_CALLGRIND"
	fleet_stop
}
