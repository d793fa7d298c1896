#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From the version before to this one and back, as a Deployment does it: the new replica stands by,
# the old leader is told to end. A hundred Jobs are in flight each way: some run, some wait on the
# workers, and while the leader changes Pods end and Jobs come. Nothing is lost, nothing is made
# twice, and what the change costs in requests is counted.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon
if [ -z "${MK_PREVIOUS:-}" ]; then
	tap_done=1
	echo "1..0 # SKIP there is no version before this one here: t/real/previous says why"
	exit 0
fi

FLIGHT=100
QUOTA=40
undo()
{
	for u_pid in ${old:-} ${new:-} ${kubelet:-}; do
		kill -KILL "$u_pid" 2>/dev/null
		wait "$u_pid" 2>/dev/null
	done
}
undo=undo

# replica NAME BUILD PLUGINS: one more process of the Deployment, with the configuration that all
# have; its pid is in $replica.
replica()
{
	sed "s|directory: .*|directory: $3|; s|healthProbeBindAddress: .*|healthProbeBindAddress: \"127.0.0.1:$(ports 1)\"|" \
		"$WORK/multikueued.yaml" >"$WORK/$1.yaml"
	"$2/multikueued" --config "$WORK/$1.yaml" --kubeconfig "$MK_REAL_DIR/mgr/multikueued.kubeconfig" >>"$WORK/$1.log" 2>&1 &
	replica=$!
	daemon_ran=yes
}
stands_by()
{
	curl -sS --max-time 5 "http://$(sed -n 's/.*healthProbeBindAddress: "\(.*\)"/\1/p' "$WORK/$1.yaml")/readyz" 2>&1
}
# ended PID NAME: tells the leader to end and waits for it.
ended()
{
	kill -TERM "$1"
	wait "$1"
	is $? 0 "$2 ends with code 0 when told to"
}

# submit PREFIX: a hundred Jobs of one Pod.
submit()
{
	seq -f "$1%g" $FLIGHT | jq -R --arg queue lq '{apiVersion: "batch/v1", kind: "Job",
		metadata: {name: ., labels: {"kueue.x-k8s.io/queue-name": $queue}},
		spec: {suspend: true, managedBy: "kueue.x-k8s.io/multikueue", template: {spec: {restartPolicy: "Never",
			containers: [{name: "main", image: "none", resources: {requests: {cpu: "1"}}}]}}}}' |
		jq -s '{apiVersion: "v1", kind: "List", items: .}' >"$WORK/$1.json"
	kn mgr create -f "$WORK/$1.json" >/dev/null
}
placed_count()
{
	kn mgr get workloads -o json | jq '[.items[] | select(.status.clusterName != null and
		all(.status.conditions[]?; .type != "Finished"))] | length'
}
complete()
{
	kn mgr get jobs -o json | jq '[.items[] | select(any(.status.conditions[]?; .type == "Complete" and .status == "True"))] | length'
}
at_least() # NUMBER FUNCTION
{
	[ "$("$2")" -lt "$1" ] || echo yes
}
requests()
{
	for r_plane in mgr w1 w2; do
		audit "$r_plane" --since "$1" | grep -v ' watch '
	done
}

# change FROM TO BUILD PLUGINS PREFIX: TO takes over from FROM, whose pid is $leader.
change()
{
	submit "$5"
	must yes "$FLIGHT Jobs are in flight, and both workers are full" at_least $((2 * QUOTA)) placed_count
	replica "$2" "$3" "$4"
	must ok "$2 stands by" stands_by "$2"
	"$FLEET" kubelet --min 1s --max 10s w1 w2 2>"$WORK/kubelet.log" &
	kubelet=$!
	must yes "Jobs end and others are placed" at_least $((done_before + 10)) complete
	ended "$leader" "$1"
	leader=$replica
	must 1 "$2 leads" leads "$2"
	must $((done_before + FLIGHT)) "and all Jobs are Complete" complete
	done_before=$((done_before + FLIGHT))
	kill "$kubelet"
	wait "$kubelet" 2>/dev/null
	kubelet=
}

for p in w1 w2; do
	queue $p
	cluster $p
done
check w1 w2
(QUOTA=$((2 * FLIGHT)); queue mgr "$T")
daemon_config
history_begin
begin=$(now)
replica before "$MK_PREVIOUS" "$MK_PREVIOUS/plugins"
leader=$replica
old=$replica
must 1 "the version before leads" leads before
done_before=0
change before after "$(dirname "$MULTIKUEUED")" "$MK_PLUGINS" up
old=
new=$leader
change after again "$MK_PREVIOUS" "$MK_PREVIOUS/plugins" down
new=
old=$leader

for p in w1 w2; do
	becomes "" "nothing of ours is left on $p" ours $p
done
created_jobs >"$WORK/creates"
is "$(awk '$1 != 1' "$WORK/creates")" "" "no Job was created twice"
is "$(wc -l <"$WORK/creates" | tr -d ' ')" $((2 * FLIGHT)) "and none was left out"
requests "$begin" >"$WORK/requests"
diag "requests for $((2 * FLIGHT)) Jobs and two changes, besides watches, Leases and Events:"
cut -d' ' -f3-4 "$WORK/requests" | sort | uniq -c | sort -rn | sed 's/^/#   /'
[ "$(awk '$3 == "create" && $6 == 201' "$WORK/requests" | wc -l)" -le $((2 * FLIGHT * 3)) ]
ok $? "two clones and a Job are created for each, none again for a change of the leader"
# at_most VERB NUMBER DESC: so many requests for each Job, whatever the answer.
at_most()
{
	[ "$(cut -d' ' -f3 "$WORK/requests" | grep -c "$1")" -le $((2 * FLIGHT * $2)) ]
	ok $? "$3"
}
# What the old leader sent last may not be in the new one's watches yet: it asks once more.
at_most 'create\|delete' 7 "few creates or deletes are asked for once more"
at_most patch 7 "at most seven patches for each"
at_most 'get\|list' 1 "and hardly any read"
for r in before after again; do
	is "$(grep -c '"level":"error"' "$WORK/$r.log")" 0 "$r had nothing to complain about"
done
ended "$leader" again
old=
done_testing
