#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl multikueue doctor`: silent on a clean fleet; each planted mistake is found by name, with
# its object and a mend, and is gone when it was mended.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq perl openssl

KUEUE=/apis/kueue.x-k8s.io/v1beta2
HEAD='"apiVersion":"kueue.x-k8s.io/v1beta2"'
SECRETS=/api/v1/namespaces/kueue-system/secrets
mkdir -p "$dir/bin"
cp t/integration/kubectl_fake "$dir/bin/kubectl"

doctor() { # ARGUMENTS...: what it prints is in $dir/out
	PATH="$dir/bin:$PATH" "$B/kubectl-multikueue" doctor --kubeconfig "$dir/clusters/mgr-token.kubeconfig" \
		--server "http://127.0.0.1:$MANAGER_PORT" "$@" >"$dir/out" 2>&1
}
# Its findings in $dir/found: "NAME CLUSTER OBJECT", and whether each says found, expected and mend.
look() { # ARGUMENTS...
	doctor -o json "$@"
	looked=$?
	jq -r '.items[] | [.name, .cluster // "-", .object,
		(if ([.found, .expected, .mend] | all(length > 5)) then "" else "without words" end)] |
		join(" ") | rtrimstr(" ")' "$dir/out" >"$dir/found" 2>/dev/null
}
# The last look: is it found, and do the words stand in what was found, or in the mend?
finds() { # NAME CLUSTER OBJECT WORDS
	echo "$1" >>"$dir/planted"
	grep -qx "$1 $2 $3" "$dir/found" &&
		jq -r --arg n "$1" --arg o "$3" '.items[] | select(.name == $n and .object == $o) | .found + " " + .mend' "$dir/out" |
		grep -q -e "$4"
	ok $? "$1: $4" || {
		grep "^$1 " "$dir/found" | sed 's/^/# found    /'
		jq -c --arg n "$1" '.items[] | select(.name == $n)' "$dir/out" | head -3 | sed 's/^/# /'
	}
}
clean() { # NAME [ARGUMENTS...]
	clean_name=$1
	shift
	look "$@"
	[ $looked = 0 ] && [ ! -s "$dir/found" ]
	ok $? "$clean_name" || {
		sed 's/^/# found    /' "$dir/found"
		head -c 2000 "$dir/out" | sed 's/^/# /'
	}
}
is_clean() {
	look "$@"
	[ $looked = 0 ]
}

FLEET_MORE='  leaseName: fleet
  walls: [{config: multikueue, allow: [{}], impersonate: {serviceAccount: tenant}}]
integrations:
  frameworks: [batch/job, pod, jobset.x-k8s.io/jobset]'
fleet_kubesim && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
wait_for 60 is_clean
doctor
is $? 0 "a clean fleet has no findings" || sed 's/^/# /' "$dir/out"
is "$(grep -c . "$dir/out")" 1 "... and that is one line" || sed 's/^/# /' "$dir/out"


