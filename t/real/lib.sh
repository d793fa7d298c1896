# SPDX-License-Identifier: Apache-2.0
# Shell library of the tests in this folder: TAP, waiting, the planes, fixtures, the daemon.
# Source it first; end with done_testing. `t/real/run` sets the environment:
#   MK_REAL_DIR  one folder per plane (kubeconfig, multikueued.kubeconfig, *.log)
#   KUEUE, KUEUE_SRC  version and source tree of the Kueue that the planes have
#   KUBECTL, FLEET, MULTIKUEUED, KUBECTL_MULTIKUEUE, KUBESIM  programs
#   MK_PLUGINS   the plugin folder
# shellcheck shell=sh

set -u
# A test stands here or in scenes/.
here=$(cd "$(dirname "$0")" && pwd)
here=${here%/scenes}
: "${MK_REAL_DIR:?run this through t/real/run}"
root=$(cd "$here/../.." && pwd)
: "${MULTIKUEUED:=$root/build/dev/multikueued}"
: "${KUBECTL_MULTIKUEUE:=$root/build/dev/kubectl-multikueue}"
: "${MK_PLUGINS:=$root/build/dev/plugins}"
: "${KUBESIM:=$root/build/dev/kubesim}"
# Name of the test, its namespace and its queue; the number lets it run again while
# the last one is still going away.
T=$(basename "$0" .t | tr _ -)-$$
WORK=$MK_REAL_DIR/t-$T
LIMIT=${LIMIT:-180}		# seconds until a wait gives up; generous, the machine may be busy
# shellcheck source=t/lib/wait.sh
. "$root/t/lib/wait.sh"
mkdir -p "$WORK"
cd "$WORK" || exit 1
export KUBECACHEDIR="$MK_REAL_DIR/kubectl/cache"
# What multikueued is to an API server.
ACCOUNT=system:serviceaccount:kueue-system:multikueued
tap_n=0
tap_failed=0
test_begin=$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)

# module PATH...: folders of modules that Kueue is built with, one a line.
module()
{
	(cd "$KUEUE_SRC" && go list -mod=readonly -m -f '{{.Dir}}' "$@")
}

