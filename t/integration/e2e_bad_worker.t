#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One worker hangs with all its connections open, another one's kubeconfig turns
# insecure: jobs go on elsewhere.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
KUEUE=/apis/kueue.x-k8s.io/v1beta2

fleet_kubesim --log "$dir/requests" && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
several() { # PREFIX: eight jobs
	i=0
	while [ $i -lt 8 ]; do
		i=$((i + 1))
		submit mgr "$1-$i" 300 "$OURS" >/dev/null
	done
}
complete() { # PREFIX
	[ "$(api mgr GET $JOBS | jq --arg p "$1-" '[.items[] | select((.metadata.name | startswith($p)) and
		any(.status.conditions[]?; .type == "Complete" and .status == "True"))] | length')" = 8 ]
}
clean() { # CLUSTER
	[ "$(count "$1" $WORKLOADS)" = 0 ] && [ "$(count "$1" $JOBS)" = 0 ]
}
several first
wait_for 40 complete first && wait_for 20 clean w1
ok $? "jobs run, all workers are there"

# Nothing that is sent to w1 is answered, and nothing is closed: its watches
# are silent, its requests hang.
api w1 POST /kubesim/pause '{"pausedMs":28000}' >/dev/null
hangs() {
	! curl -sS --max-time 1 --cacert "$dir/w1.ca" "$(field w1-token.kubeconfig server)/version" >/dev/null 2>&1
}
wait_for 5 hangs
ok $? "w1 hangs"
several hung
wait_for 18 complete hung
ok $? "trap_09: with its watches hung the others' jobs go on"
hangs
ok $? "trap_10: and so they do while its requests hang"
is "$(api mgr GET $WORKLOADS | jq '[.items[] | select(.status.clusterName == "w1" and (.metadata.ownerReferences[0].name |
	startswith("hung-")))] | length')" 0 "none was placed there"
wait_for 60 clean w1
ok $? "when it is back nothing is left there"

# w3's kubeconfig now says not to verify its certificate.
secret=/api/v1/namespaces/kueue-system/secrets/w3-kubeconfig
good=$(api mgr GET $secret | jq -r .data.kubeconfig)
bad=$(echo "$good" | base64 -d | sed 's/certificate-authority-data: .*/insecure-skip-tls-verify: true/' | base64 -w 0)
[ "$good" != "$bad" ] && api mgr PATCH $secret '{"data":{"kubeconfig":"'"$bad"'"}}' >/dev/null
insecure() {
	api mgr GET $KUEUE/multikueueclusters/w3 | jq -e '.status.conditions[] | select(.type == "Active") |
		.status == "False" and .reason == "InsecureKubeConfig"'
}
wait_for 20 insecure
ok $? "w3 turns insecure: it is not used any more"
from=$(requests)
several elsewhere
wait_for 40 complete elsewhere
ok $? "new jobs go elsewhere"
is "$(mutations "$from" | grep -c '^w3 ')" 0 "and nothing is sent to it"
api mgr PATCH $secret '{"data":{"kubeconfig":"'"$good"'"}}' >/dev/null
wait_for 20 has_condition mgr $KUEUE/multikueueclusters/w3 Active
ok $? "its kubeconfig is good again: so is it"
notes "$dir/m.log"
done_testing