# --- configs, checks and queues of the manager ----------------------------------------------------
make() { # CLUSTER PATH JSON
	api "$1" POST "$2" "$3" | jq -e .metadata.name >/dev/null || echo "# $1 POST $2: $(api "$1" POST "$2" "$3" | jq -r .message)"
}
drop() { # CLUSTER PATH...
	drop_at=$1
	shift
	for drop_path in "$@"; do
		api "$drop_at" PATCH "$drop_path" '{"metadata":{"finalizers":null}}' >/dev/null
		api "$drop_at" DELETE "$drop_path" >/dev/null
	done
}
check() { # NAME CONTROLLER PARAMETERS
	make mgr $KUEUE/admissionchecks '{'"$HEAD"',"kind":"AdmissionCheck","metadata":{"name":"'"$1"'"},"spec":{"controllerName":"'"$2"'"'"$3"'}}'
}
leads() { # CONFIG
	echo ',"parameters":{"apiGroup":"kueue.x-k8s.io","kind":"MultiKueueConfig","name":"'"$1"'"}'
}
queue() { # NAME CHECKS [MORE OF THE SPEC [FLAVOR]]
	make mgr $KUEUE/clusterqueues '{'"$HEAD"',"kind":"ClusterQueue","metadata":{"name":"'"$1"'"},"spec":{"namespaceSelector":{},
		"admissionChecksStrategy":{"admissionChecks":['"$2"']}'"${3:-}"',"resourceGroups":[{"coveredResources":["cpu"],
		"flavors":[{"name":"'"${4:-default-flavor}"'","resources":[{"name":"cpu","nominalQuota":"1"}]}]}]}}'
}
local_queue() { # CLUSTER NAMESPACE NAME QUEUE
	make "$1" "$KUEUE/namespaces/$2/localqueues" '{'"$HEAD"',"kind":"LocalQueue","metadata":{"name":"'"$3"'","namespace":"'"$2"'"},
		"spec":{"clusterQueue":"'"$4"'"}}'
}
OURS=kueue.x-k8s.io/multikueue
make mgr $KUEUE/multikueueconfigs '{'"$HEAD"',"kind":"MultiKueueConfig","metadata":{"name":"spare","annotations":{"multikueued.io/cluster-selector":"region in eu"}},"spec":{"clusters":["w1","nowhere"]}}'
check bare $OURS ''
check gone $OURS "$(leads none)"
check typo kueue.x-k8s.io/multikueu "$(leads multikueue)"
queue absent-check '{"name":"absent"}'
queue some-flavors '{"name":"multikueue","onFlavors":["default-flavor"]}'
queue two-checks '{"name":"multikueue"},{"name":"gone"}'
queue stopped '{"name":"multikueue"}' ',"stopPolicy":"Hold"'
queue flavorless '{"name":"multikueue"}' '' absent-flavor
local_queue mgr default astray absent-queue
local_queue mgr default held stopped
local_queue mgr default inactive flavorless
make mgr /api/v1/namespaces '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}}'
local_queue mgr team jobs cluster-queue
knows_all() {
	look
	grep -q '^QueueInactive - ClusterQueue/flavorless' "$dir/found" && grep -q '^CheckInactive - AdmissionCheck/gone' "$dir/found"
}
wait_for 60 knows_all
finds ConfigNamesMissingCluster - MultiKueueConfig/spare "create MultiKueueCluster nowhere"
finds ConfigSelectsNothing - MultiKueueConfig/spare "mistake at byte 11"
finds ConfigUnused - MultiKueueConfig/spare "create that AdmissionCheck"
finds CheckParametersWrong - AdmissionCheck/bare "no spec.parameters"
finds CheckConfigMissing - AdmissionCheck/gone "MultiKueueConfig none"
finds CheckControllerWrong - AdmissionCheck/typo "kueue.x-k8s.io/multikueu .*delete admissioncheck typo"
finds CheckInactive - AdmissionCheck/gone "condition Active is False"
finds CheckUnused - AdmissionCheck/bare "edit clusterqueue"
finds QueueCheckMissing - ClusterQueue/absent-check "the check absent"
finds QueueCheckSomeFlavors - ClusterQueue/some-flavors "some flavors only"
finds QueueTwoChecks - ClusterQueue/two-checks "2 checks of MultiKueue"
finds QueueStopped - ClusterQueue/stopped "kubectl patch clusterqueue stopped"
finds QueueInactive - ClusterQueue/flavorless "condition Active is False"
finds LocalQueueLeadsNowhere - LocalQueue/default/astray "create ClusterQueue absent-queue"
finds NamespaceMissing w2 Namespace/team "kubectl create namespace team"
finds LocalQueueMissing w3 LocalQueue/default/held "create LocalQueue held in namespace default"
doctor
grep -q '^error NamespaceMissing: Namespace/team on w1, Namespace/team on w2, Namespace/team on w3$' "$dir/out"
ok $? "in text what is alike on several workers is one" || sed 's/^/# /' "$dir/out"
doctor -o wide
grep -q '^error  *NamespaceMissing  *w3  *Namespace/team ' "$dir/out"
ok $? "... and apart with -o wide"
doctor --only config --only queues
[ $? = 1 ] && grep -q QueueTwoChecks "$dir/out" && ! grep -q RightMissing "$dir/out"
ok $? "--only groups"
drop mgr $KUEUE/namespaces/default/localqueues/astray $KUEUE/namespaces/default/localqueues/held \
	$KUEUE/namespaces/default/localqueues/inactive $KUEUE/namespaces/team/localqueues/jobs \
	$KUEUE/clusterqueues/absent-check $KUEUE/clusterqueues/some-flavors $KUEUE/clusterqueues/two-checks \
	$KUEUE/clusterqueues/stopped $KUEUE/clusterqueues/flavorless \
	$KUEUE/admissionchecks/bare $KUEUE/admissionchecks/gone $KUEUE/admissionchecks/typo $KUEUE/multikueueconfigs/spare
