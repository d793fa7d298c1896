#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The visibility API behind the aggregation layer of a real API server: the APIService leads through
# a Service of type ExternalName to the daemon on the loopback address. kubectl reads it as any
# other API, each user only what the roles give, and `kubectl multikueue` takes this way first.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

API=v1alpha1.visibility.multikueued.io
V1=/apis/visibility.multikueued.io/v1alpha1
port=$(ports 1)
rights=$root/conf/visibility/rights.yaml

leave_clean()
{
	k mgr delete apiservice "$API" --ignore-not-found
	k mgr -n kueue-system delete service multikueued-visibility --ignore-not-found
	k mgr -n kueue-system delete secret multikueued-visibility-cert --ignore-not-found
	k mgr delete -f "$rights" --ignore-not-found
	k mgr delete -f "$root/conf/visibility/viewer.yaml" --ignore-not-found
	k mgr delete clusterrolebinding "$T-all" --ignore-not-found
	k mgr delete namespace "$T-other" --ignore-not-found --wait=false
}
quiet_clean()
{
	leave_clean >/dev/null 2>&1
	[ ! -s "$WORK/map.json" ] || k mgr replace -f - <"$WORK/map.json" >/dev/null 2>&1
}
undo=quiet_clean

k mgr apply -f "$rights" -f "$root/conf/visibility/viewer.yaml" >/dev/null
k mgr apply -f - >/dev/null <<END
apiVersion: v1
kind: Service
metadata: {name: multikueued-visibility, namespace: kueue-system}
spec: {type: ExternalName, externalName: localhost}
END
sed -n '/^apiVersion: apiregistration/,$p' "$root/conf/visibility/apiservice.yaml" |
	sed "s/port: 443/port: $port/" >"$WORK/apiservice.yaml"
k mgr apply -f "$WORK/apiservice.yaml" >/dev/null
scene "  visibility: {bindAddress: \"127.0.0.1:$port\"}"
is_available()
{
	k mgr get apiservice "$API" -o 'jsonpath={.status.conditions[?(@.type=="Available")].status}'
}
becomes True "the APIService is Available: the daemon told it whom to trust" is_available ||
	diag "$(k mgr get apiservice "$API" -o yaml)"
is "$(k mgr api-resources --api-group=visibility.multikueued.io -o name | sort | tr '\n' ' ')" \
	"clusters.visibility.multikueued.io daemons.visibility.multikueued.io events.visibility.multikueued.io queues.visibility.multikueued.io workloads.visibility.multikueued.io " \
	"discovery lists the resources"
is "$(k mgr get workloads -A -o name | grep -vc '^workload.kueue.x-k8s.io/')" 0 "kubectl get workloads stays Kueue's"

job mgr a "$MANAGED"
placed a
W=workloads.visibility.multikueued.io
row()
{
	kn mgr get $W --no-headers | awk '{ print $1, $2, $3, $4 }'
}
becomes "$wl Job/a Won $win" "kubectl get prints the server's Table" row
is "$(kn mgr get $W | head -n 1 | tr -s ' ')" "NAME JOB PHASE WORKER QUEUE" "... with its columns"
is "$(k mgr get $W -A | awk 'NR == 1 { print $1, $2 } $1 == "'"$T"'" { print $2 }')" "NAMESPACE NAME
$wl" "-A names namespaces"
is "$(kn mgr get $W "$wl" -o wide --no-headers | grep -c '[^ ]')" 1 "-o wide of one"
is "$(kn mgr get $W -o name)" "workload.visibility.multikueued.io/$wl" "-o name"
is "$(kn mgr get $W "$wl" -o json | jq -r '[.apiVersion, .kind, .metadata.name, .metadata.namespace, .cluster] | join(" ")')" \
	"visibility.multikueued.io/v1alpha1 Workload $wl $T $win" "-o json has an object"
is "$(kn mgr get $W "$wl" -o yaml | sed -n 's/^phase: //p')" Won "-o yaml, too"
is "$(kn mgr get $W --field-selector phase=Racing -o name)" "" "--field-selector takes a phase"
is "$(kn mgr get $W nothing 2>&1)" \
	"Error from server (NotFound): workloads.visibility.multikueued.io \"nothing\" not found (code 1)" "a name that is not there"
