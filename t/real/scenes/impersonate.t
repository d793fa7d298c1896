#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A wall names an account of the tenant's own. API servers, their RBAC, a policy and the audit log
# see that ServiceAccount in what comes from the tenant, with the rights that the daemon prints and
# the Role of docs/configuration.md; without them nothing is made, and users are told.
. "$(dirname "$0")/../lib.sh"
. "$here/scenes/scene.sh"
need_daemon

AS=system:serviceaccount:$T:tenant
tidy()
{
	for u_plane in w1 w2; do
		k $u_plane delete validatingadmissionpolicybinding,validatingadmissionpolicy "$T" --ignore-not-found
		k $u_plane apply -f "$root/conf/rbac/worker.yaml"
		k $u_plane delete namespace "$T-b" --ignore-not-found --wait=false
	done
	k mgr delete namespace "$T-b" --ignore-not-found --wait=false
	k mgr delete workloadpriorityclass "$T-low" "$T-high" --ignore-not-found
} >/dev/null 2>&1
undo=tidy

# sent PLANE: what the daemon sent there: "AS VERB RESOURCE NAMESPACE CODE GROUPS MESSAGE".
sent()
{
	grep -F "\"username\":\"$ACCOUNT\"" "$MK_REAL_DIR/$1/audit.log" | jq -Rr --arg since "$test_begin" '
		fromjson? | select(.stage == "ResponseComplete" and .requestReceivedTimestamp >= $since and .user.username == "'"$ACCOUNT"'") |
		[.impersonatedUser.username // "-", .verb, ([.objectRef.resource, .objectRef.subresource // empty] | join("/")),
			.objectRef.namespace // "-", .responseStatus.code, (.impersonatedUser.groups // ["-"] | join(",")),
			.responseStatus.message // ""] | join(" ")'
}
# content PLANE NAMESPACE: its writes to clones and jobs there, each once: "AS VERB RESOURCE CODE".
# A conflict with Kueue, after which it writes again, is none.
content()
{
	sent "$1" | awk -v ns="$2" '$4 == ns && $2 ~ /^(create|update|patch)$/ && $3 ~ /^(workloads|jobs)$/ && $5 != 409 { print $1, $2, $3, $5 }' | sort -u
}
# What the daemon was refused itself, other than to be the account on w2.
refusals()
{
	for r_plane in mgr w1 w2; do
		sent $r_plane | awk -v plane=$r_plane '$1 == "-" && $5 >= 400 && $5 < 500 && $5 != 404 && $5 != 409 && $5 != 429 &&
			!(plane == "w2" && /cannot impersonate/) { print plane, $0 }'
	done
}
may() # PLANE USER VERB RESOURCE NAME GROUP: "true", or nothing
{
	k "$1" create -o 'jsonpath={.status.allowed}' -f - <<-END | sed 's/false//'
		apiVersion: authorization.k8s.io/v1
		kind: SubjectAccessReview
		spec: {user: "$2", resourceAttributes: {namespace: $T, verb: $3, resource: $4, name: "$5", group: "$6"}}
	END
}

pair
daemon_config "  walls:
  - config: $T
    allow: [{}]
    impersonate: {serviceAccount: tenant}"
for p in mgr w1 w2; do
	k $p patch clusterqueue "$(cq $p)" --type=merge -p '{"spec":{"namespaceSelector":{"matchLabels":null}}}' >/dev/null
	k $p apply -f - >/dev/null <<-END
		apiVersion: v1
		kind: Namespace
		metadata: {name: $T-b}
		---
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: LocalQueue
		metadata: {name: lq, namespace: $T-b}
		spec: {clusterQueue: $(cq $p)}
	END
done
for class in low high; do
	k mgr apply -f - >/dev/null <<-END
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: WorkloadPriorityClass
		metadata: {name: $T-$class}
		value: $([ $class = high ] && echo 100 || echo 10)
	END
done

# w1 takes a tenant's objects, and changes of their priority, from the account alone; w2 refuses it.
policy() # PLANE EXPRESSION WORDS
{
	k "$1" apply -f - >/dev/null <<-END
		apiVersion: admissionregistration.k8s.io/v1
		kind: ValidatingAdmissionPolicy
		metadata: {name: $T}
		spec:
		  matchConstraints:
		    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $T}}
		    resourceRules:
		    - {operations: [CREATE, UPDATE], apiGroups: [kueue.x-k8s.io], apiVersions: [v1beta2], resources: [workloads]}
		    - {operations: [CREATE], apiGroups: [batch], apiVersions: [v1], resources: [jobs]}
		  validations:
		  - {expression: '$2', messageExpression: '$3', reason: Forbidden}
		---
		apiVersion: admissionregistration.k8s.io/v1
		kind: ValidatingAdmissionPolicyBinding
		metadata: {name: $T}
		spec: {policyName: $T, validationActions: [Deny]}
	END
}
is_tenant="request.userInfo.username == \"$AS\" && \"system:serviceaccounts:$T\" in request.userInfo.groups"
policy w1 "$is_tenant || request.operation == \"UPDATE\" && object.spec.?priority == oldObject.spec.?priority" \
	'"only for the tenant, not for " + request.userInfo.username'
