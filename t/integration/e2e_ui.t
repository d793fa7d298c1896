#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of /ui: its headers, each view in headless Chromium, names that are markup, phone width,
# a daemon that goes away; and `kubectl multikueue ui`. E2E_UI_WORKERS, E2E_UI_LIVE: a larger fleet.
# E2E_UI_SHOTS: a folder for pictures.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq openssl
workers=${E2E_UI_WORKERS:-3}
live=${E2E_UI_LIVE:-0}

FLEET_WAIT=300
if [ "$workers" -gt 3 ]; then
	fleet_kubesim --clusters "mgr,$(seq -s, -f 'w%g' 1 "$workers")" --group 3 --run-ms 0 --admit-ms 0
else
	fleet_kubesim
fi && fleet_plugins && fleet_manager m 60s 50s 2s
ok $? "a fleet is up"
at=http://127.0.0.1:$MANAGER_PORT
curl -sS -D "$dir/head" -o "$dir/page" "$at/ui"
is "$(sed -n '1s/\r//p' "$dir/head")" "HTTP/1.1 200 OK" "the page is served"
is "$(tr -d '\r' <"$dir/head" | grep -ciE '^(content-type: text/html; charset=utf-8|x-content-type-options: nosniff|cache-control: no-store)$')" 3 \
	"as HTML that is not guessed and not kept"
is "$(curl -sS -D - -o /dev/null -H 'Origin: http://elsewhere' "$at/v1/clusters" | grep -ci '^access-control-')" 0 \
	"no other site's script may read an answer"
host() { # HOST PATH: the status
	curl -sS -o /dev/null -w '%{http_code}' -H "Host: $1" "$at$2"
}
for h in localhost "localhost:$MANAGER_PORT" "127.0.0.1:8081" '[::1]:8081' ''; do
	is "$(host "$h" /v1/clusters) $(host "$h" /ui)" "200 200" "Host: $h is this host"
done
for h in elsewhere.example "elsewhere.example:$MANAGER_PORT" localhost.elsewhere.example 127.0.0.1.elsewhere.example 'localhost:x'; do
	is "$(host "$h" /v1/clusters) $(host "$h" /ui) $(host "$h" /status)" "403 403 403" "Host: $h is not: a name of others that leads here"
done
is "$(host elsewhere.example /healthz)" 200 "probes may use any name"
is "$(curl -sS -X POST -o /dev/null -w '%{http_code}' -d x "$at/ui")" 405 "it takes nothing"
is "$(grep -cE 'https?://|[[:space:]]on[a-z]+="|innerHTML|eval\(' "$dir/page")" 0 "it names no other host, and has no handlers in its markup"
hash_of() { # TAG: of what stands between its tags
	awk -v t="$1" '$0 ~ "^<" t ">" { on = 1; sub("^<" t ">", "") } on && sub("</" t ">.*", "") { printf "%s", $0; exit } on' "$dir/page" |
		openssl dgst -sha256 -binary | openssl base64 -A
}
grep -qF "script-src 'sha256-$(hash_of script)'" "$dir/page" && grep -qF "style-src 'sha256-$(hash_of style)'" "$dir/page"
ok $? "its policy allows its own script and style alone"

# The command, with a kubectl that opens nothing.
cat >"$dir/kubectl" <<END
#!/bin/sh
case "\$*" in
"port-forward --namespace kueue-system --address=127.0.0.1 deployment/multikueued "*:8081)
	echo "\$\$ \$*" >"$dir/forward"
	echo "Forwarding from 127.0.0.1:$MANAGER_PORT -> 8081"
	exec sleep 60
	;;
esac
exit 1
END
chmod +x "$dir/kubectl"
PATH="$dir:$PATH" env --default-signal=INT "$B/kubectl-multikueue" ui --no-browser --port 8099 >"$dir/ui.out" 2>&1 &
ui=$!
wait_for 20 grep -qx "$at/ui" "$dir/ui.out"
ok $? "ui prints the address" || sed 's/^/# /' "$dir/ui.out"
is "$(grep -c ' 8099:8081$' "$dir/forward")" 1 "... of the port that was asked for"
forward=$(cut -d' ' -f1 "$dir/forward")
kill -INT $ui
wait $ui
is $? 0 "an interrupt ends it tidily"
gone() {
	! kill -0 "$1" 2>/dev/null
}
wait_for 10 gone "$forward"
ok $? "... and its kubectl"
PATH="$dir:$PATH" "$B/kubectl-multikueue" ui --no-browser >"$dir/ui.out" 2>&1 &
ui=$!
wait_for 20 grep -qx "$at/ui" "$dir/ui.out"
kill "$(cut -d' ' -f1 "$dir/forward")"
wait $ui
is "$? $(grep -c 'port-forward. has ended' "$dir/ui.out")" "3 1" "when kubectl ends, the command says so"