wait_for 60 is_clean
clean "clean again"

# --- queues and priorities of the workers ---------------------------------------------------------
LOCAL=$KUEUE/namespaces/default/localqueues/user-queue
QUEUE=$KUEUE/clusterqueues/worker-queue
class() { # CLUSTER NAME VALUE
	make "$1" $KUEUE/workloadpriorityclasses '{'"$HEAD"',"kind":"WorkloadPriorityClass","metadata":{"name":"'"$2"'"},"value":'"$3"'}'
}
PRIORITIES=/apis/scheduling.k8s.io/v1/priorityclasses
pod_class() { # CLUSTER NAME VALUE
	make "$1" $PRIORITIES '{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"'"$2"'"},"value":'"$3"'}'
}
for at in mgr w1 w2 w3; do
	api $at POST /kubesim/crd '{"group":"scheduling.k8s.io","version":"v1","plural":"priorityclasses","kind":"PriorityClass","clusterScoped":true}' >/dev/null
	class $at silver 50
	pod_class $at system-node-critical 2000
done
class mgr gold 100
class w1 gold 100
class w2 gold 7
pod_class mgr fast 10
pod_class w2 fast 11
pod_class w3 fast 10
drop w1 $QUEUE
api w2 PATCH $LOCAL '{"spec":{"stopPolicy":"Hold"}}' >/dev/null
api w3 PATCH $QUEUE '{"spec":{"stopPolicy":"HoldAndDrain"}}' >/dev/null
look
finds WorkloadPriorityClassMissing w3 WorkloadPriorityClass/gold "create WorkloadPriorityClass gold with value 100"
finds WorkloadPriorityClassDiffers w2 WorkloadPriorityClass/gold "its value there is 7"
finds PriorityClassMissing w1 PriorityClass/fast "create PriorityClass fast with value 10"
finds PriorityClassDiffers w2 PriorityClass/fast "its value there is 11"
policy() { # CLUSTER JSON
	api "$1" POST /kubesim/policy "$2" >/dev/null
}
is "$(grep -c 'silver\|system-\|Class.* w3 .*fast' "$dir/found")" 0 "... and what is alike is not told"
finds WorkerQueueMissing w1 LocalQueue/default/user-queue "create ClusterQueue worker-queue"
finds LocalQueueStopped w2 LocalQueue/default/user-queue "spec.stopPolicy is Hold"
finds WorkerQueueStopped w3 ClusterQueue/worker-queue "spec.stopPolicy is HoldAndDrain"
HIDDEN='{"match":"GET '$PRIORITIES'","status":403,"message":"no"}'
policy w1 '{"rules":['"$HIDDEN"',{"match":"pods?dryRun","status":403,"message":"pods \"x\" is forbidden: no PriorityClass with name fast was found"}]}'
policy w2 '{"rules":['"$HIDDEN"',{"match":"pods?dryRun","merge":{"spec":{"priority":12}}}]}'
look
finds PriorityClassMissing w1 PriorityClass/fast "create PriorityClass fast"
finds PriorityClassDiffers w2 PriorityClass/fast "its value there is 12"
policy w1 '{}'
policy w2 '{}'
look --cluster w2
is "$(cut -d' ' -f2 "$dir/found" | sort -u)" w2 "--cluster: of that one alone"
drop mgr $KUEUE/workloadpriorityclasses/gold $PRIORITIES/fast
api w2 PATCH $LOCAL '{"spec":{"stopPolicy":"None"}}' >/dev/null
drop w1 $LOCAL
api w3 PATCH $QUEUE '{"spec":{"stopPolicy":"None","admissionChecksStrategy":{"admissionChecks":[{"name":"again"}]}}}' >/dev/null
make w3 $KUEUE/admissionchecks '{'"$HEAD"',"kind":"AdmissionCheck","metadata":{"name":"again"},"spec":{"controllerName":"'$OURS'"}}'
api w2 PATCH $QUEUE '{"spec":{"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"none",
	"resources":[{"name":"cpu","nominalQuota":"1"}]}]}]}}' >/dev/null
