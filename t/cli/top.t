#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubectl multikueue top: the tables and objects that it makes of the daemon's answers in
# t/cli/input/top, which a script gives it in place of kubectl.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
. t/integration/tap.sh
need jq
cp t/cli/input/top/*.json "$tmp"
cat >"$tmp/kubectl" <<END
#!/bin/sh
case "\$*" in
"get --raw /apis/visibility.multikueued.io/v1alpha1") echo '{}' ;;
"get --raw /apis/visibility.multikueued.io/v1alpha1/workloads?limit=100&requests=1") cat "$tmp/workloads.json" ;;
"get --raw /apis/visibility.multikueued.io/v1alpha1/workloads?limit=100&requests=1&continue=a%2Fw3") cat "$tmp/workloads2.json" ;;
"get --raw /apis/visibility.multikueued.io/v1alpha1/"*) cat "$tmp/\${3##*/}.json" ;;
"get clusterqueues.kueue.x-k8s.io --output=json")
	[ ! -f "$tmp/refused" ] || { cat "$tmp/refused" >&2; exit 1; }
	cat "$tmp/objects.json" ;;
*) echo "kubectl \$*" >&2; exit 1 ;;
esac
END
chmod +x "$tmp/kubectl"
top() { # ARGUMENTS...
	PATH="$tmp:$PATH" "$B/kubectl-multikueue" top "$@" 2>&1
}
shows() { # NAME ARGUMENTS...: that is what stands on standard input
	shows_name=$1
	shift
	cat >"$tmp/want"
	top "$@" >"$tmp/out"
	shows_rc=$?
	[ $shows_rc -eq 0 ] && diff -u "$tmp/want" "$tmp/out" >"$tmp/diff"
	ok $? "$shows_name" || sed 's/^/#   /' "$tmp/diff"
}

shows "both tables" <<'END'
NAME      RESOURCE        USED  NOMINAL     %  WAITING  RACING  WON
ads       cpu                1        0     -        0       0    1
ads       nvidia.com/gpu     8        8  100%        0       0    1
research  cpu               14       16   87%        2       2    1
research  memory           4Gi     32Gi   12%        2       2    1

NAME  STATE         RESOURCE         USED  NOMINAL    %  CLONES  WAITING  WON
east  NotConnected  -                   -        -    -       0        0    0
gone  Missing       cpu              250m        -    -       -        -    0
gone  Missing       pods                1        -    -       -        -    0
west  Connected     cpu             5500m       20  27%       5        2    2
west  Connected     memory            4Gi        -    -       5        2    2
west  Connected     pods                4        -    -       5        2    2
west  Connected     nvidia.com/gpu      8        -    -       5        2    2
END
shows "each flavor with -o wide, what borrows is over 100%" queues research -o wide <<'END'
NAME      FLAVOR    RESOURCE   USED  NOMINAL     %  WAITING  RACING  WON  OTHER
research  spot      cpu       4500m        4  112%        2       2    1      1
research  spot      memory      4Gi     16Gi   25%        2       2    1      1
research  reserved  cpu       9500m       12   79%        2       2    1      1
research  reserved  memory        0     16Gi    0%        2       2    1      1
END
shows "what is reserved on a worker by whomever" workers west -o wide --no-headers <<'END'
west  Connected  cpu             5500m  20  27%  8  5  2  2  0
west  Connected  memory            4Gi   -    -  -  5  2  2  0
west  Connected  pods                4   -    -  -  5  2  2  0
west  Connected  nvidia.com/gpu      8   -    -  -  5  2  2  0
END
shows "the fullest first" queues --sort-by percent --no-headers <<'END'
ads       cpu               1     0     -  0  0  1
ads       nvidia.com/gpu    8     8  100%  0  0  1
research  cpu              14    16   87%  2  2  1
research  memory          4Gi  32Gi   12%  2  2  1
END
shows "... where the most waits" workers --sort-by waiting -o name <<'END'
multikueuecluster.kueue.x-k8s.io/west
multikueuecluster.kueue.x-k8s.io/east
multikueuecluster.kueue.x-k8s.io/gone
END
shows "names of both" -o name <<'END'
clusterqueue.kueue.x-k8s.io/ads
clusterqueue.kueue.x-k8s.io/research
multikueuecluster.kueue.x-k8s.io/east
multikueuecluster.kueue.x-k8s.io/gone
multikueuecluster.kueue.x-k8s.io/west
END
shows "YAML" workers west east -o yaml <<'END'
kind: List
items:
- kind: WorkerUsage
  name: east
  state: NotConnected
  clones: 0
  waiting: 0
  resources: []
  phases: {}
