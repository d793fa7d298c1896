#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubectl multikueue tree without files: the objects of a cluster, which a script gives it in place
# of kubectl. Trees, trees that were compiled, Kueue's own Cohorts, and what may go wrong.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
. t/integration/tap.sh
need jq
cat >"$tmp/kubectl" <<END
#!/bin/sh
echo "\$*" >>"$tmp/asked"
while [ "\$1" != get ]; do shift; done
kind=\${2%%.*}
[ ! -f "$tmp/says-\$kind" ] || { cat "$tmp/says-\$kind" >&2; exit 1; }
jq --arg k "\$kind" '{apiVersion: "v1", kind: "List", items: [.items[] | select((.kind | ascii_downcase) + "s" == \$k)]}' "$tmp/cluster.json"
END
chmod +x "$tmp/kubectl"
tree() { # ARGUMENTS...
	PATH="$tmp:$PATH" "$B/kubectl-multikueue" tree "$@"
}
says() { # STATUS TEXT NAME ARGUMENTS...: that is printed somewhere
	says_want=$1
	says_text=$2
	says_name=$3
	shift 3
	tree "$@" >"$tmp/out" 2>&1
	[ $? -eq "$says_want" ] && grep -qF -- "$says_text" "$tmp/out"
	ok $? "$says_name" || sed 's/^/#   /' "$tmp/out"
}
# The amounts of all queues of all trees on standard input.
cells() {
	jq -cS '[.trees[] | .root | recurse(.children[]?) | {name, quotas: [.quotas[] | {flavor, resource, nominal, max, reserved, used}]}] | sort_by(.name)'
}
# The cluster has the objects on standard input: KIND NAME SPEC [ANNOTATIONS [NAMESPACE]].
cluster() {
	jq -nR '{items: [inputs | capture("^(?<kind>\\S+) (?<name>\\S+) (?<spec>\\S+)( (?<notes>\\S+))?( (?<ns>\\S+))?$") |
		{apiVersion: "kueue.x-k8s.io/v1beta2", kind, metadata: ({name, annotations: ((.notes // "{}") | fromjson)} +
		(if .ns then {namespace: .ns} else {} end)), spec: (.spec | fromjson)}]}' >"$tmp/cluster.json"
}
groups() { # NOMINAL [LIMITS]: of cpu
	echo '"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"f","resources":[{"name":"cpu","nominalQuota":"'"$1"'"'"${2:-}"'}]}]}]'
}
pods() { # COUNT: of 1 cpu each
	echo '"podSets":[{"name":"main","count":'"$1"',"template":{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}}]'
}
P='"kueue.x-k8s.io'

# --- a tree of parents, as it is and compiled -----------------------------------------------------
cluster <<END
ClusterQueue root {$(groups 10)} {$P/policy":"capacity"}
ClusterQueue left {"namespaceSelector":{}} {$P/parent":"root",$P/min-weight":"40",$P/max-weight":"60"}
ClusterQueue right {"preemption":{"reclaimWithinCohort":"Any"}} {$P/parent":"root",$P/min-weight":"60"}
LocalQueue team {"clusterQueue":"left"} {} ns
Workload big {"queueName":"team",$(pods 7)} {} ns
END
says 0 "root: ClusterQueues with a parent, 3 queues, 2 leaves, 2 levels" "a tree of the cluster" show
sort -u "$tmp/asked" >"$tmp/lists"
is "$(wc -l <"$tmp/asked") $(wc -l <"$tmp/lists")" "6 6" "each kind is read once"
says 0 'it does not fit: queue "left" (level 2 of 2): cpu in flavor f: used 0, requested 7, max 6' "why a Workload waits" explain
is "$(tree top --no-headers 2>"$tmp/err" | tr -s ' ')" "root: ClusterQueues with a parent
1 root cpu 0 10 0 10 0% 1
2 left cpu 0 4 0 6 0% 1
2 right cpu 0 6 0 10 0% 0" "top"
is "$(tree top -w -o json 2>"$tmp/err" | head -n 2 | jq -r '.trees[0].nodes[0] | "\(.name) \(.pending)"' | paste -sd ';' -)" "root 1;root 1" "... again and again"
says 1 "no Workload none in this cluster" "one that is not there" explain none
says 0 "valid: 1 tree, 3 queues" "validate" validate
: >"$tmp/asked"
tree validate --context east --kubeconfig /k >/dev/null 2>&1
is "$(cut -d' ' -f1-5 "$tmp/asked" | sort -u)" "--context east --kubeconfig /k get" "kubectl gets our options"
is "$(grep -c workloads "$tmp/asked")" 0 "... and is not asked for Workloads that do not matter"
tree show -o json 2>"$tmp/err" | cells >"$tmp/before"
tree compile -o json >"$tmp/next" 2>"$tmp/err"
is "$(jq -r '[.items[] | "\(.kind)/\(.metadata.name)"] | join(" ")' "$tmp/next")" "Cohort/root.root ClusterQueue/left ClusterQueue/right" \
	"compile: what to apply next to this cluster" || sed 's/^/#   /' "$tmp/err"
apply() { # What compile printed is merged into the cluster.
	jq -s '.[0].items as $old | .[1].items as $new | def key: .kind + "/" + .metadata.name;
		{items: (($old | map(. as $o | ($new | map(select(key == ($o | key))) | first) as $n |
		if $n then $o * $n else $o end)) + ($new | map(. as $n | select($old | all(key != ($n | key))))))}' \
		"$tmp/cluster.json" "$tmp/next" >"$tmp/applied" && mv "$tmp/applied" "$tmp/cluster.json"
}
for i in 1 2 3; do
	apply
	tree compile -o json >"$tmp/next" 2>"$tmp/err"
done
grep -q 'the cluster has these trees: nothing to apply' "$tmp/err"
ok $? "... until nothing is" || sed 's/^/#   /' "$tmp/err"
is "$(jq -r '.items[] | select(.metadata.name == "left").spec.cohortName' "$tmp/cluster.json")" root.root "then it is in a Cohort"
says 0 "root: ClusterQueues with a parent, compiled: Kueue enforces them, 3 queues" "a compiled tree is that tree" show
is "$(tree show -o json 2>"$tmp/err" | cells)" "$(cat "$tmp/before")" "... with the amounts of before"
says 0 "valid: 1 tree, 3 queues" "... and valid" validate

# --- compiled, and the tree is not there ----------------------------------------------------------
"$B/kubectl-multikueue" tree compile -f conf/samples/quota/resources.yaml -o json >"$tmp/cluster.json" 2>"$tmp/err"
"$B/kubectl-multikueue" tree show -f conf/samples/quota/resources.yaml -o json 2>"$tmp/err" | cells >"$tmp/before"
says 0 "lab: Cohorts compiled from a tree that is not in this cluster, 3 queues, 2 leaves, 2 levels" "Cohorts of a tree elsewhere" show
is "$(tree show -o json 2>"$tmp/err" | cells)" "$(cat "$tmp/before")" "... have its queues and amounts"
says 0 "no queue tree in this cluster" "validate says that there is none" validate
says 1 "no queue tree in this cluster" "... and compile" compile

# --- Kueue's own ----------------------------------------------------------------------------------
cluster <<END
Cohort top {$(groups 2)}
Cohort mid {"parentName":"top",$(groups 1 ',"borrowingLimit":"3"')}
ClusterQueue a {"cohortName":"mid",$(groups 4 ',"lendingLimit":"1","borrowingLimit":"2"')}
ClusterQueue b {"cohortName":"top",$(groups 5)}
ClusterQueue c {"cohortName":"nowhere",$(groups 3)}
ClusterQueue d {"stopPolicy":"Hold",$(groups 7)}
LocalQueue team {"clusterQueue":"b"} {} ns
Workload big {"queueName":"team",$(pods 10)} {} ns
END
tree show >"$tmp/out" 2>&1
is "$(grep ': [A-Z].*level' "$tmp/out")" "nowhere: Cohorts of Kueue, no queue tree, 2 queues, 1 leaf, 2 levels
top: Cohorts of Kueue, no queue tree, 4 queues, 2 leaves, 3 levels
d: ClusterQueue in no Cohort, no queue tree, 1 queue, 1 leaf, 1 level" "hierarchies of Kueue, each named for what it is" || sed 's/^/#   /' "$tmp/out"
grep -q 'd: its stopPolicy is Hold: Kueue admits nothing there' "$tmp/out"
ok $? "... one admits nothing"
is "$(tree show -o json 2>"$tmp/err" | jq -r '.trees[] | select(.name == "top") | .root | recurse(.children[]?) |
	"\(.name) \(.quotas[0] | "\(.nominal) \(.max) \(.reserved)")"' | sort)" "a 4 6 3
b 5 12 0
cohort/mid 5 8 3
cohort/top 12 12 3" "minima are sums, maxima minima and limits, reserves what is not lent"
is "$(tree top -o json 2>"$tmp/err" | jq -r '.trees[] | select(.origin == "cohorts" and .name == "top") | .nodes[] | "\(.level) \(.name) \(.pending)"')" "1 cohort/top 1
2 b 1
2 cohort/mid 0
3 a 0" "top has each level"
says 0 'queue "cohort/top" (level 1 of 2): cpu in flavor f: used 0, reserved for others 3, requested 10, max 12' "explain names a Cohort" explain
says 0 "its order and its victims may be others" "... and says whose order it is" explain
jq '(.items[] | select(.metadata.name == "top").spec.parentName) = "mid"' "$tmp/cluster.json" >"$tmp/cycle" && mv "$tmp/cycle" "$tmp/cluster.json"
says 1 "is below itself" "Cohorts in a cycle" show

# --- what may go wrong ----------------------------------------------------------------------------
echo 'error: the server doesn'"'"'t have a resource type "clusterquotatrees"' >"$tmp/says-clusterquotatrees"
cluster <<END
ClusterQueue d {$(groups 7)}
END
says 0 "d: ClusterQueue in no Cohort" "no ClusterQuotaTrees are served" show
echo 'Error from server (Forbidden): workloads.kueue.x-k8s.io is forbidden: User "u" cannot list resource "workloads"' >"$tmp/says-workloads"
echo 'Error from server (Forbidden): cohorts.kueue.x-k8s.io is forbidden: User "u" cannot list resource "cohorts"' >"$tmp/says-cohorts"
says 3 'the right to list workloads.kueue.x-k8s.io in all namespaces is missing: Error from server (Forbidden): workloads' "a right is missing" show
grep -q -- '--verb=list --resource=cohorts.kueue.x-k8s.io,workloads.kueue.x-k8s.io$' "$tmp/out"
ok $? "... all of them are named" || sed 's/^/#   /' "$tmp/out"
rm "$tmp/says-workloads" "$tmp/says-cohorts"
printf 'E1124 memcache.go: no\nThe connection to the server localhost:8080 was refused\n' >"$tmp/says-clusterqueues"
says 3 '`kubectl get clusterqueues.kueue.x-k8s.io`: The connection to the server localhost:8080 was refused' "no cluster" show
echo 'error: the server doesn'"'"'t have a resource type "clusterqueues"' >"$tmp/says-clusterqueues"
says 3 'is Kueue installed there?' "no Kueue" show
rm "$tmp/says-clusterqueues"
cluster </dev/null
says 1 "no ClusterQueue in this cluster" "nothing there" show
echo '{"items": [{"kind": "ClusterQueue", "apiVersion": "kueue.x-k8s.io/v1beta2", "metadata": {}}]}' >"$tmp/cluster.json"
says 3 '`kubectl get clusterqueues.kueue.x-k8s.io`: ClusterQueue without metadata.name' "an object without a name" show
printf '#!/bin/sh\necho no json\n' >"$tmp/kubectl"
says 3 'expected a list in JSON, found "no json"' "an answer that is none" show
rm "$tmp/kubectl"
program=$(realpath "$B/kubectl-multikueue")
is "$(PATH="$tmp" "$program" tree show 2>&1 | grep -c 'kubectl cannot be started')" 1 "no kubectl"
done_testing
