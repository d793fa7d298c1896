#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What multikueued says before it runs: a command line or configuration with a mistake is refused
# with the place, what was expected, what was found and what to do.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
. t/integration/tap.sh
tap_said=$tmp/out
chmod 755 "$tmp"
mkdir -m 755 "$tmp/plugins"
install -m 755 "$B"/plugins/*.so "$tmp/plugins"

says() { # STATUS PATTERN ARGUMENTS...: it ends so, and a line is like this
	says_want=$1
	says_like=$2
	shift 2
	"$B/multikueued" "$@" >"$tmp/out" 2>&1
	[ $? -eq "$says_want" ] && grep -qE "$says_like" "$tmp/out"
}
config() { # the lines below multiKueue: on standard input; the first is line 4
	{
		printf 'apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmultiKueue:\n'
		cat
	} >"$tmp/config.yaml"
}

says 1 '^/nope.yaml: .*No such file' --check-config /nope.yaml
ok $? "a file that is not there is named"
says 1 '"file":"/nope.yaml".*No such file' --config /nope.yaml
ok $? "... in the log as well"
says 2 'no module "nonet"; expected one of: config, daemon, .*, webhook$' --log-level nonet=debug
ok $? "a module of the log that there is not is refused, with the list"
says 2 'no module "leese": did you mean "lease"\?' --log-level info,leese=debug
ok $? "... and what was meant"
says 2 'expected json, text or auto, found "xml"' --log-format xml
ok $? "so is a format"
"$B/multikueued" --config /nope.yaml --log-format text 2>&1 | grep -q '^[0-9:.]* error daemon: Unable to load the configuration file=/nope.yaml'
ok $? "--log-format text is for readers"

printf '  plugins:\n    directory: %s/plugin\n' "$tmp" | config
says 1 "^$tmp/config.yaml:5: multiKueue.plugins.directory: $tmp/plugin: directory: expected one, found no \"plugin\" in $tmp: create it" \
	--check-config "$tmp/config.yaml"
ok $? "a plugin directory that is not there is told with the line of its key"
printf '  plugins: {directory: %s/plugins, allow: [job, al_at_once]}\n' "$tmp" | config
says 1 'allow: expected al_at_once.so, found no such file: did you mean all_at_once.so\?' --check-config "$tmp/config.yaml"
ok $? "a plugin that is not there is told with what was meant"
printf '  gcIntervall: 1m\n' | config
says 1 'config.yaml:4: unknown field "multiKueue.gcIntervall": did you mean gcInterval\? Keys here: gcInterval, origin, ' --check-config "$tmp/config.yaml"
ok $? "an unknown key is told with what was meant, and what there is"

printf '  plugins: {directory: %s/plugins}\n  remoteObjects: {afterFinished: 1h}\ntracing: {endpoint: "otel:4317"}\n' "$tmp" | config
says 0 'config.yaml:5: warning: unknown field "multiKueue.remoteObjects" has no effect here; a newer Kueue may have it: expected one of: ' \
	--check-config "$tmp/config.yaml" && grep -q 'config.yaml:6: warning: unknown field "tracing" has no effect' "$tmp/out" && grep -q ': valid; ' "$tmp/out"
ok $? "keys of a newer Kueue are told with their line, and the file is valid"
"$B/multikueued" --config "$tmp/config.yaml" --print-kueue-config 2>/dev/null >"$tmp/kueue.yaml" &&
	grep -q 'otel:4317' "$tmp/kueue.yaml" && grep -q afterFinished "$tmp/kueue.yaml"
ok $? "... Kueue gets them"
printf '  plugins: {directory: %s/plugins}\n  dispatcherName: multikueued.io/least-loadet\n' "$tmp" | config
says 1 'config.yaml:5: .*"multikueued.io/least-loadet": .*: did you mean multikueued.io/least-loaded\?' --check-config "$tmp/config.yaml"
ok $? "an unknown dispatcher is told with what was meant"
rm "$tmp/plugins/least_loaded.so"
sed -i 's/loadet/loaded/' "$tmp/config.yaml"
says 1 "config.yaml:5: .*: no plugin in $tmp/plugins has it: put its .so there.* loaded: " --check-config "$tmp/config.yaml"
ok $? "one whose plugin is missing is an error that says where to put it"
! grep -q ': valid' "$tmp/out"
ok $? "... and not valid"
says 1 'no plugin in ' --config "$tmp/config.yaml"
ok $? "... nor does it run"

done_testing
