# SPDX-License-Identifier: Apache-2.0
# What the tests of hostile workers share: w1 and so on are hostile at the same time, each in a way
# of its own, and the last two workers are not. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2154,SC2034

# A fleet of $1 workers that can be hostile: hostile_fleet N
hostile_fleet() {
	hostile_n=$1
	hostile_names=mgr
	hostile_i=0
	while [ $hostile_i -lt $((hostile_n + 2)) ]; do
		hostile_i=$((hostile_i + 1))
		hostile_names=$hostile_names,w$hostile_i
	done
	fleet_kubesim --clusters "$hostile_names" && fleet_plugins && fleet_manager m
}
at_all() { # N COMMAND...: w1 to wN as the last argument, until it fails
	hostile_upto=$1
	hostile_at=0
	shift
	while [ $hostile_at -lt "$hostile_upto" ]; do
		hostile_at=$((hostile_at + 1))
		"$@" w$hostile_at || return 1
	done
}
active_of() { # CLUSTER: its condition Active
	api mgr GET /apis/kueue.x-k8s.io/v1beta2/multikueueclusters/"$1" | jq -c '.status.conditions[]? | select(.type == "Active")'
}
is_active() {
	active_of "$1" | jq -e '.status == "True"'
}
# Down, and the reason is one of the worker's.
rests() {
	active_of "$1" | jq -re 'select(.status == "False" and .message != "" and (.message | contains(": out of memory") | not)) | "\(.reason): \(.message)"'
}
all_active() {
	at_all $((hostile_n + 2)) is_active
}
# Each of the first N rests at some time: it is tried again after that. all_rest N SECONDS
all_rest() {
	rest_end=$(($(date +%s) + $2))
	rest_left=$(seq "$1")
	while [ -n "$rest_left" ] && [ "$(date +%s)" -lt $rest_end ]; do
		rest_next=
		for rest_i in $rest_left; do
			if ! rests "w$rest_i" >"$dir/rest.$rest_i"; then
				rest_next="$rest_next $rest_i"
			fi
		done
		rest_left=$rest_next
		[ -z "$rest_left" ] || sleep 0.2
	done
	[ -z "$rest_left" ]
}

hostile_jobs=8
hostile_ticks() { # CPU time of multikueued
	sed 's/.*) //' "/proc/$MANAGER_PID/stat" | awk '{ print $12 + $13 }'
}
hostile_ms() {
	echo $(($(date +%s%N) / 1000000))
}
hostile_done() { # PREFIX
	[ "$(api mgr GET $JOBS | jq --arg p "$1-" '[.items[] | select((.metadata.name | startswith($p)) and
		any(.status.conditions[]?; .type == "Complete" and .status == "True"))] | length')" = $hostile_jobs ]
}
# Jobs from creation to end: timed PREFIX. Sets took (ms) and cost (CPU ticks of multikueued).
timed() {
	took=$(hostile_ms)
	cost=$(hostile_ticks)
	hostile_i=0
	while [ $hostile_i -lt $hostile_jobs ]; do
		hostile_i=$((hostile_i + 1))
		submit mgr "$1-$hostile_i" 100 "$OURS" >/dev/null
	done
	wait_for 60 hostile_done "$1"
	timed_rc=$?
	took=$(($(hostile_ms) - took))
	cost=$(($(hostile_ticks) - cost))
	return $timed_rc
}
# What jobs take while no worker is hostile, which those of others may take once and a half of, with
# a floor: the machine has other work.
still() {
	timed still
	ok $? "jobs run"
	still_ms=$took
	still_cost=$cost
	still_kib=$(fleet_memory VmRSS)
}
others() { # PREFIX
	timed "$1"
	ok $? "$1: the others' jobs are done"
	echo "# $took ms and $cost ticks; $still_ms ms and $still_cost ticks before"
	[ "$took" -le $((still_ms * 3 / 2 + 1500)) ] && [ "$cost" -le $((still_cost * 3 / 2 + 15)) ]
	ok $? "... in the time and with the work that they took before"
	echo "# $(fleet_memory VmRSS) KiB; $still_kib KiB before"
	[ "$(fleet_memory VmRSS)" -le $((still_kib + 200 * 1024)) ]
	ok $? "... and memory has a bound"
}

# w1 turns hostile: hostile w1 WAY. A WAY is a fault "flood" of kubesim, over HTTP/1.1 with h1_
# before it, or a file DIR/WAY.json with rules of the policy.
hostile() {
	case $2 in
	h1_*) api "$1" POST /kubesim/faults '{"http1":true,"flood":"'"${2#h1_}"'"}' ;;
	*)
		if [ -f "$dir/$2.json" ]; then
			api "$1" POST /kubesim/policy "@$dir/$2.json"
		else
			api "$1" POST /kubesim/faults '{"flood":"'"$2"'"}'
		fi
		;;
	esac | jq -e 'type == "object" and .kind != "Status"' >/dev/null || echo "# $1 cannot do $2"
	api "$1" POST /kubesim/close '{}' >/dev/null
}
restored() { # CLUSTER: as before, and connected again at once: its kubeconfig has another text
	hostile_secret=/api/v1/namespaces/kueue-system/secrets/$1-kubeconfig
	api "$1" DELETE /kubesim/faults >/dev/null
	api "$1" POST /kubesim/policy '{}' >/dev/null
	hostile_n_restored=$((${hostile_n_restored:-0} + 1))
	api mgr GET "$hostile_secret" | jq -r .data.kubeconfig | base64 -d >"$dir/kubeconfig"
	echo "# $hostile_n_restored" >>"$dir/kubeconfig"
	api mgr PATCH "$hostile_secret" '{"data":{"kubeconfig":"'"$(base64 -w 0 "$dir/kubeconfig")"'"}}' >/dev/null
}
# So many workers are hostile at once, each in one of the ways: together NAME WAY...
together() {
	together_name=$1
	shift
	together_t=$(hostile_ms)
	together_n=0
	for together_way; do
		together_n=$((together_n + 1))
		hostile w$together_n "$together_way"
	done
	all_rest $together_n 60
	ok $? "$*: their links rest, and say why"
	together_n=0
	for together_way; do
		together_n=$((together_n + 1))
		echo "# $together_way: $(cut -c 1-180 "$dir/rest.$together_n")"
	done
	echo "# $(($(hostile_ms) - together_t)) ms until all rest"
	others "$together_name"
	at_all $together_n restored
	wait_for 60 all_active
	ok $? "... and all are connected again"
	echo "# $(($(hostile_ms) - together_t)) ms in all"
}
