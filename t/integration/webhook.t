#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The webhook of the real daemon: TLS with its own authority, leader and standby
# alike; a certificate from files that is swapped under load, as a mounted
# Secret is; hostile and slow clients.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
# shellcheck source=t/integration/webhook_lib.sh
. t/integration/webhook_lib.sh
need curl jq openssl

job() { # QUEUE
	review batch/Job CREATE "$(echo "$JOB" | sed "s/QUEUE/$1/")"
}
metric() { # PORT NAME
	curl -sS "http://127.0.0.1:$1/metrics" | sed -n "s/^$2 //p"
}

# --- our own authority ----------------------------------------------------------------------------
fleet_kubesim --log "$dir/requests" && fleet_plugins &&
	api mgr POST /kubesim/crd '{"group":"admissionregistration.k8s.io","version":"v1","plural":"mutatingwebhookconfigurations",
	"kind":"MutatingWebhookConfiguration","clusterScoped":true}' >/dev/null && fleet_manager one
ok $? "a fleet is up"
one=$MANAGER_PORT
one_pid=$MANAGER_PID
wait_for 20 ready "$one"
ok $? "the leader is ready"
authority
is "$(job user-queue | ask "$one" | patch_in)" "$SET" "a Job in a queue that leads away gets its managedBy"
is "$(job unknown | ask "$one" | patch_in)" none "one in an unknown queue does not"
pod='{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},"spec":{"nodeSelector":{"a":"b"}}}'
old='{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},"spec":{"schedulingGates":[{"name":"kueue.x-k8s.io/admission"}]}}'
is "$(review /Pod UPDATE "$pod" "$old" | ask "$one" | patch_in)" \
	'[{"op":"add","path":"/spec/schedulingGates","value":[{"name":"kueue.x-k8s.io/admission"}]},{"op":"remove","path":"/spec/nodeSelector"}]' \
	"a pod keeps its gate"

# API servers refuse every Job while the configuration does not name the authority.
HOOKS=/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations
HOOK=$HOOKS/multikueue-mutating-webhook-configuration
hooks() {
	api mgr POST $HOOKS '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration",
		"metadata":{"name":"multikueue-mutating-webhook-configuration"},"webhooks":[{"name":"m","clientConfig":{"caBundle":""}}]}' >/dev/null
}
trusted() {
	[ "$(api mgr GET $HOOK | jq -r '.webhooks[0].clientConfig.caBundle')" = "$(base64 -w0 "$dir/ca.crt")" ]
}
hooks
wait_for 60 trusted
ok $? "the configuration gets the authority"
for round in again "and again"; do
	api mgr DELETE $HOOK >/dev/null
	hooks
	wait_for 10 trusted
	ok $? "made anew, it gets it at once, $round: no wait for the look of each minute"
done

WEBHOOK_MORE="tls: {minVersion: VersionTLS13}"
fleet_manager two
two=$MANAGER_PORT
two_pid=$MANAGER_PID
wait_for 20 ready "$two"
ok $? "a standby is ready"
grep -q '"msg":"leading"' "$dir/two.log"
is $? 1 "without leading"
is "$(job user-queue | ask "$two" | patch_in)" "$SET" "and answers with the same authority"
is "$(api mgr GET $SECRET | jq -r '.metadata.labels["app.kubernetes.io/managed-by"]')" multikueued "the Secret is marked"

# A queue loses its check and gains it: the next review knows.
patch() { # CLUSTER PATH PATCH
	[ -f "$dir/$1.ca" ] || api "$1" GET /version >/dev/null
	curl -sS --max-time 10 --cacert "$dir/$1.ca" -H "Authorization: Bearer $(field "$1-token.kubeconfig" token)" \
		-H 'Content-Type: application/merge-patch+json' -X PATCH --data-binary "$3" \
		"$(field "$1-token.kubeconfig" server)$2" >/dev/null
}
CQ=/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cluster-queue
check=$(api mgr GET $CQ | jq -c '.spec.admissionChecksStrategy')
answers() { # PATCH
	[ "$(job user-queue | ask "$two" | patch_in)" = "$1" ]
}
patch mgr $CQ '{"spec":{"admissionChecksStrategy":null}}'
wait_for 10 answers none
ok $? "a queue that loses the check stays here"
patch mgr $CQ "{\"spec\":{\"admissionChecksStrategy\":$check}}"
wait_for 10 answers "$SET"
ok $? "when it gains it, it leads away"

