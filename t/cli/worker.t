#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl multikueue worker`: beside clusters that t/cli/kubectl_planes plays. A manager gets
# another token, and no failure leaves it without one that is in force.
cd "$(dirname "$0")/../.." || exit 1
bin=${B:-build/dev}/kubectl-multikueue
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
. t/integration/tap.sh
need jq perl
perl -MJSON::PP -e 1 2>/dev/null || { echo "1..0 # SKIP JSON::PP is not installed"; exit 0; }
tap_said=$dir/said
mkdir "$dir/bin"
cp t/cli/kubectl_planes "$dir/bin/kubectl"
bin=$PWD/$bin
MGR=11111111-aaaa
WEST=22222222-bbbb

worker() { # ARGUMENTS...: what it prints is in $dir/said
	PLANES=$dir PATH="$dir/bin:$PATH" "$bin" worker "$@" >"$dir/said" 2>&1
}
says() { # WORDS
	grep -q -e "$1" "$dir/said"
}
# token: name of the Secret on west whose token the manager has; tokens: all that are there.
token() {
	jq -r '.["secret/west"].data.kubeconfig' "$dir/mgr.json" | base64 -d | sed -n 's/.*token: "*token-of-\([^"]*\)"*$/\1/p'
}
tokens() {
	jq -r '[keys[] | select(startswith("secret/multikueued-token-")) | ltrimstr("secret/")] | join(" ")' "$dir/west.json"
}
planes() { # anew, with the worker west
	rm -f "$dir"/unlabelled "$dir"/refused "$dir"/from "$dir"/conflict "$dir"/stuck
	cp "$dir"/added/*.json "$dir"
	: >"$dir/log"
}
change() { # CLUSTER JQ
	jq "$2" "$dir/$1.json" >"$dir/new" && mv "$dir/new" "$dir/$1.json"
}
for at in "mgr $MGR" "west $WEST" "east 33333333-cccc"; do
	jq -n --arg uid "${at#* }" '{"namespace/kube-system": {kind: "Namespace", metadata: {name: "kube-system", uid: $uid}}}' \
		>"$dir/${at% *}.json"
done
mkdir "$dir/added"
worker add west --config workers
is $? 0 "a worker is added"
cp "$dir"/*.json "$dir/added"
ONE=multikueued-token-11111111-1
TWO=multikueued-token-11111111-2
THREE=multikueued-token-11111111-3

# --- rotate ---------------------------------------------------------------------------------------
planes
is "$(token) $(tokens)" "$ONE $ONE" "... with a token"
worker rotate west --dry-run
is $? 0 "a dry run"
[ "$(grep -c "token: REDACTED" "$dir/said") $(grep -c '^kind: Secret' "$dir/said")" = "1 2" ] &&
	says "^# secret \"$ONE\" deleted (dry run)$" && ! says token-of
ok $? "... shows what would be applied and deleted, without a token"
is "$(token) $(tokens) $(grep -c -e apply -e delete "$dir/log")" "$ONE $ONE 0" "... and changes nothing"
worker rotate west
is $? 0 "a token is replaced"
is "$(token) $(tokens)" "$TWO $TWO" "the manager has the new one, the former is deleted"
is "$(grep -n -e '^mgr apply' -e '^west apply' -e '^west delete' "$dir/log" | cut -d: -f2 | cut -d' ' -f1,2 | tr '\n' ',')" \
	"west apply,mgr apply,west delete," "... last"
says "^multikueuecluster/west uses the token of secret/$TWO on west$"
ok $? "... and the command says so"
! grep -q token-of "$dir/log"
ok $? "no token is on a command line"

touch "$dir/unlabelled"
worker rotate west --timeout 1
is $? 1 "a worker that does not tell of uses"
is "$(token) $(tokens)" "$THREE $TWO $THREE" "... keeps both tokens"
says "delete the former Secrets of namespace kueue-system there: $TWO$" &&
	says '^No token was deleted. Running this again goes on from here.$'
ok $? "... and it is said what to do"
worker rotate west --timeout 1
is "$? $(token) $(tokens)" "1 $THREE $TWO $THREE" "the same again makes no third one"
rm "$dir/unlabelled"
worker rotate west
is "$? $(token) $(tokens)" "0 $THREE $THREE" "once it tells, that rotation ends"
says '^That ended a rotation of before; run this again for another token.$'
ok $? "... and is told apart"

planes
echo "$TWO" >"$dir/refused"
worker rotate west --timeout 1
is $? 1 "a token that the worker does not take"
is "$(token) $(tokens)" "$ONE $ONE $TWO" "... leaves the manager with the former one"
says '^The manager has its former token again.$' && says 'it is not Active: ClientConnectionFailed: Unauthorized'
ok $? "... and it is said why"
is "$(jq -r '.["multikueuecluster/west"].status.conditions[0].status' "$dir/mgr.json")" True "... which is Active"
rm "$dir/refused"
worker rotate west
is "$? $(token) $(tokens)" "0 $TWO $TWO" "later the same token is used"

# Whatever fails, from the first write on: the manager's token is in force; the next run ends it.
planes
worker rotate west
n=$(grep -c . "$dir/log")
first=$(grep -n ' apply ' "$dir/log" | head -1 | cut -d: -f1)
bad=
for i in $(seq "$first" "$n"); do
	planes
	echo "$i" >"$dir/from"
	worker rotate west --timeout 1
	rc=$?
	case " $(tokens) " in
	*" $(token) "*) ;;
	*) bad="$bad $i:without" ;;
	esac
	[ $rc = 3 ] || bad="$bad $i:$rc"
	rm "$dir/from"
	worker rotate west || bad="$bad $i:again"
	case "$(token) $(tokens)" in
	"$TWO $TWO" | "$THREE $THREE") ;;
	*) bad="$bad $i:$(token)-$(tokens)" ;;
	esac
done
is "$bad" "" "$((n - first + 1)) commands: whichever fails, the manager has a token, and the next run ends it"

planes
echo secret/west >"$dir/conflict"
worker rotate west
[ $? = 3 ] && says 'conflict with "other"' && [ "$(token) $(tokens)" = "$ONE $ONE $TWO" ]
ok $? "a Secret that another writer has is left"
worker rotate west --force-conflicts
is "$? $(token) $(tokens)" "0 $TWO $TWO" "... without --force-conflicts"
rm "$dir/conflict"

worker rotate west --context east
[ $? = 1 ] && says '^error: context east is another cluster than multikueuecluster/west, which leads to https://west.example:6443;'
ok $? "the context of another worker"
worker rotate nothing --context west
[ $? = 1 ] && says '^error: no multikueuecluster "nothing" on manager, and nothing was changed; expected one of: west$'
ok $? "a name that does not exist"
change mgr '.["secret/copy"] = (.["secret/west"] | .metadata.name = "copy")'
worker rotate west
[ $? = 1 ] && says '^error: secret/copy on the manager has a token that would be deleted, too;'
ok $? "a token that another Secret has, too"
change mgr 'del(.["secret/copy"], .["secret/west"].metadata.labels)'
worker rotate west
[ $? = 1 ] && says '^error: secret/west was not made by `kubectl multikueue worker add`'
ok $? "a Secret that was made by hand"
change mgr 'del(.["secret/west"])'
worker rotate west
[ $? = 1 ] && says '^error: no secret/west, which multikueuecluster/west names, in namespace kueue-system of manager;'
ok $? "a Secret that is missing"
change mgr '.["multikueuecluster/west"].spec.clusterSource.kubeConfig.locationType = "Path"'
worker rotate west
[ $? = 1 ] && says '^error: the kubeconfig of multikueuecluster/west is in no Secret;'
ok $? "a kubeconfig in a file"

# --- remove ---------------------------------------------------------------------------------------
# held CLUSTER: the objects there, but for its namespaces.
held() {
	jq -r '[keys[] | select(startswith("namespace/") | not)] | join(" ")' "$dir/$1.json"
}
same() { # CLUSTER...: nothing has changed there since 'before'
	for same in "$@"; do
		jq -S 'del(.[].metadata.managedFields)' "$dir/$same.json" | cmp -s - "$dir/before/$same" || return 1
	done
}
before() {
	mkdir -p "$dir/before"
	for before in mgr west; do
		jq -S 'del(.[].metadata.managedFields)' "$dir/$before.json" >"$dir/before/$before"
	done
}
runs() { # NAME END: a Workload that west has won
	change mgr '.["workload/'"$1"'"] = {kind: "Workload", metadata: {name: "'"$1"'"}, status: {clusterName: "west",
		conditions: [{type: "Finished", status: "'"$2"'"}]}}'
}
clone() { # NAME MANAGER
	change west '.["workload/'"$1"'"] = {kind: "Workload", metadata: {name: "'"$1"'",
		labels: {"kueue.x-k8s.io/multikueue-origin": "multikueue"}, annotations: {"multikueued.io/manager-id": "'"$2"'"}}}'
}
remove() { # ARGUMENTS...: by one who has said yes
	worker remove "$@" --yes
}
two() { # anew, with another worker in the config
	planes
	change mgr '.["multikueueconfig/workers"].spec.clusters += ["east"]'
}
planes
before
remove west
[ $? = 1 ] && says '^error: multikueueconfig/workers names west alone, and a config needs a cluster;'
ok $? "the only cluster of a config"
same mgr west
ok $? "... stays"
two
runs a False
runs b True
before
remove west
[ $? = 1 ] && says '^error: 1 Workload runs on west; expected none: `kubectl multikueue drain west --evict` queues it again'
ok $? "a worker where a job runs"
same mgr west
ok $? "... stays"

two
clone a $MGR
runs b True
before
worker remove west --dry-run
is $? 0 "a dry run"
is "$(cat "$dir/said")" "multikueuecluster/west leads to https://west.example:6443, which is the cluster of context west
  MultiKueueConfigs that name it: workers
  other MultiKueueClusters that lead there: none
  Workloads there: 1 of this manager, 0 of others
manager: multikueuecluster/west cordoned (dry run)
manager: multikueueconfig/workers without west (dry run)
manager: multikueuecluster \"west\" deleted (dry run)
west: secret \"$ONE\" deleted (dry run)
west: clusterrolebinding \"multikueued-worker\" deleted (dry run)
west: clusterrole \"multikueued-worker\" deleted (dry run)
west: serviceaccount \"multikueued\" deleted (dry run)
manager: secret \"west\" deleted (dry run)" "... says what would be done"
same mgr west
ok $? "... and does not do it"
: >"$dir/log"
remove west
is $? 0 "a worker is removed"
is "$(held mgr), $(held west)" "multikueueconfig/workers workload/b, " "... with all that was made for it"
is "$(jq -c '.["multikueueconfig/workers"].spec.clusters' "$dir/mgr.json")" '["east"]' "... from its config"
is "$(grep -e ' annotate ' -e ' apply ' -e ' delete ' "$dir/log" | grep -v dry-run | sed 's/--[^ ]* *//g' | cut -d' ' -f1-4 | tr '\n' ',')" \
	"mgr annotate multikueuecluster/west multikueued.io/cordon=Cordon,mgr apply ,mgr delete multikueuecluster west,west delete secret $ONE,west delete clusterrolebinding multikueued-worker,west delete clusterrole multikueued-worker,west delete serviceaccount multikueued,mgr delete secret west," \
	"... in this order"
remove west
[ $? = 1 ] && says '^error: no multikueuecluster "west" on manager, and nothing was changed; it has none$'
ok $? "the same again finds nothing"

two
clone a $MGR
touch "$dir/stuck"
remove west --timeout 1
[ $? = 1 ] && says '^error: after 1 s 1 Workload of this manager is left on west; multikueuecluster/west stays, cordoned:'
ok $? "a worker that does not get empty"
is "$(tokens) $(jq -c '.["multikueueconfig/workers"].spec.clusters' "$dir/mgr.json")" "$ONE [\"west\",\"east\"]" "... stays connected"
rm "$dir/stuck"
remove west
is "$? $(held west)" "0 " "... until it is"

two
change west '.["secret/theirs"] = (.["secret/'"$ONE"'"] | .metadata.name = "theirs" | del(.metadata.labels))'
remove west
[ $? = 0 ] && says 'serviceaccount "multikueued" stays: another manager has the token of secret/theirs$'
ok $? "the account of two managers stays"
is "$(held west)" "clusterrole/multikueued-worker clusterrolebinding/multikueued-worker secret/theirs serviceaccount/multikueued" "... our token does not"
two
clone x 44444444-dddd
remove west
[ $? = 0 ] && says 'serviceaccount "multikueued" stays: 1 Workload there is of another manager$'
ok $? "so does that of a manager that made Workloads"
two
change west '.["clusterrole/multikueued-worker"].metadata.managedFields += [{manager: "argocd", fieldsV1: {"f:rules": {}}}]'
remove west
[ $? = 0 ] && says 'serviceaccount "multikueued" stays: argocd wrote its rights, too, perhaps for another manager$'
ok $? "so does one whose rights another client wrote"
two
remove west --keep-account
[ $? = 0 ] && [ "$(held west)" = "clusterrole/multikueued-worker clusterrolebinding/multikueued-worker serviceaccount/multikueued" ]
ok $? "--keep-account"

# Whichever write fails, with all behind it: another run ends the work.
two
: >"$dir/log"
remove west
grep -n -e ' annotate ' -e ' apply ' -e ' delete ' "$dir/log" | grep -v dry-run | cut -d: -f1 >"$dir/writes"
bad=
while read -r i; do
	two
	echo $((i - 1)) >"$dir/from"
	remove west --timeout 1
	[ $? = 3 ] || bad="$bad $i:first"
	jq -e 'has("multikueuecluster/west")' "$dir/mgr.json" >/dev/null && [ "$(tokens)" != $ONE ] && bad="$bad $i:token"
	rm "$dir/from"
	remove west || bad="$bad $i:again"
	[ "$(held mgr),$(held west)" = "multikueueconfig/workers," ] || bad="$bad $i:left"
done <"$dir/writes"
is "$bad" "" "$(grep -c . "$dir/writes") writes: whichever fails, the next run ends it"

two
echo multikueueconfig/workers >"$dir/conflict"
before
remove west
[ $? = 3 ] && says 'conflict with "other"' && same mgr west
ok $? "a config that another writer has: nothing is changed"
remove west --force-conflicts
is "$? $(held west)" "0 " "... without --force-conflicts"
two
before
remove west --context east
[ $? = 1 ] && says '^error: context east is another cluster' && same mgr west
ok $? "the context of another worker"
for flaw in none label; do
	[ $flaw = none ] || change mgr 'del(.["secret/west"].metadata.labels)'
	before
	: >"$dir/log"
	for words in "--context west" "--context west --dry-run" --manager-only; do
		remove wset $words
		[ $? = 1 ] && says '^error: no multikueuecluster "wset" on manager, and nothing was changed; expected one of: west$' &&
			same mgr west && ! grep -q -e ' annotate ' -e ' apply ' -e ' delete ' "$dir/log"
		ok $? "a name that does not exist, with $words: nothing is touched (flaw of the Secret: $flaw)"
	done
done
change mgr '.["secret/wset"] = {kind: "Secret", type: "Opaque", metadata: {name: "wset"}, data: {}}'
before
remove wset --context west
[ $? = 1 ] && says '^error: no multikueuecluster "wset"' && same mgr west
ok $? "... nor where an unrelated Secret has it"

# A second name whose Secret is known, of a worker whose own Secret lost its label.
two
change mgr '.["multikueuecluster/alias"] = (.["multikueuecluster/west"] | .metadata.name = "alias"
		| .spec.clusterSource.kubeConfig.location = "alias") |
	.["secret/alias"] = (.["secret/west"] | .metadata.name = "alias") | del(.["secret/west"].metadata.labels) |
	.["multikueuecluster/profile"] = {kind: "MultiKueueCluster", metadata: {name: "profile"},
		spec: {clusterSource: {clusterProfileRef: {name: "p"}}}}'
