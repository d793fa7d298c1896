#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pods of a job and what they print, wherever it runs: `kubectl multikueue pods`, `logs` and
# `exec`. The jobs are processes (kubesim's local mode); a script stands for kubectl and asks the
# API server of the worker whose context it is given. KUBECTL is one to ask at the end as well.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq

# Prints a line, waits for the file, prints another one: talks NAME
talks() {
	api mgr POST $HERE '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"'"$1"'","namespace":"default",
		"labels":{"kueue.x-k8s.io/queue-name":"user-queue"},"annotations":{"kubesim.x-k8s.io/mode":"local"}},
		"spec":{'"$OURS"'"suspend":true,"backoffLimit":0,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main",
		"image":"none","resources":{"requests":{"cpu":"1"}},"command":["sh","-c"],
		"args":["echo begun; while ! [ -e '"$dir/$1.go"' ]; do sleep 0.1; done; echo ended"]}]}}}}' >/dev/null
}
mkdir "$dir/bin"
cat >"$dir/bin/kubectl" <<END
#!/bin/sh
# kubectl --context CONTEXT --namespace default get pods|logs POD|exec POD ...
dir=$dir
echo "\$*" >>"\$dir/kubectl.words"
END
cat >>"$dir/bin/kubectl" <<'END'
at=${2#my-} verb=$5 pod=$6 words=" $* "
[ -f "$dir/clusters/$at-token.kubeconfig" ] || {
	echo "error: context \"$2\" does not exist" >&2
	exit 1
}
of() { sed -n "s/^ *$1: //p" "$dir/clusters/$at-token.kubeconfig"; }
ca=$(mktemp) && of certificate-authority-data | base64 -d >"$ca"
trap 'rm -f "$ca"' EXIT
trap 'exit 1' HUP INT TERM
ask() { curl -sSf --max-time 10 --cacert "$ca" -H "Authorization: Bearer $(of token)" "$(of server)$1"; }
runs() { ask "/api/v1/namespaces/default/pods/$pod" 2>/dev/null | grep -q '"phase":"Running"'; }
log() { ask "/api/v1/namespaces/default/pods/$pod/log"; }
case $words in
*" get pods "*)
	[ ! -e "$dir/hostile" ] || { cat "$dir/hostile"; exit; }
	[ ! -e "$dir/refuse" ] || { echo 'Error from server (Forbidden): pods is forbidden' >&2; exit 1; }
	selector=${words##*--selector=}
	ask "/api/v1/namespaces/default/pods?labelSelector=${selector% }" ;;
*" --follow "*)
	shown=0
	while more=1; runs || more=0; text=$(log && echo .); text=${text%.}; do
		printf %s "$text" | tail -c +$((shown + 1))
		shown=$(printf %s "$text" | wc -c)
		[ $more = 1 ] || exit 0
		sleep 0.2
	done ;;
*" logs "*) log ;;
*" exec "*) echo "in $pod of $at: ${words#* -- }"; exit 7 ;;
esac
END
chmod +x "$dir/bin/kubectl"
mk() {
	mk_command=$1
	shift
	PATH="$dir/bin:$PATH" "$B/kubectl-multikueue" "$mk_command" --server "http://127.0.0.1:$MANAGER_PORT" "$@"
}
follow() { # JOB: in the background
	(
		PATH="$dir/bin:$PATH"
		export PATH
		exec "$B/kubectl-multikueue" logs "$1" -f --server "http://127.0.0.1:$MANAGER_PORT"
	) >"$dir/follow" 2>"$dir/follow.err" &
	follow=$!
}
runs_somewhere() { # JOB
	mk pods "$1" 2>/dev/null | grep -q "^w[123] .* Running "
}

