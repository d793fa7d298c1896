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

# Whatever fails, at each command: the manager's token is in force, and another run ends the work.
planes
worker rotate west
n=$(grep -c . "$dir/log")
bad=
for i in $(seq 1 "$n"); do
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
is "$bad" "" "$n commands: whichever fails, the manager has a token, and the next run ends it"

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
[ $? = 1 ] && says '^error: no multikueuecluster "nothing" on manager;'
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
done_testing
