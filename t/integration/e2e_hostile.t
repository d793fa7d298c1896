#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker floods the manager with what brings nothing, over HTTP/2 and HTTP/1.1: its link rests and
# says why, the manager has as little to do as before, and jobs go on elsewhere; so with answers
# that have no end or measure. A status that grows stays there, but for the end.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq

fleet_kubesim && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
wait_for 20 reason_is Active
ok $? "w1 is connected"
ticks() { # CPU time of multikueued
	sed 's/.*) //' "/proc/$MANAGER_PID/stat" | awk '{ print $12 + $13 }'
}
jobs=20
complete_all() { # PREFIX
	[ "$(api mgr GET $JOBS | jq --arg p "$1-" '[.items[] | select((.metadata.name | startswith($p)) and
		any(.status.conditions[]?; .type == "Complete" and .status == "True"))] | length')" = $jobs ]
}
# So many jobs: run_all PREFIX. Sets cost to the CPU that multikueued took.
run_all() {
	cost=$(ticks)
	i=0
	while [ $i -lt $jobs ]; do
		i=$((i + 1))
		submit mgr "$(echo "$1" | tr _ -)-$i" 100 "$OURS" >/dev/null
	done
	wait_for 60 complete_all "$(echo "$1" | tr _ -)"
	run_rc=$?
	cost=$(($(ticks) - cost))
	return $run_rc
}
secret=/api/v1/namespaces/kueue-system/secrets/w1-kubeconfig
reconnect() { # at once: the kubeconfig has another text
	reconnect_n=$((${reconnect_n:-0} + 1))
	api mgr GET $secret | jq -r .data.kubeconfig | base64 -d >"$dir/kubeconfig"
	echo "# $reconnect_n" >>"$dir/kubeconfig"
	api mgr PATCH $secret '{"data":{"kubeconfig":"'"$(base64 -w 0 "$dir/kubeconfig")"'"}}' >/dev/null
}
run_all calm
ok $? "jobs run"
calm=$cost

floods() { # KIND WORDS
	api w1 POST /kubesim/faults '{"flood":"'"$1"'"}' >/dev/null
	wait_for 30 reason_is ClientConnectionFailed "floods the manager with $2"
	ok $? "$1: the link rests, and says why"
	grep -q "floods the manager with $2" "$dir/m.log"
	ok $? "so does the log"
	run_all "$1"
	ok $? "jobs go on elsewhere"
	flooded=$cost
	api w1 DELETE /kubesim/faults >/dev/null
	reconnect
	wait_for 20 reason_is Active
	ok $? "without the flood w1 is connected again"
	limit=$((calm * 3 / 2 + 10))
	echo "# CPU: $flooded ticks with the flood, $calm without: $limit at most"
	[ "$flooded" -le $limit ] || busy "$1"
	[ "$flooded" -le $limit ]
	ok $? "they cost about what they cost before"
}
# A processor that has other work does less in a tick. What the jobs cost now tells how much: on one
# that has none it is 2 ticks, and the limit 13.
busy() { # KIND
	run_all "$1-now"
	[ "$cost" -ge "$calm" ] || cost=$calm
	limit=$((cost * 13 / 2))
	echo "# $cost ticks without the flood: $limit at most"
}
for kind in newlines pings settings updates data unknown; do
	case $kind in
	newlines) words='empty lines' ;;
	pings) words='PING frames' ;;
	settings) words='SETTINGS frames' ;;
	updates) words='WINDOW_UPDATE frames' ;;
	data) words='empty DATA frames' ;;
	unknown) words='frames that say nothing' ;;
	esac
	# libcurl does not say what the frames are
	[ "${FLEET_TRANSPORT:-auto}" = auto ] || [ $kind = newlines ] || words='heads, frames, chunk lines'
	floods $kind "$words"
done

