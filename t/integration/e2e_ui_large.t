#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of /ui at the size of a large fleet: what a poll reads, what is shown and how long the
# page is held up are bounded; workers with a problem come first; one poll at a time, none in a
# hidden tab. E2E_UI_WORKERS (1000), E2E_UI_LIVE (2000: Workloads); E2E_UI_SHOTS: a folder for
# pictures. The lines "# NAME: ..." have the figures.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
workers=${E2E_UI_WORKERS:-1000}
live=${E2E_UI_LIVE:-2000}
if ! { command -v chromium-headless-shell || command -v chromium; } >/dev/null 2>&1 || ! command -v python3 >/dev/null 2>&1; then
	skip "the page in a browser" "chromium-headless-shell and python3 are not installed: conf/install-deps ui"
	done_testing
fi

FLEET_WAIT=300
fleet_kubesim --clusters "mgr,$(seq -s, -f 'w%g' 1 "$workers")" --group 3 --run-ms 0 --admit-ms 0 && fleet_plugins
ok $? "$workers workers serve"
# A thousand handshakes at once would time out, were the servers behind other programs.
renice -n -15 -p "$KUBESIM_PID" >/dev/null 2>&1
down=12
for i in $(seq 1 $down); do # some in the midst of the list
	api w$((i * (workers / (down + 1)))) POST /kubesim/restart '{"downMs":3600000}' >/dev/null
done
api mgr POST /kubesim/load "{\"n\":$live,\"prefix\":\"live\",\"runMs\":86400000}" >/dev/null
fleet_manager m 60s 50s 2s
ok $? "multikueued runs"
at=http://127.0.0.1:$MANAGER_PORT
is_known() { # all Workloads, and how each worker stands
	curl -sS --max-time 10 "$at/status?clusters=0" | jq -e --argjson n "$live" '.workloads == $n' >/dev/null &&
		curl -sS --max-time 10 "$at/v1/clusters?limit=1" | jq -e --argjson n "$workers" --argjson d $down \
			'.counts | .problem == $d and .NotConnected == $d and .Connected == $n - $d' >/dev/null
}
wait_for 600 is_known
ok $? "the daemon knows $live Workloads, and has lost $down workers"

# Counts what the page asks, in a poll at once and in those behind it; m is made at the first look.
WATCHED="(window.m || (window.m = {asked: 0, polls: 0, now: 0, together: 0, bytes: 0, worst: 0}, (() => {
	const ask = window.fetch, once = poll.once;
	window.fetch = async (...a) => {
		m.asked++;
		const r = await ask(...a);
		m.bytes += (await r.clone().arrayBuffer()).byteLength;
		return r;
	};
	poll.once = async (...a) => {
		m.together = Math.max(m.together, ++m.now);
		m.bytes = 0;
		await once(...a);
		m.now--;
		m.polls++;
		m.worst = Math.max(m.worst, m.bytes);
	};
	poll.now();
})(), false))"
LIVE="document.getElementById('state').textContent === 'Live.'"
rows="document.querySelectorAll('tbody tr').length"
looking="document.querySelector('main').textContent.includes('looking for more')"
cell="document.querySelector('tbody tr td:nth-child(2)').textContent"
look() { # NAME VIEW CONDITION VALUE [OPTIONS]: VALUE is an expression, whose value is in 'value'
	look_name=$1
	look_view=$2
	look_wait=$3
	look_value=$4
	shift 4
	t/lib/browser "$at/ui$look_view" wait="$LIVE && $WATCHED && m.polls >= 1 && $look_wait" ${E2E_UI_SHOTS:+shot=$E2E_UI_SHOTS/large-$(echo "$look_name" | tr ' ' '-').png} \
		eval="({value: $look_value, rows: $rows + document.querySelectorAll('.tree > li').length, nodes: document.querySelectorAll('*').length, bytes: m.worst, together: m.together})" \
		seconds=120 "$@" >"$dir/look" 2>&1
	is "$? $(jq -c '[.errors, .requests, .wide <= 0, .slow < 1000, .value.rows <= 200, .value.nodes < 4000, .value.bytes < 131072, .value.together]' "$dir/look")" \
		"0 [[],[],true,true,true,true,true,1]" "$look_name: no error, no freeze; rows, elements and bytes of a poll have a bound" || sed 's/^/# /' "$dir/look"
	echo "# $look_name: $(jq -r '.slow as $s | .value | "\(.bytes) bytes in a poll, \(.rows) rows, \(.nodes) elements, longest task \($s) ms"' "$dir/look")"
}
value() {
	jq -r .value.value "$dir/look"
}
commas() { # 1000: 1,000
	echo "$1" | sed -E 's/([0-9])([0-9]{3})$/\1,\2/'
}
text="document.querySelector('.pager span').textContent"
look "fleet" '#/' "$rows > 0" "$cell + ' ' + document.querySelector('.scroll + p').textContent"
is "$(value)" "NotConnected All $down workers with a problem" "... the first of those with a problem"
look "fleet on a phone" '#/' "$rows > 0" 1 width=360 dark=1
look "workers" '#/workers' "$rows === 100" "$cell + ' ' + $text"
is "$(value)" "NotConnected $(commas "$workers") of $(commas "$workers") workers, page 1 of $(((workers + 99) / 100))" \
	"... a page of them, those with a problem first"
