#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Why a Job waits, beside real Kueue: sixteen causes are planted, on two workers that are there and
# five that cannot be reached. The command line names each, with what to do, and so does the check's
# message, until one of the workers takes the Job.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

# elsewhere NAME SED: a MultiKueueCluster whose kubeconfig is that of w1, but for this.
elsewhere()
{
	sed "$2" "$MK_REAL_DIR/w1/multikueued.kubeconfig" >"$WORK/$1.kubeconfig"
	cluster "$1" "$WORK/$1.kubeconfig"
}
tidy()
{
	k mgr delete multikueuecluster w3 w4 w5 w6 w7 --ignore-not-found >/dev/null
	k mgr -n kueue-system delete secret w3 w4 w5 w6 w7 --ignore-not-found >/dev/null
	k mgr delete admissioncheck "$T-budget" --ignore-not-found --wait=false >/dev/null
	k w2 delete validatingadmissionpolicybinding,validatingadmissionpolicy "$T" --ignore-not-found >/dev/null
}
undo=tidy

QUOTA=1 queue w1
cluster w1
link w2
cluster w2 "$WORK/link-w2.kubeconfig"
elsewhere w3 "s|server: .*|server: https://127.0.0.1:1|"
elsewhere w4 "s|certificate-authority-data: .*|certificate-authority-data: $(k w2 config view --raw -o \
	'jsonpath={.clusters[0].cluster.certificate-authority-data}')|"
elsewhere w5 's|token: .*|token: one.that.has-expired|'
elsewhere w6 's|server: .*|server: https://api.worker.invalid:6443|'
elsewhere w7 's|certificate-authority-data: .*|insecure-skip-tls-verify: true|'
check w1 w2 w3 w4 w5 w6 w7
queue mgr "$T"
daemon_config
daemon_start
at=$(sed -n 's/^ *healthProbeBindAddress: "\(.*\)"/\1/p' "$WORK/multikueued.yaml")

# why JOB WORKER ("-": the Workload as a whole): "REASON MESSAGE: DETAIL"
why()
{
	"$KUBECTL_MULTIKUEUE" why "$1" -n "$T" --server "http://$at" -o json 2>&1 | jq -r --arg c "$2" \
		'(if $c == "-" then . + {reason: .phase} else .clusters[] | select(.name == $c) end) |
		"\(.reason) \(.message): \(.detail // "")\n\(.mend // "")"'
}

# says JOB WORKER WORDS [MEND]: "yes" when the reason has these words, and what to do these.
says()
{
	why "$1" "$2" >"$WORK/why"
	head -n 1 "$WORK/why" | grep -Fq -e "$3" && tail -n 1 "$WORK/why" | grep -Fq -e "${4:-}" && echo yes
}

# check_says JOB WORDS: "yes" when the check's message has them.
check_says()
{
	first_check "$(workload_of mgr "$1")" | grep -Fq -e "$2" && echo yes
}

# names JOB WORKER REASON WORDS MEND DESC: so says the command line.
names()
{
	becomes yes "$6" says "$1" "$2" "$3 " "$5" || diag "$(cat "$WORK/why")"
	becomes yes "... in these words" says "$1" "$2" "$4" "$5" || diag "$(cat "$WORK/why")"
}

# --- on two workers that are there, and five that are not -----------------------------------------
job mgr a "$MANAGED"
must yes "a has a Workload" has_workload mgr a
names a w1 WaitsForQuota "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default" \
	"raise the quota" "too little quota on w1, in the words of Kueue"
names a w2 Resting "refused the Workload: namespaces \"$T\" not found" "create this namespace" "no namespace on w2"
names a w3 NotConnected "nothing listens at its address (connection refused)" "see whether the API server" "w3 is down"
names a w4 NotConnected "the server's certificate is not trusted (x509)" "certificate-authority-data" "the CA of w4 is wrong"
names a w5 NotConnected "it refuses our credentials (401 Unauthorized)" "put a valid token" "the token of w5 has expired"
names a w6 NotConnected "the server's name cannot be resolved (no such host)" "correct the server's name" "no DNS name for w6"
names a w7 NotConnected "its kubeconfig is insecure" "correct the worker's kubeconfig" "the kubeconfig of w7 is wrong"
for words in "Pending Not admitted yet by 7 workers: w1: has no quota: couldn't assign" "namespaces \"$T\" not found" \
	"connection refused" "(x509)" "(401 Unauthorized)" "(no such host)" "its kubeconfig is insecure"; do
	becomes yes "the check says: $words" check_says a "$words"