# ok RC DESC: one result.
ok()
{
	tap_n=$((tap_n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_n - $2"
		return 0
	fi
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_n - $2"
	return 1
}

diag()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

# is GOT WANT DESC
is()
{
	[ "$1" = "$2" ]
	ok $? "$3" && return 0
	diag "got:  $1"
	diag "want: $2"
	return 1
}

# is_not GOT UNWANTED DESC
is_not()
{
	[ "$1" != "$2" ]
	ok $? "$3" || diag "got: $1"
}

# becomes WANT DESC CMD...: waits until CMD prints WANT; stderr counts as
# output, so that an error shows.
becomes()
{
	b_want=$1
	b_desc=$2
	shift 2
	b_end=$(($(date +%s) + LIMIT))
	b_told=$(($(date +%s) + 5))
	while :; do
		b_got=$("$@" 2>&1)
		if [ "$b_got" = "$b_want" ]; then
			ok 0 "$b_desc"
			return 0
		fi
		b_now=$(date +%s)
		if [ "$b_now" -ge "$b_end" ]; then
			is "$b_got" "$b_want" "$b_desc (waited $LIMIT s)"
			return 1
		fi
		if [ "$b_now" -ge "$b_told" ]; then
			diag "waiting: $b_desc"
			b_told=$((b_now + 10))
		fi
		sleep 0.1
	done
}

# must WANT DESC CMD...: like becomes, but without it there is no point in going on.
must()
{
	becomes "$@" || bail "$2"
}

# stays WANT SECONDS DESC CMD...: CMD prints WANT now and for so long.
stays()
{
	s_want=$1
	s_end=$(($(date +%s) + $2))
	s_desc=$3
	shift 3
	while :; do
		s_got=$("$@" 2>&1)
		if [ "$s_got" != "$s_want" ]; then
			is "$s_got" "$s_want" "$s_desc"
			return 1
		fi
		[ "$(date +%s)" -lt "$s_end" ] || break
		sleep 0.2
	done
	ok 0 "$s_desc"
}

# refusals: what API servers refused to the daemon, whatever it was. 404 and 409 are answers that it
# lives on, 429 and, to every user until it knows its roles, 403 is what a server says while it
# starts (WORK/starting and WORK/started hold "PLANE TIME" of those that a test restarted). doctor
# asks workers by the daemon's account, and for more than the daemon does.
refusals()
{
	for r_plane in mgr w1 w2; do
		"$FLEET" audit --plane $r_plane --user "$ACCOUNT" --since "$test_begin" | sed "s/^/$r_plane /"
	done | awk -v starting="$WORK/starting" -v started="$WORK/started" '
		BEGIN {
			while ((getline line <starting) > 0) { split(line, w, " "); n++; plane[n] = w[1]; from[n] = w[2] }
			while ((getline line <started) > 0) { split(line, w, " "); i++; to[i] = w[2] }
		}
		$8 ~ /^kubectl-multikueue\// { next }
		$7 < 400 || $7 >= 500 || $7 == 404 || $7 == 409 || $7 == 429 { next }
		$7 == 403 {
			for (i = 1; i <= n; i++) {
				if (plane[i] == $1 && from[i] <= $2 && $2 <= to[i]) { next }
			}
		}
		{ print }'
}

done_testing()
{
	if [ -n "${daemon_ran:-}" ]; then
		is "$(refusals)" "" "trap_64: no request was refused"
		# shellcheck disable=SC2086 # JUDGE is a list of options
		is "$("$FLEET" judge ${JUDGE:-} "$WORK/history" 2>&1)" "" "what must hold at every moment did"
	fi
	if [ "$tap_failed" -gt 0 ] && [ -s "$WORK/history" ]; then
		diag "last states of the Workloads:"
		jq -rn --argjson n 16 -f "$here/states.jq" "$WORK/history" | cut -c1-700 | sed 's/^/#   /'
	fi
	if [ "$tap_failed" -gt 0 ] && [ -s "$WORK/multikueued.log" ]; then
		diag "last lines of multikueued.log:"
		tail -n 40 "$WORK/multikueued.log" | cut -c1-400 | sed 's/^/#   /'
	fi
	echo "1..$tap_n"
	tap_done=1
	[ "$tap_failed" -eq 0 ]
	exit $?
}

# bail REASON: stops a test that cannot go on after a failure.
bail()
{
	ok 1 "cannot go on: $1"
	done_testing
}

# k PLANE ARGS...: kubectl as admin. Asked of the kubectl that runs beside the planes, which takes a
# tenth of what one of its own would; see kubectld.
k()
{
	k_plane=$1
	shift
	k_input=none
	for k_arg in "$@"; do
		[ "$k_arg" != - ] || k_input=cat
	done
	{
		printf '%s\0' --kubeconfig "$MK_REAL_DIR/$k_plane/kubeconfig" --request-timeout=30s "$@"
		printf '\0'
		[ $k_input = none ] || cat
	} | curl -s -f --unix-socket "$MK_REAL_DIR/kubectl/socket" --data-binary @- \
		-w '%{onerror}%{stderr}%header{x-error}\n' http://kubectl/
}

# kn PLANE ARGS...: the same in the namespace of the test.
kn()
{
	kn_plane=$1
	shift
	k "$kn_plane" -n "$T" "$@"
}

# field PLANE KIND NAME JSONPATH: one value from the namespace of the test.
field()
{
	kn "$1" get "$2" "$3" -o "jsonpath=$4"
}

# condition PLANE KIND NAME TYPE: "STATUS REASON MESSAGE"
condition()
{
	c_path="{.status.conditions[?(@.type==\"$4\")]"
	field "$1" "$2" "$3" "$c_path.status} $c_path.reason} $c_path.message}"
}

# count PLANE KIND: how many the namespace of the test has.
count()
{
	kn "$1" get "$2" -o name | wc -l | tr -d ' '
}

# audit PLANE ARGS...: requests that the daemon sent there; Leases and
# Events have their own budgets.
audit()
{
	a_plane=$1
	shift
	"$FLEET" audit --plane "$a_plane" --user "$ACCOUNT" "$@" | grep -v -e ' leases ' -e ' events '
}

# history_begin: from now on every state of each Job and Workload of the test, on all planes, is
# kept; the daemon's first start does it too.
history_begin()
{
	[ -z "${recorder:-}" ] || return 0
	"$FLEET" record --namespace "$T" --out "$WORK/history" mgr w1 w2 2>"$WORK/record.log" &
	recorder=$!
	echo "$recorder" >"$WORK/record.pid"
	until grep -q READY "$WORK/history" 2>/dev/null; do
		kill -0 $recorder 2>/dev/null || bail "the history ended: $(cat "$WORK/record.log")"
		sleep 0.1
	done
}

# created_jobs: "N NAME" for each name, how many Jobs of it there were on the workers together.
created_jobs()
{
	grep -e '"plane":"w[0-9]*","type":"ADDED"' "$WORK/history" |
		jq -r 'select(.object.spec.template).object.metadata | .name + " " + .uid' |
		sort -u | cut -d' ' -f1 | uniq -c | awk '{print $1, $2}'
}

now()
{
	date -u +%Y-%m-%dT%H:%M:%S.%6NZ
}

# cq PLANE: the ClusterQueue of the test there. No two planes have the same name for it: what a copy
# takes along from the manager's queue would not pass on a worker.
cq()
{
	[ "$1" = mgr ] && echo "$T" || echo "$T-$1"
}

# queue PLANE [CHECK]: namespace, flavor, ClusterQueue and LocalQueue of the test. QUOTA is its cpu,
# SPEC one more line of the ClusterQueue.
queue()
{
	q_checks=
	[ -z "${2:-}" ] || q_checks="admissionChecksStrategy: {admissionChecks: [{name: $2}]}"
	k "$1" apply -f - >/dev/null <<EOF
apiVersion: v1
kind: Namespace
metadata: {name: $T}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: $(cq "$1")}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: ${QUOTA:-10}}]}]
  $q_checks
  ${SPEC:-}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: $T}