# An answer without end or measure, whatever is asked for: the link rests and says why, and what
# others have is what they had. Of jobs in the same run, with a floor: the machine has other work.
link_rests() {
	api mgr GET $CLUSTER | jq -e '.status.conditions[] | select(.type == "Active") | .status == "False" and
		.message != "" and (.message | contains(": out of memory") | not)'
}
millis() {
	echo $(($(date +%s%N) / 1000000))
}
timed() { # PREFIX: sets took to the ms until its jobs were done
	took=$(millis)
	run_all "$1"
	timed_rc=$?
	took=$(($(millis) - took))
	return $timed_rc
}
others() { # PREFIX
	timed "$1"
	ok $? "$1: the others' jobs are done"
	echo "# $took ms and $cost ticks; $still_ms ms and $still ticks before"
	[ "$took" -le $((still_ms * 3 / 2 + 1500)) ] && [ "$cost" -le $((still * 3 / 2 + 15)) ]
	ok $? "... in the time and with the work that they took before"
}
restored() {
	api w1 DELETE /kubesim/faults >/dev/null
	api w1 POST /kubesim/policy '{}' >/dev/null
	reconnect
	wait_for 30 reason_is Active
	ok $? "... and w1 is connected again"
}
evil() { # NAME, of a flood, over HTTP/1.1 with h1_ before it, or of what is set already
	case $1 in
	kinds) reconnect ;;
	h1_*) api w1 POST /kubesim/faults '{"http1":true,"flood":"'"${1#h1_}"'"}' >/dev/null ;;
	*) api w1 POST /kubesim/faults '{"flood":"'"$1"'"}' >/dev/null ;;
	esac
	api w1 POST /kubesim/close '{}' >/dev/null
	wait_for 30 link_rests
	ok $? "$1: the link rests, and says why"
	echo "# $(api mgr GET $CLUSTER | jq -r '.status.conditions[0].message' | cut -c 1-160)"
	others "$1"
	restored
}
jobs=8
timed still
still_ms=$took
still=$cost
for kind in hints heads bomb many big spaces numbers items gzip; do
	evil $kind
done
jq -nc '{rules: [{match: "GET /apis/kueue.x-k8s.io/v1beta2", status: 200, body: {kind: "APIResourceList", groupVersion: "x",
	resources: [range(2000) | {name: "r\(.)", kind: ("K" * 1000), namespaced: true, verbs: ["get"]}]}}]}' >"$dir/kinds.json"
api w1 POST /kubesim/policy "@$dir/kinds.json" >/dev/null
evil kinds
evil line
# Objects that are made up, one after the other.
api w1 POST /kubesim/flood '{"n":5000}' >/dev/null
others objects
restored
jobs=20

# A worker that lets the status of a job grow without end: 360 KiB, changed again and again.
submit mgr grows 6000 "$OURS" >/dev/null
is_placed() {
	at=$(place_of grows) && [ -n "$at" ] && api "$at" GET $HERE/grows | jq -e '.status.active == 1'
}
wait_for 20 is_placed
ok $? "a job runs"
head -c 30000 /dev/zero | tr '\0' m >"$dir/m"
for i in 1 2 3 4 5 6 7 8 9 10; do
	jq -nc --rawfile m "$dir/m" --arg i $i '{status: {conditions: [range(12) | {type: "Odd\(.)", status: "True", reason: "R",
		message: ($i + $m), lastTransitionTime: "2026-01-01T00:00:00Z"}]}}' >"$dir/grown.json"
	api "$at" PATCH $HERE/grows/status "@$dir/grown.json" >/dev/null
done
says_it_grew() {
	workload_of mgr grows | jq -e '.status.admissionChecks[0].message | contains("cannot be copied: it is larger than 256 KiB")'
}
wait_for 20 says_it_grew
ok $? "its status is too large: the check says so"
[ "$(api mgr GET $HERE/grows | wc -c)" -lt 20000 ]
ok $? "and the manager has none of it"
wait_for 40 complete grows
ok $? "its end comes home"
[ "$(api mgr GET $HERE/grows | wc -c)" -lt 30000 ]
ok $? "without the rest"

# The same with a proxy before w1 that speaks HTTP/1.1 only.
api w1 POST /kubesim/faults '{"http1":true}' >/dev/null
api w1 POST /kubesim/close '{}' >/dev/null
reconnect
speaks_http1() {
	[ "$(curl -sS --max-time 5 -o /dev/null -w '%{http_version}' --cacert "$dir/w1.ca" "$(field w1-token.kubeconfig server)/version")" = 1.1 ]
}
wait_for 10 speaks_http1 && wait_for 30 reason_is Active
ok $? "w1 speaks HTTP/1.1"
floods chunks 'heads, frames, chunk lines'
jobs=8
for kind in h1_hints h1_heads h1_longline h1_trailers h1_gzip; do
	evil $kind
done
kill "$MANAGER_PID"
wait "$MANAGER_PID"
is $? 0 "multikueued ends cleanly"
notes "$dir/m.log"
done_testing
