#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The documentation is in step with the code: metrics and their kind, rules, command line options,
# make targets, areas of tests, links between pages.
cd "$(dirname "$0")/../.." || exit 1
n=0
bad=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

check() { # name; findings are in $tmp/findings
	n=$((n + 1))
	if [ -s "$tmp/findings" ]; then
		echo "not ok $n - $1"
		sed 's/^/#   found /' "$tmp/findings" | head -20
		bad=1
	else
		echo "ok $n - $1"
	fi
}

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
	sed -E 's/ (metric_[a-z_]+|[a-z]+_seconds|sizeof\([^,]*),//g; s/[",]//g; s/ +/ /g; s/ $//' | sort >"$tmp/code"
sed -nE 's/^\| `([a-z_]+)` \| ([a-z]+) \| ([^|]*)\|.*/\1 \2 \3/p' docs/metrics.md |
	sed -E 's/[`,]//g; s/ +/ /g; s/ $//' | sort >"$tmp/page"
same "docs/metrics.md: name, type and labels of each metric" "$tmp/code" "$tmp/page"

# A record: log_write(LEVEL, "module", ...)
cat core/*/*.c core/*/*/*.c | tr '\n\t' '  ' | grep -oE 'log_write\([^"]*"[a-z]+"' | cut -d'"' -f2 | sort -u >"$tmp/code"
sed -n '/^const char \*const log_modules/,/;/p' core/base/log.c | grep -o '"[a-z]*"' | tr -d '"' >"$tmp/page"
same "core/base/log.c: log_modules are the modules of the records, in order" "$tmp/code" "$tmp/page"
sed -n 's/^| `--log-level LEVEL` | \(.*\) |$/\1/p' docs/configuration.md | sed 's/.*module (//' | grep -o '`[a-z]*`' | tr -d '`' >"$tmp/page"
same "docs/configuration.md: the modules of the log" "$tmp/code" "$tmp/page"

sed -nE 's/^\tX\(R_[A-Z_]+, "([^"]+)"\).*/\1/p' core/engine/state.h | sort >"$tmp/code"
sed -n '/^## Rules$/,/^## /s/^| `\([^`]*\)` | .* | .* |$/\1/p' docs/metrics.md | sort >"$tmp/page"
same "docs/metrics.md: a row for each rule" "$tmp/code" "$tmp/page"

{
	uniq -d "$tmp/code" | sed 's/$/ names two rules/'
	grep -vE '^[a-z]+(_[a-z]+)*$' "$tmp/code" | sed 's/$/ is not made of words/'
} >"$tmp/findings"
check "the names of rules are words, each used once"

sed -n '/specs\[\] = {/,/^};/s/.*"\(--[a-z-]*\)".*/\1/p' core/daemon/options.c | sort >"$tmp/code"
sed -n '/help\[\] =/,/;$/p' core/daemon/options.c | grep -oE '"  --[a-z-]+' | sed 's/"  //' | sort >"$tmp/page"
same "--help lists the options that are understood" "$tmp/code" "$tmp/page"

while read -r option; do
	grep -qF -e "$option" README.md docs/*.md || echo "$option is on no page"
done <"$tmp/code" >"$tmp/findings"
check "each option is on a page"

grep -oE '"[A-Za-z]+", (true|false), (ALPHA|BETA|GA|DEPRECATED), (true|false), *(CONFIG_GATE[A-Z_]+)?' core/config/config_gates.c |
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

for page in $(git ls-files --cached --others --exclude-standard -- '*.md'); do
	grep -oE '\]\([^)# ]+' "$page" | sed 's/^](//' | grep -vE '^(https?|mailto):' | while read -r to; do
		[ -e "$(dirname "$page")/$to" ] || echo "$page: $to"
	done
done >"$tmp/findings"
check "no link leads nowhere"

echo "1..$n"
exit $bad