inactive() {
	look
	grep -q '^WorkerQueueInactive' "$dir/found"
}
wait_for 60 inactive
finds LocalQueueMissing w1 LocalQueue/default/user-queue "create LocalQueue user-queue in namespace default"
finds WorkerQueueLoops w3 ClusterQueue/worker-queue "the check again of MultiKueue"
finds WorkerQueueInactive w2 ClusterQueue/worker-queue "condition Active is False"
api w2 PATCH $QUEUE '{"spec":{"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"default-flavor",
	"resources":[{"name":"cpu","nominalQuota":"1"}]}]}]}}' >/dev/null
api w3 PATCH $QUEUE '{"spec":{"admissionChecksStrategy":null}}' >/dev/null
make w1 $KUEUE/clusterqueues "$(api w3 GET $QUEUE | jq -c '{apiVersion, kind, metadata: {name: .metadata.name}, spec}')"
local_queue w1 default user-queue worker-queue
wait_for 60 is_clean
clean "clean again"

# --- rights, webhooks, clocks ---------------------------------------------------------------------
policy w1 '{"deny":["delete batch/jobs","watch batch/jobs","patch kueue.x-k8s.io/workloads/status"],"skewMs":-60000}'
policy w2 '{"rules":[{"match":"workloads?dryRun","status":403,"message":"admission webhook \"quota.io\" denied the request: no"},
	{"match":"jobs?dryRun","merge":{"spec":{"template":{"spec":{"nodeSelector":{"pool":"a"}}}}}}]}'
policy w3 '{"rules":[{"match":"workloads?dryRun","status":500,"message":"Internal error occurred: failed calling webhook \"mworkload.kb.io\": connection refused"},
	{"match":"jobs?dryRun","status":422,"message":"ValidatingAdmissionPolicy denied it"}]}'
look
finds RightMissing w1 MultiKueueCluster/w1 "may not watch, delete jobs.batch"
finds RightMissing w1 MultiKueueCluster/w1 "may not patch workloads/status.kueue.x-k8s.io .*worker.yaml"
finds ClockDiffers w1 MultiKueueCluster/w1 "behind this host's"
finds CloneRefused w2 Namespace/default "admission webhook .*quota.io.* denied"
finds JobChanged w2 Namespace/default "spec.template.spec.nodeSelector was added"
finds KueueDown w3 MultiKueueCluster/w3 "kubectl -n kueue-system get deployments"
finds JobRefused w3 Namespace/default "422 ValidatingAdmissionPolicy denied it"
policy w1 '{"deny":["impersonate /serviceaccounts"]}'
policy w2 '{"accounts":{"system:serviceaccount:default:tenant":["create kueue.x-k8s.io/workloads"]}}'
policy w3 '{}'
look
finds RightMissing w1 MultiKueueCluster/w1 "may not impersonate serviceaccounts named tenant"
finds AccountRightMissing w2 Namespace/default "User \"system:serviceaccount:default:tenant\" cannot create resource \"jobs\".*RoleBinding"
is "$(grep -c '^AccountRightMissing' "$dir/found")" 1 "... for what it may not do, where it may not"
policy w1 '{"skewMs":60000}'
policy w2 '{"rules":[{"match":"workloads?dryRun","merge":{"metadata":{"labels":{"kueue.x-k8s.io/multikueue-origin":null}}}},
	{"match":"jobs?dryRun","merge":{"spec":{"template":{"spec":{"containers":[{"name":"main"},{"name":"sidecar"}]}}}}}]}'
policy w3 '{"rules":[{"match":"GET /apis ","status":200},{"match":"GET /version","status":404,"message":"no such page"}]}'
make w1 $KUEUE/namespaces/default/workloads '{'"$HEAD"',"kind":"Workload","metadata":{"name":"theirs","namespace":"default",
	"labels":{"kueue.x-k8s.io/multikueue-origin":"multikueue"},"annotations":{"multikueued.io/manager-id":"another"}},
	"spec":{"queueName":"user-queue","podSets":[{"name":"main","count":1,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]}}'
for at in mgr w1 w2; do
	api $at POST /kubesim/crd '{"group":"jobset.x-k8s.io","version":"v1alpha2","plural":"jobsets","kind":"JobSet"}' >/dev/null