done
k w2 create namespace "$T" --save-config >/dev/null
names a w2 WaitsForQuota "LocalQueue lq doesn't exist" "create this LocalQueue" "no LocalQueue on w2"
stop w1 Hold
# Kueue need not look again at a Workload that it has refused already: another one tells.
job mgr b "$MANAGED"
must yes "b has a Workload" has_workload mgr b
names b w1 WaitsForQuota "has no quota: ClusterQueue" "this ClusterQueue on the worker" "the queue of w1 is held"
diag "$(why b w1)"
k mgr -n "$T" delete job b >/dev/null
stop w1 None
queue w2
placed a
is "$win" w2 "a runs once w2 has a queue"
becomes yes "and it is said where" says a w2 "JobRuns was chosen; the job runs"
is "$("$KUBECTL_MULTIKUEUE" why a -n "$T" --server "http://$at" | awk '$1 == "w2" { print $2 }')" JobRuns \
	"by the command line, too"
cut_link w2
names a w2 WinnerNotConnected "the job may go on there" "bring the worker back before it counts as lost" "w2 is lost"
is "$("$KUBECTL_MULTIKUEUE" why a -n "$T" --server "http://$at" | grep -c '^  in .*, w2: the worker counts as lost')" 1 \
	"and when it counts as lost"
link w2
becomes yes "w2 is back" says a w2 "JobRuns was chosen; the job runs"
ends a

# --- before any worker is asked -------------------------------------------------------------------
k mgr apply -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: $T-budget}
spec: {controllerName: example.com/budget}
EOF
k mgr patch admissioncheck "$T-budget" --subresource=status --type=merge -p '{"status":{"conditions":[{
	"type":"Active","status":"True","reason":"Active","message":"set by the test",
	"lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":1}]}}' >/dev/null
checks()
{
	k mgr patch clusterqueue "$T" --type=merge -p "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[$1]}}}" >/dev/null
	must yes "the queue of the manager has its checks" seen mgr
}
checks "{\"name\":\"$T\"},{\"name\":\"$T-budget\"}"
job mgr c "$MANAGED"
must yes "c has a Workload" has_workload mgr c
names c - WaitsForOtherChecks "admission check \"$T-budget\" is Pending" "see the controller of that admission check" \
	"another check comes first"
becomes yes "... and the check says so" check_says c "Not admitted yet: admission check \"$T-budget\" is Pending"
k mgr -n "$T" delete job c >/dev/null
checks "{\"name\":\"$T\"}"

k mgr annotate admissioncheck "$T" multikueued.io/dispatcher=example.com/silent >/dev/null
job mgr d "$MANAGED"
must yes "d has a Workload" has_workload mgr d
names d - NotNominated "dispatcher \"example.com/silent\" has nominated no cluster" "see whether the dispatcher's controller runs" \
	"a dispatcher outside is silent"
becomes yes "... and the check says so" check_says d "dispatcher \"example.com/silent\" has nominated no cluster"

# --- workers that take nothing --------------------------------------------------------------------
wl=$(workload_of mgr d)
kn w1 create -f - >/dev/null <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: $wl}
spec:
  active: false
  podSets:
  - {name: main, count: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
EOF
k mgr annotate multikueuecluster w2 multikueued.io/cordon=Cordon "multikueued.io/cordon-reason=new disks" >/dev/null
k mgr annotate admissioncheck "$T" multikueued.io/dispatcher- >/dev/null
names d w1 ForeignObject "has a Workload of this name that is not ours" "delete the Workload of this name" "a foreign object on w1"
names d w2 Cordoned "is cordoned: new disks" "kubectl multikueue uncordon" "w2 is cordoned"
k w2 apply -f - >/dev/null <<EOF
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: $T}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
    resourceRules:
    - {operations: [CREATE], apiGroups: [kueue.x-k8s.io], apiVersions: [v1beta2], resources: [workloads]}
  validations:
  - {expression: "false", message: none today, reason: Forbidden}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: $T}
spec: {policyName: $T, validationActions: [Deny]}
EOF
denied()
{
	kn w1 get workload "$wl" -o json | jq '{apiVersion, kind, metadata: {name: "probe"}, spec}' |
		kn w2 create --dry-run=server -f - >/dev/null 2>&1 || echo yes
}
must yes "a policy of w2 is in force" denied
echo "w2 $(now)" >>"$WORK/starting"
k mgr annotate multikueuecluster w2 multikueued.io/cordon- multikueued.io/cordon-reason- >/dev/null
names d w2 Resting "denied request: none today" "see this policy on the worker" "a policy of w2 refuses the clone"
becomes yes "... and the check says so" check_says d "denied request: none today"
k w2 delete validatingadmissionpolicybinding,validatingadmissionpolicy "$T" >/dev/null
"$FLEET" kill --plane w2 --process kueue
names d w2 Resting "failed calling webhook" "see whether Kueue runs on the worker" "Kueue is down on w2"
echo "w2 $(now)" >>"$WORK/started"
kueue_awaited w2
kn w1 delete workload "$wl" >/dev/null
must yes "d is placed when its causes are gone" is_placed "$wl"
must "2 false" "d runs" field mgr job d '{.status.active} {.spec.suspend}'
ends d
scene_end
