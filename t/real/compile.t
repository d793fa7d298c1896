#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `kubectl multikueue tree compile` makes of random trees, in Kueue's own scheduler cache: each
# decision there is that of the library which decides about trees. TREES=n trees of each policy and
# shape; no plane is asked.
# planes: bare
. "$(dirname "$0")/lib.sh"

TREES=${TREES:-40}
[ -x "$DECISIONS" ] || bail "${DECISIONS#"$root/"} is not there: make test-real builds it"
"$DECISIONS" cases ours "$TREES" || bail "random trees"
"$COHORTS" <cases >kueues || bail "Kueue's cache takes the compiled objects, as its webhooks do"

# of GROUP FILE: the answers to cases of that policy and shape.
of()
{
	grep "^$1/" "$2"
}

# differing FILE: the answers there that are not ours, as "CASE STEP".
differing()
{
	awk 'NR == FNR { ours[$1, $2] = $3; next } ours[$1, $2] != $3 { print $1, $2 }' ours "$1"
}

# tell: the first difference: its case has the seed as its number.
tell()
{
	read -r t_case t_step || return
	diag "case $t_case, step $t_step (decisions CASES OURS $TREES): ours, then Kueue's:"
	grep -h "^$t_case $t_step " ours kueues | sed 's/^/#   /'
	jq -c --arg c "$t_case" 'select(.case == $c) | {given}, {objects}, {steps}' cases | sed 's/^/#   /'
}

[ "$(wc -l <ours)" = "$(wc -l <kueues)" ]
ok $? "Kueue answers each question"
differing kueues >differences
for group in fifo fair capacity; do
	for shape in weights amounts reserves parents; do
		all=$(of $group/$shape ours | wc -l)
		yes=$(of $group/$shape ours | grep -c ' yes$')
		[ "$all" -ge $((TREES * 20)) ] && [ "$yes" -gt $((all / 10)) ] &&
			[ "$yes" -lt $((all * 9 / 10)) ] && ! of $group/$shape differences >found
		ok $? "policy $group, $shape: Kueue decides as the tree says: $all decisions, $yes of them yes" ||
			tell <found
	done
done
all=$(wc -l <kueues)
[ "$all" -ge 10000 ] || [ "$TREES" -lt 40 ]
ok $? "$all decisions, $(grep -c ' yes$' kueues) of them yes"

# The same cases, with other objects: a limit that is one unit off shows in each group.
for field in nominalQuota borrowingLimit; do
	"$COHORTS" --more $field <cases >other
	is "$(differing other | cut -d/ -f1,2 | uniq | wc -l)" 12 "one unit more of each $field is found out in each group"
done
"$COHORTS" --more lendingLimit <cases >other
is "$(differing other | cut -d/ -f1,2 | uniq | tr '\n' ' ')" "fifo/reserves fair/reserves capacity/reserves " \
	"one unit more of each lendingLimit is, where there are reserves"
jq -c 'del(.objects.items[].spec.resourceGroups[].flavors[].resources[].lendingLimit)' cases | "$COHORTS" >other
is "$(differing other | cut -d/ -f1,2 | uniq | tr '\n' ' ')" "fifo/reserves fair/reserves capacity/reserves " \
	"so are reserves that are lost"
done_testing
