#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Workers that answer with what no API server says, or send frames and lines that mean nothing, each
# in another way at the same time, over HTTP/2 and HTTP/1.1: each link rests and says why, the
# daemon lives, its memory is bounded, and the others' jobs take the time and work they took before.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
# shellcheck source=t/integration/hostile_lib.sh
. t/integration/hostile_lib.sh
need curl jq
# shellcheck disable=SC2034
FLEET_MORE='  workerMemory: 64Mi'

lines() { # NAME [TIMES]: what every watch gets, and then it ends; a text as JSON is the input
	jq -c --argjson n "${2:-1}" '{rules: [{match: "watch=1", status: 200, text: ., times: $n}]}' >"$dir/$1.json"
}
answers() { # NAME STATUS [TIMES]: what everything gets
	jq -c --argjson s "$2" --argjson n "${3:-1}" '{rules: [{match: "", status: $s, text: ., times: $n}]}' >"$dir/$1.json"
}

hostile_fleet 12
ok $? "a fleet is up"
wait_for 30 all_active
ok $? "all are connected"
still

echo '"["' | answers arrays 200 3000000
echo '"{\"a\":"' | answers objects 200 500000
echo '"{}"' | answers refused 401
jq -nc '{kind: "Status", apiVersion: "v1", status: "Failure", reason: ("R" * 100000), code: 500,
	message: ("\u001b[31m\r\n<script>alert(1)</script>\u202e" + "M" * 200000)} | tojson' | answers words 500
together frames priority origin altsvc push garbage bookmarks line reset refusal
together ends silence begun goaway rude no-room bad-setting bad-window short lengths h1_upgrade
together status status-999999 status-051 status-000 status-late status-none moved moved-307 words refused
together http1 h1_chunk-huge h1_file h1_moved h1_less h1_nul h1_version-0.9 h1_version-9.9 h1_negotiate

# What a watch shows, while everything else is answered well: after half a minute that counts as
# well, and so does what is put off for ever.
jq -nc '"{\"type\":\"ADDED\"\n\u0000\n{}{}{}\n{\"type\":\"ADDED\",\"object\":{},\"object\":{}}\n"' | lines torn 10
jq -nc '[("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "ODD") as $t | ([], null, "x", 7, {kind: "Workload"},
	{kind: "Workload", apiVersion: "kueue.x-k8s.io/v1beta2", metadata: []},
	{kind: "Secret", apiVersion: "v1", metadata: {name: "a", namespace: "kueue-system", resourceVersion: "7"}},
	{kind: "Workload", apiVersion: "kueue.x-k8s.io/v1beta2", metadata: {name: "../../secrets/x", namespace: "..", resourceVersion: "8"}}) |
	{type: $t, object: .} | tojson + "\n"] | add' | lines confused
jq -nc '[("99999999999999999999", "18446744073709551616", "-1", "abc", "", "01", "1e5", "\u0000") | {type: "ADDED", object:
	{kind: "Workload", apiVersion: "kueue.x-k8s.io/v1beta2", metadata: {name: "rv", namespace: "default", uid: "u", resourceVersion: .}}} |
	tojson + "\n"] | add' | lines versions
together lines torn confused versions later earlier html arrays objects h1_gzip-nested h1_two h1_lengths h1_cookies
# Lists without a last page, of other objects, of the same, and of none.
together pages pages pages-again pages-empty

# A job's status with what no API server lets in, and an object that would be another one.
runs_at() { # JOB: at a worker, at
	at=$(place_of "$1") && [ -n "$at" ] && api "$at" GET "$HERE/$1" | jq -e '.status.active == 1'
}
shows() { # JOB RUN_MS MERGE: it runs, and its worker shows it so from now on
	submit mgr "$1" "$2" "$OURS" >/dev/null
	wait_for 20 runs_at "$1"
	ok $? "$1: a job runs"
	api "$at" POST /kubesim/policy '{"show":[{"kind":"Job","name":"'"$1"'","merge":'"$3"'}]}' >/dev/null
	api "$at" PATCH "$HERE/$1" '{"metadata":{"annotations":{"seen":"again"}}}' >/dev/null
}
hidden() { # JOB: it has ended, and the worker shows jobs as they are
	wait_for 60 complete "$1"
	ok $? "$1: ... its end comes home"
	api "$at" POST /kubesim/policy '{}' >/dev/null
}
shows other 6000 '{"metadata":{"annotations":{"odd":"yes"},"labels":{"odd":"yes"},"finalizers":["odd.io/stays"],
	"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"x","uid":"y"}]},
	"spec":{"parallelism":9,"template":{"spec":{"serviceAccountName":"admin"}}},"status":{"conditions":[{"type":"Odd","status":"True",
	"reason":"<script>alert(1)</script>","message":"\r\n\u001b[31m</script>","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}'
is_odd() {
	has_condition mgr "$HERE/other" Odd
}
wait_for 20 is_odd
ok $? "other: a status that the manager lets in comes home, and nothing says more than that"
others besides
api mgr GET $HERE/other | jq -e '(.metadata | (tojson | contains("odd") | not) and (has("ownerReferences") | not)) and
	.spec.parallelism == 1 and (.spec.template.spec | has("serviceAccountName") | not)' >/dev/null
ok $? "other: nothing else of the object does"
api "$at" POST /kubesim/policy '{}' >/dev/null
api "$at" PATCH $HERE/other '{"metadata":{"annotations":{"seen":"whole"}}}' >/dev/null
hidden other

shows types 25000 '{"status":{"succeeded":"many","startTime":7,"conditions":{"a":1},"active":-5}}'
says_refused() {
	workload_of mgr types | jq -e '.status.admissionChecks[0].message | contains("JobStatus.status.succeeded")'
}
wait_for 25 says_refused
ok $? "types: the manager refuses the status, and the check has its words"
others meanwhile
api mgr GET $HERE/types | jq -e '.status | .succeeded != "many" and .startTime != 7 and ((.conditions // []) | type == "array")' >/dev/null
ok $? "types: none of it is there"
api "$at" POST /kubesim/policy '{}' >/dev/null
api "$at" PATCH $HERE/types '{"metadata":{"annotations":{"seen":"whole"}}}' >/dev/null
hidden types
kill "$MANAGER_PID"
wait "$MANAGER_PID"
is $? 0 "multikueued ends cleanly"
notes "$dir/m.log"
done_testing
