#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# conf/helm: Helm accepts the chart, with its default values it has the objects of conf/ and with
# everything switched on those of its other folders, the values of helm/cases give what their
# golden files say (UPDATE=1 writes them anew), those of helm/refused are refused, and no pod asks
# for more than Pod Security's level "restricted" gives.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
. t/integration/tap.sh
need jq
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_said=$tmp/out
cases=t/package/helm/cases

t/package/helm/build >"$tmp/out" 2>&1
rc=$?
if [ $rc = 77 ]; then
	echo "1..0 # SKIP $(tail -n 1 "$tmp/out")"
	exit 0
fi
ok $rc "Helm is built, from pinned modules" || done_testing
PATH=$(realpath build/helm/bin):$PATH
export PATH HOME="$tmp" HELM_CACHE_HOME="$tmp/cache"

make="env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s B=$B"
archive=build/helm/multikueued-$(cat VERSION).tgz
$make chart >"$tmp/out" 2>&1 && mv "$archive" "$tmp/first.tgz"
ok $? "make chart"
(umask 077 && TZ=Pacific/Chatham $make chart >"$tmp/out" 2>&1) && cmp "$archive" "$tmp/first.tgz" >"$tmp/out" 2>&1
ok $? "byte for byte the same, with another umask and time zone"
tar -xzf "$tmp/first.tgz" -C "$tmp"
chart=$tmp/multikueued
find "$chart" ! -type f ! -type d >"$tmp/out"
[ ! -s "$tmp/out" ] && [ "$(find "$chart/files" -type f | wc -l)" = "$(find conf/helm/files -type l | wc -l)" ]
ok $? "it is whole by itself: files of conf/ in place of links"
is "$(sed -n 's/^\(appV\|v\)ersion: //p' "$chart/Chart.yaml" | uniq)" "$(cat VERSION)" "it has the version of the sources"

helm lint --strict "$chart" -n kueue-system >"$tmp/out" 2>&1 && ! grep -E '\[(WARNING|ERROR)\]' "$tmp/out"
ok $? "helm lint finds nothing"
jq -e . "$chart/values.schema.json" >"$tmp/out" 2>&1
ok $? "the schema of the values is JSON"
jq -r 'def keys_of: .. | objects | select(.properties) | .properties | keys[]; [keys_of] | unique[]' "$chart/values.schema.json" |
	while read -r key; do
		grep -qE "^[# -]*[{]?(.*[ {,])?$key:" "$chart/values.yaml" || [ "$key" = global ] || echo "$key"
	done >"$tmp/missing"
is "$(paste -sd' ' "$tmp/missing")" "args" "values.yaml shows each key of the schema but one"

made() { # VALUES-FILE OPTIONS...: manifests
	made_file=$1
	shift
	helm template multikueued "$chart" -n kueue-system -f "$made_file" "$@"
}
# A generated name has a hash in one and an annotation stands for it in the other.
compared() { # JSON on standard input
	jq -S 'map(if .kind == "ConfigMap" then .metadata.name |= sub("-[a-z0-9]{10}$"; "") else . end |
		del(.spec.template.metadata.annotations?) |
		(.spec.template.spec.volumes[]?.configMap.name | values) |= sub("-[a-z0-9]{10}$"; "") |
		if .spec.template.metadata.annotations? == {} then del(.spec.template.metadata.annotations) else . end) |
		sort_by(.kind, .metadata.namespace // "", .metadata.name)'
}
same() { # FOUND EXPECTED: both are JSON
	compared <"$1" >"$1.compared" && compared <"$2" >"$2.compared" && diff "$2.compared" "$1.compared" >"$tmp/out" && [ -s "$1.compared" ]
}

made "$cases/default.yaml" | objects yaml >"$tmp/chart.json"
objects base conf >"$tmp/base.json" 2>"$tmp/out"
same "$tmp/chart.json" "$tmp/base.json"
ok $? "default values: the objects of conf/kustomization.yaml ($(jq length "$tmp/base.json"))"
on='--set webhook.enabled=true,parkedPodsPolicy.enabled=true,quotaTreesWebhook.enabled=true,visibility.enabled=true'
on="$on --set monitoring.serviceMonitor=true,monitoring.rules=true,monitoring.dashboard=true"
# shellcheck disable=SC2086
made "$cases/default.yaml" $on | objects yaml | jq 'map(select(.metadata.name != "multikueued-config"))' >"$tmp/chart.json"
{
	for folder in conf conf/visibility conf/monitoring; do
		objects base "$folder"
	done
	for file in conf/admission/*.yaml; do
		objects yaml <"$file"
	done
} | jq -s 'add | map(select(.metadata.name | startswith("multikueued-config-") | not))' >"$tmp/all.json"
same "$tmp/chart.json" "$tmp/all.json"
ok $? "everything switched on: those of the other folders, too ($(jq length "$tmp/all.json"))"

# Where the plugins of this build are, in place of those of the image and of others.
checked() { # VALUES OPTIONS...: the daemon accepts the configuration
	made "$@" | objects yaml | jq -r '.[] | select(.metadata.name == "multikueued-config").data["config.yaml"]' |
		sed "s|directory: .*|directory: $(realpath "$B")/plugins|" >"$tmp/config.yaml"
	"$B/multikueued" --check-config "$tmp/config.yaml" >"$tmp/out" 2>&1
}
for file in "$cases"/*.yaml; do
	name=$(basename "$file" .yaml)
	golden=$cases/$name.golden
	made "$file" >"$tmp/made" 2>"$tmp/out"
	[ -z "${UPDATE:-}" ] || cp "$tmp/made" "$golden"
	diff "$golden" "$tmp/made" >>"$tmp/out" 2>&1
	ok $? "$name: as in its golden file"
	is "$(objects restricted <"$tmp/made" 2>&1)" "" "$name: restricted"
	checked "$file"
	ok $? "$name: the daemon accepts the configuration"
done
# shellcheck disable=SC2086
checked "$cases/default.yaml" $on
ok $? "everything switched on: the daemon accepts the configuration"
sed 's/drop: \[ALL\]/drop: []/' "$chart/files/deployment.yaml" >"$tmp/loose" && made "$cases/default.yaml" |
	sed 's/runAsNonRoot: true/runAsNonRoot: false/' | objects restricted >"$tmp/out" 2>&1
grep -q runAsNonRoot "$tmp/out"
ok $? "a pod that may run as root would be seen"

# shellcheck disable=SC2086
helm template multikueued "$chart" -n elsewhere $on | objects yaml >"$tmp/elsewhere.json"
is "$(jq -r '[.[] | .. | objects | .namespace? // empty | strings] | unique | join(" ")' "$tmp/elsewhere.json")" "elsewhere kube-system" \
	"in another namespace all of it is there, but for the one right in kube-system"
is "$(jq -r '[.[] | .. | objects | select(.operator? == "NotIn").values | join(" ")] | unique | join("; ")' "$tmp/elsewhere.json")" \
	"kube-system kueue-system elsewhere" "whose pods the webhook leaves alone"

grep -v '^#' t/package/helm/refused | while IFS='|' read -r set word; do
	word=${word# }
	if made "$cases/default.yaml" --set "${set% }" >"$tmp/said" 2>&1; then
		echo "$set: accepted"
	elif ! grep -qF "$word" "$tmp/said"; then
		echo "$set: no word of $word: $(tail -n 3 "$tmp/said")"
	fi
done >"$tmp/out"
[ ! -s "$tmp/out" ]
ok $? "values of other types, names and ranges are refused, and named ($(grep -vc '^#' t/package/helm/refused))"
done_testing
