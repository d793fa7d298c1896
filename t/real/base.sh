# SPDX-License-Identifier: Apache-2.0
# Shell library of the tests that install conf: what kustomize makes of it, the daemon's
# configuration out of that, and how the planes get rid of it. Source it after lib.sh.
# shellcheck shell=sh

admin()
{
	"$KUBECTL" --kubeconfig "$MK_REAL_DIR/mgr/kubeconfig" "$@"
}

# render: $WORK/rendered.yaml and $WORK/rendered.json.
render()
{
	admin kustomize "$root/conf" >"$WORK/rendered.yaml" &&
		admin create --dry-run=client -f "$WORK/rendered.yaml" -o json >"$WORK/rendered.json" 2>"$WORK/err"
	ok $? "kubectl renders the base" || bail "$(cat "$WORK/err")"
}

# all KIND FILTER: of each rendered object of the kind
all()
{
	jq -r --arg kind "$1" '(.items[]? // .) | select(.kind == $kind) | '"$2" "$WORK/rendered.json"
}

# base_config: the rendered configuration, with free ports of this host: at HEALTH it answers.
base_config()
{
	HEALTH=127.0.0.1:$(ports 1)
	all ConfigMap '.data["config.yaml"]' |
		sed "s|healthProbeBindAddress: .*|healthProbeBindAddress: $HEALTH|
			s|bindAddress: :8443|bindAddress: 127.0.0.1:$(ports 1)|
			s|port: 9443|port: $(ports 1)|
			s|directory: .*|directory: $MK_PLUGINS|
			s|allowLoopback: .*|allowLoopback: true|
			s|leaderElect: true|&\n  leaseDuration: 120s\n  renewDeadline: 90s\n  retryPeriod: 1s|" >"$WORK/multikueued.yaml"
	"$MULTIKUEUED" --check-config "$WORK/multikueued.yaml" >"$WORK/checked" 2>&1
	ok $? "its configuration is good" || diag "$(cat "$WORK/checked")"
}

# base_undo: takes the base away, but for the rights that the fleet gave to the account.
base_undo()
{
	{
		jq '.items |= map(select(.kind | IN("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding") | not))' \
			"$WORK/rendered.json" >"$WORK/rest.json"
		admin delete --ignore-not-found --wait=false -f "$WORK/rest.json"
		k mgr apply -f "$root/conf/rbac/manager.yaml"
	} >/dev/null 2>&1
}
