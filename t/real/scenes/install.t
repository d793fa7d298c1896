#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl apply -k conf`, to the letter: with the rights and the configuration that come
# out of it the daemon, which the base deploys as an image and which runs beside the planes
# here, leads and has a job run.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
. "$here/base.sh"
need_daemon

render
is "$(all Role 'select(.metadata.name == "multikueued-lease") | .rules[] | select(.resourceNames) | .resourceNames[]')" multikueued \
	"the right on the Lease is on its name"
is "$(all Deployment '.spec.template.spec.volumes[] | .configMap.name')" "$(all ConfigMap .metadata.name)" \
	"the Deployment has the ConfigMap that was generated"
is "$(all Deployment '.spec.template.spec.containers[0].ports[] | select(.name == "visibility") | .containerPort')" 8444 \
	"the container has the port of the aggregated API"
is "$(all NetworkPolicy '[.spec.ingress[] | select(.from == null).ports[].port] | sort | join(" ")')" "visibility webhook" \
	"... which all may reach, as the webhook's; that of the probes is for the node alone"
admin apply -k "$root/conf/visibility" --dry-run=server -o json >"$WORK/aggregated.json" 2>"$WORK/err"
ok $? "an API server takes conf/visibility" || diag "$(cat "$WORK/err")"
is "$(jq -c '.items[] | select(.kind == "Service").spec | [.ports[0].port, .ports[0].targetPort, .selector]' "$WORK/aggregated.json")" \
	"[443,\"visibility\",$(all Deployment '.spec.template.metadata.labels | tojson')]" "... with a Service that leads to that port"

# What the fleet has given to the account goes first: only what was rendered counts.
ROLES='role rolebinding clusterrole clusterrolebinding'
roles() # VERB ARGS...
{
	for r_kind in $ROLES; do
		admin -n kueue-system "$1" "$r_kind" $(jq -r --arg kind "$r_kind" '(.items[]? // .) |
			select((.kind | ascii_downcase) == $kind) | .metadata.name' "$WORK/rendered.json") --ignore-not-found
	done
}
undo=base_undo
roles delete >"$WORK/said" 2>&1
admin apply -k "$root/conf" >>"$WORK/said" 2>&1
ok $? "the base is applied" || diag "$(cat "$WORK/said")"

pair
base_config
is "$(grep -c Lease "$WORK/checked")" 0 "and there is nothing to say about its Lease"
daemon_start
must 1 "it leads" leads
is "$(k mgr -n kueue-system get lease multikueued -o jsonpath='{.spec.holderIdentity}')" \
	"$(sed -n 's/.*"msg":"leading","identity":"\([^"]*\)".*/\1/p' "$WORK/multikueued.log")" "the Lease says so"
job mgr hello "$MANAGED"
placed hello
ends hello
daemon_content
done_testing
