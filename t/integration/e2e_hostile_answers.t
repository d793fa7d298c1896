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
kill "$MANAGER_PID"
wait "$MANAGER_PID"
is $? 0 "multikueued ends cleanly"
notes "$dir/m.log"
done_testing