runs a False
before
for sign in token server; do
	[ $sign = token ] || change mgr '.["secret/west"].data.kubeconfig |= (@base64d | sub("token-of-"; "another-") | @base64)'
	remove alias --context west --dry-run
	[ $? = 0 ] && says '^  other MultiKueueClusters that lead there: west$' &&
		says '^  MultiKueueClusters that may lead anywhere: profile$' &&
		says '^  Workloads that run there by those other names: 1$' &&
		says 'its token stays: multikueuecluster/west leads there, too$' && ! says '^west: .* deleted'
	ok $? "the account of another name stays, which only the $sign tells"
done
remove alias --context west
is "$? $(held west | tr ' ' '\n' | grep -c -e account -e role -e "$ONE")" "0 4" "... also without --dry-run"

# Asked before anything is changed.
two
before
worker remove west </dev/null
[ $? = 2 ] && says '^multikueuecluster/west leads to https://west.example:6443' && same mgr west &&
	says '^error: .*standard input is no terminal, .* nothing was changed; expected --yes'
ok $? "without a terminal and --yes: shown, and nothing is done"
asked() { # ANSWER COMMAND...
	PLANES=$dir PATH="$dir/bin:$PATH" t/cli/on_terminal "$1" "$bin" worker "$2" west >"$dir/said" 2>&1
}
for answer in n "" yesterday; do
	asked "$answer" remove
	[ $? = 1 ] && says 'Remove it? \[y/N\]' && says 'Nothing was changed.$' && same mgr west
	ok $? "asked on a terminal, the answer \"$answer\" changes nothing"
