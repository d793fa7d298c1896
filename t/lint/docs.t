#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The documentation is in step with the code: metrics and their kind, rules, command line options,
# make targets, areas of tests, links between pages.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/lint/findings.sh
. t/lint/findings.sh

same() { # name, what the code has, what the page has (both sorted)
	{
		comm -23 "$2" "$3" | sed 's/$/ (in the code alone)/'
		comm -13 "$2" "$3" | sed 's/$/ (in the page alone)/'
		[ -s "$2" ] || echo "nothing in the code: has its form changed?"
	} >"$tmp/findings"
	check "$1"
}

# A registration: metric_counter("name", "help ...", "label", ..., NULL)
cat core/serve/*.c core/daemon/*.c core/net/*.c | tr '\n\t' '  ' | sed 's/metric_\(counter\|gauge\|histogram\)(/\n\1 /g' |
	sed -nE 's/^(counter|gauge|histogram) +"([a-z_]+)", +("[^"]*" *)+,(([^;"]*"[a-z_]+")*)[^;"]*NULL\);.*/\2 \1 \4/p' |
	sed -E 's/ (metric_[a-z_]+|[a-z]+_seconds|sizeof\([^,]*),//g; s/[",]//g; s/ +/ /g; s/ $//' >"$tmp/unsorted"
# The table of core/serve/requests.c: {"counter", "name", "help", {"label", ...}}
tr '\n\t' '  ' <core/serve/requests.c | sed 's/= {"/\n"/g' |
	sed -nE 's/^"(counter|gauge|histogram)", +"([a-z_]+)", +"[^"]*", +\{([^}]*)\}.*/\2 \1 \3/p' |
	sed 's/[",]//g' | sort - "$tmp/unsorted" >"$tmp/code"
sed -nE 's/^\| `([a-z_]+)` \| ([a-z]+) \| ([^|]*)\|.*/\1 \2 \3/p' docs/metrics.md |
	sed -E 's/[`,]//g; s/ +/ /g; s/ $//' | sort >"$tmp/page"
same "docs/metrics.md: name, type and labels of each metric" "$tmp/code" "$tmp/page"

# A record: log_write(LEVEL, "module", ...)
cat core/*/*.c core/*/*/*.c | tr '\n\t' '  ' | grep -oE 'log_write\([^"]*"[a-z]+"' | cut -d'"' -f2 | sort -u >"$tmp/code"
sed -n '/^const char \*const log_modules/,/;/p' core/base/log.c | grep -o '"[a-z]*"' | tr -d '"' >"$tmp/page"
same "core/base/log.c: log_modules are the modules of the records, in order" "$tmp/code" "$tmp/page"
sed -n 's/^| `--log-level LEVEL` | \(.*\) |$/\1/p' docs/configuration.md | sed 's/.*module (//' | grep -o '`[a-z]*`' | tr -d '`' >"$tmp/page"
same "docs/configuration.md: the modules of the log" "$tmp/code" "$tmp/page"

sed -nE 's/^\tX\(R_[A-Z_]+, "([^"]+)"\).*/\1/p' core/engine/rule_list.h | sort >"$tmp/code"
sed -n '/^## Rules$/,/^## /s/^| `\([^`]*\)` | .* | .* |$/\1/p' docs/metrics.md | sort >"$tmp/page"
same "docs/metrics.md: a row for each rule" "$tmp/code" "$tmp/page"

{
	uniq -d "$tmp/code" | sed 's/$/ names two rules/'
	grep -vE '^[a-z]+(_[a-z]+)*$' "$tmp/code" | sed 's/$/ is not made of words/'
} >"$tmp/findings"
check "the names of rules are words, each used once"

{
	sed -nE '/members\[\] = \{/,/\};/s/^\t"([A-Za-z]+)",$/\1/p' core/trees/status.c
	echo conditions
} >"$tmp/code"
{
	[ "$(wc -l <"$tmp/code")" -gt 1 ] || echo "nothing in the code: has its form changed?"
	while read -r member; do
		grep -qE "^ {14}$member:" conf/crd/kueue.x-k8s.io_clusterquotatrees.yaml ||
			echo "$member of a ClusterQuotaTree"
		grep -qE "^ {20}$member:" conf/crd/kueue.x-k8s.io_clusterqueuetrees.yaml ||
			echo "$member of a tree of parents"
	done <"$tmp/code"
} >"$tmp/findings"
check "conf/crd: both kinds of tree have each field of a status, which the API server refuses else"