spec: {clusterQueue: $(cq "$1")}
EOF
}

# pair: queues on both workers, and the manager's with a check over them.
pair()
{
	for p_plane in w1 w2; do
		queue $p_plane
		cluster $p_plane
	done
	check w1 w2
	(SPEC=${MANAGER_SPEC:-}; queue mgr "$T")
}

# check [CLUSTER...]: AdmissionCheck and MultiKueueConfig of the test, named like it.
check()
{
	k mgr apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueConfig
metadata: {name: $T}
spec: {clusters: [$(echo "$@" | tr ' ' ',')]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: $T}
spec:
  controllerName: kueue.x-k8s.io/multikueue
  parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: $T}
EOF
}

# cluster NAME [KUBECONFIG]: Secret and MultiKueueCluster of that name, for the plane of that
# name or with another kubeconfig.
cluster()
{
	l_config=${2:-$MK_REAL_DIR/$1/${CREDENTIALS:-multikueued}.kubeconfig}
	k mgr apply -f - >/dev/null <<EOF
apiVersion: v1
kind: Secret
metadata: {name: $1, namespace: kueue-system}
data: {kubeconfig: $(base64 <"$l_config" | tr -d '\n')}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueCluster
metadata: {name: $1}
spec: {clusterSource: {kubeConfig: {location: $1, locationType: Secret}}}
EOF
}

# link PLANE: another way to its API server, with the kubeconfig $WORK/link-PLANE.kubeconfig.
# cut_link PLANE cuts it off: connections through it end, link opens it again.
link()
{
	k_port=$(cat "$WORK/link-$1.port" 2>/dev/null || ports 1 | tee "$WORK/link-$1.port")
	sed "s|server: .*|server: https://127.0.0.1:$k_port|" "$MK_REAL_DIR/$1/multikueued.kubeconfig" >"$WORK/link-$1.kubeconfig"
	"$FLEET" link --plane "$1" --port "$k_port" 2>>"$WORK/link.log" &
	echo $! >"$WORK/link-$1.pid"
}
cut_link()
{
	k_pid=$(cat "$WORK/link-$1.pid" 2>/dev/null) || return 0
	kill -KILL "$k_pid" 2>/dev/null
	wait "$k_pid" 2>/dev/null
	rm -f "$WORK/link-$1.pid"
}