fleet_kubesim --local && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
talks a
wait_for 20 runs_somewhere a
ok $? "a job runs" || mk pods a 2>&1 | sed 's/^/# /'
W=$(place_of a)
pod=$(mk pods a -o name)
pod=${pod#pod/}

is "$(mk pods job/a | awk '{ print $1, $2, $3, $4, $5 }' | tr '\n' ';')" "WORKER POD READY STATUS RESTARTS;$W $pod 1/1 Running 0;" \
	"pods: where it runs, and how"
is "$(mk pods a -o wide | awk '{ print $NF }' | tr '\n' ' ')" "NODE <none> " "-o wide: the node"
is "$(mk pods a -o json | jq -r '.kind + " " + .items[0].metadata.name')" "List $pod" "-o json: a list of pods"
grep -q -- "--context $W --namespace default get pods .*--selector=batch.kubernetes.io/job-name=a\$" "$dir/kubectl.words"
ok $? "only the job's pods are asked for, of that worker" || sed 's/^/# /' "$dir/kubectl.words"
is "$(mk logs a)" "[$W/$pod/main] begun" "logs: each line says where it is from"
is "$(mk logs a --no-prefix)" begun "--no-prefix: as it came"
mk logs a --tail 3 --since 5m --timestamps -p >/dev/null
grep -q -- " logs $pod --container main --previous --timestamps --tail=3 --since=5m\$" "$dir/kubectl.words"
ok $? "options go to kubectl" || tail -n 1 "$dir/kubectl.words" | sed 's/^/# /'
is "$(mk logs a --tail x 2>&1 | head -n 1)" "error: --tail x: expected a whole number of at least -1" "a number that is none"
is "$(mk logs a -c other 2>&1)" \
	"error: no container of a has started on worker $W; \`kubectl multikueue pods a -n default\` says why, -f waits" "a container that is not there"
is "$(mk logs a --pod other 2>&1)" \
	"error: a has no pod \"other\" on worker $W; \`kubectl multikueue pods a -n default\` lists them" "a pod that is not there"
is "$(mk pods none 2>&1; echo $?)" \
	"error: no Workload or job \"none\" in namespace default is known to the daemon; \`kubectl multikueue get workloads -n default\` lists them
1" "a job that is not there"
is "$(mk exec a -- nvidia-smi -L; echo $?)" "in $pod of $W: nvidia-smi -L 
7" "exec: in its pod, with the exit status of kubectl"
is "$(mk exec a 2>&1 | head -n 1)" "error: expected a job and, behind --, a command" "exec without a command"

# Contexts with other names, and none.
mv "$dir/clusters/$W-token.kubeconfig" "$dir/clusters/elsewhere-token.kubeconfig"
is "$(mk logs a 2>&1)" "error: worker $W: kubectl get pods: error: context \"$W\" does not exist
Name its context in your kubeconfig: --worker-context $W=CONTEXT" "a worker that the kubeconfig does not have: what to do"
is "$(mk logs a --worker-context "$W=my-elsewhere" --worker-context w9=x --no-prefix)" begun "--worker-context names it"
is "$(mk logs a --worker-context elsewhere 2>&1)" "error: --worker-context elsewhere: expected WORKER=CONTEXT, such as $W=admin" \
	"... in two parts"
mv "$dir/clusters/elsewhere-token.kubeconfig" "$dir/clusters/$W-token.kubeconfig"
touch "$dir/refuse"
is "$(mk logs a 2>&1; echo $?)" "error: worker $W: kubectl get pods: Error from server (Forbidden): pods is forbidden
1" "the worker refuses: its words"
rm "$dir/refuse"
echo '{"items":[{"metadata":{"name":"--as=admin","uid":"u"},"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Running",
	"containerStatuses":[{"name":"c","state":{"running":{}}}]}},{"metadata":7},"x"]}' >"$dir/hostile"
is "$(mk exec a -- id 2>&1)" "error: no pod of a runs on worker $W; \`kubectl multikueue pods a -n default\`" "a name that is an option is none"
printf '{"items":' >"$dir/hostile"
is "$(mk logs a 2>&1 | cut -d: -f1-3)" "error: worker $W: kubectl get pods" "no JSON"
rm "$dir/hostile"