done
asked y remove
[ $? = 0 ] && says '^west: serviceaccount "multikueued" deleted' && says 'multikueuecluster/west is removed$'
ok $? "... and y removes it"

# --- add over what is there -----------------------------------------------------------------------
planes
worker add west --config workers
[ $? = 0 ] && ! says overwritten
ok $? "adding a worker again asks nothing"
change mgr 'del(.["secret/west"].metadata.labels)'
worker add west --force-conflicts
[ $? = 0 ] && ! says overwritten
ok $? "nor does a Secret without a label that leads to the same server"
change mgr 'del(.["secret/west"].metadata.labels) | .["secret/west"].data.kubeconfig |= (@base64d | sub("west.example"; "other.example") | @base64)'
worker remove nothing # the daemon looks
before
worker add west --force-conflicts </dev/null
[ $? = 2 ] && says '^secret/west was not made by .* does not lead to https://west.example:6443; its kubeconfig would be overwritten$' &&
	same mgr west
ok $? "one that leads elsewhere is not overwritten without a word"
asked n add
[ $? = 1 ] && says 'Go on? \[y/N\]' && same mgr west
ok $? "... nor against an answer"
change mgr '.["multikueuecluster/west"].spec.clusterSource.kubeConfig.location = "theirs"'
worker add west --force-conflicts --yes
[ $? = 0 ] && says '^multikueuecluster/west has its kubeconfig in secret/theirs; it would be led to secret/west$' &&
	[ "$(token)" = "$ONE" ]
ok $? "... --yes does it"
two
before
change mgr '.["multikueuecluster/alias"] = (.["multikueuecluster/west"] | .metadata.name = "alias")'
remove alias --context west
[ $? = 0 ] && says 'secret "west" stays: another MultiKueueCluster names it$' && same mgr west
ok $? "a second name of a worker goes alone"
rm "$dir/west.json"
remove west
[ $? = 3 ] && says 'For a worker that is gone for good: --manager-only'
ok $? "a worker that does not answer"
remove west --manager-only
is "$? $(held mgr)" "0 multikueueconfig/workers" "... can be removed all the same"
done_testing