sed -n '/specs\[\] = {/,/^};/s/.*"\(--[a-z-]*\)".*/\1/p' core/daemon/options.c | sort >"$tmp/code"
sed -n '/help\[\] =/,/;$/p' core/daemon/options.c | grep -oE '"  --[a-z-]+' | sed 's/"  //' | sort >"$tmp/page"
same "--help lists the options that are understood" "$tmp/code" "$tmp/page"

while read -r option; do
	grep -qF -e "$option" README.md docs/*.md || echo "$option is on no page"
done <"$tmp/code" >"$tmp/findings"
check "each option is on a page"

grep -oE '"[A-Za-z]+", (true|false), GATE_(ALPHA|BETA|GA|DEPRECATED), (true|false), *(CONFIG_GATE[A-Z_]+)?' core/config/gate_table.c |
	grep CONFIG_GATE | cut -d'"' -f2 | sort >"$tmp/code"
while read -r gate; do
	grep -q "^| .*\`$gate\`" docs/configuration.md || echo "$gate has no row"
done <"$tmp/code" >"$tmp/findings"
[ -s "$tmp/code" ] || echo "no gate in the code: has its form changed?" >"$tmp/findings"
check "docs/configuration.md: a row for each feature gate that we heed"

sed -nE 's/^\t\{"([A-Za-z]+)", DOCTOR_([A-Z]+),.*/\1 \2/p' core/cli/doctor/find_*.c | tr 'A-Z' 'a-z' | sort >"$tmp/code"
sed -nE 's/^\| `([A-Za-z]+)` \| (error|warning) \|.*/\1 \2/p' docs/doctor.md | tr 'A-Z' 'a-z' | sort >"$tmp/page"
same "docs/doctor.md: a row for each finding, and how bad it is" "$tmp/code" "$tmp/page"

for area in $(git ls-files t | sed -n 's|^\(t/[a-z]*/\).*|\1|p' | sort -u); do
	grep -q "^| \`$(basename "$area")/\`" t/README.md || echo "$area has no row"
done >"$tmp/findings"
check "t/README.md: a row for each folder"

sed -n 's/^\.PHONY: //p' Makefile | head -1 | tr ' ' '\n' | sort >"$tmp/code"
make -s help | awk '{ print $1 }' | sort >"$tmp/page"
same "make help lists every target" "$tmp/code" "$tmp/page"

# A test runs the blocks of sh; what it does not run stands as console, below the reason.
awk '
	/^```/ { if (open) { open = 0; next } open = 1
		if ($0 !~ /^```(sh|console)$/) print FNR ": expected a block of sh or console"
		if ($0 == "```console" && said !~ /^(.*\. )?Not run by the test, which .*:$/) print FNR ": not run by the test, and no reason"
		next }
	open { print "\t" $0; next }
	/^(    |\t)/ { print FNR ": a block without a fence" }
	/[^ ]/ { said = $0 }' docs/quickstart.md >"$tmp/page"
{
	grep -v '^	' "$tmp/page"
	grep -oE 'conf/[a-z/.]*[a-z]' "$tmp/page" | grep -vE '^conf/multikueued.yaml$' | while read -r to; do
		[ -e "$to" ] || echo "$to is not there"
	done
	[ "$(grep -c '^	' "$tmp/page")" -ge 20 ] || echo "only a few commands: has the form of the page changed?"
} >"$tmp/findings"
check "docs/quickstart.md: a block is run by its test, or says why not"

for page in $(git ls-files --cached --others --exclude-standard -- '*.md'); do
	grep -oE '\]\([^)# ]+' "$page" | sed 's/^](//' | grep -vE '^(https?|mailto):' | while read -r to; do
		[ -e "$(dirname "$page")/$to" ] || echo "$page: $to"
	done
done >"$tmp/findings"
check "no link leads nowhere"
done_testing