if ! { command -v chromium-headless-shell || command -v chromium; } >/dev/null 2>&1 || ! command -v python3 >/dev/null 2>&1; then
	skip "the page in a browser" "chromium-headless-shell and python3 are not installed: conf/install-deps ui"
	done_testing
fi
submit mgr train 3600000 "$OURS" >/dev/null
[ "$live" = 0 ] || api mgr POST /kubesim/load "{\"n\":$live,\"prefix\":\"live\",\"runMs\":86400000}" >/dev/null
placed() {
	curl -sS "$at/v1/workloads?phase=Won&limit=1" | jq -e '.items | length == 1'
}
wait_for 300 placed
ok $? "a job runs"
name=$(curl -sS "$at/v1/workloads?limit=1" | jq -r '.items[0].name')
LIVE="document.getElementById('state').textContent === 'Live.'"
look() { # NAME VIEW CONDITION [OPTIONS]
	look_name=$1
	look_view=$2
	look_wait=$3
	shift 3
	t/lib/browser "$at/ui$look_view" wait="$LIVE && $look_wait" ${E2E_UI_SHOTS:+shot=$E2E_UI_SHOTS/$(echo "$look_name" | tr ' ' '-').png} "$@" >"$dir/look" 2>&1
	is "$? $(jq -c '[.errors, .requests, .wide <= 0, .slow < 1000]' "$dir/look")" "0 [[],[],true,true]" \
		"$look_name: shown, no error, no other host, not too wide, no freeze" || sed 's/^/# /' "$dir/look"
}
rows="document.querySelectorAll('tbody tr').length"
look "fleet" '#/' "$rows > 0"
look "fleet on a phone" '#/' "$rows > 0" width=360 dark=1
look "workers" '#/workers' "$rows === $([ "$workers" -gt 100 ] && echo 100 || echo "$workers")"
look "workers on a phone" '#/workers' "$rows > 0" width=360
look "workloads" '#/workloads' "$rows > 0"
look "workloads in the dark" '#/workloads?phase=Won' "$rows > 0" dark=1 eval="document.querySelector('.pager span').textContent"
[ "$live" != 0 ] || is "$(jq -r .value "$dir/look")" "Page 1, 1 Workload" "... one is one"
look "one workload" "#/workloads/default/$name" "document.querySelectorAll('.race li').length === 5 && $rows > 0"
look "one workload on a phone" "#/workloads/default/$name" "document.querySelectorAll('.race li').length === 5" width=360 dark=1

# Queues below their Cohorts: all/team/{build,train}, all/lab (which has no object), and a circle.
KUEUE=/apis/kueue.x-k8s.io/v1beta2
group() { # CPU
	printf '"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"default-flavor","resources":[
		{"name":"cpu","nominalQuota":"%s"},{"name":"memory","nominalQuota":"%sGi"}]}]}]' "$1" "$1"
}
cohort() { # NAME SPEC
	api mgr POST $KUEUE/cohorts '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Cohort","metadata":{"name":"'"$1"'"},"spec":{'"$2"'}}' >/dev/null
}
queue() { # NAME COHORT CPU
	api mgr POST $KUEUE/clusterqueues '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{"name":"'"$1"'"},
		"spec":{"cohortName":"'"$2"'",'"$(group "$3")"'}}' >/dev/null
}
cohort all "$(group 8)"
cohort team '"parentName":"all"'
cohort round '"parentName":"about"'
cohort about '"parentName":"round"'
queue build team 2
queue train team 6
queue try lab 4
queue turn round 1
[ "$workers" -le 100 ] || for i in $(seq 1 200); do queue "many-$i" "group-$((i % 7))" "$i"; done
tree="[...document.querySelectorAll('.tree > li')].map(l => l.style.getPropertyValue('--depth') + ' ' + l.querySelector('.name').textContent)"
look "queues" '#/queues' "$tree.some(t => t.includes('Cohort of 2 queues'))" eval="$tree.filter(t => /all|team|build|train|lab|try/.test(t)).join(';')"
is "$(jq -r .value "$dir/look" | sed 's/[▾▸]//g')" \
	"0 all Cohort of 2 queues0 pending;1 team Cohort of 2 queues0 pending;2 build 0 pending;2 train 0 pending;0 lab Cohort of 1 queue0 pending;1 try 0 pending" \
	"... queues stand below their Cohorts"
