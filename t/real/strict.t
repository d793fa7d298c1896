#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each file that users apply, and what the chart of conf/helm renders: an API server takes it with
# strict validation, and its Pods where Pod Security's level "restricted" is enforced. Nothing is
# kept. Those of conf/samples/quota and conf/crd are in crd.t; a ServiceMonitor and PrometheusRules
# need CRDs of another project.
. "$(dirname "$0")/lib.sh"
. "$here/base.sh"
MADE="quickstart vision ads"

undo()
{
	for u_ns in $MADE; do
		k mgr delete namespace "$u_ns" --ignore-not-found --wait=false
		k w1 delete namespace "$u_ns" --ignore-not-found --wait=false
	done >/dev/null 2>&1
}
undo=undo
queue mgr
kn mgr label namespace "$T" pod-security.kubernetes.io/enforce=restricted >/dev/null
for ns in $MADE; do
	for p in mgr w1; do
		k $p create namespace "$ns" >/dev/null
	done
done

# strictly PLANE ARGS...: the objects go into $WORK/taken too.
strictly()
{
	s_plane=$1
	shift
	"$KUBECTL" --kubeconfig "$MK_REAL_DIR/$s_plane/kubeconfig" apply --server-side --field-manager=strict --force-conflicts \
		--validate=strict --dry-run=server -o json "$@" >"$WORK/out" 2>"$WORK/err"
	ok $? "$s_plane takes $(echo "$*" | sed "s|$root/||; s|^-[fk] ||") with strict validation" || diag "$(cat "$WORK/err")"
	cat "$WORK/out" >>"$WORK/taken"
	is "$(grep -i warning "$WORK/err")" "" "... and warns of nothing"
}

strictly mgr -k "$root/conf"
strictly mgr -k "$root/conf/visibility"
for f in "$root"/conf/admission/*.yaml "$root"/conf/visibility/viewer.yaml "$root"/conf/samples/*.yaml \
	"$root"/conf/quickstart/*.yaml; do
	case $f in
	*/quickstart/worker.yaml) strictly w1 -f "$f" ;;
	*) strictly mgr -f "$f" ;;
	esac
done
strictly w1 -f "$root/conf/rbac/worker.yaml"

# --- the chart ------------------------------------------------------------------------------------
"$root/t/package/helm/build" >"$WORK/out" 2>&1
ok $? "Helm is built, from pinned modules" || bail "$(cat "$WORK/out")"
cp -rL "$root/conf/helm" "$WORK/chart"
cases=$root/t/package/helm/cases
# chart NAME OPTIONS...: the API server takes what Helm makes of the chart.
chart()
{
	c_file=$WORK/chart-$1.yaml
	shift
	HOME="$WORK" HELM_CACHE_HOME="$WORK/cache" "$root/build/helm/bin/helm" template multikueued "$WORK/chart" \
		-n kueue-system "$@" >"$c_file" 2>"$WORK/err"
	ok $? "Helm renders the chart: ${c_file##*/}" || diag "$(cat "$WORK/err")"
	strictly mgr -f "$c_file"
}
chart default
chart all -f "$cases/network.yaml" -f "$cases/image.yaml" --set rbac.create=true,webhook.enabled=true \
	--set parkedPodsPolicy.enabled=true,visibility.enabled=true,monitoring.dashboard=true
chart container -f "$cases/container.yaml"
is "$(grep -c '^kind: Deployment' "$WORK"/chart-*.yaml | sed 's/.*://' | paste -sd' ')" "1 1 1" "each with its Deployment"

# What is not asked about here is named, so that a new file cannot be forgotten.
find "$root/conf" -name '*.yaml' | sed "s|$root/conf/||" | grep -v -e ^admission/ -e '^samples/[^/]*$' -e ^quickstart/ \
	-e ^visibility/ -e ^deploy/ -e ^rbac/ -e ^crd/ -e ^samples/quota/ -e ^helm/ -e '^kustomization.yaml$' | sort >"$WORK/others"
is "$(cat "$WORK/others")" "$(printf '%s\n' adapters/deployment.yaml adapters/pipelinerun.yaml adapters/sparkapplication.yaml \
	adapters/workflow.yaml monitoring/kustomization.yaml monitoring/prometheusrule.yaml monitoring/rules.yaml \
	monitoring/servicemonitor.yaml multikueued.yaml)" "all files for an API server were asked about"

# A wrong field is refused: strict validation is on.
jq -s '[.[] | .items[]? // .] | map(select(.kind == "Deployment"))[0] | del(.metadata.managedFields, .status) | .spec.replica = 2' \
	"$WORK/taken" >"$WORK/wrong.json"
admin apply --validate=strict --dry-run=server -f "$WORK/wrong.json" >"$WORK/out" 2>&1
is "$? $(grep -o 'unknown field "spec.replica"' "$WORK/out" | head -n 1)" '1 unknown field "spec.replica"' \
	"a misspelled field would be refused"

# --- their Pods -----------------------------------------------------------------------------------
jq -s --arg ns "$T" '{apiVersion: "v1", kind: "List", items: [[.[] | .items[]? // .] | to_entries[] |
	select(.value.spec.template.spec.containers) | {apiVersion: "v1", kind: "Pod",
	metadata: {name: ("p\(.key)-" + .value.metadata.name), namespace: $ns},
	spec: (.value.spec.template.spec | .serviceAccountName = "default" | .restartPolicy = "Never")}]}' "$WORK/taken" >"$WORK/pods.json"
ok "$([ "$(jq '.items | length' "$WORK/pods.json")" -ge 8 ]; echo $?)" "there are Pods: $(jq '.items | length' "$WORK/pods.json")"
admin create --validate=strict --dry-run=server -f "$WORK/pods.json" >"$WORK/out" 2>"$WORK/err"
ok $? "all are taken where \"restricted\" is enforced" || diag "$(cat "$WORK/err")"
jq '.items |= [.[0] | .spec.hostNetwork = true]' "$WORK/pods.json" >"$WORK/wrong.json"
admin create --validate=strict --dry-run=server -f "$WORK/wrong.json" >"$WORK/out" 2>&1
is "$? $(grep -o 'violates PodSecurity "restricted:latest": host namespaces' "$WORK/out")" \
	'1 violates PodSecurity "restricted:latest": host namespaces' "one on the host's network would not be"
done_testing