policy w2 "!($is_tenant)" '"nothing today for " + request.userInfo.username'
policed() # PLANE USER WORDS: "yes" when its policy refuses a Workload of that user
{
	k_as=${2:+--as=$2}
	# shellcheck disable=SC2086 # no user, no word
	kn "$1" create --dry-run=server $k_as -f - 2>&1 >/dev/null <<-END | grep -Fq "$3" && echo yes
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: Workload
		metadata: {name: probe}
		spec: {podSets: [{name: main, count: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]}
	END
}
"$MULTIKUEUED" --print-worker-rbac --config "$WORK/multikueued.yaml" 2>"$WORK/printed" >"$WORK/rbac.yaml"
ok $? "the rights on workers are printed" || diag "$(cat "$WORK/printed")"
give() # PLANE: the printed rights
{
	k "$1" apply -f "$WORK/rbac.yaml" >/dev/null
	must true "$1 lets the daemon be the account" may "$1" "$ACCOUNT" impersonate serviceaccounts tenant ""
}
is "$(may w1 "$ACCOUNT" impersonate serviceaccounts tenant "")" "" "conf/rbac alone does not let the daemon be the account"
give w1
is "$(may w1 "$ACCOUNT" impersonate serviceaccounts default "")$(may w1 "$ACCOUNT" impersonate users admin "")" "" "... nor any other"

# --- without a Role on w1, without the right to be the account on w2 ------------------------------
daemon_start
at=$(sed -n 's/^ *healthProbeBindAddress: "\(.*\)"/\1/p' "$WORK/multikueued.yaml")
why() # JOB NAMESPACE WORKER WORDS MEND: "yes" when that is what stands in the way there
{
	"$KUBECTL_MULTIKUEUE" why "$1" -n "$2" --server "http://$at" -o json 2>&1 |
		jq -r --arg c "$3" '.clusters[] | select(.name == $c) | "\(.reason) \(.message): \(.detail // "")\n\(.mend // "")"' >"$WORK/why"
	head -n 1 "$WORK/why" | grep -Fq -e "$4" && tail -n 1 "$WORK/why" | grep -Fq -e "$5" && echo yes
}
named() # JOB NAMESPACE WORKER WORDS MEND DESC
{
	becomes yes "$6" why "$1" "$2" "$3" "$4" "$5" || diag "$(cat "$WORK/why")"
}
check_has() # NAMESPACE WORKLOAD WORDS
{
	k mgr -n "$1" get workload "$2" -o 'jsonpath={.status.admissionChecks[0].message}' | grep -Fq -e "$3" && echo yes
}
cannot() # NAMESPACE RESOURCE: how RBAC refuses the account
{
	echo "forbidden: User \"system:serviceaccount:$1:tenant\" cannot create resource \"$2\""
}
job mgr a "$MANAGED" "kueue.x-k8s.io/priority-class: $T-low"
kn mgr get job a -o json | jq '.metadata = {name: "b", labels: .metadata.labels} | del(.status) |
	del(.spec.selector, .spec.template.metadata)' | k mgr -n "$T-b" create -f - >/dev/null
must yes "a has a Workload" has_workload mgr a
wl=$(workload_of mgr a)
named a "$T" w1 "$(cannot "$T" workloads)" "a RoleBinding in its namespace" "without a Role w1 refuses the account, which why tells"
named a "$T" w2 "User \"$ACCOUNT\" cannot impersonate" "let our account on the worker impersonate that one" \
	"without the right w2 lets nobody be the account, which why tells"
named b "$T-b" w1 "$(cannot "$T-b" workloads)" "a RoleBinding in its namespace" "in another namespace it is that one's account"
wl_b=$(k mgr -n "$T-b" get workloads -o 'jsonpath={.items[0].metadata.name}')
becomes yes "the check says so" check_has "$T" "$wl" "$(cannot "$T" workloads)"
becomes yes "... in the other namespace as well" check_has "$T-b" "$wl_b" "$(cannot "$T-b" workloads)"
becomes "$AS create workloads 403" "w1's audit log: the account alone was refused" content w1 "$T"
becomes "- create workloads 403" "w2's audit log: the daemon was refused to be the account" content w2 "$T"

# --- with both ------------------------------------------------------------------------------------
sed -n '/^#### An account of the tenant/,/^### /s/^    //p' "$root/docs/configuration.md" | sed -n '/^rules:/,$p' >"$WORK/rules"
role() # PLANE
{
	{
		cat <<-END
			apiVersion: v1
			kind: ServiceAccount
			metadata: {name: tenant, namespace: $T}
			---
			apiVersion: rbac.authorization.k8s.io/v1
			kind: RoleBinding
			metadata: {name: tenant, namespace: $T}
			roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tenant}
			subjects: [{kind: ServiceAccount, name: tenant, namespace: $T}]
			---
			apiVersion: rbac.authorization.k8s.io/v1
			kind: Role
			metadata: {name: tenant, namespace: $T}
		END
		cat "$WORK/rules"
	} | k "$1" apply -f - >/dev/null
	must true "the account has its Role on $1" may "$1" "$AS" create jobs "" batch
}
role w2
must yes "the policy of w2 is in force" policed w2 "$AS" "nothing today for $AS"
must yes "the policy of w1 is in force" policed w1 "" "only for the tenant, not for"
give w2
named a "$T" w2 "denied request: nothing today for $AS" "see this policy on the worker" "the policy of w2 saw the account and refused it"
role w1 # not before: w1 wins, and w2 is not asked any more
placed a
is "$win" w1 "a runs where the policy wants the account"

