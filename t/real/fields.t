#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A copy that deletes itself when it has ended takes its end along. Each field of the kinds that
# ship whose name speaks of an end, of deletion or of time to live is in fields.txt: it deletes the
# object whose status is read, and copies do not have it (plan/kind/*.txt), or it stays.
# planes: bare
. "$(dirname "$0")/lib.sh"

# What prunes Pods, volumes or tokens within a template of Pods is of every kind; so are, in a
# Workflow, the artifacts that each step may have.
pods='[tT]emplate/spec/volumes/|^/spec/volumes/|/projected/sources/'
pods="$pods|/oss/lifecycleRule/|/artifact(s/\\*|Paths)?/(deleted|artifactGC)\$"

# fields CRD: the paths below spec whose last name looks like that, one a line.
fields()
{
	awk '
	{
		match($0, /^ */); indent = RLENGTH
		key = $0; sub(/^ *(- )?/, "", key)
		if (key !~ /^[A-Za-z0-9_.-]+:/) next
		sub(/:.*/, "", key)
		while (n > 0 && at[n] >= indent) n--
		n++; at[n] = indent; name[n] = key
		if (n < 2 || name[n - 1] != "properties") next
		path = ""
		for (i = 2; i <= n; i++) {
			if (name[i - 1] == "properties") path = path "/" name[i]
			else if (name[i] == "items" || name[i] == "additionalProperties") path = path "/*"
		}
		if (path ~ /^\/spec\// &&
			tolower(key) ~ /ttl|delet|clean|finish|shutdown|timetolive|expir|retention|gc$/) print path
	}' "$1" | grep -Ev "$pods" | sort -u
}

# downloaded MODULE VERSION: the folder of a module that Kueue is not built with.
downloaded()
{
	(cd "$here" && go mod download -json "$1@$2" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
}

module github.com/kubeflow/training-operator github.com/kubeflow/mpi-operator github.com/kubeflow/trainer/v2 \
	github.com/ray-project/kuberay/ray-operator sigs.k8s.io/jobset sigs.k8s.io/lws \
	github.com/project-codeflare/appwrapper github.com/kubeflow/spark-operator/v2 >"$WORK/modules"
ok $? "the modules of the kinds are there" || bail "no modules"
while read -r dir; do
	find "$dir" -name '*.yaml' -not -path '*/charts/*' -not -path '*/test/*' -not -path '*/patches/*' -not -path '*/training-operator*mpijobs*' |
		grep -E '[._](tf|pytorch|xgboost|jax|paddle|mpi|train|ray)jobs\.yaml$|_(rayservices|rayclusters|jobsets|leaderworkersets|appwrappers|sparkapplications)\.yaml$'
done <"$WORK/modules" | sort -u >"$WORK/crds"
argo=$(downloaded github.com/argoproj/argo-workflows/v4 v4.0.5)
tekton=$(downloaded github.com/tektoncd/pipeline v1.12.0)
ls "$argo/manifests/base/crds/full/argoproj.io_workflows.yaml" "$tekton/config/300-crds/300-pipelinerun.yaml" >>"$WORK/crds" ||
	bail "no schemas of Argo and Tekton"
is "$(wc -l <"$WORK/crds" | tr -d ' ')" 16 "each kind with a CRD has one schema" || cat "$WORK/crds"
while read -r crd; do
	kind=$(sed -n 's/^    kind: //p' "$crd" | head -n 1)
	fields "$crd" | sed "s|^|$kind |"
done <"$WORK/crds" | sort -u >"$WORK/found"
sed -n 's/^\([A-Z][A-Za-z]* \/spec\/[^ ]*\) \(removed\|stays\) .*/\1/p' "$here/fields.txt" | sort -u >"$WORK/known"
is "$(comm -23 "$WORK/found" "$WORK/known")" "" "each field of an end is classified"
is "$(comm -13 "$WORK/found" "$WORK/known")" "" "... and none that no schema has any more"

# Their schemas, defaults and rules take each copy that the stories show, as an API server does.
"$here/accepts/build" >"$WORK/out" 2>&1
ok $? "Kubernetes' validation is built, from pinned modules" || cat "$WORK/out"
{
	sed -n 's/^create worker [^{]*//p' "$root"/t/plan/kind/*.txt
	jq -c '.create // empty' "$root"/t/plan/adapter/*/expect.json
} >"$WORK/copies"
# shellcheck disable=SC2046 # a list of files
"$root/build/accepts/accepts" $(cat "$WORK/crds") <"$WORK/copies" >"$WORK/judged" 2>"$WORK/out"
ok $? "it judges all copies" || cat "$WORK/out"
is "$(sed -n 's|^accepted \([^/]*\)/.*|\1|p' "$WORK/judged" | sort -u | wc -l)" 20 "of each kind with a CRD, and of Kubernetes' own"
is "$(grep '^refused' "$WORK/judged")" "" "none of them is refused"
jobset='{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"j","namespace":"ns"},"spec":'
judge() { echo "$1" | "$root/build/accepts/accepts" $(cat "$WORK/crds") | cut -d' ' -f1; }
is "$(judge "$jobset{\"replicatedJobs\":[]}}")" accepted "a JobSet"
is "$(judge "$jobset{\"replicatedJob\":[]}}")" refused "one with a field that it does not have"
is "$(judge "$jobset{\"suspend\":\"true\"}}")" refused "... or of another type"

# The stories show it: a field that is removed is in no copy, though the original has it.
sed -n 's/^\([A-Z][A-Za-z]*\) [^ ]*\/\([^ /]*\) removed .*/\1 \2/p' "$here/fields.txt" | sed 's|~1|/|' >"$WORK/removed"
while read -r kind field; do
	story=$root/t/plan/kind/$(echo "$kind" | tr '[:upper:]' '[:lower:]')
	grep -q "\"$field\"" "$story.json" || echo "$kind $field: its story is without"
	! grep '^create' "$story.txt" | grep -q "\"$field\"" || echo "$kind $field: the copy has it"
done <"$WORK/removed" >"$WORK/out"
is "$(cat "$WORK/out")" "" "what is removed is in its kind's story, and in no copy"
done_testing
