# SPDX-License-Identifier: Apache-2.0
# Causes for which a Workload waits, planted by a test, and what `kubectl multikueue why` has to say
# of each. Sourced by t/integration/e2e_*.t after lib.sh.
# shellcheck shell=sh disable=SC2154

KUEUE=/apis/kueue.x-k8s.io/v1beta2
FOOS=/apis/ex.io/v1/namespaces/default/foos

# Changes an object of Kueue's: edit CLUSTER PATH JSON
edit() {
	api "$1" PATCH "$KUEUE/$2" "$3" | jq -e .metadata.name >/dev/null || echo "# $1 PATCH $2: no answer"
}
make() { # CLUSTER PATH JSON
	api "$1" POST "$2" "$3" | jq -e .metadata.name >/dev/null || echo "# $1 POST $2 failed"
}
# What a webhook, a policy or missing rights of a worker make of requests: policy CLUSTER RULE
policy() {
	api "$1" POST /kubesim/policy '{"rules":['"$2"']}' >/dev/null
}

# A job of a kind that only a configuration names: its Workload has a name that is known before.
# foo NAME QUEUE [CPUS]
foo() {
	foo_uid=$(api mgr POST "$FOOS" '{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"'"$1"'","namespace":"default",
		"labels":{"kueue.x-k8s.io/queue-name":"'"$2"'"}},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}' | jq -er .metadata.uid) || return 1
	make mgr $KUEUE/namespaces/default/workloads '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{
		"name":"wl-'"$1"'","namespace":"default","ownerReferences":[{"apiVersion":"ex.io/v1","kind":"Foo","name":"'"$1"'",
		"uid":"'"$foo_uid"'","controller":true}]},"spec":{"queueName":"'"$2"'","podSets":[{"name":"main","count":1,"template":{"spec":{
		"restartPolicy":"Never","containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"'"${3:-1}"'"}}}]}}}]}}'
}

# Asks the command line about a job of namespace default.
why() { # JOB [OPTIONS...]
	why_job=$1
	shift
	"$B/kubectl-multikueue" why "$why_job" -n default --server "http://127.0.0.1:$MANAGER_PORT" "$@" 2>&1
}
# Does -o json name cluster ("-": the Workload as a whole), reason or phase, words and mend?
why_has() { # JOB CLUSTER REASON WORDS MEND
	why "$1" -o json | jq -e --arg c "$2" --arg r "$3" --arg w "$4" --arg m "$5" '
		(if $c == "-" then . + {reason: .phase} else .clusters[] | select(.name == $c) end) |
		.reason == $r and (.message + ": " + (.detail // "") | contains($w)) and (.mend // "" | contains($m))' >/dev/null
}
# Does the text have the cluster with its reason and words, and what to do?
why_prints() { # JOB CLUSTER REASON WORDS MEND
	why "$1" >"$dir/why.txt"
	if [ "$2" = - ]; then
		grep "^Phase: *$3: " "$dir/why.txt" | grep -Fq -e "$4" && { [ -z "$5" ] || grep '^  ' "$dir/why.txt" | grep -Fq -e "$5"; }
	else
		grep "^$2  *$3 " "$dir/why.txt" | grep -Fq -e "$4" &&
			{ [ -z "$5" ] || grep "^  \(.*, \)*$2\(, .*\)*: " "$dir/why.txt" | grep -Fq -e "$5"; }
	fi
}
check_says() { # JOB WORDS: in the message of its check, which is Pending
	workload_of mgr "$1" | jq -e --arg w "$2" \
		'any(.status.admissionChecks[]; .state == "Pending" and (.message // "" | contains($w)))' >/dev/null
}

# A table on standard input, a cause in each line:
#   CAUSE | JOB | CLUSTER | REASON | WORDS | MEND | TOLD
# Each is named by `why`, as text and as JSON, with what to do; and TOLD stands in the check's
# message ("=": the same words; "-": its check is not Pending).
expect() {
	while IFS='|' read -r cause job cluster reason words mend told; do
		for e_var in cause job cluster reason words mend told; do
			eval "e_value=\$$e_var"
			e_value=${e_value#"${e_value%%[! 	]*}"}
			e_value=${e_value%"${e_value##*[! 	]}"}
			eval "$e_var=\$e_value"
		done
		[ -n "$cause" ] || continue
		wait_for 60 why_has "$job" "$cluster" "$reason" "$words" "$mend"
		ok $? "$cause: named by why, with what to do" ||
			why "$job" -o json | jq -c --arg c "$cluster" 'if $c == "-" then del(.clusters) else .clusters[] | select(.name == $c) end' | sed 's/^/# found /'
		wait_for 60 why_prints "$job" "$cluster" "$reason" "$words" "$mend"
		ok $? "$cause: ... as text" || sed 's/^/# found /' "$dir/why.txt"
		[ "$told" != - ] || continue
		[ "$told" != = ] || told=$words
		wait_for 150 check_says "$job" "$told"
		ok $? "$cause: ... and by the check's message" ||
			workload_of mgr "$job" | jq -c '.status.admissionChecks' | sed 's/^/# found /'
	done
}
