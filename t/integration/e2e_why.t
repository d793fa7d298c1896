#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Why a job waits: causes are planted on the workers, and the visibility API names each, with the
# cluster and what happens next. The check's message says the same to `kubectl describe`.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq

LOCAL_QUEUE=/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues/user-queue
big() { # NAME CPUS
	api mgr POST $HERE '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"'"$1"'","namespace":"default",
		"labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},"spec":{'"$OURS"'"suspend":true,"template":{"spec":{
		"restartPolicy":"Never","containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"'"$2"'"}}}]}}}}'
}
v1() { # PATH
	curl -sS --max-time 10 "http://127.0.0.1:$MANAGER_PORT/v1/$1"
}
name_of() { # JOB: its Workload
	v1 workloads | jq -er --arg j "$1" '.items[] | select(.job.name == $j) | .name'
}
why() { # JOB CLUSTER
	v1 "workloads/default/$(name_of "$1")" | jq -r --arg c "$2" '.clusters[] | select(.name == $c) | "\(.reason): \(.message)"'
}
why_is() { # JOB CLUSTER REASON [WORDS]
	why "$1" "$2" | grep -q "^$3: .*${4:-}"
}
shows() { # JOB CLUSTER REASON WORDS NAME
	wait_for 20 why_is "$1" "$2" "$3" "$4"
	ok $? "$5"
	why_is "$1" "$2" "$3" "$4" || why "$1" "$2" | sed 's/^/# found /'
}

fleet_kubesim && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
queue=$(api w1 GET $LOCAL_QUEUE | jq -c '{apiVersion, kind, metadata: {name: .metadata.name, namespace: .metadata.namespace}, spec}')
api w1 DELETE $LOCAL_QUEUE >/dev/null
api w3 POST /kubesim/restart '{"downMs":600000}' >/dev/null
big big 2000 >/dev/null
shows big w1 WaitsForQuota "LocalQueue user-queue doesn't exist" "a LocalQueue that is missing on w1"
shows big w2 WaitsForQuota "insufficient quota for cpu in flavor default-flavor" "no quota for cpu on w2"
shows big w3 NotConnected "is not connected since" "w3 is down"
is "$(v1 "workloads/default/$(name_of big)" | jq -r .phase)" Racing "the Workload races"
says() {
	workload_of mgr big | jq -r '.status.admissionChecks[0].message'
}
says_all() {
	says | grep -q "^Not admitted yet by 3 workers: w1: has no quota: LocalQueue user-queue doesn't exist; w2: .*; w3: is not connected since"
}
wait_for 60 says_all
ok $? "the check's message sums that up"
says_all || says | sed 's/^/# found /'

small() { # NAME
	api mgr POST $HERE '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"'"$1"'","namespace":"default",
		"labels":{"kueue.x-k8s.io/queue-name":"user-queue"},"annotations":{"kubesim.x-k8s.io/run-ms":"3600000"}},
		"spec":{'"$OURS"'"suspend":true,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"none"}]}}}}'
}
small small >/dev/null
shows small w2 JobRuns "the job runs" "a job that runs on w2"
api w2 POST /kubesim/restart '{"downMs":600000}' >/dev/null
shows small w2 WinnerNotConnected "the job may go on there" "its worker is lost"
v1 "workloads/default/$(name_of small)" |
	jq -e '.next[] | select(.cluster == "w2") | (.at | fromdate) > now and (.what | contains("counts as lost"))' >/dev/null
ok $? "and when it counts as lost"

is "$(v1 'workloads?phase=Won' | jq -c '[.items[].job.name]')" '["small"]' "a page of those that were sent somewhere"
is "$(v1 'workloads?limit=1' | jq '.items | length')" 1 "a page of one row"
is "$(v1 "workloads?limit=1&continue=$(v1 'workloads?limit=1' | jq -r '.continue | @uri')" | jq '.items | length')" 1 "and the next"
is "$(v1 clusters | jq -c '[.items[] | .name + " " + .state]')" \
	'["w1 Connected","w2 NotConnected","w3 NotConnected"]' "the clusters"
is "$(v1 'workloads?colour=red' | jq -r .code)" 400 "a parameter that does not exist"
is "$(v1 workloads/default/none | jq -r .reason)" NotFound "a Workload that does not exist"

