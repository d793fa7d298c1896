#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which kinds a configuration has served, by what --list-plugins prints: enabled frameworks,
# external ones, kinds without an adapter.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
chmod 755 "$dir"
mkdir -m 755 "$dir/plugins"
install -m 755 "$B"/plugins/*.so "$dir/plugins"

config() { # the lines of a Configuration on standard input, without its plugins
	{
		printf 'apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n'
		cat
		printf '  plugins: {directory: %s/plugins}\n' "$dir"
	} >"$dir/config.yaml"
}
kinds() { # "Kind plugin" of each adapter, in order
	"$B/multikueued" --list-plugins --config "$dir/config.yaml" 2>"$dir/err" |
		sed -nE 's/^([^ ]*) +adapter +[^ ]*, Kind=([^ ]*) .*/\2 \1/p' | tr '\n' ';'
}

echo 'multiKueue:' | config
is "$(kinds)" "Job io.multikueue.job;" "without a list of frameworks Jobs are served, as in Kueue"
config <<-END
	integrations: {frameworks: [pod, statefulset, jobset.x-k8s.io/jobset]}
	multiKueue:
END
is "$(kinds)" "JobSet io.multikueue.jobset;StatefulSet io.multikueue.kinds-without-code;Pod io.multikueue.pod;" \
	"W-A12: only adapters of enabled frameworks are there"
config <<-END
	integrations: {frameworks: [pod]}
	multiKueue:
	  externalFrameworks: [{name: RayJob.v1.ray.io}, {name: Foo.v1.ex.io}]
END
is "$(kinds)" "Pod io.multikueue.pod;RayJob io.multikueue.generic;Foo io.multikueue.generic;" \
	"external frameworks get the generic adapter, even for a kind whose framework is not enabled"
config <<-END
	featureGates: {MultiKueueAdaptersForCustomJobs: false}
	multiKueue:
	  externalFrameworks: [{name: Foo.v1.ex.io}]
END
is "$(kinds)" "Job io.multikueue.job;" "none with the gate off"
# --- sizes that stand in another kind -----------------------------------------------------------
gated() { # FRAMEWORKS: warnings about sizes, of a daemon with the gate
	config <<-END
		integrations: {frameworks: [$1]}
		featureGates: {MultiKueueRayInTreeAutoscaling: true}
		multiKueue:
		  kueueVersion: "0.20"
	END
	"$B/multikueued" --list-plugins --config "$dir/config.yaml" 2>&1 | grep "the sizes of"
}
is "$(gated ray.io/rayjob)" "warning: featureGates: MultiKueueRayInTreeAutoscaling: the sizes of ray.io/v1, Kind=RayJob stand in ray.io/v1, Kind=RayCluster: expected an adapter of it, loaded and enabled, found none; they are not followed" \
	"a RayJob without the adapter of what has its sizes: a warning"
is "$(gated ray.io/rayjob,ray.io/raycluster)" "" "none with it"

install -m 644 conf/adapters/pipelinerun.yaml "$dir/plugins"
echo 'multiKueue:' | config
is "$(kinds)" "Job io.multikueue.job;PipelineRun io.multikueue.generic;" "a YAML file in the directory is an adapter"
"$B/multikueued" --list-plugins --config "$dir/config.yaml" 2>"$dir/err" | grep -q "PipelineRun .*$dir/plugins/pipelinerun.yaml$"
ok $? "it is named"
cp t/cli/input/faulty-adapter.yaml "$dir/plugins/faulty.yaml"
chmod 644 "$dir/plugins/faulty.yaml"
is "$(kinds)" "" "one with faults is refused"
grep -q "^$dir/plugins/faulty.yaml: line [0-9]*: /managedby: Forbidden: no such key: did you mean managedBy? (keys here: .*); line [0-9]*: /status/copy: Unsupported value" "$dir/err"
ok $? "with all of them"
sed 's/Widget/PipelineRun/; s/ex.io/tekton.dev/' t/cli/input/widget.yaml >"$dir/plugins/faulty.yaml"
is "$(kinds)" "" "so is a second adapter of a kind"
grep -q "found tekton.dev/v1, Kind=PipelineRun (also in $dir/plugins/faulty.yaml)" "$dir/err"
ok $? "which names the first"
rm "$dir/plugins/faulty.yaml"
chmod 666 "$dir/plugins/pipelinerun.yaml"
is "$(kinds)" "" "and one that others can write"
chmod 644 "$dir/plugins/pipelinerun.yaml"
config <<-END
	multiKueue:
	  # the list of files is complete: without the template there are no instances
