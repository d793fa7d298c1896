#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The man pages: mandoc finds nothing, each option of --help and each key of the configuration has
# its place, no Markdown is left, and the same sources give the same pages.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
. t/integration/tap.sh
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_said=$tmp/out
pages='multikueued.8 multikueued.yaml.5 kubectl-multikueue.1'

docs/man/pages "$B" "$tmp/man" 86400 >"$tmp/out" 2>&1 && [ ! -s "$tmp/out" ]
ok $? "they are made"
is "$(cd "$tmp/man" && ls | tr '\n' ' ')" 'kubectl-multikueue.1 multikueued.8 multikueued.yaml.5 ' "these, and no others"
docs/man/pages "$B" "$tmp/again" 86400 && diff -r "$tmp/man" "$tmp/again" >"$tmp/out"
ok $? "the same the second time"
for p in $pages; do
	grep -q '^\.TH .* 1970-01-02 "multikueued '"$(cat VERSION)"'"' "$tmp/man/$p" || echo "$p: $(grep '^\.TH' "$tmp/man/$p")"
done >"$tmp/out"
[ ! -s "$tmp/out" ]
ok $? "with the version, and the date that was given"
for p in $pages; do
	if command -v mandoc >/dev/null 2>&1; then
		mandoc -T lint "$tmp/man/$p" >"$tmp/out" 2>&1 && [ ! -s "$tmp/out" ]
		ok $? "$p: mandoc finds nothing"
	else
		skip "$p: mandoc finds nothing" "no mandoc"
	fi
	# As it is read; tags are at the left margin of their list.
	sed 's/\\f[BIR]//g; s/\\-/-/g; s/\\(aq/'"'"'/g; s/\\&//g' "$tmp/man/$p" >"$tmp/$p"
done
cat "$tmp"/man/* | grep -nE '`|\*\*|\]\(' >"$tmp/out"
[ ! -s "$tmp/out" ]
ok $? "no Markdown is left"

options() { # of what --help prints on standard input
	sed -n 's/^ *\(-[a-zA-Z], \)*\(--[a-z-]*\).*/\2/p'
}
has() { # PAGE: each line of standard input is the begin of a line there; others are printed
	while IFS= read -r has_line; do
		awk -v w="$has_line" 'index($0, w) == 1 && substr($0, length(w) + 1, 1) !~ /[a-zA-Z-]/ { n++ } END { exit !n }' \
			"$tmp/$1" || echo "$1: no $has_line"
	done
}
"$B/multikueued" --help | options >"$tmp/options"
[ "$(wc -l <"$tmp/options")" -ge 12 ] && has multikueued.8 <"$tmp/options" >"$tmp/out" && [ ! -s "$tmp/out" ]
ok $? "multikueued: each option of --help"

# What the page says of a command is all that its --help has: between its heading and the next.
walk() { # WORDS...
	"$B/kubectl-multikueue" "$@" --help >"$tmp/help-$(echo "$*" | tr ' ' -)"
	sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\)  .*/\1/p' "$tmp/help-$(echo "$*" | tr ' ' -)" | while read -r below; do
		echo "$* $below"
		walk "$@" "$below"
	done
}
walk | sed 's/^ //' >"$tmp/commands"
while read -r c; do
	sed -n "/^\.SS \"kubectl multikueue $c\"\$/,/^\.S[SH]/p" "$tmp/kubectl-multikueue.1" >"$tmp/part"
	[ -s "$tmp/part" ] || echo "no section $c"
	{
		options <"$tmp/help-$(echo "$c" | tr ' ' -)" | sed 's/^/, /'
		sed -n '/^Usage:/,/^$/s/^  \(kubectl.*\)/\1/p; /^Examples:/,/^$/s/^  \(kubectl [^-]*\).*/\1/p' \
			"$tmp/help-$(echo "$c" | tr ' ' -)"
	} | while IFS= read -r line; do
		sed 's/^--/, --/' "$tmp/part" | grep -qF -e "$line" || echo "$c: no $line"
	done
done <"$tmp/commands" >"$tmp/out"
[ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/commands")" -ge 18 ]
ok $? "kubectl-multikueue: each command, option and example ($(wc -l <"$tmp/commands") commands)"

# The keys of each table of keys: the names in the first cell, in backticks.
awk '/^\| key \|/ { inside = 1 } !/^\|/ { inside = 0 } inside' docs/configuration.md | cut -d'|' -f2 |
	grep -o '`[^`]*`' | tr -d '`' | sort -u >"$tmp/keys"
[ "$(wc -l <"$tmp/keys")" -ge 60 ] && while read -r key; do
	grep -qE "^(.*, )?$(echo "$key" | sed 's/[].[]/\\&/g')([,:].*)?\$" "$tmp/multikueued.yaml.5" || echo "no $key"
done <"$tmp/keys" >"$tmp/out" && [ ! -s "$tmp/out" ]
ok $? "multikueued.yaml: each key ($(wc -l <"$tmp/keys"))"
sed -n '/^## Feature gates/,/^## /s/^| `\([A-Za-z]*\)`.*/\1/p' docs/configuration.md | has multikueued.yaml.5 >"$tmp/out"
[ ! -s "$tmp/out" ]
ok $? "and each gate"
done_testing