# --- a change while it runs -----------------------------------------------------------------------
priority()
{
	field w1 workload "$wl" '{.spec.priorityClassRef.name} {.spec.priority}'
}
is "$(priority)" "$T-low 10" "its clone has the priority of the job"
kn mgr label job a --overwrite "kueue.x-k8s.io/priority-class=$T-high" >/dev/null
becomes "$T-high 100" "a changed priority passes the policy, which wants the account" priority
becomes "$AS create jobs 201
$AS create workloads 201
$AS create workloads 403
$AS patch workloads 200" "w1's audit log: clone, Job and change are of the account, by the daemon's user" content w1 "$T"
is "$(sent w1 | awk -v as="$AS" '$1 == as { print $6 }' | sort -u)" "system:serviceaccounts,system:serviceaccounts:$T,system:authenticated" \
	"... with a ServiceAccount's groups and no others"

# --- its rights are taken away --------------------------------------------------------------------
kn w1 delete rolebinding tenant >/dev/null
must "" "the account has lost its Role" may w1 "$AS" patch workloads "" kueue.x-k8s.io
kn mgr label job a --overwrite "kueue.x-k8s.io/priority-class=$T-low" >/dev/null
change_refused()
{
	content w1 "$T" | grep -Fx "$AS patch workloads 403"
}
becomes "$AS patch workloads 403" "the next change is refused to the account" change_refused
is "$(priority)" "$T-high 100" "... and not made by the daemon in its place"
uid=$(field w1 job a '{.metadata.uid}')
ends a
becomes "" "it is removed from w1, by the daemon" left w1 a "$wl"
# The Job is deleted by the daemon; its clone too, unless the garbage collector of w1 is first.
removed_as()
{
	sent w1 | awk -v ns="$T" '$4 == ns && $2 == "delete" && $5 < 300 && $3 == "jobs" { job = 1 }
		$4 == ns && $2 == "delete" && $5 < 300 && $3 ~ /^(workloads|jobs)$/ && $1 != "-" { print $1, $3 }
		END { if (job) print "-" }'
}
becomes "-" "... as itself, without a right of the account" removed_as
is "$(sent w1 | awk -v ns="$T" '$1 != "-" && ($2 == "delete" || $2 == "get" || $3 ~ /\//)')" "" \
	"... and nothing but content was asked for as the account"
is "$(created_jobs) $uid" "1 a $uid" "the Job was made once"
for p in w1 w2; do
	is "$(content $p "$T" | grep -e '^- .* 2..$')" "" "$p: the daemon made nothing of its own in the tenant's place"
	is "$(k $p -n "$T-b" get jobs,workloads -o name)" "" "$p: nothing ever came into the namespace without the account"
	is "$(content $p "$T-b" | grep -v ' 403$')" "" "... as the audit log says"
done
is "$(sent mgr | awk '$1 != "-"')" "" "on the manager the daemon is itself"
k mgr -n "$T-b" delete job b >/dev/null
scene_end
