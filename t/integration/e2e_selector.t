#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Twelve workers, of which a MultiKueueConfig names one and takes four more by their label: only
# these get clones. The label of one changes while the daemon runs. A mistake in the selector is
# told and taken back. At last 40 workers, twice as many as a Workload may name.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq

KUEUE=/apis/kueue.x-k8s.io/v1beta2
job() { # NAME: runs for an hour
	api mgr POST $HERE '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"'"$1"'","namespace":"default",
		"labels":{"kueue.x-k8s.io/queue-name":"user-queue"},"annotations":{"kubesim.x-k8s.io/run-ms":"3600000"}},
		"spec":{'"$OURS"'"suspend":true,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"none"}]}}}}' >/dev/null
}
label() { # CLUSTER JSON
	api mgr PATCH "$KUEUE/multikueueclusters/$1" '{"metadata":{"labels":{"region":'"$2"'}}}' >/dev/null
}
selector() { # JSON
	api mgr PATCH "$KUEUE/multikueueconfigs/$config" \
		'{"metadata":{"annotations":{"multikueued.io/cluster-selector":'"$1"'}},"spec":{"clusters":["w1"]}}' >/dev/null
}
nominees() { # JOB: in their order
	workload_of mgr "$1" | jq -r '.status.nominatedClusterNames // [] | join(" ")'
}
nominees_are() { # JOB NAMES
	[ "$(nominees "$1")" = "$2" ]
}
fleet() { # jq's words about the daemon's /v1/clusters
	curl -sS --max-time 10 "http://127.0.0.1:$MANAGER_PORT/v1/clusters" | jq -r "$1"
}
says_clusters() { # NAMES
	[ "$(fleet '.configs[] | select(.name == "'"$config"'") | .clusters | join(" ")')" = "$1" ]
}
noted() { # REASON WORDS: an Event on the config
	api mgr GET /apis/events.k8s.io/v1/namespaces/default/events |
		jq -e --arg r "$1" --arg w "$2" 'any(.items[]; .regarding.kind == "MultiKueueConfig" and .reason == $r and (.note | contains($w)))' >/dev/null
}
check_says() { # REASON WORDS
	api mgr GET "$KUEUE/admissionchecks/$check" | jq -e --arg r "$1" --arg w "$2" \
		'.status.conditions[] | select(.type == "Active") | .status == "True" and .reason == $r and (.message | contains($w))' >/dev/null
}
clones() { # CLUSTERS...: which of them have a clone
	for clones_at in "$@"; do
		[ "$(count "$clones_at" $WORKLOADS)" = 0 ] || printf '%s ' "$clones_at"
	done
}
up() { # N
	[ "$(fleet '[.items[] | select(.state == "Connected")] | length')" = "$1" ]
}
begin() { # WORKERS
	FLEET_WAIT=60
	rm -f "$dir"/*.ca
	# No worker admits before it is told: quota is reserved, and Admitted comes an hour later.
	fleet_kubesim --clusters "mgr,$(seq -s, -f 'w%g' 1 "$1")" --admit-ms 3600000-3600000 && fleet_plugins && fleet_manager m &&
		wait_for 60 up "$1" || return 1
	config=$(api mgr GET $KUEUE/multikueueconfigs | jq -r '.items[0].metadata.name')
	check=$(api mgr GET $KUEUE/admissionchecks | jq -r '.items[0].metadata.name')
}

begin 12
ok $? "twelve workers are connected"
for w in w3 w12 w7 w5; do
	label $w '"eu"'
done
label w4 '"us"'
selector '"region in (eu, ap)"'
wait_for 20 says_clusters "w1 w12 w3 w5 w7"
ok $? "/v1/clusters tells which are taken: those of spec.clusters, then those by label, by name"
is "$(fleet '.configs[0].selector')" "region in (eu, ap)" "and by which selector"
job a
wait_for 20 nominees_are a "w1 w12 w3 w5 w7"
ok $? "a job is sent to these" || nominees a | sed 's/^/# /'
is "$(clones w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12)" "w1 w3 w5 w7 w12 " "and no other worker has a clone"
wait_for 20 noted ClustersSelected 'takes 4 MultiKueueClusters beside those of spec.clusters: w12, w3, w5, w7'
ok $? "an Event on the MultiKueueConfig tells it"

label w9 '"ap"'
label w5 '"us"'
wait_for 20 nominees_are a "w1 w12 w3 w7 w9"
ok $? "labels change: one joins, another leaves" || nominees a | sed 's/^/# /'
gone() {
	[ "$(count w5 $WORKLOADS)" = 0 ]
}
wait_for 20 gone
ok $? "the clone of the one that left is deleted"

selector '"region in eu"'
wait_for 20 check_says BadSelector 'expected "(" after in or notin at byte 11 of "region in eu"'
ok $? "a mistake: the check says what was expected, and where"
wait_for 20 nominees_are a "w1"
ok $? "the selector takes none, spec.clusters counts"
is "$(fleet '.configs[0].mistake' | cut -c1-60)" "Annotation multikueued.io/cluster-selector takes no cluster:" "/v1/clusters tells the mistake"
selector '"region=eu"'
wait_for 20 nominees_are a "w1 w12 w3 w7"
ok $? "mended"
wait_for 20 check_says Active ""
ok $? "the check, too"
selector null
wait_for 20 nominees_are a "w1"
ok $? "without the annotation the config has what spec.clusters names"
notes "$dir/m.log"
fleet_stop

begin 40
ok $? "forty workers are connected"
for i in $(seq 2 40); do
	label "w$i" '"eu"'
done
selector '"region"'
forty() {
	[ "$(fleet '.configs[] | select(.name == "'"$config"'") | .clusters | length')" = 40 ]
}
wait_for 20 forty
ok $? "a config takes forty"
job b
twenty() {
	[ "$(nominees b | wc -w)" = 20 ]
}
wait_for 20 twenty
ok $? "twenty are tried at a time"
# shellcheck disable=SC2046
is "$(clones $(seq -f 'w%g' 1 40) | wc -w)" 20 "... and have a clone"
name=$(workload_of mgr b | jq -r .metadata.name)
is "$(curl -sS "http://127.0.0.1:$MANAGER_PORT/v1/workloads/default/$name" | jq '.clusters | length')" 40 "why tells of all"
notes "$dir/m.log"
done_testing