END
sed -i 's|plugins}$|plugins, allow: [job, all_at_once, pipelinerun.yaml]}|' "$dir/config.yaml"
is "$(kinds)" "" "a YAML file needs generic.so"
grep -q 'pipelinerun.yaml: expected a plugin with a template adapter (generic.so), found none' "$dir/err"
ok $? "and says so"
rm "$dir/plugins/pipelinerun.yaml"
echo 'multiKueue:' | config
install -m 644 conf/adapters/pipelinerun.yaml "$dir/plugins/pipelinerun.yml"
is "$(kinds)" "Job io.multikueue.job;PipelineRun io.multikueue.generic;" "its name may end in .yml"
printf -- '---\napiVersion: multikueued.io/v1alpha1\n' >>"$dir/plugins/pipelinerun.yml"
is "$(kinds)" "" "one with a second document is refused"
grep -q "^$dir/plugins/pipelinerun.yml: yaml: line $(($(wc -l <conf/adapters/pipelinerun.yaml) + 1)): expected one document, found another" "$dir/err"
ok $? "with its line"
rm "$dir/plugins/pipelinerun.yml"
"$B/kubectl-multikueue" adapter schema | cmp -s - docs/adapter.schema.json
ok $? "docs/adapter.schema.json is what the files are judged by"

{
	printf 'apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmultiKueue:\n  dispatcherName: acme.io/by-hand\n'
	printf '  plugins:\n    directory: %s/plugins\n' "$dir"
} >"$dir/config.yaml"
! "$B/multikueued" --check-config "$dir/config.yaml" >"$dir/out" 2>&1 &&
	grep -q 'config.yaml:4: .*"acme.io/by-hand": no plugin in .* has it: put its .so there .*externalDispatchers: dispatchers loaded: kueue.x-k8s.io/multikueue-dispatcher-all-at-once, ' "$dir/out"
ok $? "--check-config refuses a dispatcher that no plugin has, and says what to do"
printf '  externalDispatchers: [acme.io/by-hand]\n' >>"$dir/config.yaml"
"$B/multikueued" --check-config "$dir/config.yaml" >"$dir/out" 2>&1
ok $? "the dispatcher may be another controller, which is declared"
"$B/multikueued" --list-plugins --config "$dir/config.yaml" 2>/dev/null | grep -q '^io.multikueue.external .*(external names)'
ok $? "external.so answers for it"
rm "$dir/plugins/external.so"
! "$B/multikueued" --check-config "$dir/config.yaml" >"$dir/out" 2>&1
ok $? "without that plugin it is refused"
grep -q '"acme.io/by-hand": the plugin directory has no external.so, which' "$dir/out"
ok $? "and the reason is told"
install -m 755 "$B/plugins/external.so" "$dir/plugins"

sed "s|directory: .*|directory: $dir/plugins|" conf/multikueued.yaml >"$dir/config.yaml"
is "$(kinds | tr ';' '\n' | wc -l)" 16 "the sample configuration has every kind that Kueue dispatches"
"$B/multikueued" --check-config "$dir/config.yaml" >"$dir/out" 2>&1
ok $? "and is valid"
is "$(grep -c 'no plugin serves' "$dir/out")" 0 "each has a plugin"
done_testing
