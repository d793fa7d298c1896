#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plugins that break the rules at work: one that moves its copies to another namespace, one that
# writes their owners, a slow one, a greedy one. Each is named in Events and in the log, and the
# jobs of other kinds go on. One that never comes back ends the process, which says whose fault it
# was; without it the jobs go on.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
# shellcheck source=t/integration/why_lib.sh
. t/integration/why_lib.sh
need curl jq
OWN=$KUEUE/namespaces/default/workloads
ulimit -c 0

compile() { # NAME
	${CC:-gcc} -std=c17 -D_GNU_SOURCE -Isdk -It/abi/bad -fPIC -fvisibility=hidden -shared -o "$dir/plugins/$1.so" "t/abi/bad/$1.c" &&
		chmod 755 "$dir/plugins/$1.so"
}
fleet_kubesim --log "$dir/requests" && fleet_plugins && compile misbehaves && compile loops && mv "$dir/plugins/loops.so" "$dir/loops.so"
ok $? "a fleet and two bad plugins"
crds() {
	for kind in Liar Stray Slow Hungry Fussy Loop; do
		for c in mgr w1 w2 w3; do
			api $c POST /kubesim/crd '{"group":"ex.io","version":"v1","plural":"'"$(plural $kind)"'","kind":"'$kind'"}' | jq -e '. == {}' || return 1
		done
	done
}
plural() {
	echo "${1}s" | tr '[:upper:]' '[:lower:]'
}
crds >/dev/null
ok $? "their kinds are served"
submit_kind() { # KIND [NAME]
	name=${2:-$(echo "$1" | tr '[:upper:]' '[:lower:]')}
	uid=$(api mgr POST "/apis/ex.io/v1/namespaces/default/$(plural "$1")" '{"apiVersion":"ex.io/v1","kind":"'"$1"'","metadata":{"name":"'"$name"'",
		"namespace":"default","labels":{"kueue.x-k8s.io/queue-name":"user-queue"}},"spec":{}}' | jq -er .metadata.uid) || return 1
	api mgr POST $OWN '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"wl-'"$name"'","namespace":"default",
		"ownerReferences":[{"apiVersion":"ex.io/v1","kind":"'"$1"'","name":"'"$name"'","uid":"'"$uid"'","controller":true}]},
		"spec":{"queueName":"user-queue","podSets":[{"name":"main","count":1,"template":{"spec":{"restartPolicy":"Never",
		"containers":[{"name":"main","image":"none","resources":{"requests":{"cpu":"100m"}}}]}}}]}}' | jq -e .metadata.uid
}

# --- rules broken at work -------------------------------------------------------------------------
fleet_manager m
ok $? "the daemon takes the plugin: at rest nothing is wrong with it"
for kind in Liar Stray Slow Hungry; do
	submit_kind $kind >/dev/null || break
done
ok $? "a job of each of its kinds"
"$B/demo" --dir "$dir/clusters" --jobs 30 --limit 60 --figures "$dir/figures" >"$dir/demo.out" 2>&1
is "$(figure "$dir/figures" finished)" 30 "30 Jobs beside them all finish"
said() { # WORDS: an event about a Workload has the plugin's name and these
	api mgr GET /apis/events.k8s.io/v1/namespaces/default/events |
		jq -e --arg w "$1" 'any(.items[]; .type == "Warning" and (.note | contains("test.misbehaves") and contains($w)))' >/dev/null
}
while read -r name words; do
	wait_for 30 said "$words"
	ok $? "$name: an event says '$words'"
done <<-END
	Liar /metadata/namespace: expected no change
	Stray /metadata/ownerReferences: expected no change
	Slow time
	Hungry memory
END
for kind in Liar Stray Slow Hungry; do
	grep '"msg":"a plugin broke its contract' "$dir/m.log" | grep '"plugin":"test.misbehaves"' | grep '"name":"wl-'"$(echo $kind | tr '[:upper:]' '[:lower:]')"'"' |
		grep -q '"kind":"ex.io/v1, Kind='$kind'"'
	ok $? "$kind: a line of the log has the plugin, the kind and the Workload"
done
for kind in liar stray slow hungry; do
	for c in w1 w2 w3; do
		api $c GET "/apis/ex.io/v1/${kind}s" | jq -e '.items | length == 0' >/dev/null || echo "$kind is on $c"
	done
done >"$dir/copies"
is "$(cat "$dir/copies")" "" "nothing that they drafted got to a worker"
expect <<-END
	plugin fault | liar | - | PluginFault | the adapter of ex.io/v1, Kind=Liar failed for this Workload: | mend or replace this plugin | -
	... and its words | liar | - | PluginFault | /metadata/namespace: expected no change | | -
END
called_again() {
	why liar | grep '^  in .*: the plugin is called again'
}
wait_for 30 called_again
ok $? "plugin fault: ... and when it is called again"
is "$(curl -sS "http://127.0.0.1:$MANAGER_PORT/metrics" | grep -c '^multikueue_plugin_faults_total{.*test.misbehaves.*} [1-9]')" 1 \
	"their faults are counted under the plugin's name"
