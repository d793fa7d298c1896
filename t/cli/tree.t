#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubectl-multikueue: each command line of t/cli/cases gives its exit
# status and the text of t/cli/golden.
#   UPDATE=1 t/cli/tree.t    writes the texts anew; read the difference
cd "$(dirname "$0")/../.." || exit 1
bin=${B:-build/dev}/kubectl-multikueue
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
. t/integration/tap.sh

grep -v '^#' t/cli/cases >"$tmp/cases"
while read -r name want args; do
	# shellcheck disable=SC2086 # words of the command line
	"$bin" $args >"$tmp/out" 2>&1 </dev/null
	rc=$?
	[ -z "${UPDATE:-}" ] || cp "$tmp/out" "t/cli/golden/$name"
	[ "$rc" -eq "$want" ]
	ok $? "$name: status $want" || echo "#   found $rc"
	diff -u "t/cli/golden/$name" "$tmp/out" >"$tmp/diff" 2>&1
	ok $? "$name: $args"
	sed 's/^/#   /' "$tmp/diff" | head -40
done <"$tmp/cases"

for f in t/cli/golden/*; do
	cut -d' ' -f1 "$tmp/cases" | grep -qx "$(basename "$f")" || echo "$f"
done >"$tmp/stray"
[ ! -s "$tmp/stray" ]
ok $? "every text belongs to a case"

# What it asks to be kept can be kept.
cp -r t/plan/nocode/widget/create "$tmp/create" && rm -f "$tmp/create/expect.json"
"$bin" adapter test t/cli/input/widget.yaml "$tmp/create" -o json >"$tmp/expect.json" && cp "$tmp/expect.json" "$tmp/create" &&
	"$bin" adapter test t/cli/input/widget.yaml "$tmp/create" | grep -q ': as expected$'
ok $? "adapter test -o json prints an expect.json"

# More findings than the tool prints.
awk 'BEGIN { printf "strip: [0"; for (i = 0; i < 20000; i++) { printf ",0" }; print "]" }' >"$tmp/many.yaml"
"$bin" adapter test "$tmp/many.yaml" >"$tmp/out" 2>&1
[ $? -eq 1 ] && grep -q '/strip/40: Invalid value' "$tmp/out"
ok $? "findings without end have an end" || head -c 300 "$tmp/out"

# Standard input, colours, what cannot be written.
"$bin" tree validate -f - <conf/samples/quota/plan-b.yaml >"$tmp/out"
ok $? "- is standard input"
# What kubectl prints of thousands of objects: longer than one document may be.
awk 'BEGIN {
	print "{\"metadata\": {\"note\": \"items\"},\n\"items\": ["
	for (i = 0; i < 3000; i++) {
		printf "%s{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"w%d\",\"namespace\":\"ads\",\n", i ? "," : "", i
		printf "\"annotations\":{\"a\":\"} \\\"]%200s\"}},\"spec\":{\"queueName\":\"main\",\"podSets\":[{\"name\":\"main\",\"count\":1,", ""
		print "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}"
	}
	print "],\"kind\":\"List\",\"apiVersion\":\"v1\"}" }' >"$tmp/list.json"
"$bin" tree show -f conf/samples/quota/plan-b.yaml -f conf/samples/quota/workloads.yaml -f "$tmp/list.json" >"$tmp/out" 2>&1 &&
	[ "$(wc -c <"$tmp/list.json")" -gt 1048576 ] && awk '$1 == "company" && $8 == 3004 { n++ } END { exit n == 0 }' "$tmp/out"
ok $? "a list of any length is read" || cat "$tmp/out"
sed 's/"name":"w2999"/"name":w2999: x"/' "$tmp/list.json" >"$tmp/broken.json"
"$bin" tree show -f "$tmp/broken.json" >"$tmp/out" 2>&1
[ $? -eq 3 ] && grep -q "broken.json:6001: " "$tmp/out"
ok $? "... and a fault in it has its line" || cat "$tmp/out"
awk 'BEGIN {
	for (i = 0; i < 2000; i++) { printf "{\"items\":[" }
	printf "{\"a\":\"%1100000s\"}", ""
	for (i = 0; i < 2000; i++) { printf "]}" } }' >"$tmp/deep.json"
(ulimit -s 512 && exec "$bin" tree show -f "$tmp/deep.json") >"$tmp/out" 2>&1
[ $? -eq 3 ] && grep -q 'deep.json:1: more than 1024 KiB in one item' "$tmp/out"
ok $? "a list of lists is no way to its stack" || cat "$tmp/out"
grep -q "$(printf '\033')" t/cli/golden/*
[ $? -eq 1 ]
ok $? "no colours where there is no terminal"
simulate="tree simulate -f conf/samples/quota/plan-b.yaml --generate 30 --seed 7 --grace 10s"
# shellcheck disable=SC2086 # words of the command line
"$bin" $simulate --svg "$tmp/a.svg" >"$tmp/a" 2>&1 && "$bin" $simulate --svg "$tmp/b.svg" >"$tmp/b" 2>&1
ok $? "a story is drawn"
cmp -s "$tmp/a" "$tmp/b" && cmp -s "$tmp/a.svg" "$tmp/b.svg"
ok $? "the same seed gives the same story and picture"
[ "$(head -c 4 "$tmp/a.svg")" = '<svg' ] && [ "$(tail -n 1 "$tmp/a.svg")" = '</svg>' ] &&
	[ "$(grep -c 'job-0[0-9]*</text>\|job-0[0-9]* ([0-9]*)</text>' "$tmp/a.svg")" -eq 30 ]
ok $? "with a row for each workload"
# shellcheck disable=SC2086 # words of the command line
"$bin" $simulate --svg "$tmp/missing/a.svg" >/dev/null 2>"$tmp/err"
[ $? -eq 3 ] && grep -q 'No such file' "$tmp/err"
ok $? "a picture that cannot be written is told"
"$bin" tree show -f conf/samples/quota/plan-a.yaml >"$tmp/out" && awk '/ $/ { exit 1 }' "$tmp/out"
ok $? "no blanks at the ends of lines"
if [ -w /dev/full ]; then
	"$bin" tree status -f conf/samples/quota/plan-a.yaml >/dev/full 2>"$tmp/err"
	[ $? -eq 3 ] && grep -q 'could not be written' "$tmp/err"
	ok $? "a full disk is told"
fi

done_testing
