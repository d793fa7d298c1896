# SPDX-License-Identifier: Apache-2.0
# What the end-to-end tests share: TAP, a fleet of their own, requests to its API servers, the
# log of requests. Sourced by t/integration/e2e_*.t from the root of the project. Sets dir;
# everything in it goes at the end.
# shellcheck shell=sh disable=SC2034

B=${B:-build/dev}
# shellcheck source=t/demo/fleet.sh
. t/demo/fleet.sh
# shellcheck source=t/integration/tap.sh
. t/integration/tap.sh
dir=$(mktemp -d)

e2e_cleanup() {
	trap '' EXIT HUP INT PIPE TERM
	fleet_stop
	rm -rf "$dir"
}
trap e2e_cleanup EXIT
trap 'exit 1' HUP INT PIPE TERM

# Lines of files that show why a test failed.
notes() { # FILE...
	[ $tap_bad = 0 ] || tail -n 15 "$@" | sed 's/^/# /'
}

field() { # FILE KEY: a value in a kubeconfig
	sed -n "s/^ *$2: //p" "$dir/clusters/$1"
}

# A request as the admin of a cluster: api CLUSTER METHOD PATH [DATA]. The body on standard output.
# A PATCH merges. Without an answer a string, as jq -e takes no input at all for a yes.
api() {
	api_type=application/json
	[ "$2" != PATCH ] || api_type=application/merge-patch+json
	[ -f "$dir/$1.ca" ] || field "$1-token.kubeconfig" certificate-authority-data | base64 -d >"$dir/$1.ca"
	curl -sS --max-time 10 --cacert "$dir/$1.ca" -H "Authorization: Bearer $(field "$1-token.kubeconfig" token)" \
		-H "Content-Type: $api_type" -X "$2" ${4:+--data-binary "$4"} "$(field "$1-token.kubeconfig" server)$3" || {
		echo '"no answer"'
		return 1
	}
}

# Every API server serves one kind more: crd GROUP VERSION PLURAL KIND [MORE-MEMBERS].
crd() {
	for crd_at in mgr w1 w2 w3; do
		api $crd_at POST /kubesim/crd '{"group":"'"$1"'","version":"'"$2"'","plural":"'"$3"'","kind":"'"$4"'"'"${5:-}"'}' |
			jq -e '. == {}' >/dev/null || return 1
	done
}

# The name that Kueue gives to a Workload: workload_name KIND GROUP OWNER UID [EXTRA].
workload_name() {
	echo "$(echo "$1" | tr '[:upper:]' '[:lower:]')-$3-$(printf '%s\n%s\n%s\n%s' "$1" "$2" "$3" "$4${5:+
$5}" | sha1sum | cut -c1-5)"
}

WORKLOADS=/apis/kueue.x-k8s.io/v1beta2/workloads
JOBS=/apis/batch/v1/jobs

count() { # CLUSTER PATH: how many objects are there
	api "$1" GET "$2" | jq '.items | length'
}

HERE=/apis/batch/v1/namespaces/default/jobs

# A Job of user-queue's, or of a LocalQueue of another name: submit CLUSTER NAME RUN_MS [SPEC
# [QUEUE]]. SPEC: more fields, as JSON with a comma at the end. Ours say managedBy there.
submit() {
	api "$1" POST $HERE '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"'"$2"'","namespace":"default",
		"labels":{"kueue.x-k8s.io/queue-name":"'"${5:-user-queue}"'"},"annotations":{"kubesim.x-k8s.io/run-ms":"'"$3"'"'"${SUBMIT_NOTES:-}"'}},
		"spec":{'"${4:-}"'"suspend":true,"backoffLimit":0,"template":{"spec":{"restartPolicy":"Never",
		"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"1","memory":"64Mi"}}}]}}}}'
}
OURS='"managedBy":"kueue.x-k8s.io/multikueue",'

# Is the type of the condition True there? has_condition CLUSTER PATH TYPE
has_condition() {
	api "$1" GET "$2" | jq -e --arg t "$3" 'any(.status.conditions[]?; .type == $t and .status == "True")'
}

# The Workload of a Job, as JSON: workload_of CLUSTER JOB
workload_of() {
	api "$1" GET $WORKLOADS | jq --arg j "$2" 'first(.items[] | select(.metadata.ownerReferences[0].name == $j))'
}

# The ClusterQueue behind the user-queue of a cluster.
queue_of() {
	[ "$1" = mgr ] && echo cluster-queue || echo worker-queue
}

# The cluster that a Job of the manager's was placed on; empty: none yet.
place_of() {
	workload_of mgr "$1" | jq -r '.status.clusterName // ""'
}

# A line of what `demo --figures` wrote.
figure() { # FILE NAME
	sed -n "s/^$2 //p" "$1"
}

requests() { # how many requests were logged until now
	wc -l <"$dir/requests"
}

# Mutating requests of multikueued after line $1 of the log, besides the
# Lease: "cluster method path status".
mutations() { # AFTER
	tail -n +$(($1 + 1)) "$dir/requests" |
		jq -r 'select((.agent | startswith("multikueued")) and .method != "GET" and (.path | contains("/leases") | not)) |
			"\(.cluster) \(.method) \(.path) \(.status)"'
}

# A number from 0 to $1 - 1 from a stream that E2E_SEED decides.
E2E_SEED=${E2E_SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
draw_n=0
draw() {
	draw_n=$((draw_n + 1))
	drawn=$(awk -v seed="$((E2E_SEED * 1000 + draw_n))" -v n="$1" 'BEGIN { srand(seed); rand(); print int(rand() * n) }')
}

# How w1 stands on the manager.
CLUSTER=/apis/kueue.x-k8s.io/v1beta2/multikueueclusters/w1
reason_is() { # REASON [WORDS OF THE MESSAGE]
	api mgr GET $CLUSTER | jq -e --arg r "$1" --arg m "${2:-}" '.status.conditions[] | select(.type == "Active") |
		.reason == $r and (.message | contains($m))'
}
complete() { # JOB
	has_condition mgr "$HERE/$1" Complete
}
told() { # REASON: how many events of that reason are about w1
	api mgr GET /apis/events.k8s.io/v1/namespaces/default/events |
		jq --arg r "$1" '[.items[] | select(.reason == $r and .regarding.name == "w1")] | length'
}