# What was decided of them, in the order of the numbers.
events() { # [PARAMETERS]
	v1 "events?${1:-}"
}
won() { # JOB: its win, as JSON
	events | jq --arg w "$(name_of "$1")" '.items[] | select(.workload.name == $w and .rule == "win")'
}
is "$(won small | jq -r '[.cluster, .after.cluster, .after.state, .workload.namespace] | join(" ")')" \
	"w2 w2 Ready default" "the win of the job that was sent: where, and how the check stands"
is "$(won small | jq -r .message)" 'The workload was admitted on "w2"' "... in the words of the check"
is "$(won small | jq '.time | sub("[.][0-9]+Z"; "Z") | fromdate | . <= now and . > now - 600')" true "... and when"
is "$(won big)" "" "the job that waits has none"
is "$(events | jq '([.items[].number] | . == unique) and .next == .items[-1].number and has("missed") == false')" true \
	"numbers grow, and none was lost"
is "$(events "after=$(events | jq .next)" | jq -c .items)" "[]" "after the last: nothing"
is "$(events "limit=1&after=0" | jq -c '[.items[].number, .next]')" "[1,1]" "a page of one"
is "$(events namespace=elsewhere | jq -c .items)" "[]" "of another namespace: nothing"
is "$(events after=x | jq -r .message)" "after=x: expected a number" "a number that is none"
is "$(events limit=0 | jq -r .message)" "limit=0: expected a number from 1 to 100" "a limit that is none"
is "$(events phase=Won | jq -r .message)" 'unknown parameter "phase": expected after, namespace, workload, last or limit' \
	"a parameter of another path"
is "$(events last=1 | jq -c '[.items[].number] == [.next]')" true "the newest one"
is "$(events "namespace=default&workload=$(name_of small)" | jq -r '[.items[].workload.name] | unique | join(" ")')" "$(name_of small)" \
	"those of one Workload"

# Parts of answers.
is "$(v1 'clusters?limit=1&order=problem' | jq -c '[.items[].name, .total, .continue, .counts]')" \
	'["w2",3,"1",{"Connected":1,"Connecting":0,"NotConnected":2,"problem":2}]' "a page of clusters, a problem first, with counts of all"
is "$(v1 'clusters?limit=1&order=problem&continue=1' | jq -r '.items[].name')" w3 "... and the next"
is "$(v1 'clusters?state=Connected' | jq -r '.items[].name')" w1 "those in one state"
is "$(v1 'clusters?match=REFUSED&problem=1' | jq '.total')" 2 "those that a word of the message fits"
is "$(v1 'clusters?state=Lost' | jq -r .message)" "state=Lost: expected Connected, Connecting or NotConnected" "a state that is none"
is "$(v1 'clusters?order=-age' | jq -r .message)" "order=-age: expected name, state, since, clones, waiting, memory or problem" \
	"an order that is none"
is "$(v1 'queues?of=all' | jq -r .message)" "of=all: expected manager, cohorts or workers" "queues that are none"
is "$(v1 'queues?of=manager&limit=1' | jq '.items | length')" "$(v1 'queues?of=manager' | jq '[.total, 1] | min')" "a page of queues"
is "$(v1 'workloads?match=SMALL' | jq -r '.items[].job.name')" small "Workloads by a part of their name"
part=workloads/default/$(name_of big)
is "$(v1 "$part?limit=2" | jq -c '[(.clusters | length), .total, .continue, (.reasons | map(.workers) | add)]')" '[2,3,"2",3]' \
	"a page of the workers of a Workload, with the count of each reason"
is "$(v1 "$part?limit=2&reason=NotConnected" | jq -c '[.clusters[].reason] | unique')" '["NotConnected"]' "those with one reason"
is "$(v1 "$part?reason=NotConnected" | jq -r .message)" "reason and continue choose clusters of a page: expected limit, too" \
	"... which takes a limit"
is "$(curl -sS "http://127.0.0.1:$MANAGER_PORT/status?clusters=0" | jq -c '[has("clusters"), .workloads]')" "[false,2]" "status without clusters"

