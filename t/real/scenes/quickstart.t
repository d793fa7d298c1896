#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/quickstart.md to the letter: its blocks take a new operator from three clusters to Jobs that
# run, wait, move to another worker. Names get the test's. The daemon, which the page deploys as an
# image, runs beside the planes, with the configuration that the page applies. Its Deployment has no
# controller here and its Pods no kubelet: the test says that it is rolled out, and a port-forward
# leads to the daemon's own port.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
. "$here/base.sh"
. "$here/page.sh"
need_daemon

# The certificates of the planes live for a day: nothing is to be told of them.
names="s/\bquickstart\b/$T/g; s|conf/$T/|conf/quickstart/|g; s/\beast\b/w1/g; s/\bwest\b/w2/g; s/ doctor$/& --soon 0/"
contexts mgr=manager w1=w1 w2=w2
blocks "$names" <"$root/docs/quickstart.md"
is $n_blocks 17 "the page has seventeen blocks"
tree=tree
mkdir "$WORK/tree"
cp -r "$root/conf" "$WORK/tree/conf"
sed -i "$names" "$WORK/tree/conf/quickstart/"*.yaml

# The workers' own accounts go first, as only what the page makes counts; see worker_add.t.
undo()
{
	base_undo
	for u_plane in w1 w2; do
		k $u_plane apply --server-side --force-conflicts -f "$root/conf/rbac/worker.yaml"
		k $u_plane -n kueue-system delete secret -l multikueued.io/manager-uid
	done >/dev/null 2>&1
	for u_plane in mgr w1 w2; do
		k $u_plane delete resourceflavor "$T" --ignore-not-found --wait=false
	done >/dev/null 2>&1
}
render
undo=undo
for plane in w1 w2; do
	k $plane delete clusterrolebinding,clusterrole multikueued-worker >/dev/null
done

base_config
rm "$WORK/bin/kubectl"
cat >"$WORK/bin/kubectl" <<END
#!/bin/sh
case " \$* " in
*" port-forward "*)
	echo "Forwarding from $HEALTH -> 8081"
	exec sleep 600
	;;
esac
exec "$KUBECTL" "\$@"
END
chmod +x "$WORK/bin/kubectl"
ln -s "$KUBECTL_MULTIKUEUE" "$WORK/bin/kubectl-multikueue"

runs 1 "what is needed is there"
is "$(grep -c workloads.kueue.x-k8s.io "$WORK/said1")" 3 "... on three clusters"

rolled_out()
{
	k mgr -n kueue-system patch deployment multikueued --subresource=status --type=merge -p '{"status":{"observedGeneration":'"$(
		k mgr -n kueue-system get deployment multikueued -o 'jsonpath={.metadata.generation}')"',"replicas":2,"updatedReplicas":2,
		"readyReplicas":2,"availableReplicas":2}}' >/dev/null 2>&1 && echo yes
}
block 2 &
reader=$!
becomes yes "the Deployment is there" rolled_out
wait $reader
ok $? "conf is applied, and rolled out" || diag "$(cat "$WORK/said2")"
is "$(tail -n 1 "$WORK/said2")" 'deployment "multikueued" successfully rolled out' "... as the page says"
daemon_start

runs 3 "two workers are added"
is "$(grep -c '^multikueuecluster/w[12] is Active$' "$WORK/said3")" 2 "... and Active" || diag "$(cat "$WORK/said3")"
runs 4 "there are queues, with a check"
is "$(grep -c 'condition met$' "$WORK/said4")" 2 "... which are Active" || diag "$(cat "$WORK/said4")"
# Doctor looks at every namespace, also at that of the test before, which is being deleted.
going()
{
	for g_plane in mgr w1 w2; do
		k $g_plane get namespaces --field-selector status.phase=Terminating -o name
	done
}
becomes "" "what earlier tests had is gone" going
runs 5 "doctor finds nothing"
is "$(wc -l <"$WORK/said5" | tr -d ' ')" 1 "... in one line" || diag "$(cat "$WORK/said5")"

runs 6 "a Job is submitted"
says 7 ' Job/hello +Won +w[12] ' "a worker has won it"
block 8 &
reader=$!
hello_runs()
{
	pods w1 Running
	pods w2 Running
	field mgr job hello '{.status.active}'
}
must 1 "it runs, as the manager shows" hello_runs
pods w1 Succeeded
pods w2 Succeeded
wait $reader
ok $? "it is complete on the manager" || diag "$(cat "$WORK/said8")"
grep -q 'admitted' "$WORK/said8"
ok $? "... and the decisions say who won" || diag "$(cat "$WORK/said8")"
is "$(kn mgr get pods -o name)" "" "no Pod of it was on the manager"

runs 9 "a Job is submitted that no worker has room for"
says 10 '^w1 +WaitsForQuota .*insufficient' "one worker says so, with the words of its Kueue"
says 10 '^w2 +WaitsForQuota .*insufficient' "... and the other one"
grep -q '^To do' "$WORK/said10"
ok $? "... and what to do" || diag "$(cat "$WORK/said10")"
runs 11 "it is given up"

runs 12 "a worker is cordoned, and a Job submitted"
says 13 ' Job/long +Won +w1 ' "it goes to the other worker"
grep -q '^w2 .*is cordoned: new disks' "$WORK/said13"
ok $? "... and the list of workers says why" || diag "$(cat "$WORK/said13")"
pods w1 Running
runs 14 "that one is drained, and the first taken back"
is "$(tail -n 1 "$WORK/said14")" "multikueuecluster.kueue.x-k8s.io/w1 drained" "... until nothing is left" || diag "$(cat "$WORK/said14")"
says 15 ' Job/long +Won +w2 ' "the Job is on the first"
runs 16 "the drained worker is taken back"
is "$(sed -n 's/^Workers: *//p' "$WORK/said16")" "2, 2 connected" "... and both are connected" || diag "$(cat "$WORK/said16")"
is "$(sed -n 's/^Daemon: .*, //p' "$WORK/said16")" leads "... to a daemon that leads"
runs 17 "all is cleaned up"
for plane in mgr w1 w2; do
	becomes "" "nothing of it is on $plane" k $plane get namespace,clusterqueue,resourceflavor "$T" --ignore-not-found -o name
done
daemon_content
done_testing
