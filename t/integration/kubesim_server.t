#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The simulated API servers over real sockets: TLS, HTTP/1.1 and HTTP/2,
# watches, limits, faults, kubectl.
set -u
cd "$(dirname "$0")/../.." || exit 1
kubesim=${B:-build/dev}/kubesim
dir=$(mktemp -d)
pid=
# shellcheck source=t/integration/tap.sh
. t/integration/tap.sh
# shellcheck source=t/lib/wait.sh
. t/lib/wait.sh

cleanup() {
	if [ -n "$pid" ]; then
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	fi
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

field() { # FILE KEY
	sed -n "s/^ *$2: //p" "$dir/$1"
}

start() {
	rm -f "$dir/ready"
	"$kubesim" --dir "$dir" --clusters mgr,w1 --setup demo --ready-file "$dir/ready" --local \
		--run-ms 100 --admit-ms 0 --log "$dir/log" --slow-watch-ms 1000 >"$dir/out" 2>&1 &
	pid=$!
	wait_for 20 test -s "$dir/ready"
	for c in mgr w1; do
		field $c.kubeconfig certificate-authority-data | base64 -d >"$dir/$c.ca"
		field $c.kubeconfig client-certificate-data | base64 -d >"$dir/$c.crt"
		field $c.kubeconfig client-key-data | base64 -d >"$dir/$c.key"
	done
	w1=$(field w1.kubeconfig server)
	mgr=$(field mgr.kubeconfig server)
}

c() { # curl as the admin of w1
	curl -sS --max-time 20 --cacert "$dir/w1.ca" --cert "$dir/w1.crt" --key "$dir/w1.key" "$@"
}

code() {
	c -o /dev/null -w '%{http_code}' "$@" 2>/dev/null
}

jobs=/apis/batch/v1/namespaces/default/jobs
job() { # NAME
	printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"%s","labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}}}' "$1"
}

post() { # PATH DATA [curl options]
	path=$1
	data=$2
	shift 2
	code -H 'Content-Type: application/json' --data-binary "$data" "$@" "$w1$path"
}

need curl

"$kubesim" --help | grep -q -- --setup
ok $? "--help tells the options"
"$kubesim" --nonsense >/dev/null 2>&1
is $? 2 "an unknown option is an error"
start
grep -q '^kubesim: ready mgr=https://127.0.0.1:[0-9]* w1=https://' "$dir/out"
ok $? "a ready line names the clusters"
is "$(stat -c %a "$dir/w1.kubeconfig")" 600 "a kubeconfig is private"
[ "${w1##*:}" -lt 32768 ]
ok $? "the port is below the ephemeral range"

# --- who may come ---------------------------------------------------------------------------------
is "$(c -o /dev/null -w '%{http_version} %{http_code}' "$w1/readyz")" "2 200" "HTTP/2 by ALPN"
is "$(c -o /dev/null -w '%{http_version} %{http_code}' --http1.1 "$w1/readyz")" "1.1 200" "HTTP/1.1"
is "$(code --tls-max 1.2 "$w1/readyz")" 200 "TLS 1.2"
code --tls-max 1.1 "$w1/readyz" >/dev/null
is $? 35 "no TLS 1.1"
curl -sS --cacert "$dir/mgr.ca" "$w1/readyz" >/dev/null 2>&1
is $? 60 "the certificate of a cluster is its own"
is "$(curl -sS -o /dev/null -w '%{http_code}' --http1.1 --cacert "$dir/w1.ca" --cert "$dir/mgr.crt" --key "$dir/mgr.key" \
	"$w1$jobs")" 401 "a certificate of another cluster is no credential, as on an API server"
anonymous() {
	curl -sS -o /dev/null -w '%{http_code}' --cacert "$dir/w1.ca" "$@"
}
is "$(anonymous "$w1$jobs")" 401 "no credentials"
is "$(anonymous "$w1/version")" 200 "the version is public"
is "$(anonymous -H 'Authorization: Bearer wrong' "$w1$jobs")" 401 "a wrong token"
token=$(field w1-token.kubeconfig token)
is "$(anonymous -H "Authorization: Bearer $token" "$w1$jobs")" 200 "a token"
viewer=$(field w1-viewer.kubeconfig token)
is "$(anonymous -H "Authorization: Bearer $viewer" "$w1$jobs")" 200 "a viewer reads"
is "$(anonymous -X DELETE -H "Authorization: Bearer $viewer" "$w1$jobs/x")" 403 "and does not write"
is "$(anonymous -H "Authorization: Bearer $viewer" "$w1/kubesim/counts")" 403 "nor control"

# --- a job, seen by watches of both protocols -----------------------------------------------------
c -N --max-time 15 "$w1/apis/kueue.x-k8s.io/v1beta2/workloads?watch=1" >"$dir/watch2" 2>/dev/null &
watch2=$!
c -N --max-time 15 --http1.1 "$w1/apis/kueue.x-k8s.io/v1beta2/workloads?watch=1" >"$dir/watch1" 2>/dev/null &
watch1=$!
watching() {
	c "$w1/kubesim/counts" | grep -q '"WATCH kueue.x-k8s.io/v1beta2/workloads":{"n":2,'
}
wait_for 20 watching
post /kubesim/faults '{"dataMax":7}' >/dev/null
is "$(post $jobs "$(job a)")" 201 "a job is created"
wait_for 20 grep -q '"reason":"Succeeded"' "$dir/watch2"
ok $? "an HTTP/2 watch shows it to the end, in pieces of up to 7 bytes"
wait_for 20 grep -q '"reason":"Succeeded"' "$dir/watch1"
ok $? "an HTTP/1.1 watch does too"
c -X DELETE "$w1/kubesim/faults" >/dev/null
is "$(code -X POST "$w1/kubesim/end-watches")" 200 "watches are ended"
wait $watch2
is $? 0 "the HTTP/2 watch ended cleanly"
wait $watch1
is $? 0 "the HTTP/1.1 watch ended cleanly"
cmp -s "$dir/watch1" "$dir/watch2"
ok $? "both saw the same bytes"
c "$w1/kubesim/counts" | grep -q '"curl":{.*"POST batch/v1/jobs":{"n":1,"refused":0}'
ok $? "requests are counted by client"

# --- limits ---------------------------------------------------------------------------------------
head -c 3200000 /dev/zero | tr '\0' 'x' >"$dir/big"
is "$(post $jobs "@$dir/big")" 413 "a body over 3 MiB is refused (HTTP/2)"
is "$(post $jobs "@$dir/big" --http1.1 -H 'Expect:')" 413 "and over HTTP/1.1"
head -c 3000000 /dev/zero | tr '\0' 'x' >"$dir/big"
is "$(post $jobs "@$dir/big")" 400 "one below is read"
is "$(post $jobs "$(job b)" --http1.1 -H 'Transfer-Encoding: chunked')" 201 "a chunked body"
# shellcheck disable=SC2046
is "$(c -Z --parallel-max 300 --parallel-immediate -o /dev/null -w '%{http_code}\n' \
	$(i=0; while [ $i -lt 300 ]; do echo "$w1/readyz?$i -o /dev/null"; i=$((i + 1)); done) 2>/dev/null |
	grep -c 200)" 300 "300 requests at once"