# Answers are as the published schema has them, and it would notice if they were not.
faults() { # of the answer on its input
	jq -r --slurpfile schema docs/visibility.schema.json -f t/lib/visibility.jq
}
is "$(v1 "workloads/default/$(name_of big)" | faults)" "" "the schema: a Workload that waits"
is "$(v1 "workloads/default/$(name_of small)" | faults)" "" "... one that was sent"
for path in workloads 'workloads?limit=1' clusters 'clusters?limit=1' queues 'queues?of=manager&limit=1' events 'events?limit=1' \
	"workloads/default/$(name_of big)?limit=1"; do
	is "$(v1 "$path" | faults)" "" "... /v1/$path"
done
is "$(v1 clusters | jq '.items[0].state = "Lost" | .items[0].more = 1 | del(.items[1].name) | .items[2].bytes = "1"' | faults | sort)" \
	"/items/0/more: not known
/items/0/state: found Lost
/items/1/name: missing
/items/2/bytes: expected integer, found string" "faults are found out"

# The command line says the same; kubectl's part is to say that the aggregated API is not installed,
# and to open a port.
cat >"$dir/kubectl" <<END
#!/bin/sh
case "\$*" in
"--context east port-forward --namespace kueue-system --address=127.0.0.1 deployment/multikueued :8081")
	echo \$\$ >"$dir/forward"
	echo "Forwarding from 127.0.0.1:$MANAGER_PORT -> 8081"
	exec sleep 60
	;;
"--context east config view"*) printf default ;;
"--context east get --raw /apis/visibility.multikueued.io/v1alpha1")
	echo 'Error from server (NotFound): the server could not find the requested resource' >&2
	exit 1
	;;
*) exit 1 ;;
esac
END
chmod +x "$dir/kubectl"
mk() {
	PATH="$dir:$PATH" "$B/kubectl-multikueue" "$@" --context east 2>&1
}
mk why small >"$dir/out"
is $? 0 "why, through a port-forward"
grep -q '^w2 *WinnerNotConnected .*the job may go on there' "$dir/out"
ok $? "names the worker and the reason" || sed 's/^/# /' "$dir/out"
grep -qE '^Stages: +quota [0-9dhms]+ ago, nominated .* later, won .* later \(w2\), created .* later$' "$dir/out"
ok $? "and how far it came, and when" || sed 's/^/# /' "$dir/out"
grep -q '^  in .*, w2: the worker counts as lost' "$dir/out"
ok $? "and what happens next" || sed 's/^/# /' "$dir/out"
grep -q "^  w2: bring the worker back before it counts as lost" "$dir/out"
ok $? "and what to do" || sed 's/^/# /' "$dir/out"
is "$(mk why job/big -o json | jq -r '.clusters[0].reason')" WaitsForQuota "why -o json, of a job"
is "$(mk why workload/nothing | grep -c 'no Workload or job "nothing" in namespace default')" 1 "a name that the daemon does not know"
is "$(mk get workloads -o name | sort | head -n 1)" "workload.kueue.x-k8s.io/$(name_of big)" "get workloads -o name"
is "$(mk get workloads -A --phase Won | awk 'NR == 2 { print $1, $3, $4, $5 }')" "default Job/small Won w2" "get workloads of a phase"
is "$(mk get clusters | awk 'NR > 1 { print $1, $2 }' | tr '\n' ' ')" \
	"w1 Connected w2 NotConnected w3 NotConnected " "get clusters"
is "$(mk get plugins | awk '$1 == "adapter" && $3 == "Kind=Job" { print $2, $4 }')" "batch/v1, io.multikueue.job" "get plugins"
is "$(mk get plugins -o json | jq -r '.items[] | select(.type == "dispatcher" and (.name | endswith("incremental"))) |
	[.plugin, (.file | split("/") | last)] | join(" ")')" "io.multikueue.incremental incremental.so" "... as JSON"
is "$(v1 settings | jq -r '[.origin, .namespace, .featureGates.MultiKueueRemoteSpecSync,
	(.rights.worker | contains("workloads/status"))] | map(tostring) | join(" ")')" "multikueue kueue-system true true" "the settings"
