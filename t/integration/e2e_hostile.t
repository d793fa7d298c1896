#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker floods the manager with what brings nothing, over HTTP/2 and HTTP/1.1: its link rests and
# says why, the manager has as little to do as before, and jobs go on elsewhere.
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
complete_all() { # PREFIX
	[ "$(api mgr GET $JOBS | jq --arg p "$1-" '[.items[] | select((.metadata.name | startswith($p)) and
		any(.status.conditions[]?; .type == "Complete" and .status == "True"))] | length')" = 20 ]
}
# Twenty jobs: run_all PREFIX. Sets cost to the CPU that multikueued took.
run_all() {
	cost=$(ticks)
	i=0
	while [ $i -lt 20 ]; do
		i=$((i + 1))
		submit mgr "$1-$i" 100 "$OURS" >/dev/null
	done
	wait_for 60 complete_all "$1"
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
	echo "# CPU: $cost ticks with the flood, $calm without"
	[ "$cost" -le $((calm * 3 / 2 + 10)) ]
	ok $? "which cost about what they cost before"
	api w1 DELETE /kubesim/faults >/dev/null
	reconnect
	wait_for 20 reason_is Active
	ok $? "without the flood w1 is connected again"
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
	[ "${FLEET_TRANSPORT:-auto}" = auto ] || [ $kind = newlines ] || continue
	floods $kind "$words"
done

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
kill "$MANAGER_PID"
wait "$MANAGER_PID"
is $? 0 "multikueued ends cleanly"
notes "$dir/m.log"
done_testing