done
look
finds ClockDiffers w1 MultiKueueCluster/w1 "ahead of this host's"
finds CloneChanged w2 Namespace/default "metadata.labels.kueue.x-k8s.io/multikueue-origin was taken away"
finds JobChanged w2 Namespace/default "spec.template.spec.containers: 1 items were sent, 2 came back"
finds NotKubernetes w3 MultiKueueCluster/w3 "404 no such page"
finds OriginClash w1 MultiKueueCluster/w1 "Workload default/theirs .*formerManagers"
policy w3 '{}'
look
finds KindMissing w3 MultiKueueCluster/w3 "jobset.x-k8s.io/v1alpha2 JobSet"
policy w3 '{"rules":[{"match":"GET /apis","status":200}]}'
look --only kueue
finds KueueMissing w3 MultiKueueCluster/w3 "install Kueue on the worker"
VERSIONS='[{"groupVersion":"kueue.x-k8s.io/v1alpha1","version":"v1alpha1"},{"groupVersion":"kueue.x-k8s.io/v1beta1","version":"v1beta1"}]'
policy w3 '{"rules":[{"match":"GET /apis","status":200,"body":{"kind":"APIGroupList","groups":[{"name":"kueue.x-k8s.io","versions":'"$VERSIONS"'}]}}]}'
look --only kueue
finds KueueTooOld w3 MultiKueueCluster/w3 "serves v1alpha1, v1beta1 .*0.18 or newer"
is "$(grep -c KueueMissing "$dir/found")" 0 "... which is there"
policy w3 '{"rules":[{"match":"GET /apis/kueue.x-k8s.io/v1beta2/clusterqueues","status":200,"body":{"items":[{"metadata":{"name":"worker-queue"},
	"spec":{"resourceGroups":[]},"status":{}}]}}]}'
look --only kueue
finds KueueIdle w3 ClusterQueue/worker-queue "no controller of Kueue .*get deployments,pods"
policy w1 '{}'
policy w2 '{}'
policy w3 '{}'
drop w1 $KUEUE/namespaces/default/workloads/theirs
api w3 POST /kubesim/crd '{"group":"jobset.x-k8s.io","version":"v1alpha2","plural":"jobsets","kind":"JobSet"}' >/dev/null
wait_for 60 is_clean
clean "clean again"