cp "$dir/kubectl" "$dir/kubectl.kept"
printf '#!/bin/sh\necho "Error from server (Forbidden): no" >&2\nexit 1\n' >"$dir/kubectl"
is "$(mk get clusters)" \
	"error: by the aggregated API, \`kubectl get --raw /apis/visibility.multikueued.io/v1alpha1\`: Error from server (Forbidden): no; another way: --server" \
	"an API that is installed and refuses: no other way is taken"
mv "$dir/kubectl.kept" "$dir/kubectl"
mk status >"$dir/out"
is "$? $(grep -c '^Workers:    3, 1 connected' "$dir/out")" "1 1" "status: workers are missing"
is "$(sed -n 's/^Phases: *//p' "$dir/out" | tr ',' '\n' | sed 's/^ //' | sort | tr '\n' ' ')" "Racing 1 Won 1 " "... how many Workloads are in each phase"
grep -q "^First:      default/$(name_of big), waits for a worker for [0-9]*[ms]" "$dir/out"
ok $? "... and which waits the longest" || sed 's/^/# /' "$dir/out"

mk events >"$dir/out"
is "$(sed -n '1p' "$dir/out" | tr -s ' ')" "TIME WORKLOAD WORKER RULE MESSAGE" "events: the heading"
is "$(sed -n 's/ *$//; s/^20[0-9-]*T[0-9:]*Z  //p' "$dir/out" | grep ' win ' | tr -s ' ')" \
	"$(name_of small) w2 win The workload was admitted on \"w2\"" "... and the win"
is "$(mk events job/small -o json | jq -c '[.items[] | .rule]')" '["win"]' "events of a job, as JSON"
is "$(mk events big)" "No decisions found in this namespace; -A: in all." "a job that nothing was decided of"
is "$(mk events -A "$(name_of small)" | grep -c " default/$(name_of small) ")" 1 "events of a Workload, of all namespaces"

# What goes on until it is interrupted; what runs in the background of a script ignores SIGINT.
begin() { # FILE ARGUMENTS...: its pid is in $begun
	begin_out=$dir/$1
	shift
	rm -f "$dir/forward"
	PATH="$dir:$PATH" env --default-signal=INT "$B/kubectl-multikueue" "$@" --context east >"$begin_out" 2>&1 &
	begun=$!
}
has() { # FILE PATTERN [TIMES]
	[ "$(grep -c -- "$2" "$dir/$1")" -ge "${3:-1}" ]
}
gone() { # PID
	! kill -0 "$1" 2>/dev/null
}
interrupted() { # STATUS NAME: it ends so, and kubectl with it
	kill -INT "$begun"
	wait "$begun"
	is $? "$1" "$2"
	wait_for 10 gone "$(cat "$dir/forward")"
	ok $? "... and its kubectl ends"
}
begin lines events -A -f -o json
wait_for 20 has lines '"rule":"win"'
ok $? "events -f shows what was"
lines=$begun
mv "$dir/forward" "$dir/forward.lines"
begin table events -f
wait_for 20 has table ' win '
ok $? "... as a table, too"
api w1 POST "${LOCAL_QUEUE%/*}" "$queue" >/dev/null
small next >/dev/null
wait_for 30 has table "next-.* w1 *win "
ok $? "and what comes, at once"
is "$(grep -c '^TIME' "$dir/table")" 1 "the heading once"
interrupted 0 "an interrupt ends it tidily"
begun=$lines
mv "$dir/forward.lines" "$dir/forward"
wait_for 20 has lines '"cluster":"w1","rule":"win"'
ok $? "JSON comes as well"
interrupted 0 "and is ended"
is "$(jq -c .number "$dir/lines" | sort -n | uniq | wc -l)" "$(wc -l <"$dir/lines")" "one object on each line, each once"
begin watch status --watch
wait_for 20 has watch '^Workers:    3, 1 connected' 2
ok $? "status --watch looks again"
interrupted 1 "and ends with what it saw last"
begin reader status -w -o json
wait_for 20 has reader '^{"version".*}$' 2
ok $? "a line of JSON each time"
interrupted 0 "and is ended"

is "$("$B/kubectl-multikueue" status --server http://127.0.0.1:1 2>&1)" \
	"error: http://127.0.0.1:1/status: Couldn't connect to server" "no daemon"
notes "$dir/m.log"
done_testing