# --- a reader that does not read ------------------------------------------------------------------
head -c 200000 /dev/zero | tr '\0' 'y' >"$dir/fill"
printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big"},"data":{"x":"%s"}}' "$(cat "$dir/fill")" >"$dir/cm"
is "$(post /api/v1/namespaces/default/configmaps "@$dir/cm")" 201 "a large object"
drops=0
for v in 2 1.1; do
	drops=$((drops + 1))
	c -N --max-time 60 --http$v --limit-rate 1 "$w1/api/v1/configmaps?watch=1" >"$dir/slow" 2>/dev/null &
	slow=$!
	bumped=0
	i=0
	while [ $i -lt 60 ]; do
		i=$((i + 1))
		[ "$(code -X PATCH -H 'Content-Type: application/merge-patch+json' \
			--data-binary "{\"data\":{\"i\":\"$v-$i\"}}" "$w1/api/v1/namespaces/default/configmaps/big")" = 200 ] &&
			bumped=$((bumped + 1))
	done
	is $bumped 60 "others are served while a watch of HTTP/$v is stuck"
	wait_for 20 sh -c "[ \$(grep -c 'configmaps?watch=1' '$dir/log') -ge $drops ]"
	ok $? "the stuck watch is dropped"
	kill $slow 2>/dev/null
	wait $slow 2>/dev/null
done

# --- faults ---------------------------------------------------------------------------------------
post /kubesim/faults '{"unavailable":[1,1],"match":"/jobs"}' >/dev/null
is "$(code "$w1$jobs")" 503 "503 where asked"
is "$(code "$w1/api/v1/pods")" 200 "not elsewhere"
post /kubesim/faults '{"unavailable":[0,0],"limited":[1,1]}' >/dev/null
is "$(c -o /dev/null -D - "$w1$jobs" | tr -d '\r' | sed -n 's/^retry-after: //p')" 1 "429 says when to come back"
post /kubesim/faults '{"limited":[0,0],"dropReply":[1,1],"match":"POST /apis/batch"}' >/dev/null
post $jobs "$(job lost)" >/dev/null
[ $? != 0 ]
ok $? "a reply is lost"
is "$(code "$w1$jobs/lost")" 200 "but the write was done"
c -X DELETE "$w1/kubesim/faults" >/dev/null
c -N "$w1$jobs?watch=1" >"$dir/until" 2>/dev/null &
watch=$!
wait_for 20 test -s "$dir/until"
is "$(code -X POST -d '{"downMs":200}' "$w1/kubesim/restart")" 200 "a restart"
wait $watch # the answer leaves before the port is closed: it may still be open
[ $? != 28 ]
ok $? "it ends what is open"
wait_for 20 c "$w1/readyz"
ok $? "it comes back on the same port"
is "$(code -X POST -d '{"pausedMs":400}' "$w1/kubesim/pause")" 200 "a pause"
is "$(code -X POST "$w1/kubesim/goaway")" 200 "a GOAWAY (after the pause)"
is "$(c "$w1/api/v1/pods?watch=1&resourceVersion=1&timeoutSeconds=1" -o /dev/null -w '%{http_code}')" 200 "a watch from the past"
c -X POST "$w1/kubesim/compact" >/dev/null
c --max-time 5 "$w1$jobs?watch=1&resourceVersion=1&timeoutSeconds=1" | grep -q '"code":410'
ok $? "is Gone after compaction"

# --- local mode -----------------------------------------------------------------------------------
is "$(post $jobs '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"local","labels":{"kueue.x-k8s.io/queue-name":"user-queue"},"annotations":{"kubesim.x-k8s.io/mode":"local"}},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["sh","-c"],"args":["echo $GREETING; exit 3"],"env":[{"name":"GREETING","value":"good day"}],"resources":{"requests":{"cpu":"1"}}}]}}}}')" 201 "a local job"
wait_for 20 sh -c "curl -sS --cacert '$dir/w1.ca' --cert '$dir/w1.crt' --key '$dir/w1.key' '$w1/kubesim/logs' | grep -q '\"exitCode\":3,\"output\":\"good day'"
ok $? "its command ran and gave its output"
wait_for 20 sh -c "curl -sS --cacert '$dir/w1.ca' --cert '$dir/w1.crt' --key '$dir/w1.key' '$w1$jobs/local' | grep -q '\"type\":\"Failed\"'"
ok $? "its exit code decided"

# --- what a policy makes up -----------------------------------------------------------------------
policy() { # JSON
	c -X POST -d "$1" "$w1/kubesim/policy" >/dev/null
}
review() { # VERB RESOURCE: may the client?
	c -X POST -d '{"spec":{"resourceAttributes":{"verb":"'"$1"'","group":"batch","resource":"'"$2"'"}}}' \
		"$w1/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" | jq .status.allowed
}
is "$(review delete jobs)" true "every right"
policy '{"deny":["delete batch/jobs"],"skewMs":3600000,"rules":[{"match":"POST '$jobs'?","merge":{"metadata":{"labels":{"team":"a"}}}},
	{"match":"GET /api/v1/namespaces/default/secrets","status":403,"message":"secrets is forbidden"}]}'