# --- kubeconfigs ----------------------------------------------------------------------------------
extra= # names of MultiKueueClusters
secret() { # NAME JSON: of the data
	make mgr $SECRETS '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"'"$1"'","namespace":"kueue-system"},"data":'"$2"'}'
}
cluster() { # NAME [FILE]: with that kubeconfig, if any
	extra="$extra $1"
	[ -z "${2:-}" ] || secret "$1" '{"kubeconfig":"'"$(base64 -w0 "$2")"'"}'
	make mgr $KUEUE/multikueueclusters '{'"$HEAD"',"kind":"MultiKueueCluster","metadata":{"name":"'"$1"'"},
		"spec":{"clusterSource":{"kubeConfig":{"location":"'"$1"'","locationType":"Secret"}}}}'
}
like() { # FILE SED: a kubeconfig of w1 that differs
	sed "$2" "$dir/clusters/w1-token.kubeconfig" >"$dir/$1"
	cluster "$1" "$dir/$1"
}
certificate() { # FILE DAYS: one that ends then, and its key
	openssl req -new -newkey rsa:2048 -nodes -keyout "$dir/$1.key" -subj /CN=x -out "$dir/$1.req" 2>/dev/null
	openssl x509 -req -in "$dir/$1.req" -signkey "$dir/$1.key" -days "$2" -out "$dir/$1.crt" 2>/dev/null
}
jwt() { # SECONDS: a token that ends so long from now
	printf 'e30.%s.sig' "$(printf '{"exp":%d}' $(($(date +%s) + $1)) | base64 -w0 | tr '+/' '-_' | tr -d '=')"
}
certificate over 0
certificate soon 5
with_certificate() { # FILE: replaces the token
	printf 's|token: .*|client-certificate-data: %s\\n    client-key-data: %s|' "$(base64 -w0 "$dir/$1.crt")" "$(base64 -w0 "$dir/$1.key")"
}
cluster lost
secret keyless '{"config":"eA=="}'
cluster keyless
like insecure 's|certificate-authority-data: .*|insecure-skip-tls-verify: true|'
like anonymous '/token:/d; s/user:$/user: {}/'
like cert-over "$(with_certificate over)"
like cert-soon "$(with_certificate soon)"
like ca-over "s|certificate-authority-data: .*|certificate-authority-data: $(base64 -w0 "$dir/over.crt")|"
like ca-soon "s|certificate-authority-data: .*|certificate-authority-data: $(base64 -w0 "$dir/soon.crt")|"
like token-over "s|token: .*|token: $(jwt -60)|"
like token-soon "s|token: .*|token: $(jwt 86400)|"
like nameless 's|server: .*|server: https://api.worker.invalid:6443|'
like closed 's|server: .*|server: https://127.0.0.1:1|'
like twin 's|nothing||'
cluster self "$dir/clusters/mgr-token.kubeconfig"
look
finds SecretMissing lost MultiKueueCluster/lost "no Secret lost in namespace kueue-system.*create secret generic lost .*| kubectl apply --server-side"
finds SecretKeyMissing keyless MultiKueueCluster/keyless "has the keys: config"
finds KubeconfigUnusable insecure MultiKueueCluster/insecure "insecure TLS verification is not allowed"
finds KubeconfigAnonymous anonymous MultiKueueCluster/anonymous "no credentials"
finds ClientCertificateEnded cert-over MultiKueueCluster/cert-over "client certificate of the kubeconfig ended at 20"
finds ClientCertificateEndsSoon cert-soon MultiKueueCluster/cert-soon "ends at 20"
finds AuthorityEnded ca-over MultiKueueCluster/ca-over "ended at 20"
finds AuthorityEndsSoon ca-soon MultiKueueCluster/ca-soon "ends at 20"
finds CertificateUntrusted ca-soon MultiKueueCluster/ca-soon "x509: certificate signed by unknown authority"
finds TokenEnded token-over MultiKueueCluster/token-over "token of the kubeconfig ended at 20"
finds TokenEndsSoon token-soon MultiKueueCluster/token-soon "token of the kubeconfig ends at 20"
finds CredentialsRefused token-soon MultiKueueCluster/token-soon "401 Unauthorized.*create token"
finds NameUnknown nameless MultiKueueCluster/nameless "no such host"
finds Unreachable closed MultiKueueCluster/closed "connection refused"
finds SameServer w1 MultiKueueCluster/w1 "the same API server as twin"
finds WorkerIsManager self MultiKueueCluster/self "leads to the manager itself"
finds ClusterInNoConfig - MultiKueueCluster/lost "kubectl edit multikueueconfig"
is "$(grep -c "^TokenEnded token-soon\|^ClientCertificateEnded cert-soon" "$dir/found")" 0 "what ends soon is not over"
look --soon 0 --cluster token-soon --cluster cert-soon --only credentials
is "$(cat "$dir/found")" "" "--soon: when it is told"
look --soon 36500 --cluster w2
finds ServerCertificateEndsSoon w2 MultiKueueCluster/w2 "the certificate of the API server ends at"
policy mgr '{"rules":[{"match":"GET /api/v1/namespaces/kube-system","status":403,"message":"no"},{"match":"GET '$SECRETS'/w2","status":403,"message":"secrets is forbidden"}]}'
doctor --cluster w2 --cluster w3 -o wide
grep -q '^Not checked on w2: the worker itself: its Secret cannot be read: secrets is forbidden' "$dir/out"
ok $? "a Secret that the caller may not read is told" || sed 's/^/# /' "$dir/out"
policy mgr '{}'
for name in $extra; do
	drop mgr $KUEUE/multikueueclusters/$name $SECRETS/$name
done
wait_for 60 is_clean
clean "clean again"

# --- Kueue and the daemon on the manager ----------------------------------------------------------
DEPLOYMENTS=/apis/apps/v1/namespaces/kueue-system/deployments
HOOKS=/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations
api mgr POST /kubesim/crd '{"group":"apps","version":"v1","plural":"deployments","kind":"Deployment"}' >/dev/null
api mgr POST /kubesim/crd '{"group":"admissionregistration.k8s.io","version":"v1","plural":"mutatingwebhookconfigurations",
	"kind":"MutatingWebhookConfiguration","clusterScoped":true}' >/dev/null
