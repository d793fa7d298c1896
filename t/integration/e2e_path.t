#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker's kubeconfig in a file, in a volume as kubelet makes it: read, rotated by a
# swapped symlink, gone and back.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq

fleet_kubesim --log "$dir/requests" && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
api mgr GET /api/v1/namespaces/kueue-system/secrets/w1-kubeconfig | jq -r .data.kubeconfig | base64 -d >"$dir/good"
vol=$dir/volume
publish() { # VERSION FILE: the volume's content is FILE now
	mkdir -p "$vol/..$1" && cp "$2" "$vol/..$1/kubeconfig"
	ln -s "..$1" "$vol/..data_tmp" && mv -T "$vol/..data_tmp" "$vol/..data"
}

# Before the volume is there; the jobs have nowhere else to go.
for c in w2 w3; do
	api mgr DELETE "${CLUSTER%w1}$c" >/dev/null
done
api mgr PATCH $CLUSTER '{"spec":{"clusterSource":{"kubeConfig":{"locationType":"Path","location":"'"$vol"'/kubeconfig"}}}}' >/dev/null
wait_for 20 reason_is BadKubeConfig "open $vol/kubeconfig: no such file or directory"
ok $? "a file that is not there: its name and why"
mkdir "$vol" && ln -s ..data/kubeconfig "$vol/kubeconfig" && publish 1 "$dir/good"
wait_for 20 reason_is Active
ok $? "it appears: the worker is connected"
is "$(told DeprecatedPathUsage)" 1 "a path without the gate is warned of, once"
submit mgr one 300 "$OURS" >/dev/null
wait_for 40 complete one
ok $? "a job runs there"

# Rotated under a running job: to what is no kubeconfig, and to one that reads otherwise.
submit mgr two 8000 "$OURS" >/dev/null
runs() {
	[ "$(place_of two)" = w1 ] && api w1 GET "$HERE/two" | jq -e '.status.active == 1'
}
wait_for 40 runs
ok $? "a longer one begins"
echo nonsense >"$dir/bad"
publish 2 "$dir/bad" && rm -r "$vol/..1"
wait_for 20 reason_is InsecureKubeConfig "failed to parse kubeconfig"
ok $? "a swapped symlink is noticed: what is there now is no kubeconfig"
(cat "$dir/good" && echo "# rotated") >"$dir/better"
publish 3 "$dir/better" && rm -r "$vol/..2"
wait_for 20 reason_is Active
ok $? "and the next one: connected again"
wait_for 40 complete two
ok $? "and its end arrives"
is "$(mutations 0 | grep -c "^w1 POST $HERE 201")" 2 "each job was made there once"
is "$(told DeprecatedPathUsage)" 1 "there was no second warning"
[ "$(told InsecureKubeConfig)" -ge 1 ] && [ "$(told Active)" -ge 2 ]
ok $? "each change was told as an event"
notes "$dir/m.log"
done_testing