# What is used: of a daemon that says so.
look "usage of queues" '#/queues' "$tree.some(t => t.includes('3 pending'))
	|| (window.fetch = async () => new Response(JSON.stringify({
		items: [['a', 3, 1], ['b', 1, 2]].map(([name, n, pending]) => ({cluster: '', name, cohort: 'c', active: true, pending,
			flavors: [{name: 'f', resources: [{name: 'cpu', nominal: 2000, used: n * 1000}, {name: 'memory', nominal: 2147483648, used: n * 1610612736},
				{name: 'pods', nominal: 1e15, used: n * 1500000}]}]})),
		cohorts: [{name: 'c', flavors: [{name: 'f', resources: [{name: 'cpu', nominal: 4000}]}]}]})), poll.now(), false)" \
	eval="[...document.querySelectorAll('.tree > li')].map(l => [...l.querySelectorAll('.use')].map(u => u.textContent).join(', ')).join('; ')"
is "$(jq -r .value "$dir/look")" "f cpu 4 of 8, f memory 6 Gi of 4 Gi borrows 2 Gi, f pods 6 M of 2 P; f cpu 3 of 2 borrows 1, f memory 4.5 Gi of 2 Gi borrows 2.5 Gi, f pods 4.5 M of 1 P; f cpu 1 of 2, f memory 1.5 Gi of 2 Gi, f pods 1.5 M of 1 P" \
	"... of a Cohort the sum of its queues', with its own quota; what is borrowed"
look "Cohorts in a circle" '#/queues' "$tree.some(t => t.includes('build'))" eval="$tree.filter(t => /circle/.test(t)).length"
is "$(jq -r .value "$dir/look")" 2 "... are said to be"
look "a Cohort that is folded" '#/queues' "$tree.some(t => t.includes('build')) ? (document.querySelector('[aria-label=\"Queues of all\"]').click(), false)
	: $tree.some(t => t.includes('all'))" eval="$tree.some(t => t.includes('try'))"
is "$(jq -r .value "$dir/look")" true "... hides its own queues alone"
look "queues on a phone" '#/queues' "$tree.some(t => t.includes('build'))" width=360
look "queues in the dark" '#/queues' "$tree.some(t => t.includes('build'))" dark=1
look "decisions" '#/decisions' "$rows > 0"
look "decisions on a phone" '#/decisions' "$rows > 0" width=360
t/lib/browser "$at/ui#/workloads/default/none" wait="document.querySelector('.empty')?.textContent.includes('not known here')" >"$dir/look" 2>&1
ok $? "a Workload that the daemon does not know" || sed 's/^/# /' "$dir/look"

# What others write is text, whatever it looks like: a daemon whose answers are markup.
hostile='<img src=x onerror="throw 1"><script>throw 2<\/script>'
look "markup in answers" '#/workloads' "document.querySelector('td').textContent.includes('<img')
	|| (window.fetch = async () => new Response(JSON.stringify({items: [{namespace: '$hostile', name: '$hostile', phase: '$hostile',
		message: '$hostile', cluster: '$hostile', job: {kind: '$hostile', name: '$hostile'}}]})), poll.now(), false)" \
	eval="document.querySelectorAll('main img, main script').length"
is "$(jq .value "$dir/look")" 0 "... makes no element"

t/lib/browser "$at/ui#/workloads" ready="$LIVE && $rows > 0" ${E2E_UI_SHOTS:+shot=$E2E_UI_SHOTS/away.png} \
	wait="/^The daemon does not answer since [0-9]/.test(document.getElementById('state').textContent) && $rows > 0" >"$dir/look" 2>&1 &
browser=$!
wait_for 60 grep -q ready "$dir/look"
kill "$MANAGER_PID"
wait "$MANAGER_PID"
wait $browser
ok $? "when the daemon is away, the page says since when, and shows what it knows" || sed 's/^/# /' "$dir/look"
done_testing
