#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The configuration that Kueue is installed with, given to the daemon as it is, beside a
# Kueue that has it as well: each has its own Lease. A daemon that is given Kueue's on
# purpose waits, and says for whom.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
THEIRS=c1f6bfd2.kueue.x-k8s.io

holder() # LEASE
{
	k mgr -n kueue-system get lease "$1" -o jsonpath='{.spec.holderIdentity}'
}
kueue_elects() # true|false
{
	"$FLEET" kill --plane mgr --process kueue
	sed -i "s|^leaderElection:.*|leaderElection: {leaderElect: $1, resourceName: $THEIRS, resourceNamespace: kueue-system}|" \
		"$MK_REAL_DIR/mgr/kueue.yaml"
	"$FLEET" start --plane mgr --process kueue
	kueue_awaited mgr
}
undo()
{
	[ -z "${second:-}" ] || { kill -KILL "$second"; wait "$second"; } 2>/dev/null
	kueue_elects false
	k mgr -n kueue-system delete lease "$THEIRS" --ignore-not-found >/dev/null
	k mgr -n kueue-system delete role,rolebinding "$T" --ignore-not-found >/dev/null
}
undo=undo
kueue_elects true
is_led()
{
	holder $THEIRS | grep -c .
}
must 1 "Kueue leads by its own Lease" is_led
kueue=$(holder $THEIRS)

# configuration FILE [MORE]: the file of Kueue's release, on ports of ours, and
# MORE of the section multiKueue.
configuration()
{
	sed "s|healthProbeBindAddress: .*|healthProbeBindAddress: 127.0.0.1:$(ports 1)|
		s|bindAddress: :8443|bindAddress: \"0\"|
		s|port: 9443|port: $(ports 1)|
		s|leaderElect: true|&\n  leaseDuration: 120s\n  renewDeadline: 90s\n  retryPeriod: 1s|" \
		"$KUEUE_SRC/config/components/manager/controller_manager_config.yaml" >"$1"
	cat >>"$1" <<-EOF
		multiKueue:
		  plugins: {directory: $MK_PLUGINS}
		  network: {allowLoopback: true}
		${2:-}
	EOF
}
pair
configuration "$WORK/multikueued.yaml"
is "$(grep -c "resourceName: $THEIRS" "$WORK/multikueued.yaml")" 1 "the file names Kueue's Lease"
"$MULTIKUEUED" --check-config "$WORK/multikueued.yaml" >"$WORK/checked"
ok $? "the daemon accepts it" || diag "$(cat "$WORK/checked")"
is "$(grep -c "warning: leaderElection.resourceName: $THEIRS is Kueue's own Lease" "$WORK/checked")" 1 "and says whose Lease it names"
daemon_start
must 1 "it leads" leads
ours=$(sed -n 's/.*"msg":"leading","identity":"\([^"]*\)".*/\1/p' "$WORK/multikueued.log")
is "$(holder multikueued)" "$ours" "by a Lease of its own"
is "$(holder $THEIRS)" "$kueue" "Kueue's is Kueue's"
lease_of() # FILE: what /status of a daemon with that configuration says
{
	curl -sS --max-time 5 "http://$(sed -n 's/.*healthProbeBindAddress: //p' "$1")/status" | jq -r '.lease | "\(.namespace) \(.name) \(.holder)"'
}
is "$(lease_of "$WORK/multikueued.yaml")" "kueue-system multikueued $ours" "/status shows it"
job mgr hello "$MANAGED"
placed hello
ends hello

# On purpose, and with the rights that this takes.
configuration "$WORK/second.yaml" "  leaseName: $THEIRS"
"$MULTIKUEUED" --check-config "$WORK/second.yaml" >"$WORK/checked"
is "$(grep -c 'warning: multiKueue.leaseName: .* is the Lease of Kueue, too' "$WORK/checked")" 1 "Kueue's Lease on purpose is warned of"
k mgr -n kueue-system create role "$T" --verb=get,patch --resource=leases.coordination.k8s.io --resource-name=$THEIRS >/dev/null
k mgr -n kueue-system create rolebinding "$T" --role="$T" --serviceaccount=kueue-system:multikueued >/dev/null
"$MULTIKUEUED" --config "$WORK/second.yaml" --kubeconfig "$MK_REAL_DIR/mgr/multikueued.kubeconfig" >"$WORK/second.log" 2>&1 &
second=$!
waits()
{
	sed -n 's/.*"msg":"another process holds the lease: waiting for it".*"name":"\([^"]*\)","holder":"\([^"]*\)".*/\1 \2/p' "$WORK/second.log"
}
becomes "$THEIRS $kueue" "it waits for Kueue, and says so" waits
is "$(lease_of "$WORK/second.yaml")" "kueue-system $THEIRS $kueue" "/status as well"
kill -TERM "$second"
wait "$second"
is $? 0 "and ends when told to"
second=
daemon_content
done_testing