# job PLANE NAME [SPEC-LINE [LABEL]]: a suspended Job of two pods in the queue of the test. CPU is
# what each pod asks for, NOTES the Job's annotations, POD one more line of its pods.
job()
{
	kn "$1" create -f - >/dev/null <<EOF
apiVersion: batch/v1
kind: Job
metadata: {name: $2, labels: {kueue.x-k8s.io/queue-name: ${LQ:-lq}, team: blue${4:+, $4}}, annotations: {${NOTES:-}}}
spec:
  suspend: true
  parallelism: 2
  completions: 2
  ${3:-}
  template:
    spec:
      restartPolicy: Never
      ${POD:-}
      containers:
      - {name: main, image: none, resources: {requests: {cpu: "${CPU:-1}"}}}
EOF
}

MANAGED='managedBy: kueue.x-k8s.io/multikueue'

# workload_of PLANE JOB: name of the Workload that the Job controls.
workload_of()
{
	kn "$1" get workloads -o jsonpath='{range .items[*]}{.metadata.ownerReferences[0].name}{" "}'\
'{.metadata.name}{"\n"}{end}' | awk -v j="$2" '$1 == j {print $2}'
}

# has_workload PLANE JOB
has_workload()
{
	[ -n "$(workload_of "$1" "$2")" ] && echo yes
}

# pods PLANE PHASE: plays the kubelet, moves all pods of the test there that have not ended.
pods()
{
	for pod in $(kn "$1" get pods -o name \
		--field-selector="status.phase!=$2,status.phase!=Succeeded,status.phase!=Failed"); do
		kn "$1" patch "$pod" --subresource=status --type=merge \
			-p "{\"status\":{\"phase\":\"$2\"}}" >/dev/null
	done
}

# ports N: free TCP ports.
ports()
{
	"$FLEET" ports --count "$1"
}

# need_daemon: without the daemon the whole test is skipped by name, or fails in CI.
need_daemon()
{
	[ ! -x "$MULTIKUEUED" ] || return 0
	if [ "${CI:-}" = true ]; then
		bail "$MULTIKUEUED is not built"
	fi
	tap_done=1
	echo "1..0 # SKIP $MULTIKUEUED is not built"
	exit 0
}

# daemon_config [EXTRA]: writes multikueued.yaml, with the kinds FRAMEWORKS; EXTRA goes
# below multiKueue, two spaces deep.
daemon_config()
{
	cat >"$WORK/multikueued.yaml" <<EOF
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
health:
  healthProbeBindAddress: "127.0.0.1:$(ports 1)"
metrics:
  bindAddress: "0"
leaderElection:
  leaderElect: true
  resourceNamespace: kueue-system
  # Kueue beside it holds the Lease of its own default name in the same namespace.
  resourceName: multikueued
  # Long enough for a busy machine; see daemon_kill.
  leaseDuration: 120s
  renewDeadline: 90s
  retryPeriod: 1s
internalCertManagement:
  enable: false
integrations:
  frameworks: [${FRAMEWORKS:-batch/job}]
multiKueue:
  gcInterval: 5s
  plugins:
    directory: $MK_PLUGINS
  network:
    allowLoopback: true
${1:-}
EOF
}

# daemon_start: runs multikueued beside the manager; its pid goes to a
# file that fleet knows as well.
daemon_start()
{
	history_begin
	"$MULTIKUEUED" --config "$WORK/multikueued.yaml" \
		--kubeconfig "$MK_REAL_DIR/mgr/multikueued.kubeconfig" \
		>>"$WORK/multikueued.log" 2>&1 &
	daemon=$!
	daemon_ran=yes
	echo "$daemon" >"$WORK/multikueued.pid"
}

# daemon_end SIGNAL: ends it and sets daemon_rc to its exit code.
daemon_end()
{
	[ -n "${daemon:-}" ] || return 0
	kill -"$1" "$daemon" 2>/dev/null
	e_end=$(($(date +%s) + 30))
	while kill -0 "$daemon" 2>/dev/null && [ "$(date +%s)" -lt "$e_end" ]; do
		# A zombie answers to signal 0; its state says that it is over.
		grep -q '^State:	Z' "/proc/$daemon/status" 2>/dev/null && break
		sleep 0.1
	done
	kill -KILL "$daemon" 2>/dev/null
	wait "$daemon" 2>/dev/null
	daemon_rc=$?
	daemon=
	rm -f "$WORK/multikueued.pid"
}