is "$(review delete jobs) $(review get jobs)" "false true" "... but those that are denied"
is "$(c "$w1/api/v1/namespaces/default/secrets/s" | jq -r .message)" "secrets is forbidden" "a request that is refused"
is "$(job k0 | c -X POST -H 'Content-Type: application/json' -d @- "$w1$jobs?dryRun=All" | jq -r .metadata.labels.team)" a "a write that is changed"
skew=$(($(date -d "$(c -o /dev/null -D - "$w1/version" | sed -n 's/^[Dd]ate: //p' | tr -d '\r')" +%s) - $(date +%s)))
[ "$skew" -gt 3500 ] && [ "$skew" -lt 3700 ]
ok $? "a clock that differs"
policy '{}'

# --- kubectl --------------------------------------------------------------------------------------
if command -v kubectl >/dev/null 2>&1; then
	k() {
		HOME="$dir" kubectl --kubeconfig "$dir/w1.kubeconfig" "$@" 2>&1
	}
	job k1 >"$dir/k1.json"
	is "$(k apply -f "$dir/k1.json")" "job.batch/k1 created" "kubectl apply"
	is "$(k wait --for=condition=complete job/k1 --timeout=20s)" "job.batch/k1 condition met" "kubectl wait"
	k get jobs k1 | grep -q 'k1 *Complete *1/1'
	ok $? "kubectl get"
	k get workloads | grep -q 'job-k1-.*user-queue *worker-queue *True *True'
	ok $? "kubectl get of Workloads"
	k describe job k1 | grep -q '0 Active (0 Ready) / 1 Succeeded'
	ok $? "kubectl describe"
	k logs job/local | grep -q 'good day'
	ok $? "kubectl logs"
	is "$(k create ns foo; k create ns foo)" 'namespace/foo created
