# SPDX-License-Identifier: Apache-2.0
# Shell library of the scenarios of `kubectl multikueue worker`: a kubeconfig with a context for
# each plane, and w1 without the rights that the fleet gave it, so that only what the command makes
# counts. Source it after scene.sh.
# shellcheck shell=sh

# context PLANE: its kubeconfig, in which everything has the name of the plane.
context()
{
	"$KUBECTL" --kubeconfig "$MK_REAL_DIR/$1/kubeconfig" config view --raw --flatten --minify -o json |
		jq --arg n "$1" '{clusters: [.clusters[0] + {name: $n}], users: [.users[0] + {name: $n}],
			contexts: [{name: $n, context: {cluster: $n, user: $n}}]}'
}
{
	context mgr
	context w1
} | jq -s '{apiVersion: "v1", kind: "Config", "current-context": "mgr", clusters: map(.clusters[]),
	users: map(.users[]), contexts: map(.contexts[])}' >"$WORK/kubeconfig"
mkdir "$WORK/bin"
ln -s "$KUBECTL" "$WORK/bin/kubectl"
mk()
{
	PATH=$WORK/bin:$PATH KUBECONFIG=$WORK/kubeconfig "$KUBECTL_MULTIKUEUE" "$@"
}

account_uid()
{
	k w1 -n kueue-system get serviceaccount multikueued --ignore-not-found -o 'jsonpath={.metadata.uid}'
}
account=$(account_uid)

# An account of the same name that comes back does not take the old tokens: the fleet gets another.
undo()
{
	k w1 apply --server-side --force-conflicts -f "$root/conf/rbac/worker.yaml"
	k w1 -n kueue-system delete secret -l multikueued.io/manager-uid
	if [ "$(account_uid)" != "$account" ]; then
		u_token=$(k w1 -n kueue-system create token multikueued --duration 24h)
		[ -z "$u_token" ] || sed -i "s|token: .*|token: $u_token|" "$MK_REAL_DIR/w1/multikueued.kubeconfig"
	fi
} >/dev/null 2>&1
undo=undo
k w1 delete clusterrolebinding,clusterrole multikueued-worker >/dev/null