deployment() { # NAME REPLICAS ARGS
	make mgr $DEPLOYMENTS '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"'"$1"'","namespace":"kueue-system"},
		"spec":{"template":{"spec":{"containers":[{"name":"manager","args":['"$3"']}]}}}}'
	api mgr PATCH "$DEPLOYMENTS/$1/status" '{"status":{"availableReplicas":'"$2"'}}' >/dev/null
}
hook() { # PEM FILE
	drop mgr $HOOKS/multikueue-mutating-webhook-configuration
	make mgr $HOOKS '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration",
		"metadata":{"name":"multikueue-mutating-webhook-configuration"},
		"webhooks":[{"name":"m","clientConfig":{"caBundle":"'"$(base64 -w0 "$1")"'"}}]}'
}
gates() { # TEXT OF featureGates
	drop mgr /api/v1/namespaces/kueue-system/configmaps/kueue-manager-config
	make mgr /api/v1/namespaces/kueue-system/configmaps '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kueue-manager-config",
		"namespace":"kueue-system"},"data":{"controller_manager_config.yaml":"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfeatureGates: {'"$1"'}\n"}}'
}
deployment kueue-controller-manager 0 '"--zap-log-level=2"'
deployment multikueued 0 ''
hook "$dir/over.crt"
policy mgr '{"deny":["patch kueue.x-k8s.io/workloads/status","get /secrets"]}'
look
finds ManagerKueueDown - Deployment/kueue-system/kueue-controller-manager "no replica is available"
finds StockMultiKueue - Deployment/kueue-system/kueue-controller-manager "the feature gate MultiKueue is not set"
finds DaemonNotRunning - Deployment/kueue-system/multikueued "kubectl -n kueue-system logs deployment/multikueued"
finds WebhookAuthorityEnded - MutatingWebhookConfiguration/multikueue-mutating-webhook-configuration "caBundle ended at"
finds ManagerRightMissing - ServiceAccount/kueue-system/multikueued "may not patch workloads/status.kueue.x-k8s.io"
finds ManagerRightMissing - ServiceAccount/kueue-system/multikueued "may not get secrets in namespace kueue-system .*manager.yaml"
policy mgr '{}'
hook "$dir/soon.crt"
gates 'MultiKueue: true, MultiKueueRemoteSpecSync: false'
look
finds StockMultiKueue - Deployment/kueue-system/kueue-controller-manager "the feature gate MultiKueue is true"
finds GateDiffers - Deployment/kueue-system/kueue-controller-manager "MultiKueueRemoteSpecSync is false, the daemon's true"
finds WebhookAuthorityEndsSoon - MutatingWebhookConfiguration/multikueue-mutating-webhook-configuration "caBundle ends at"
certificate good 400
hook "$dir/good.crt"
gates 'MultiKueue: false'
drop mgr $DEPLOYMENTS/kueue-controller-manager $DEPLOYMENTS/multikueued
deployment kueue-controller-manager 1 '"--feature-gates=MultiKueueRemoteSpecSync=true"'
deployment multikueued 2 ''
wait_for 60 is_clean
clean "clean again, with Kueue's configuration in view"

for minor in 31+ 29; do
	policy mgr '{"rules":[{"match":"GET /version","status":200,"body":{"major":"1","minor":"'$minor'","gitVersion":"v1.'"${minor%+}"'.4"}}]}'
	look --only daemon
	finds ManagerTooOld - "the API server" "v1.${minor%+}.4"
	is "$(jq -r '.items[] | select(.name == "ManagerTooOld") | .expected | contains("JobManagedBy")' "$dir/out")" \
		"$([ $minor = 29 ] && echo false || echo true)" "... with the gate, where there is one"
done
policy mgr '{"rules":[{"match":"GET /version","status":200,"body":{"major":"1","minor":"32","gitVersion":"v1.32.0"}}]}'
clean "1.32 is new enough" --only daemon
policy mgr '{}'

# lease NAMESPACE NAME [LABELS]: one whose holder renewed it last long ago.
lease() {
	make mgr "/apis/coordination.k8s.io/v1/namespaces/$1/leases" '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease",
		"metadata":{"name":"'"$2"'","namespace":"'"$1"'","labels":{'"${3:-}"'}},"spec":{"holderIdentity":"gone",
		"leaseDurationSeconds":15,"renewTime":"2026-01-01T00:00:00.000000Z"}}'
}
LEASES=/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases
MANAGED_BY='"app.kubernetes.io/managed-by":"multikueued"'
lease kueue-system multikueued
lease kueue-system aside "$MANAGED_BY"
lease kube-system east
clean "the Lease that counts is the one that the daemon names"

