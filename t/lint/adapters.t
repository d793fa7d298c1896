#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/adapters.md lists each kind that has a story in t/plan/kind, with what shows it: a story with
# every situation, the situations of t/plan/adapter, an end-to-end test that has the kind in it.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/lint/findings.sh
. t/lint/findings.sh

# kind;story;rows;tests
sed -n '/^| kind /,/^$/s/^| \([A-Z][A-Za-z]*\)[^|]*|[^|]*|[^|]*| `\([a-z]*\)` | *\([^|]*[^ |]\)\{0,1\} *| \([^|]*\) |$/\1;\2;\3;\4/p' docs/adapters.md >"$tmp/table"
cut -d';' -f1 "$tmp/table" | sort | uniq -d | sed 's/$/: two rows/' >"$tmp/findings"
[ "$(wc -l <"$tmp/table")" -ge 20 ] || echo "only $(wc -l <"$tmp/table") rows: has the form of the table changed?" >>"$tmp/findings"
[ "$(wc -l <"$tmp/table")" -eq "$(sed -n '/^| kind /,/^$/p' docs/adapters.md | grep -c '^| [A-Z]')" ] || echo "a row is not understood" >>"$tmp/findings"
check "docs/adapters.md: a table of kinds"

for f in t/plan/kind/*.json; do
	story=$(basename "$f" .json)
	kind=$(sed -n 's/^    "kind": "\(.*\)",$/\1/p' "$f" | head -n 1)
	grep -q "^$kind;$story;" "$tmp/table" || echo "$kind, story $story: no row"
done >"$tmp/findings"
check "a row for each story"

while IFS=';' read -r kind story rows tests; do
	[ -f "t/plan/kind/$story.json" ] || echo "$kind: no t/plan/kind/$story.json"
	for situation in create sync finish delete lost 'not managed' 'foreign object'; do
		# Where another controller makes the copies, nothing is there to sync, or to lose.
		case $story-$situation in elsewhere-sync | elsewhere-lost) continue ;; esac
		grep -qx "== $situation" "t/plan/kind/$story.txt" || echo "$kind: its story has no '$situation'"
	done
done <"$tmp/table" >"$tmp/findings"
check "each story has every situation"

while IFS=';' read -r kind story rows tests; do
	case $rows in '' | "\`$story-*\`") ;; *) echo "$kind: its situations are not \`$story-*\`, but $rows" ;; esac
	ls -d t/plan/adapter/"$story"-* >/dev/null 2>&1 && there=yes || there=
	[ "${rows:+yes}" = "$there" ] || echo "$kind: t/plan/adapter has ${there:-no} $story-*, and the table says '$rows'"
	for d in t/plan/adapter/"$story"-*/; do
		[ -z "$there" ] || { [ -f "$d/expect.json" ] && grep -q "\"kind\": \"$kind\"" "$d/local.json"; } || echo "$kind: $d is not its"
	done
	echo "$story" >>"$tmp/stories"
done <"$tmp/table" >"$tmp/findings"
for d in t/plan/adapter/*/local.json; do
	situation=$(basename "$(dirname "$d")")
	grep -qx "${situation%%-*}" "$tmp/stories" || echo "t/plan/adapter/$situation: of no kind of the table"
done >>"$tmp/findings"
check "situations of t/plan/adapter are those of their kinds, and each kind is named"

while IFS=';' read -r kind story rows tests; do
	for t in $(echo "$tests" | tr -d '`'); do
		grep -qE "\\b${kind}s?\\b" "t/integration/$t" || echo "$kind: not in t/integration/$t"
	done
	[ -n "$tests" ] || echo "$kind: no test"
done <"$tmp/table" >"$tmp/findings"
check "each kind runs end to end"
done_testing