look "workers on a phone" '#/workers' "$rows === 100" 1 width=360
look "the next workers" '#/workers' "($text.includes('page 2 of') || ($rows === 100 && !m.turned && (m.turned = 1, document.querySelectorAll('.pager button')[1].click()), false))" "$cell"
is "$(value)" Connected "... are those without one"
look "workers with a problem" '#/workers?state=problem' "$rows === $down" 1 dark=1
look "workers by name" "#/workers?name=W$workers" "$rows === 1" "document.querySelector('tbody a').textContent"
is "$(value)" "w$workers" "... in any case"
look "workloads" '#/workloads' "$rows === 100" 1
look "workloads on a phone" '#/workloads' "$rows === 100" 1 width=360 dark=1
look "a workload among all" "#/workloads?name=live-$((live - 1))" "$rows === 1 && !$looking" "document.querySelector('tbody a').textContent"
case $(value) in "default/job-live-$((live - 1))-"*) true ;; *) false ;; esac
ok $? "... is found" || value | sed 's/^/# /'
look "queues" '#/queues' "document.querySelectorAll('.tree > li').length >= 50 && !$looking" "$text"
name=$(curl -sS "$at/v1/workloads?limit=1" | jq -r '.items[0].name')
look "one workload" "#/workloads/default/$name" "$rows > 0" 1
look "decisions" '#/decisions' "$rows > 0" 1

# The table of one Workload's workers: of a daemon that has a thousand of them.
look "a thousand reasons" "#/workloads/default/$name" "(m.faked || (m.faked = 1, window.fetch = async path => {
		const q = new URLSearchParams(path.split('?')[1]), one = q.get('reason'), from = Number(q.get('continue'));
		m.path = path;
		return new Response(JSON.stringify(path.startsWith('/v1/events') ? {items: [], next: 0, since: 'x'} : {
			namespace: 'default', name: 'n', phase: 'Racing', nominated: 1000, total: one ? 1 : 1000, nextTotal: 1000, next: [], continue: one ? undefined : '100',
			reasons: [{reason: 'Admitted', workers: 1, names: ['w7']}, {reason: 'WaitsForQuota', workers: 999, names: ['w1', 'w2', 'w3', 'w4', 'w5']}],
			clusters: [...Array(one ? 1 : 100).keys()].map(i => ({name: 'w' + (from + i), reason: one || 'WaitsForQuota', message: 'm', nominated: true}))}));
	}, poll.now(), false)) && document.querySelectorAll('.chip').length === 3
	&& ($rows === 1 || (m.first ??= [$rows, $text].join(' '), m.pressed || (m.pressed = 1, document.querySelectorAll('.chip')[1].click()), false))" \
	"[m.first, m.path.includes('reason=Admitted'), document.querySelector('.chip[aria-pressed=true]').textContent, document.querySelectorAll('.race em')[0].textContent].join('; ')"
is "$(value)" "100 1,000 workers, page 1 of 10; true; Admitted 1; 1,000 workers" "... are counted, paged, and chosen by a press"

# However often one is asked for, one poll runs at a time; of those that wait, the last one asks.
look "many polls" '#/workloads' "(m.pressed || (m.pressed = m.asked, [...Array(20)].forEach(() => poll.now()), false)) && m.polls >= 2" "m.asked - m.pressed < 20"
is "$(value)" true "... are not each asked"
look "a hidden tab" '#/workloads' "(m.state || (m.state = 'hides', Object.defineProperty(document, 'hidden', {get: () => m.state !== 'seen', configurable: true}),
	document.dispatchEvent(new Event('visibilitychange')), poll.last.then(() => {
		const set = window.setTimeout;
		m.timers = 0;
		m.before = m.asked;
		window.setTimeout = (...a) => { m.timers++; return set(...a); };
		poll.now();
		return poll.last;
	}).then(() => {
		m.hidden = [m.asked - m.before, m.timers].join(' ');
		m.state = 'seen';
		document.dispatchEvent(new Event('visibilitychange'));
	}), false)) && m.hidden && m.asked > m.before" "m.hidden"
is "$(value)" "0 0" "... asks nothing and sets no time for it; it asks when it is seen again"

curl -sS "$at/metrics" >"$dir/metrics"
echo "# longest callback of the daemon's loop: $(sed -n 's/^multikueue_loop_stall_max_seconds //p' "$dir/metrics") s"
done_testing