# A daemon that says other things: NAME of the file is what it answers.
mkdir "$dir/says"
curl -sS "http://127.0.0.1:$MANAGER_PORT/status" | jq '.version = "0.0.1" |
	.kueue += {seems: "0.18", differs: true}' >"$dir/says/status"
curl -sS "http://127.0.0.1:$MANAGER_PORT/v1/settings" | jq '.allowLoopback = false | .leaseNamespace = "kube-system" | .leaseName = "east"' >"$dir/says/settings"
curl -sS "http://127.0.0.1:$MANAGER_PORT/v1/plugins" >"$dir/says/plugins"
perl -MIO::Socket::INET -e '$| = 1; my $l = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1", LocalPort => 0) or die;
	print $l->sockport, "\n"; while (my $s = $l->accept) { my ($name) = <$s> =~ m{/(?:v1/)?(\w+) }; while (<$s> =~ /\S/) {}
	open(my $f, "<", "$ARGV[0]/$name"); print $s "HTTP/1.0 200 OK\r\n\r\n", <$f>; close $s }' "$dir/says" >"$dir/says.port" &
FLEET_PIDS="$FLEET_PIDS $!"
wait_for 20 test -s "$dir/says.port"
daemon_port=$MANAGER_PORT
MANAGER_PORT=$(cat "$dir/says.port")
look
finds DaemonVersion - Deployment/kueue-system/multikueued "version 0.0.1"
finds KueueVersionDiffers - Deployment/kueue-system/kueue-controller-manager \
	"seems to be Kueue 0.18; the daemon takes it for 0.19 set multiKueue.kueueVersion"
finds LoopbackServer w1 MultiKueueCluster/w1 "the kubeconfig's server is 127.0.0.1"
finds NoLeader - Lease/kube-system/east "gone renewed it last at 2026-01-01T00:00:00Z"
drop mgr /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/east
look
finds NoLeader - Lease/kube-system/east "it is not there"
jq 'del(.leaseNamespace, .leaseName)' "$dir/says/settings" >"$dir/says/alone"
mv "$dir/says/alone" "$dir/says/settings"
look
is "$(grep -c NoLeader "$dir/found")" 0 "a daemon that elects no leader needs no Lease"
MANAGER_PORT=$daemon_port

# The daemon ends; what it leaves is old.
kill "$MANAGER_PID"
wait "$MANAGER_PID" 2>/dev/null
api mgr PATCH $KUEUE/multikueueclusters/w2/status '{"status":{"conditions":[{"type":"Active","status":"False","reason":"ClientConnectionFailed",
	"message":"dial tcp: i/o timeout","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}' >/dev/null
look
finds DaemonUnreachable - Deployment/kueue-system/multikueued "does not answer"
finds DaemonNotConnected w2 MultiKueueCluster/w2 "dial tcp: i/o timeout"
finds NoLeader - Lease/kueue-system/fleet "no process holds it"
is "$(grep -c NoLeader "$dir/found")" 1 "of Leases with the label of the daemon the one that was renewed last counts"
drop mgr $LEASES/fleet $LEASES/aside
look
finds NoLeader - Lease/kueue-system/multikueued "gone renewed it last"
doctor --worker-rbac conf/rbac/worker.yaml
! grep -q 'rights on workers' "$dir/out"
ok $? "--worker-rbac: rights without a daemon"
sed -i 's|server: .*|server: https://127.0.0.1:1|' "$dir/clusters/mgr-token.kubeconfig"
doctor
[ $? = 3 ] && grep -q '^error: the manager does not answer' "$dir/out"
ok $? "a manager that is not there is told" || sed 's/^/# /' "$dir/out"
is "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'multikueue-*' -newer "$dir/ready" -user "$(id -u)" | wc -l)" 0 "no folder is left"
sed -nE 's/^\| `([A-Za-z]+)` \| (error|warning) \|.*/\1/p' docs/doctor.md | sort >"$dir/rows"
is "$(sort -u "$dir/planted")" "$(cat "$dir/rows")" "each finding of docs/doctor.md was planted"
notes "$dir/m.log"
done_testing
