#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/conformance.md names tests that exist and every golden folder, tells no row twice and loses
# none, gives each row a state, and knows each trap_NN that a test carries. A test is named as
# `file: words of it` or as a golden folder, below t/.
cd "$(dirname "$0")/../.." || exit 1
page=docs/conformance.md
# shellcheck source=t/lint/findings.sh
. t/lint/findings.sh

grep -oE '`(unit|plan|sim|integration|cli|real|abi|lint|bench|package)/[^`]*`' "$page" | tr -d '`' | sort -u >"$tmp/named"
while IFS= read -r ref; do
	file=${ref%%: *}
	if [ "$file" = "$ref" ]; then
		[ -n "$(git ls-files "t/$ref")" ] || echo "$ref is not there"
	elif [ ! -f "t/$file" ]; then
		echo "t/$file is not there"
	else
		grep -qF -e "${ref#*: }" "t/$file" || echo "t/$file has no \"${ref#*: }\""
	fi
done <"$tmp/named" >"$tmp/findings"
[ -s "$tmp/named" ] || echo "no test is named: has the page's form changed?" >"$tmp/findings"
check "each named test exists"

for d in t/plan/adapter/*/; do
	grep -q "^| \`plan/adapter/$(basename "$d")\` |" "$page" || echo "$d is not in the table of golden folders"
done >"$tmp/findings"
check "each golden folder is on the page"

grep -oE '^\| [A-Zt][A-Za-z0-9_.]*(-[A-Za-z0-9_.]+)? \|' "$page" | grep -v '^| row |' | sort >"$tmp/rows"
uniq -d "$tmp/rows" >"$tmp/findings"
[ -s "$tmp/rows" ] || echo "no row: has the page's form changed?" >"$tmp/findings"
check "no row is told twice"

# A reviewer may not see that an edit deleted a row beside the one that it means; a count that
# must be changed by hand shows it.
said=$(sed -n 's/.*the page has \([0-9][0-9]*\) rows.*/\1/p' "$page")
found=$(wc -l <"$tmp/rows")
if [ "$said" != "$((found))" ]; then
	echo "$((found)) rows, and the page says ${said:-nothing} of their number"
fi >"$tmp/findings"
check "no row is lost"

# Below "## Open" a row has no state: it says what is missing.
awk '/^## Open/ { exit } /^\| [A-Zt]/ && !/^\| row \|/' "$page" |
	grep -vE '^\| [^|]+ \| [^|]+ \| (shown by `[^|]*`|deviates: [^|]+|not ours[^|]*) \|$' >"$tmp/findings"
check "each row has a state"

awk '/^## Open/ { exit } /^\| [A-Zt]/' "$page" | grep -E '\| shown by' |
	grep -vE '\| shown by `(unit|plan|sim|integration|cli|real|abi|lint|bench|package)/' >"$tmp/findings"
check "what is shown names a test"

grep -rhoE 'trap_[0-9][0-9]' t --include='*.c' --include='*.t' --include='*.sh' | sort -u >"$tmp/carried"
sed -nE 's/^\| (trap_[0-9][0-9]) \|.*shown by.*/\1/p' "$page" | sort -u >"$tmp/shown"
{
	comm -13 "$tmp/carried" "$tmp/shown" | sed 's/$/ is the name of no test/'
	comm -23 "$tmp/carried" "$tmp/shown" | sed 's/$/ is carried by a test, and not shown on the page/'
} >"$tmp/findings"
check "each trap that is shown is the name of a test, and the other way round"

i=1
while [ "$i" -le 70 ]; do
	nn=$(printf 'trap_%02d' "$i")
	grep -q "^| $nn |" "$tmp/rows" || echo "$nn has no row"
	i=$((i + 1))
done >"$tmp/findings"
check "each of the 70 traps has a row"
done_testing