is "$(k mgr get clusters.visibility.multikueued.io --no-headers | awk '{ print $1, $2 }' | tr '\n' ' ')" \
	"w1 Connected w2 Connected " "the clusters"
is "$(k mgr get daemons.visibility.multikueued.io -o jsonpath='{.items[0].leader}')" true "the daemon that answers"
is "$(kn mgr get events.visibility.multikueued.io -o json | jq -r --arg w "$wl" \
	'[.items[] | select(.workload.name == $w and .rule == "win")][0].cluster')" "$win" "the decisions"

# Pages.
job mgr b "$MANAGED"
job mgr c "$MANAGED"
three()
{
	kn mgr get $W -o name | wc -l | tr -d ' '
}
becomes 3 "three Workloads" three
is "$(kn mgr get $W -o name --chunk-size=1 | wc -l | tr -d ' ')" 3 "page after page"
page=$(k mgr get --raw "$V1/namespaces/$T/workloads?limit=2")
is "$(echo "$page" | jq '.items | length')" 2 "kubectl get --raw of a page"
is "$(k mgr get --raw "$V1/namespaces/$T/workloads?limit=2&continue=$(echo "$page" | jq -r '.metadata.continue | @uri')" |
	jq '.items | length')" 1 "and of the next"

# The command line, with kubectl and no way but the API.
mkdir -p "$WORK/path"
ln -sf "$KUBECTL" "$WORK/path/kubectl"
mk() # KUBECONFIG ARGS...
{
	m_config=$1
	shift
	PATH=$WORK/path:$PATH "$KUBECTL_MULTIKUEUE" "$@" --kubeconfig "$m_config" --manager-namespace nowhere 2>&1
}
admin=$MK_REAL_DIR/mgr/kubeconfig
is "$(mk "$admin" why a -n "$T" | awk -v w="$win" '$1 == w { print $2 }')" JobRuns "kubectl multikueue why, through it"
is "$(mk "$admin" get workloads -n "$T" | awk '{ print $2 }' | sort | tr '\n' ' ')" "JOB Job/a Job/b Job/c " "get workloads"
is "$(mk "$admin" get clusters | awk 'NR > 1 { print $1, $2 }' | tr '\n' ' ')" "w1 Connected w2 Connected " "get clusters"
is "$(mk "$admin" status | sed -n 's/^Workers: *//p')" "2, 2 connected" "status"
is "$(mk "$admin" events a -n "$T" -o json | jq -r '[.items[] | select(.rule == "win")][0].cluster')" "$win" "events"
is "$(mk "$admin" why nothing -n "$T" | grep -c 'no Workload or job "nothing" in namespace')" 1 "a name that is not there"

for path in namespaces/$T/workloads "namespaces/$T/workloads/$wl" clusters clusters/w1 queues events; do
	is "$(k mgr get --raw "$V1/$path" | jq -r --slurpfile schema "$root/docs/visibility.schema.json" \
		-f "$root/t/lib/visibility.jq")" "" "as docs/visibility.schema.json has it: $path"
done

# Rights.
refused()
{
	k mgr --as=jane "$@" 2>&1 | head -n 1 | sed 's/ (code 1)$//'
}
is "$(refused -n "$T" get $W)" "Error from server (Forbidden): workloads.visibility.multikueued.io is forbidden: User \"jane\" cannot list resource \"workloads\" in API group \"visibility.multikueued.io\" in the namespace \"$T\"" \
	"a user without rights gets 403"
k mgr create namespace "$T-other" >/dev/null
kn mgr create rolebinding viewer --clusterrole=multikueued-visibility-viewer --user=jane >/dev/null
jane()
{
	k mgr --as=jane -n "$T" get $W -o name 2>&1 | wc -l | tr -d ' '
}
becomes 3 "with rights in one namespace: that one" jane
is "$(refused -n "$T-other" get $W | cut -d: -f1)" "Error from server (Forbidden)" "... and no other"
is "$(refused get $W -A | cut -d: -f1)" "Error from server (Forbidden)" "... nor all"
is "$(refused get clusters.visibility.multikueued.io | cut -d: -f1)" "Error from server (Forbidden)" "... nor the clusters"
is "$(k mgr --as=jane -n "$T" get events.visibility.multikueued.io -o json |
	jq -r --arg ns "$T" '[.items[].metadata.namespace | select(. != $ns)] | length')" 0 "its events are its own"
