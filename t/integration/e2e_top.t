#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubectl multikueue top: what Workloads that were sent to workers ask for, what is reserved in the
# manager's ClusterQueue and what waits, of a daemon that may not read the manager's ClusterQueues,
# and of one that watches them. What it says agrees with what Kueue says. The gauge of clusters'
# conditions needs that right, too.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
KUEUE=/apis/kueue.x-k8s.io/v1beta2
QUEUES=$KUEUE/clusterqueues

quota() { # CLUSTER CPU
	api "$1" PATCH "$QUEUES/$(queue_of "$1")" '{"spec":{"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"default-flavor",
		"resources":[{"name":"cpu","nominalQuota":"'"$2"'"},{"name":"memory","nominalQuota":"1Ti"}]}]}]}}' >/dev/null
}
used() { # CLUSTER CPU: its queue says that so much is reserved
	api "$1" GET "$QUEUES/$(queue_of "$1")" | jq -e --arg n "$2" 'any(.status.flavorsReservation[].resources[]; .name == "cpu" and .total == $n)'
}
placed() { [ "$(place_of "$1")" = "$2" ]; }

FLEET_MORE='  dispatcherName: multikueued.io/least-loaded
'
fleet_kubesim
ok $? "a fleet is up"
quota mgr 10 && quota w1 8 && quota w2 4 && quota w3 2
wait_for 60 used w1 0 && wait_for 60 used w2 0 && wait_for 60 used w3 0
# The daemon's lists have a query, those of this test have none.
api mgr POST /kubesim/policy '{"rules":[{"match":"GET '$KUEUE'/clusterqueues?","status":403,
	"message":"clusterqueues.kueue.x-k8s.io is forbidden"}]}' >/dev/null
fleet_plugins && fleet_manager m
ok $? "multikueued is up, which may not read the manager's ClusterQueues"

# kubectl opens a port, and has the ClusterQueues of the manager.
cat >"$dir/kubectl" <<END
#!/bin/sh
. "$dir/port"
case "\$*" in
"port-forward "*) echo "Forwarding from 127.0.0.1:\$port -> 8081"; exec sleep 60 ;;
"get clusterqueues.kueue.x-k8s.io --output=json") exec cat "$dir/queues" ;;
*) echo 'Error from server (NotFound): the server could not find the requested resource' >&2; exit 1 ;;
esac
END
chmod +x "$dir/kubectl"
top() { # ARGUMENTS...
	echo "port=$MANAGER_PORT" >"$dir/port"
	api mgr GET $KUEUE/clusterqueues >"$dir/queues"
	PATH="$dir:$PATH" "$B/kubectl-multikueue" top "$@" 2>&1
}
figure_of() { # queues|workers NAME RESOURCE: "USED NOMINAL PERCENT"
	top "$1" "$2" -o json | jq -r --arg r "$3" '.items[0].resources | map(select(.name == $r)) | first |
		"\(.used) \(.nominal) \(.percent)"'
}
says() { # WANTED COMMAND...
	says_want=$1
	shift
	[ "$("$@")" = "$says_want" ]
}
shows() { # WANTED NAME COMMAND...
	shows_want=$1
	shows_name=$2
	shift 2
	wait_for 60 says "$shows_want" "$@"
	ok $? "$shows_name" || "$@" | sed 's/^/#   found /'
}
waiting() {
	top queues cluster-queue --no-headers | awk '$2 == "cpu" { print $6 }'
}
phases() { # queues|workers NAME
	top "$1" "$2" -o json | jq -cS '.items[0].phases'
}

gauge() {
	curl -sS "http://127.0.0.1:$MANAGER_PORT/metrics" | sed -n 's/^multikueue_cluster_status{cluster_queue="\([^"]*\)",cluster="\([^"]*\)",active="\([^"]*\)",replica_role="leader"} 1$/\1 \2 \3/p' |
		paste -sd ';'
}
shows "0 10000 0" "nothing is used" figure_of queues cluster-queue cpu
submit mgr first 3600000 "$OURS"'"parallelism":6,"completions":6,' >/dev/null
wait_for 60 placed first w1
submit mgr second 3600000 "$OURS"'"parallelism":3,"completions":3,' >/dev/null
wait_for 60 placed second w2
submit mgr third 3600000 "$OURS"'"parallelism":5,"completions":5,' >/dev/null
shows "6000 8000 75" "a worker: what the job there asks for, of its queue" figure_of workers w1 cpu
shows "3000 4000 75" "another" figure_of workers w2 cpu
shows "0 2000 0" "one that nothing was sent to" figure_of workers w3 cpu
shows "9000 10000 90" "the manager's queue, which kubectl has" figure_of queues cluster-queue cpu
is "$(figure_of workers w1 memory | cut -d' ' -f1)" "$((6 * 64 * 1048576))" "memory"
shows '{"Won":2}' "what was sent" phases queues cluster-queue
shows 1 "what waits for quota" waiting
shows '{"Won":1}' "... to a worker" phases workers w1
top queues cluster-queue >"$dir/out"
is "$(awk '$2 == "cpu" { print $1, $3, $4, $5, $6, $7, $8 }' "$dir/out")" "cluster-queue 9 10 90% 1 0 2" "a row of the table" ||
	sed 's/^/# /' "$dir/out"
