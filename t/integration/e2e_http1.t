#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# API servers behind something that has no HTTP/2: jobs run to their end there for the same number
# of requests, and a worker may come back with or without it while jobs run.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
jobs=${E2E_JOBS:-40}

fleet_kubesim --http1 mgr,w1,w2,w3 --run-ms 200-800 --log "$dir/requests" && fleet_plugins && fleet_manager m
ok $? "a fleet without HTTP/2 is up"
version() { # CLUSTER: which HTTP the server agrees on with who offers both
	api "$1" GET /version >/dev/null
	curl -sS -o /dev/null --http2 --max-time 10 -w '%{http_version}' --cacert "$dir/$1.ca" \
		-H "Authorization: Bearer $(field "$1-token.kubeconfig" token)" \
		"$(field "$1-token.kubeconfig" server)/version"
}
is "$(version mgr) $(version w1)" "1.1 1.1" "it has HTTP/1.1 alone"
"$B/demo" --dir "$dir/clusters" --jobs "$jobs" --figures "$dir/figures" --limit 90 >"$dir/demo.out" 2>&1
is $? 0 "demo is content"
is "$(figure "$dir/figures" finished)" "$jobs" "all jobs finished"
is "$(figure "$dir/figures" again)" 0 "none was created twice"
is "$(figure "$dir/figures" left)" 0 "nothing is left on the workers"
per_job=$(figure "$dir/figures" requests_per_job)
awk -v n="$per_job" 'BEGIN { exit !(n > 5 && n <= 13) }'
ok $? "at most 13 requests per workload (found $per_job)"
for c in mgr w1; do
	n=$(api $c GET /kubesim/counts | jq .connections)
	[ "$n" -lt 200 ]
	ok $? "$c: connections are used again ($n of them)"
done

# w1 alone is left to be used; it changes while jobs run there.
api mgr PATCH /apis/kueue.x-k8s.io/v1beta2/multikueueconfigs/multikueue '{"spec":{"clusters":["w1"]}}' |
	jq -e '.spec.clusters == ["w1"]' >/dev/null
ok $? "w1 is the only worker"
from=$(requests)
finished() { # PREFIX N
	[ "$(api mgr GET $JOBS | jq --arg p "$1-" '[.items[] | select((.metadata.name | startswith($p)) and
		any(.status.conditions[]?; .type == "Complete" and .status == "True"))] | length')" = "$2" ]
}
running() { # PREFIX N: how many have a copy that is not suspended
	[ "$(api w1 GET $JOBS | jq --arg p "$1-" '[.items[] | select((.metadata.name | startswith($p)) and
		.spec.suspend == false)] | length')" = "$2" ]
}
link_is() { # LINK
	curl -sS "http://127.0.0.1:$MANAGER_PORT/status" |
		jq -e --arg l "$1" '.clusters[] | select(.name == "w1") | .link == $l'
}
turn() { # HTTP1 PREFIX VERSION: jobs run, and w1 comes back with another version
	for i in 1 2 3 4 5 6; do
		submit mgr "$2-$i" 4000 "$OURS" >/dev/null
	done
	wait_for 30 running "$2" 6
	ok $? "$2: jobs run on w1"
	api w1 POST /kubesim/faults '{"http1":'"$1"'}' >/dev/null
	api w1 POST /kubesim/restart '{"downMs":1500}' >/dev/null
	away() { ! link_is up; }
	wait_for 20 away
	ok $? "$2: it goes away"
	wait_for 40 link_is up
	ok $? "$2: and comes back"
	is "$(version w1)" "$3" "$2: with HTTP/$3"
	wait_for 60 finished "$2" 6
	ok $? "$2: the jobs end"
	clean() { [ "$(count w1 $WORKLOADS)" = 0 ] && [ "$(count w1 $JOBS)" = 0 ]; }
	wait_for 40 clean
	ok $? "$2: and nothing of them is left there"
}
turn false to-two 2
turn true to-one 1.1
is "$(api mgr GET /apis/batch/v1/namespaces/default/jobs | jq '[.items[] | select(.status.failed // 0 > 0)] | length')" 0 "none failed"
is "$(mutations "$from" | grep -c '^w1 POST .*/jobs 201$')" 12 "each job was made once"
kill "$MANAGER_PID"
wait "$MANAGER_PID"
is $? 0 "multikueued ends cleanly"
grep -c '"level":"error"' "$dir/m.log" >"$dir/errors"
is "$(cat "$dir/errors")" 0 "without an error in its log"
notes "$dir/demo.out" "$dir/m.log"
done_testing