Error from server (AlreadyExists): namespaces "foo" already exists' "kubectl create ns"
	printf '%s' '{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e","namespace":"default"},
		"eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"c","reportingInstance":"i","action":"A","reason":"Because",
		"type":"Warning","note":"it happened","regarding":{"kind":"Job","namespace":"default","name":"k1"}}' >"$dir/event.json"
	k create -f "$dir/event.json" >/dev/null
	k get events | grep -q 'Warning *Because *Job/k1 *it happened'
	ok $? "kubectl get events"
	is "$(k delete job k1)" 'job.batch "k1" deleted' "kubectl delete"
	is "$(k get jobs k1 | head -1)" 'Error from server (NotFound): jobs.batch "k1" not found' "and it is gone"
else
	for what in apply wait get workloads describe logs create events delete gone; do
		skip "kubectl $what" "kubectl is not installed"
	done
fi

# --- a port that is closed for long is not free ---------------------------------------------------
refused() { # URL
	curl -sk --max-time 20 -o /dev/null "$1/readyz"
	[ $? = 7 ]
}
curl -sk -X POST -d '{"downMs":3600000}' --cert "$dir/mgr.crt" --key "$dir/mgr.key" "$mgr/kubesim/restart" >/dev/null
wait_for 20 refused "$mgr"
ok $? "a server that is down refuses connections"
mkdir "$dir/other"
"$kubesim" --dir "$dir/other" --clusters mgr --port "${mgr##*:}" --ready-file "$dir/other/ready" >"$dir/other/out" 2>&1 &
other=$!
wait_for 20 test -s "$dir/other/ready"
ok $? "another process that wants its port begins"
[ "$(field other/mgr.kubeconfig server)" != "$mgr" ] && refused "$mgr"
ok $? "... on another one"
kill "$other"
wait "$other"

# --- the end --------------------------------------------------------------------------------------
kill -TERM "$pid"
wait "$pid"
is $? 0 "SIGTERM ends it cleanly"
pid=
[ "$(jq -s 'map(select(.method == "POST" and .status == 201)) | length' "$dir/log" 2>/dev/null || echo 9)" -ge 4 ]
ok $? "every request is in the log"
grep -q 'ERROR: ' "$dir/out"
is $? 1 "nothing to complain about"
done_testing