- kind: WorkerUsage
  name: west
  state: Connected
  clones: 5
  waiting: 2
  resources:
  - name: cpu
    used: 5500
    nominal: 20000
    reserved: 8000
    percent: 27
  - name: memory
    used: 4294967296
  - name: pods
    used: 4
  - name: nvidia.com/gpu
    used: 8
  phases:
    Won: 2
END
is "$(top -o json | jq -r '.kind, (.items[] | .kind + "/" + .name)' | paste -sd ' ')" \
	"List ClusterQueueUsage/ads ClusterQueueUsage/research WorkerUsage/east WorkerUsage/gone WorkerUsage/west" "JSON of both"
is "$(top queues research -o json | jq -c '.items[0] | .resources[0], .phases')" \
	'{"name":"cpu","flavor":"spot","used":4500,"nominal":4000,"percent":112}
{"Won":1,"Racing":1,"NotNominated":1,"Evicted":1}' "... with each flavor and phase"
is "$(top workers nowhere)" \
	'error: worker "nowhere" is not known to the daemon; `kubectl multikueue top workers -o name` prints those that are' "a name that is not known"

# The daemon does not watch the manager's ClusterQueues: kubectl is asked.
jq '.items |= map(select(.cluster))' t/cli/input/top/queues.json >"$tmp/queues.json"
cat >"$tmp/objects.json" <<'END'
{"kind": "List", "items": [{"metadata": {"name": "research"}, "spec": {"resourceGroups": [{"coveredResources": ["cpu"],
	"flavors": [{"name": "spot", "resources": [{"name": "cpu", "nominalQuota": "10"}]}]}]},
	"status": {"flavorsReservation": [{"name": "spot", "resources": [{"name": "cpu", "total": "2500m"}]}], "pendingWorkloads": 3}}]}
END
shows "quotas from the API server" queues <<'END'
NAME      RESOURCE   USED  NOMINAL    %  WAITING  RACING  WON
ads       -             -        -    -        -       0    1
research  cpu       2500m       10  25%        3       2    1
END
echo 'Error from server (Forbidden): clusterqueues is forbidden' >"$tmp/refused"
shows "... which may refuse: what Workloads ask for is left" queues research <<'END'
NAME      RESOURCE    USED  NOMINAL  %  WAITING  RACING  WON
research  cpu       14250m        -  -        -       2    1
research  memory       4Gi        -  -        -       2    1
research  pods           5        -  -        -       2    1
NOMINAL and WAITING of ClusterQueues are not known, and USED is what their Workloads ask for: the
daemon does not watch them, and `kubectl get clusterqueues`: Error from server (Forbidden): clusterqueues is forbidden.
END
is "$(top workers -o name | wc -l)" 3 "workers do without"

echo '{"items": []}' | tee "$tmp/workloads.json" "$tmp/clusters.json" "$tmp/queues.json" >"$tmp/objects.json"
rm "$tmp/refused"
shows "nothing" <<'END'
No ClusterQueues found.
No workers found.
END
# What a daemon must not say.
echo '{"items": [{"name": 7}, {"name": "a", "flavors": {"x": [{"resources": "none"}]}}, 3, null]}' >"$tmp/queues.json"
echo '{"items": [{"phase": {}, "clusterQueue": []}, {"phase": "Won", "cluster": "b", "requests": [{"name": "cpu", "amount": 9223372036854775807},
	{"name": "cpu", "amount": 5}, {"amount": "x"}, null]}]}' >"$tmp/workloads.json"
top >"$tmp/out"
is "$? $(grep -c unlimited "$tmp/out")" "0 1" "an answer of another form" || sed 's/^/# /' "$tmp/out"
done_testing