# With -f until it has ended, also on another worker.
follow a
is_over() {
	! kill -0 $follow 2>/dev/null
}
shows() { # TEXT: is the line there?
	grep -qxF "$1" "$dir/follow"
}
wait_for 10 shows "[$W/$pod/main] begun"
ok $? "-f: what was printed before"
api mgr PATCH "/apis/kueue.x-k8s.io/v1beta2/multikueueclusters/$W" '{"metadata":{"annotations":{"multikueued.io/cordon":"Evict"}}}' >/dev/null
moved() {
	to=$(place_of a)
	[ -n "$to" ] && [ "$to" != "$W" ] && grep -q "^\[$to/.*/main\] begun\$" "$dir/follow"
}
wait_for 30 moved
ok $? "... it goes along to another worker" || sed 's/^/# /' "$dir/follow" "$dir/follow.err"
touch "$dir/a.go"
wait_for 20 is_over
ok $? "... and ends with the job" || kill $follow
wait $follow
is $? 0 "... well"
is "$(grep -c "^\[$to/.*/main\] ended\$" "$dir/follow")" 1 "... with its last line"
is "$(grep -c "^a runs on worker " "$dir/follow.err") $(tail -n 1 "$dir/follow.err")" "2 a has ended" "standard error says where it runs"
ended() {
	mk logs a 2>&1 | grep -q "^error: a has ended, and its pods were deleted on the worker; "
}
wait_for 20 ended
ok $? "afterwards there is nothing to show, and why" || mk logs a 2>&1 | sed 's/^/# /'

# A job that waits: -f waits, too, and a signal ends it with its kubectls.
for w in w1 w2 w3; do
	api mgr PATCH "/apis/kueue.x-k8s.io/v1beta2/multikueueclusters/$w" '{"metadata":{"annotations":{"multikueued.io/cordon":"Cordon"}}}' >/dev/null
done
talks b
waits() {
	mk logs b 2>&1 | grep -q '^error: b runs on no worker ([A-Z][A-Za-z]*.*); `kubectl multikueue why b -n default` says more$'
}
wait_for 20 waits
ok $? "a job that waits: no logs, and who says why" || mk logs b 2>&1 | sed 's/^/# /'
follow b
waits_for_it() {
	grep -q '^b runs on no worker: ' "$dir/follow.err"
}
wait_for 10 waits_for_it
ok $? "-f waits for it"
for w in w1 w2 w3; do
	api mgr PATCH "/apis/kueue.x-k8s.io/v1beta2/multikueueclusters/$w" '{"metadata":{"annotations":{"multikueued.io/cordon":null}}}' >/dev/null
done
begun() {
	grep -q '^\[w[123]/.*/main\] begun$' "$dir/follow"
}
wait_for 30 begun
ok $? "... and shows it from its first line on" || sed 's/^/# /' "$dir/follow" "$dir/follow.err"
kubectls() {
	pgrep -f "^/bin/sh $dir/bin/kubectl .*logs" | wc -l
}
kill $follow
wait_for 10 is_over
ok $? "a signal ends it"
none_left() {
	[ "$(kubectls)" = 0 ]
}
wait_for 10 none_left
ok $? "... and its kubectls"

# With kubectl itself, where it is installed: its context, its label selector, its words for errors.
kubectl=${KUBECTL:-$(command -v kubectl)}
if [ -n "$kubectl" ]; then
	jq -n '{apiVersion: "v1", kind: "Config", clusters: [], users: [], contexts: [], "current-context": "mgr"}' >"$dir/config"
	for w in mgr w1 w2 w3; do
		jq --arg w $w --arg server "$(field $w-token.kubeconfig server)" --arg token "$(field $w-token.kubeconfig token)" \
			--arg ca "$(field $w-token.kubeconfig certificate-authority-data)" '
			.clusters += [{name: $w, cluster: {server: $server, "certificate-authority-data": $ca}}] |
			.users += [{name: $w, user: {token: $token}}] | .contexts += [{name: $w, context: {cluster: $w, user: $w}}]' \
			"$dir/config" >"$dir/config.new" && mv "$dir/config.new" "$dir/config"
	done
	mkdir "$dir/real" && ln -s "$kubectl" "$dir/real/kubectl"
	mk() {
		mk_command=$1
		shift
		KUBECONFIG="$dir/config" PATH="$dir/real:$PATH" "$B/kubectl-multikueue" "$mk_command" \
			--server "http://127.0.0.1:$MANAGER_PORT" "$@"
	}
	is "$(mk pods b | awk 'NR == 2 { print $3, $4 }')" "1/1 Running" "kubectl: pods"
	is "$(mk logs b --no-prefix --tail 5)" begun "... logs"
	is "$(mk pods b --worker-context "$(place_of b)=none" 2>&1 | tail -n 1)" \
		"Name its context in your kubeconfig: --worker-context $(place_of b)=CONTEXT" "... a context that is not there"
else
	skip "kubectl: pods and logs" "it is not installed"
fi
notes "$dir/m.log"
done_testing