# The table for the policy: kept where it exists.
TABLE=/api/v1/namespaces/kueue-system/configmaps
api mgr POST $TABLE '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"multikueue-queues"},"data":{"old.gone":"x"}}' >/dev/null
ended() { # PID...: ends them; an id that is waited for may soon be another process's
	kill "$@" 2>/dev/null
	for pid in "$@"; do
		wait "$pid" 2>/dev/null
		FLEET_PIDS=$(echo " $FLEET_PIDS " | sed "s/ $pid / /")
	done
}
ended "$one_pid"
leads() {
	grep -q '"msg":"leading"' "$dir/two.log"
}
wait_for 20 leads
ok $? "the standby leads"
table() {
	[ "$(api mgr GET $TABLE/multikueue-queues | jq -c .data)" = '{"default.user-queue":"cluster-queue"}' ]
}
wait_for 20 table
ok $? "and the table is what the queues are"
api mgr POST /apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues '{"apiVersion":"kueue.x-k8s.io/v1beta2",
	"kind":"LocalQueue","metadata":{"name":"another","namespace":"default"},"spec":{"clusterQueue":"cluster-queue"}}' >/dev/null
table() {
	[ "$(api mgr GET $TABLE/multikueue-queues | jq -c .data | tr -d '{}"' | tr ',' '\n' | sort | tr '\n' ' ')" = \
		'default.another:cluster-queue default.user-queue:cluster-queue ' ]
}
wait_for 10 table
ok $? "a new queue is in it soon"
api mgr DELETE $SECRET >/dev/null
again() {
	[ "$(api mgr GET $SECRET | jq -r '.data["tls.crt"] // ""')" != "" ] && authority &&
		[ "$(job user-queue | ask "$two" 2>/dev/null | patch_in)" = "$SET" ]
}
wait_for 20 again
ok $? "a Secret that was deleted is made anew, and used"

# --- hostile and slow -----------------------------------------------------------------------------
code() {
	ask "$two" -o /dev/null -w '%{http_code}' "$@"
}
is "$(printf '{"x":' | code)" 400 "half a review: 400"
is "$(printf '{}' | code)" 400 "an empty one: 400"
is "$(printf '' | code)" 400 "none: 400"
is "$(head -c 3000000 /dev/zero | tr '\0' '[' | code)" 400 "three million brackets: 400"
is "$(head -c 6000000 /dev/zero | code)" 413 "6 MB: 413"
is "$(curl -sS --cacert "$dir/ca.crt" -o /dev/null -w '%{http_code}' "https://127.0.0.1:$((two + 1))/mutate")" 405 "GET: 405"
is "$(curl -sS --cacert "$dir/ca.crt" -o /dev/null -w '%{http_code}' "https://127.0.0.1:$((two + 1))/")" 404 "another path: 404"
curl -sS --max-time 5 "http://127.0.0.1:$((two + 1))/mutate" >/dev/null 2>&1
ok $((!$?)) "plain HTTP is refused"
openssl s_client -connect "127.0.0.1:$((two + 1))" -tls1_1 </dev/null >"$dir/tls11" 2>&1
ok $((!$?)) "so is TLS 1.1"
speaks() { # PORT VERSION: does the webhook of that daemon?
	openssl s_client -connect "127.0.0.1:$(($1 + 1))" "-$2" </dev/null >"$dir/speaks" 2>&1
}
speaks "$two" tls1_3
ok $? "TLS 1.3 is spoken"
speaks "$two" tls1_2
ok $((!$?)) "C-8.12: and TLS 1.2 is not, where the configuration says so"
# Clients that stay: one with half a request, the others with nothing behind their handshake.
slow=
mkfifo "$dir/half"
exec 9<>"$dir/half"
for n in $(seq 1 20); do
	printf 'POST /mutate HTTP/1.1\r\nContent-Length: 100\r\n\r\nhalf'
done >&9
for n in $(seq 1 20); do
	openssl s_client -quiet -connect "127.0.0.1:$((two + 1))" <"$dir/half" >/dev/null 2>&1 &
	slow="$slow $!"
done
FLEET_PIDS="$FLEET_PIDS $slow"
took=$(job user-queue | ask "$two" -o "$dir/answer" -w '%{time_total}')
is "$(patch_in <"$dir/answer")" "$SET" "beside slow clients others are answered"
awk -v t="$took" 'BEGIN { exit !(t < 1) }'
ok $? "at once ($took s)"
# shellcheck disable=SC2086
ended $slow

# --- the end --------------------------------------------------------------------------------------
# API servers go on sending reviews until the Service has forgotten the replica.
kill "$two_pid"
sleep 0.8
is "$(job user-queue | ask "$two" 2>/dev/null | patch_in)" "$SET" "a replica that was told to end still answers"
is "$(curl -sS "http://127.0.0.1:$two/readyz" 2>&1)" "shutting down" "and says that it is not ready"
given_back() {
	[ "$(api mgr GET /apis/coordination.k8s.io/v1/namespaces/kueue-system/leases |
		jq -c '[.items[].spec.holderIdentity // ""]')" = '[""]' ]
}
given_back
ok $? "the lease is given back already"
wait "$two_pid"
is $? 0 "then it ends by itself"
FLEET_PIDS=$(echo " $FLEET_PIDS " | sed "s/ $two_pid / /")
fleet_stop

# --- files ----------------------------------------------------------------------------------------
# A folder as a mounted Secret: the files are links into ..data, which is a link to one version.
certs=$dir/certs
version() { # NUMBER: makes a certificate by an authority of its own
	mkdir -p "$certs/v$1"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=v$1" \
		-addext subjectAltName=IP:127.0.0.1 -keyout "$certs/v$1/tls.key" -out "$certs/v$1/tls.crt" 2>/dev/null
}
swap() { # NUMBER
	ln -sfn "v$1" "$certs/..next" && mv -T "$certs/..next" "$certs/..data"
}
mkdir -p "$certs"
version 1
version 2
swap 1
ln -s ..data/tls.crt ..data/tls.key "$certs"
WEBHOOK_MORE="  certDir: $certs
tls: {minVersion: VersionTLS13}
featureGates: {TLSOptions: false}"
WEBHOOK_METRICS=127.0.0.1:0
fleet_kubesim --log "$dir/requests2" && fleet_manager files
ok $? "a fleet with certificates from files is up"
port=$MANAGER_PORT
wait_for 20 ready "$port"
ok $? "it is ready"
shown() {
	openssl s_client -connect "127.0.0.1:$((port + 1))" </dev/null 2>/dev/null | sed -n 's/.*subject=CN *= *//p'
}
is "$(shown)" v1 "the first certificate is shown"
metrics=$(sed -n 's/.*"what":"metrics".*"port":\([0-9]*\).*/\1/p' "$dir/files.log")
# The machine may have certificates where Kueue's manifests mount them.
is "$(curl -sk --max-time 10 -o /dev/null -w '%{http_code}' "https://127.0.0.1:$metrics/metrics") $(grep -c '"from":"/etc/' "$dir/files.log")" \
	"401 0" "the metrics have a certificate of their own beside it"
speaks "$port" tls1_2
ok $? "without the gate TLSOptions the section tls counts for nothing"
cat "$certs/v1/tls.crt" "$certs/v2/tls.crt" >"$dir/ca.crt"
job user-queue >"$dir/review"
rm -f "$dir/stop"
load() { # NUMBER: one connection after the other; what goes wrong is written down
	while [ ! -e "$dir/stop" ]; do
		ask "$port" <"$dir/review" | grep -q '"patch"' && echo good || echo bad
		sleep 0.02
	done >"$dir/load.$1" 2>&1
}
for n in 1 2; do
	load $n &
	FLEET_PIDS="$FLEET_PIDS $!"
	loads="${loads:-} $!"
done
sees() {
	[ "$(shown)" = "$1" ]
}
swap 2
wait_for 20 sees v2
ok $? "after a swap the second one is shown"
swap 1
wait_for 20 sees v1
ok $? "and back"
mkdir -p "$certs/v3" && cp "$certs/v2/tls.crt" "$certs/v1/tls.key" "$certs/v3"
swap 3
told() {
	grep -q 'a certificate cannot be used' "$dir/files.log"
}
wait_for 20 told
ok $? "a pair that does not fit is told"
is "$(shown)" v1 "and not used"
touch "$dir/stop"
# shellcheck disable=SC2086
ended $loads
is "$(cat "$dir"/load.? | sort -u)" good "no review failed meanwhile"
[ "$(cat "$dir"/load.? | wc -l)" -gt 20 ]
ok $? "and there were many"
is "$(metric "$port" multikueue_admission_certificates_total)" 3 "three certificates were put in use"
is "$(jq -c 'select((.agent | startswith("multikueued")) and (.path | contains("multikueue-webhook-server-cert")))' "$dir/requests2" | wc -l)" \
	0 "the Secret was never asked for"
notes "$dir/two.log" "$dir/files.log"
done_testing