top workers --sort-by won >"$dir/out"
is "$(awk 'NR == 1 { print $1, $2, $3 } $3 == "cpu" { print $1, $2, $4, $5, $6, $9 }' "$dir/out" | paste -sd ';')" \
	"NAME STATE RESOURCE;w1 Connected 6 8 75% 1;w2 Connected 3 4 75% 1;w3 Connected 0 2 0% 0" "rows of workers" ||
	sed 's/^/# /' "$dir/out"
is "$(top workers w1 -o json | jq '.items[0].resources[] | select(.name == "cpu").reserved')" 6000 "... and what is reserved there"
is "$("$B/kubectl-multikueue" top queues --server "http://127.0.0.1:$MANAGER_PORT" -o json 2>"$dir/err" |
	jq -c '.items[0].resources[] | select(.name == "cpu")')" '{"name":"cpu","used":9000}' "without kubectl: what Workloads ask for"
grep -q 'kubectl is asked with --context or without --server' "$dir/err"
ok $? "... and how to know more" || sed 's/^/# /' "$dir/err"

# Each Workload's part, of the daemon itself.
v1() { # PATH
	curl -sS --max-time 10 "http://127.0.0.1:$MANAGER_PORT/v1/$1"
}
is "$(v1 'workloads?requests=1' | jq -c '[.items[] | .job.name as $j | .requests[] | select(.name == "cpu") | [$j, .amount]] | sort')" \
	'[["first",6000],["second",3000],["third",5000]]' "a page with requests"
is "$(v1 workloads | jq 'any(.items[]; has("requests"))')" false "... and without"
is "$(v1 'workloads?requests=yes' | jq -r .message)" "requests=yes: expected a number from 0 to 1" "a parameter that is none"
faults() {
	jq -r --slurpfile schema docs/visibility.schema.json -f t/lib/visibility.jq
}
is "$(v1 'workloads?requests=1' | faults)$(v1 "workloads/default/$(workload_of mgr first | jq -r .metadata.name)" | faults)" "" \
	"answers are as the schema has them"

is "$(gauge)" "" "no gauge of clusters' conditions without the right"
is "$(grep -c 'a right is missing.*clusterqueues' "$dir/m.log")" 1 "... which the log says once" ||
	grep clusterqueues "$dir/m.log" | sed 's/^/# /'

# One job ends, the one that waited takes its place; the daemon is another, with the right.
kill "$MANAGER_PID" && wait "$MANAGER_PID"
api mgr POST /kubesim/policy '{}' >/dev/null
fleet_manager n
ok $? "a daemon with the right is up"
shows "cluster-queue w1 True;cluster-queue w2 True;cluster-queue w3 True" "the gauge of clusters' conditions" gauge
api mgr DELETE "$HERE/first?propagationPolicy=Background" >/dev/null
wait_for 60 placed third w1
ok $? "the job that waited is sent"
shows "5000 8000 62" "its worker" figure_of workers w1 cpu
shows "8000 10000 80" "the queue, which the daemon watches" figure_of queues cluster-queue cpu
sed -i "s|exec cat .*|exit 1 ;;|" "$dir/kubectl"
is "$(figure_of queues cluster-queue cpu)" "8000 10000 80" "... so that kubectl is not asked"
shows 0 "nothing waits" waiting
api w2 POST /kubesim/restart '{"downMs":600000}' >/dev/null
state_of() { top workers w2 --no-headers | awk 'NR == 1 { print $2 }'; }
shows NotConnected "a worker that is away" state_of
is "$(figure_of workers w2 cpu | cut -d' ' -f1)" 3000 "... and what may run there still"
shows "cluster-queue w1 True;cluster-queue w2 False;cluster-queue w3 True" "... which the gauge says" gauge
notes "$dir/m.log" "$dir/n.log"
done_testing