# leads [NAME]: how often the daemon with that log, multikueued.log unless given, began to lead.
leads()
{
	grep -c '"msg":"leading"' "$WORK/${1:-multikueued}.log"
}

# daemon_content: it ends when told to, and has not complained.
daemon_content()
{
	is "$(grep -c '"level":"error"' "$WORK/multikueued.log")" 0 "multikueued had nothing to complain about"
	daemon_end TERM
	is "$daemon_rc" 0 "multikueued ends with code 0 when told to"
}

# daemon_kill: kill -9. Its Lease goes as well, so that the next one need not wait until
# it has run out; restart.t waits.
daemon_kill()
{
	daemon_end KILL
	is "$daemon_rc" 137 "multikueued is killed"
	k mgr -n kueue-system delete lease multikueued --ignore-not-found >/dev/null
}

kubesim_ready()
{
	[ ! -e "$WORK/kubesim/ready" ] || echo ready
}

# kueue_says PLANE: "ok" when its Kueue serves its webhooks.
kueue_says()
{
	curl -sS --max-time 5 "http://$(sed -n 's/^health:.*"\(.*\)".*/\1/p' "$MK_REAL_DIR/$1/kueue.yaml")/readyz" 2>&1
}

# kueue_back PLANE: starts its Kueue, again when it has ended: it does that when its API server, new
# itself, does not serve a kind yet.
kueue_back()
{
	"$FLEET" start --plane "$1" --process kueue
	kueue_says "$1"
}

# kueue_awaited PLANE: waits for that in silence.
kueue_awaited()
{
	wait_for 60 kueue_is_back "$1"
}

kueue_is_back()
{
	[ "$(kueue_back "$1")" = ok ]
}

# kubesim_start: one simulated API server without controllers; kubesim_config is its kubeconfig.
kubesim_start()
{
	mkdir -p "$WORK/kubesim"
	"$KUBESIM" --dir "$WORK/kubesim" --clusters sim --no-actors --port "$(ports 1)" \
		--ready-file "$WORK/kubesim/ready" >"$WORK/kubesim.log" 2>&1 &
	kubesim=$!
	echo "$kubesim" >"$WORK/kubesim.pid"
	kubesim_config=$WORK/kubesim/sim.kubeconfig
	must ready "kubesim serves" kubesim_ready
}

# The end of every test, also of one that was interrupted: a fleet that stays must be clean. A test
# that does more to the planes names in 'undo' what takes that back.
cleanup_plane()
{
	kn "$1" delete jobs,workloads --all --ignore-not-found --wait=false
	k "$1" delete namespace "$T" --ignore-not-found --wait=false
	k "$1" delete clusterqueue "$(cq "$1")" --ignore-not-found --wait=false
	[ "$1" = mgr ] || return 0
	k mgr delete multikueuecluster w1 w2 --ignore-not-found
	k mgr delete admissioncheck,multikueueconfig "$T" --ignore-not-found --wait=false
	k mgr -n kueue-system delete secret w1 w2 --ignore-not-found
}

cleanup()
{
	daemon_end TERM
	[ -z "${undo:-}" ] || "$undo"
	# The next test makes a queue first of all, and does not expect that it is refused.
	for c_plane in mgr w1 w2; do
		[ ! -e "$MK_REAL_DIR/$c_plane/kueue.yaml" ] || kueue_awaited $c_plane
	done
	# Waited for: what is still there when the fleet goes counts as left.
	cut_link w1
	cut_link w2
	for c_pid in ${kubesim:-} ${recorder:-}; do
		kill -KILL "$c_pid" 2>/dev/null
		wait "$c_pid" 2>/dev/null
	done
	c_pids=
	for c_plane in mgr w1 w2; do
		cleanup_plane $c_plane >/dev/null 2>&1 &
		c_pids="$c_pids $!"
	done
	# shellcheck disable=SC2086 # a list of pids
	wait $c_pids
}
trap 'cleanup; [ -n "${tap_done:-}" ] || echo "not ok $((tap_n + 1)) - ended early"' EXIT
trap 'exit 130' INT TERM HUP
