#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker is taken out with the command line: nothing new goes there; then it is drained, its job
# goes to another worker, and it is taken back.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq

clusters() { # CLUSTER
	printf '/apis/kueue.x-k8s.io/v1beta2/multikueueclusters/%s' "$1"
}
job() { # NAME
	api mgr POST $HERE '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"'"$1"'","namespace":"default",
		"labels":{"kueue.x-k8s.io/queue-name":"user-queue"},"annotations":{"kubesim.x-k8s.io/run-ms":"3600000"}},
		"spec":{'"$OURS"'"suspend":true,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"none"}]}}}}' >/dev/null
}
v1() { # PATH
	curl -sS --max-time 10 "http://127.0.0.1:$MANAGER_PORT/v1/$1"
}
runs_on() { # JOB CLUSTER
	v1 workloads | jq -e --arg j "$1" --arg c "$2" \
		'.items[] | select(.job.name == $j and .cluster == $c and .phase == "Won")' >/dev/null
}
cordon_is() { # CLUSTER WORD
	[ "$(v1 clusters | jq -r --arg c "$1" '.items[] | select(.name == $c) | .cordon')" = "$2" ]
}

fleet_kubesim && fleet_plugins && fleet_manager m
ok $? "a fleet is up"

# kubectl's part: a port, and a patch with the words of kubectl.
cat >"$dir/kubectl" <<END
#!/bin/sh
shift 2
case "\$1 \$2" in
"port-forward --namespace")
	echo \$\$ >"$dir/forward"
	echo "Forwarding from 127.0.0.1:$MANAGER_PORT -> 8081"
	exec sleep 600
	;;
"get --raw")
	echo "Error from server (NotFound): the server could not find the requested resource" >&2
	exit 1
	;;
"patch "*/nothing)
	echo 'Error from server (NotFound): multikueueclusters.kueue.x-k8s.io "nothing" not found' >&2
	exit 1
	;;
"patch "*)
	printf '%s' "\$5" >"$dir/patch"
	before=\$(curl -sS --cacert "$dir/mgr.ca" -H "Authorization: Bearer \$(cat "$dir/mgr.bearer")" "\$(cat "$dir/mgr.server")$(clusters '')\${2#*/}" | jq -c .metadata.annotations)
	after=\$(curl -sS --cacert "$dir/mgr.ca" -H "Authorization: Bearer \$(cat "$dir/mgr.bearer")" -H 'Content-Type: application/merge-patch+json' \\
		-X PATCH --data-binary @"$dir/patch" "\$(cat "$dir/mgr.server")$(clusters '')\${2#*/}" | jq -c .metadata.annotations)
	[ "\$before" = "\$after" ] && same=" (no change)"
	echo "multikueuecluster.kueue.x-k8s.io/\${2#*/} patched\${same:-}"
	;;
*) exit 1 ;;
esac
END
chmod +x "$dir/kubectl"
api mgr GET "$(clusters w1)" >/dev/null # writes mgr.ca
field mgr-token.kubeconfig token >"$dir/mgr.bearer"
field mgr-token.kubeconfig server >"$dir/mgr.server"
mk() {
	PATH="$dir:$PATH" "$B/kubectl-multikueue" "$@" --context east 2>&1
}
MKC=multikueuecluster.kueue.x-k8s.io

is "$(mk cordon w1 --reason 'a "new" disk')" "$MKC/w1 cordoned" "cordon"
is "$(jq -c .metadata.annotations "$dir/patch")" \
	'{"multikueued.io/cordon":"Cordon","multikueued.io/cordon-reason":"a \"new\" disk"}' "... is a patch of the annotations"
is "$(mk cordon w1)" "$MKC/w1 already cordoned" "... once; the reason stays"
is "$(mk cordon w3)" "$MKC/w3 cordoned" "another one"
is "$(mk cordon nothing | tr '\n' ' ')" \
	'Error from server (NotFound): multikueueclusters.kueue.x-k8s.io "nothing" not found error: MultiKueueCluster "nothing" was not changed: kubectl failed ' \
	"a cluster that does not exist"
wait_for 20 cordon_is w3 Cordon
ok $? "the daemon sees it"
is "$(mk get clusters -o json | jq -r '.items[0].message')" 'is cordoned: a "new" disk' "get clusters says why"
job a
wait_for 30 runs_on a w2
ok $? "a job goes to the worker that is left"
mk drain w2 --timeout 2s >"$dir/out"
is $? 1 "a drain that waits for the job ends with its time"
grep -q '^w2: 1 job runs there, ' "$dir/out" && grep -q '^error: w2 is not empty within the --timeout: 1 job runs there; it stays cordoned$' "$dir/out"
ok $? "... and says what runs there" || sed 's/^/# /' "$dir/out"
runs_on a w2
ok $? "the job runs on"
wait_for 20 cordon_is w2 Cordon
is "$(mk uncordon w1)" "$MKC/w1 uncordoned" "uncordon"
is "$(jq -c .metadata.annotations "$dir/patch")" \
	'{"multikueued.io/cordon":null,"multikueued.io/cordon-reason":null}' "... takes both annotations away"

# What goes on until it is interrupted; what runs in the background of a script ignores SIGINT.
PATH="$dir:$PATH" env --default-signal=INT "$B/kubectl-multikueue" drain w2 --context east >"$dir/wait" 2>&1 &
waits=$!
says_runs() {
	grep -q '^w2: 1 job runs there, ' "$dir/wait"
}
wait_for 20 says_runs
kill -INT $waits
wait $waits
is $? 1 "an interrupt ends the wait"
grep -q '^w2 stays cordoned; `kubectl multikueue uncordon w2` takes it back[.]$' "$dir/wait"
ok $? "... and not the cordon" || sed 's/^/# /' "$dir/wait"
cordon_is w2 Cordon
ok $? "... which is there"

timeout 120 env PATH="$dir:$PATH" "$B/kubectl-multikueue" drain w2 --evict --reason kernel --context east >"$dir/out" 2>&1
is $? 0 "drain --evict ends"
is "$(tail -n 1 "$dir/out")" "$MKC/w2 drained" "... when the worker is empty" || sed 's/^/# /' "$dir/out"
grep -qx "$MKC/w2 cordoned; what runs there is queued again" "$dir/out"
ok $? "... and says what it does"
wait_for 60 runs_on a w1
ok $? "the job runs on the worker that is back"
api w2 GET "$WORKLOADS" | jq -e '.items == []' >/dev/null
ok $? "nothing of it is on the drained one"
is "$(mk uncordon w2)" "$MKC/w2 uncordoned" "it is taken back"
notes "$dir/m.log"
done_testing