# --- one poisonous object of a kind that is well otherwise ----------------------------------------
stumbled() { # TIMES
	[ "$(grep '"plugin":"test.misbehaves"' "$dir/m.log" | grep -c '"name":"wl-poison"')" -ge "$1" ]
}
arrived() { # NAME
	for c in w1 w2 w3; do
		api $c GET "/apis/ex.io/v1/namespaces/default/$(plural Fussy)/$1" | jq -e .metadata.uid && return
	done >/dev/null
	return 1
}
submit_kind Fussy poison >/dev/null && wait_for 30 stumbled 1
ok $? "an object that its plugin stumbles over"
for name in one two three four; do
	submit_kind Fussy $name >/dev/null && wait_for 30 arrived $name
	ok $? "$name, of the same kind, goes on"
done
wait_for 60 stumbled 3
ok $? "the poisonous one is tried again and again"
submit_kind Fussy five >/dev/null && wait_for 30 arrived five
ok $? "and others still go on"
! arrived poison
ok $? "nothing of it got to a worker"
wait_for 30 said "ex.io/v1, Kind=Fussy: verdict"
ok $? "an event names the plugin"
! grep '"plugin":"test.misbehaves"' "$dir/m.log" | grep 'Kind=Fussy' | grep -qv '"name":"wl-poison"'
ok $? "no other job of the kind is charged"
kill -0 "$MANAGER_PID"
ok $? "the daemon lives" || tail -n 5 "$dir/m.log" | cut -c1-400 | sed "s/^/# /"

# --- Q-2: one that never comes back ---------------------------------------------------------------
kill "$MANAGER_PID" && wait "$MANAGER_PID" 2>/dev/null
rm "$dir/plugins/misbehaves.so" && install -m 755 "$dir/loops.so" "$dir/plugins"
ended() {
	! kill -0 "$MANAGER_PID" 2>/dev/null
}
last_words() { # LOG WORDS PLUGIN HOOK KIND NAME: the last line of the log names them
	tail -n 1 "$dir/$1.log" | jq -e --arg m "$2" --arg p "$3" --arg h "$4" --arg k "ex.io/v1, Kind=$5" --arg n "$6" '.level == "error" and
		.mod == "plug" and (.msg | contains($m)) and .plugin == $p and .hook == $h and .kind == $k and .ns == "default" and .name == $n and
		.workload == "wl-" + $n and (.cluster | test("^w[123]$"))' >/dev/null
}
clean() { # KIND NAME: the object that a plugin stumbled over goes
	api mgr DELETE "$OWN/wl-$2" >/dev/null
	api mgr DELETE "/apis/ex.io/v1/namespaces/default/$(plural "$1")/$2" >/dev/null
	wait_for 10 gone "$OWN/wl-$2"
}
gone() { # PATH
	api mgr GET "$1" | jq -e '.code == 404'
}
# A Lease that is over before the loop counts as hung, no leader election, and the usual.
hangs() { # NAME ARGUMENT...: of fleet_manager
	fleet_manager "$@"
	ok $? "Q-2: $1: the daemon with the other plugin"
	submit_kind Loop >/dev/null
	wait_for 60 ended
	ok $? "Q-2: $1: the daemon ends itself" || kill -9 "$MANAGER_PID"
	wait "$MANAGER_PID" 2>/dev/null
	is $? 134 "by a signal that tells its supervisor"
	last_words "$1" 'the main loop is stuck' test.loops remote Loop loop
	ok $? "Q-2: $1: and says whose fault it was"
	clean Loop loop
}
hangs loop
hangs short 4s 3s 1s
FLEET_ELECT=false hangs alone

# --- Q-8: plugins that crash ----------------------------------------------------------------------
rm "$dir/plugins/loops.so" && compile dies
ok $? "a plugin that dies in many ways"
dies() { # KIND HOOK SIGNAL WORDS
	name=$(echo "$1" | tr '[:upper:]' '[:lower:]')
	crd ex.io v1 "$(plural "$1")" "$1" && fleet_manager "$name" 6s 4s 1s && submit_kind "$1" >/dev/null && wait_for 60 ended
	ok $? "Q-8: $1: the daemon ends" || kill "$MANAGER_PID"
	wait "$MANAGER_PID" 2>/dev/null
	is $? $((128 + $3)) "by its signal"
	last_words "$name" "$4" test.dies "$2" "$1" "$name"
	ok $? "Q-8: $1: its last line names plugin, hook and object"
	notes "$dir/$name.log"
	clean "$1" "$name"
	ok $? "its Workload goes"
}
crashed='a plugin crashed in its hook'
dies Segfault remote 11 "$crashed"
dies StatusSegfault status 11 "$crashed"
dies Overflow remote 11 "$crashed"
dies Abort remote 6 "$crashed"
dies Exit remote 6 'a plugin called exit()'
rm "$dir/plugins/dies.so" && compile dies_at_load && ! fleet_manager load 2>/dev/null
ok $? "a plugin that crashes while it is loaded: the daemon does not start"
tail -n 1 "$dir/load.log" | jq -e --arg f "$dir/plugins/dies_at_load.so" '.level == "error" and .plugin == $f and .hook == "load"' >/dev/null
ok $? "Q-8: and says which file it was"
rm "$dir/plugins/dies_at_load.so"
fleet_manager without
ok $? "without the plugin it starts"
submit mgr after 100 "$OURS" >/dev/null
finished() {
	has_condition mgr $HERE/after Complete >/dev/null
}
wait_for 60 finished
ok $? "and Jobs run"
notes "$dir/demo.out" "$dir/m.log" "$dir/loop.log" "$dir/without.log"
done_testing