viewer=$WORK/jane.kubeconfig
kn mgr create serviceaccount reader >/dev/null
sed '/client-certificate-data\|client-key-data/d' "$admin" | sed "s/^  user: *$/  user: {token: $(kn mgr create token reader)}/" >"$viewer"
is "$(mk "$viewer" why a -n "$T" | grep -c '^error: by the aggregated API.*(Forbidden)')" 1 \
	"why, of a user without rights: the way and the reason"
# The API server judges each of these before it forwards; the daemon does it once more, for those
# whom the API server lets pass and for clients that come without it.
direct()
{
	curl -sk --max-time 20 "https://127.0.0.1:$port$V1/$1" ${2:+-H "Authorization: Bearer $2"} |
		jq -r '[.code // 200, .reason // "OK"] | join(" ")'
}
is "$(direct workloads)" "401 Unauthorized" "a direct client without a name"
is "$(curl -sk --max-time 20 -H 'X-Remote-User: admin' -H 'X-Remote-Group: system:masters' \
	"https://127.0.0.1:$port$V1/workloads" | jq -r .code)" 401 "... or with one that it gives itself"
kn mgr create serviceaccount viewer >/dev/null
token=$(kn mgr create token viewer)
is "$(direct "namespaces/$T/workloads" "$token")" "403 Forbidden" "a token of an account without rights"
kn mgr create rolebinding account --clusterrole=multikueued-visibility-viewer --serviceaccount="$T:viewer" >/dev/null
by_token()
{
	direct "namespaces/$T/workloads" "$token"
}
becomes "200 OK" "a token of an account with rights, once the no is forgotten" by_token
is "$(direct workloads "$token")" "403 Forbidden" "... in its namespace only"
is "$(direct workloads nonsense)" "401 Unauthorized" "a token that the API server did not give"
is "$(curl -sk --max-time 20 -X DELETE "https://127.0.0.1:$port$V1/workloads" -o /dev/null -w '%{http_code}')" 405 \
	"nothing is deleted here"

# Whom the front proxy is believed by is another authority's matter from now on; API servers keep
# their own in the ConfigMap.
MAP="configmap/extension-apiserver-authentication"
openssl req -x509 -newkey rsa:2048 -nodes -keyout next.key -out next.crt -subj /CN=front-proxy-ca -days 2 2>/dev/null
openssl req -new -newkey rsa:2048 -nodes -keyout client.key -subj /CN=front-proxy-client -out client.req 2>/dev/null
echo 'extendedKeyUsage = clientAuth' >client.ext
openssl x509 -req -in client.req -CA next.crt -CAkey next.key -CAcreateserial -days 1 -extfile client.ext -out client.crt 2>/dev/null
by_next()
{
	curl -sk --max-time 20 --cert client.crt --key client.key -H 'X-Remote-User: jane' -o /dev/null -w '%{http_code}' \
		"https://127.0.0.1:$port$V1/namespaces/$T/workloads"
}
is "$(by_next)" 401 "an authority that the ConfigMap does not have"
k mgr -n kube-system get $MAP -o json | jq 'del(.metadata.resourceVersion, .metadata.managedFields)' >map.json
jq --rawfile ca next.crt '.data["requestheader-client-ca-file"] += $ca' map.json | k mgr replace -f - >/dev/null
becomes 200 "... counts when it has it, without a restart" by_next
is "$(jane)" 3 "... beside the one of before"
k mgr replace -f - <map.json >/dev/null
becomes 401 "the authority is gone from it: its certificates are refused" by_next
is "$(jane)" 3 "... those of API servers are not"

is "$(grep -c 'visibility' "$WORK/multikueued.log" | awk '{ print ($1 > 0) }')" 1 "the log tells of it"
for j in a b c; do
	becomes "True 2" "$j is Complete" succeeded "$j"
done
scene_end
