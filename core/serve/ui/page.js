// SPDX-License-Identifier: Apache-2.0
// The page of /ui: reads /status and /v1, writes nothing. All text goes in by textContent. What a poll reads and what
// is shown has a bound, whatever the fleet's size: the daemon counts, orders and cuts (docs/visibility.md).
"use strict";
const POLL_MS = 3000, SOON_MS = 300, BACKOFF_MAX_MS = 30000, ANSWER_MS = 10000, ROWS = 100, LOOKS = 5, FIRST = 10;
const PHASES = ["Racing", "NotNominated", "WaitsForQuota", "WaitsForOtherChecks", "Won", "Evicted", "Retry",
	"Rejected", "Inactive", "JobMissing", "JobNotManaged", "NoAdapter", "ConfigMissing",
	"DispatcherMissing", "Unplaceable", "BreakerOpen", "PluginFault", "NotOurs", "Finished", "Deleting", "Unknown"];
const GOOD = ["Connected", "JobRuns", "JobEnded", "Admitted", "Won", "Finished", "Ready"];
const BAD = ["NotConnected", "WinnerNotConnected", "JobRefused", "Rejected", "BreakerOpen", "Unplaceable", "KindRefused", "ForeignObject"];
const OVER = ["Finished", "Deleting", "NotOurs"];
const by = id => document.getElementById(id);
const main = by("main");

// --- elements --------------------------------------------------------------------------------

function el(tag, attrs, ...kids) {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(attrs || {})) {
		if (k === "on") for (const [type, fn] of Object.entries(v)) e.addEventListener(type, fn);
		else if (v !== undefined && v !== null && v !== false) e.setAttribute(k, v === true ? "" : v);
	}
	for (const kid of kids.flat(Infinity)) {
		if (kid !== undefined && kid !== null && kid !== "") e.append(kid instanceof Node ? kid : document.createTextNode(String(kid)));
	}
	return e;
}
const PLAIN = ["NotChosen", "NotNominated", "Racing", "Connecting"];
const color = word => GOOD.includes(word) ? "good" : BAD.includes(word) ? "bad" : PLAIN.includes(word) ? "plain" : "warn";
const state = word => el("span", {class: color(word) + " state"}, word);
const number = n => Number(n || 0).toLocaleString("en");
function span(ms) {
	const s = Math.max(0, Math.round(ms / 1000));
	if (s < 120) return s + "s";
	if (s < 7200) return Math.floor(s / 60) + "m" + (s < 600 && s % 60 ? s % 60 + "s" : "");
	return s < 172800 ? Math.floor(s / 3600) + "h" : Math.floor(s / 86400) + "d";
}
const exact = ms => ms < 10000 ? (ms / 1000).toFixed(1) + "s" : span(ms);
const age = t => t ? span(Date.now() - Date.parse(t)) : "";
const clock = t => new Date(t).toLocaleTimeString("en-GB");
const time = t => el("time", {datetime: t, title: t}, clock(t));
const kind = gvk => (gvk || "").replace(/^.*Kind=/, "");
const wlHref = (ns, name) => "#/workloads/" + encodeURIComponent(ns) + "/" + encodeURIComponent(name);
const wlLink = (ns, name) => el("a", {href: wlHref(ns, name)}, ns + "/" + name);
const empty = text => el("p", {class: "empty"}, text);

// A table; on a phone each row becomes a block. heads: [title, class, sort()].
function table(label, heads, rows) {
	const cells = r => r.map((c, i) => {
		const td = el("td", {class: heads[i][1], "data-head": heads[i][0]});
		td.append(...[c].flat().filter(x => x !== undefined && x !== null && x !== "")
			.map(x => x instanceof Node ? x : document.createTextNode(String(x))));
		return td;
	});
	return el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": label},
		el("table", {class: "rows"},
			el("thead", {}, el("tr", {}, heads.map(h => el("th", {scope: "col", class: h[1], "aria-sort": h[3]},
				h[2] ? el("button", {type: "button", on: {click: h[2]}}, h[0] + (h[3] === "ascending" ? " ↑" : h[3] ? " ↓" : "")) : h[0])))),
			el("tbody", {}, rows.map(r => el("tr", {}, cells(r))))));
}

// New content in place of the old one; the focus stays where it was.
function fill(box, ...kids) {
	const all = [...box.querySelectorAll("a,button,[tabindex]")], at = all.indexOf(document.activeElement);
	const left = box.querySelector(".scroll") ? box.querySelector(".scroll").scrollLeft : 0;
	box.replaceChildren(...kids.flat().filter(Boolean));
	if (at >= 0) {
		const again = box.querySelectorAll("a,button,[tabindex]")[at];
		if (again) again.focus({preventScroll: true});
	}
	if (left && box.querySelector(".scroll")) box.querySelector(".scroll").scrollLeft = left;
}

// --- asking the daemon -----------------------------------------------------------------------

class Refused extends Error {
	constructor(status, message) { super(message); this.status = status; }
}
async function get(path, signal) {
	const over = AbortSignal.timeout(ANSWER_MS);
	const r = await fetch(path, {cache: "no-store", credentials: "omit", redirect: "error", signal: AbortSignal.any([signal, over])});
	const v = await r.json();
	if (!r.ok) throw new Refused(r.status, v.message || "HTTP " + r.status);
	return v;
}
const query = o => new URLSearchParams(Object.entries(o).filter(([, v]) => v !== "" && v !== undefined)).toString();

// A long list, a part of it in each poll: LOOKS pages, each of which the daemon bounds, then on from there in the next
// poll, and after the end from the begin again. Until 'most' rows or the end were seen once, 'done' is false.
// ask(FROM, signal) is a page: {items, continue}.
function sweep(ask, most) {
	let parts, at;
	const self = {
		begin(from) {
			Object.assign(self, {done: false, after: undefined});
			parts = [{from, rows: []}];
			at = 0;
		},
		async run(signal) {
			for (let i = 0; i < LOOKS; i++) {
				let page;
				try {
					page = await ask(parts[at].from, signal);
				} catch (e) {
					if (e.status !== 410 || at === 0) throw e;
					parts.length = at--; // what this part began behind is gone: the one before says where it begins now
					continue;
				}
				parts[at].rows = page.items;
				if (!page.continue || parts.slice(0, at + 1).reduce((n, p) => n + p.rows.length, 0) >= most) {
					parts.length = at + 1;
					at = 0;
					Object.assign(self, {done: true, after: page.continue});
					break;
				}
				if (++at === parts.length) parts.push({rows: []});
				parts[at].from = page.continue;
			}
			return parts.flatMap(p => p.rows);
		},
	};
	self.begin("");
	return self;
}
const once = (rows, key) => [...new Map(rows.map(r => [key(r), r])).values()]; // a row may move while its list is read

// The newest decisions, ROWS at most, and from then on what is new; 'since' tells one process from the next.
function decisions(filter, most) {
	const kept = {items: [], next: undefined, since: undefined};
	return async signal => {
		let v = await get("/v1/events?" + query({...filter, after: kept.next, last: most}), signal);
		if (kept.since && kept.since !== v.since) {
			kept.items = [];
			v = await get("/v1/events?" + query({...filter, last: most}), signal);
		}
		Object.assign(kept, {items: kept.items.concat(v.items).slice(-most), next: v.next, since: v.since});
		return kept.items;
	};
}

// --- what several views show -----------------------------------------------------------------

const STAGES = ["nominated", "clones", "quota", "won", "created"];
const CLONE = ["WaitsForQuota", "WaitsAtGate", "QuotaReserved", "Admitted", "StaleClone", "CloneChanged"];
const WINNER = ["JobRuns", "JobSuspended", "JobEnded", "WinnerNotConnected", "JobAwaited", "JobRefused"];
// How far the race of a Workload got: 0 to 5.
function reached(w) {
	const reasons = (w.reasons || []).map(r => r.reason);
	if (w.phase === "Finished") return 5;
	if (w.phase === "Won") return !w.clusters || reasons.some(r => ["JobRuns", "JobSuspended", "JobEnded"].includes(r)) ? 5 : 4;
	if (w.phase !== "Racing") return 0;
	if (reasons.some(r => r === "QuotaReserved" || r === "Admitted")) return 3;
	return !w.clusters ? 1 : reasons.some(r => CLONE.includes(r)) ? 2 : 1;
}
function race(w, notes) {
	const n = w.clusters || w.phase !== "Won" ? reached(w) : 4, live = !OVER.includes(w.phase);
	return el("ol", {class: notes ? "race" : "race small", "aria-label": n ? "Race: " + STAGES[n - 1] : "Race: not begun"},
		STAGES.map((s, i) => el("li", {class: i < n ? "done" : i === n && live ? "now" : "", title: s}, s, notes ? notes[i] : null)));
}
// When it came to each stage; those whose time is not known are missing.
function times(stages) {
	return stages.length ? el("ol", {class: "times", "aria-label": "Stages"}, stages.map(s => el("li", {}, el("b", {}, s.stage), " ", time(s.at),
		s.afterMs === undefined ? null : el("span", {class: "faint"}, " " + exact(s.afterMs) + " later")))) : null;
}
const job = w => w.job ? kind(w.job.kind) + "/" + w.job.name : "";
const HEADS = [["Workload", "wide"], ["Job"], ["Phase"], ["Race"], ["Cluster"], ["Queue"], ["Message", "wide"]];
const wlRow = w => [wlLink(w.namespace, w.name), job(w), state(w.phase), race(w), w.cluster, w.clusterQueue, w.message];
const EVENT_HEADS = [["Time"], ["Of", "wide"], ["Cluster"], ["Rule"], ["Change"], ["Message", "wide"]];
function eventRow(e) {
	const o = e.workload || e.object || {}, b = e.before || {}, a = e.after || {};
	const change = e.before ? (b.cluster === a.cluster ? "" : (b.cluster || "none") + " → " + (a.cluster || "none")) + (a.state ? " " + a.state : "") : "refused";
	return [time(e.time), e.workload ? wlLink(o.namespace, o.name) : kind(o.kind) + " " + (o.namespace ? o.namespace + "/" : "") + o.name,
		e.cluster, e.rule, change.trim(), e.message || e.what];
}
const events = (label, items) => items.length ? table(label, EVENT_HEADS, items.map(eventRow)) : empty("No decision yet by this process. A standby decides nothing.");
function card(title, value, href, bad) {
	return el(href ? "a" : "div", {class: bad ? "card bad" : "card", href}, el("span", {}, title), el("b", {}, value));
}
function field(label, input) { return el("label", {}, label, input); }
function pager(text, previous, next) { // a function each, or nothing where it leads nowhere
	const button = (label, fn) => el("button", {type: "button", disabled: !fn, on: {click: fn || (() => {})}}, label);
	return el("div", {class: "pager"}, previous || next ? [button("Previous", previous), button("Next", next)] : null, el("span", {}, text));
}
const later = fn => { let t; return () => { clearTimeout(t); t = setTimeout(fn, 250); }; };

// --- views: each returns {load, draw}; 'box' is what draw fills ---------------------------------

const WORKER_HEADS = [["Name", undefined, "name"], ["State", undefined, "problem"], ["Since", undefined, "since"], ["Clones", "num", "clones"],
	["Waiting", "num", "waiting"], ["Memory", "num", "memory"], ["Message", "wide"]];
const workerRow = c => [el("a", {href: "#/workloads?cluster=" + encodeURIComponent(c.name)}, c.name),
	state(c.state), age(c.since), number(c.clones), number(c.waiting), number(Math.round(c.bytes / 1024)) + " KiB",
	[c.message, c.otherManager ? "another manager has our origin: " + c.otherManager : "",
		c.unserved && c.unserved.length ? "does not serve " + c.unserved.map(kind).join(", ") : ""].filter(Boolean).join("; ")];

function fleet(box) {
	const recent = decisions({}, FIRST);
	return {
		title: "Fleet",
		load: async signal => ({s: await get("/status?clusters=0", signal),
			c: await get("/v1/clusters?" + query({problem: 1, order: "problem", limit: FIRST}), signal), events: await recent(signal)}),
		draw({s, c, events: items}) {
			const n = s.phases || {}, first = s.first, k = c.counts;
			fill(box, el("h3", {}, "Workers"), el("div", {class: "cards"},
				card("connected", number(k.Connected), "#/workers?state=Connected"),
				card("not connected", number(k.NotConnected), "#/workers?state=NotConnected", k.NotConnected > 0),
				card("connecting", number(k.Connecting), "#/workers?state=Connecting"),
				card("with a problem", number(k.problem), "#/workers?state=problem", k.problem > 0)),
			c.items.length ? [table("Workers with a problem", WORKER_HEADS.map(h => h.slice(0, 2)), c.items.map(workerRow)),
				c.total > c.items.length ? el("p", {}, el("a", {href: "#/workers?state=problem"}, `All ${number(c.total)} workers with a problem`)) : null] : null,
			el("h3", {}, "Workloads"), el("div", {class: "cards"},
				card("known to the daemon", number(s.workloads), "#/workloads"),
				PHASES.filter(p => n[p] || p === "Racing" || p === "Won").map(p => card(p, number(n[p]), "#/workloads?phase=" + p))),
			el("p", {}, first ? ["First in line: ", wlLink(first.namespace, first.name), ", for " + age(first.since)]
				: s.leader ? "No Workload waits for a worker." : "A standby: the leader knows which Workload is first in line."),
			el("h3", {}, "Daemon"), el("div", {class: "cards"},
				card("multikueued " + s.version, s.leader ? "leads" : "standby"),
				card("operations under way", number(s.pending)), card("clones made", number(s.dispatched)),
				card("admitted", number(s.admitted)), card("finished", number(s.finished))),
			el("h3", {}, "Recent decisions"), events("Recent decisions", items.slice().reverse()));
		},
	};
}

function workers(box, params, tools) {
	const at = {page: 0, order: "problem"};
	const text = el("input", {type: "search", value: params.get("name") || ""});
	const which = el("select", {}, el("option", {value: ""}, "all"), el("option", {value: "problem"}, "with a problem"),
		["Connected", "NotConnected", "Connecting"].map(s => el("option", {}, s)));
	which.value = params.get("state") || "";
	const again = change => () => { Object.assign(at, {page: 0}, change ? change() : {}); poll.now(); };
	text.addEventListener("input", later(again()));
	which.addEventListener("change", again());
	tools.append(el("div", {class: "filters", role: "search"}, field("Name or message", text), field("State", which)));
	const heads = WORKER_HEADS.map(([title, cls, key]) => key ? [title, cls, again(() => ({order: at.order === key ? "-" + key : key})), key] : [title, cls]);
	const ask = signal => get("/v1/clusters?" + query({match: text.value.trim(), order: at.order, limit: ROWS, continue: at.page * ROWS,
		...(which.value === "problem" ? {problem: 1} : {state: which.value})}), signal);
	const turn = d => () => { at.page += d; poll.now(); };
	return {
		title: "Workers",
		async load(signal) {
			const v = await ask(signal);
			if (v.items.length || !at.page) return v;
			at.page = Math.max(0, Math.ceil(v.total / ROWS) - 1); // there are fewer by now
			return ask(signal);
		},
		draw(v) {
			const pages = Math.max(1, Math.ceil(v.total / ROWS)), all = v.counts.Connected + v.counts.NotConnected + v.counts.Connecting;
			const sorted = key => at.order === key ? "ascending" : at.order === "-" + key ? "descending" : undefined;
			fill(box, pager(`${number(v.total)} of ${number(all)} workers` + (pages > 1 ? `, page ${at.page + 1} of ${pages}` : ""),
				at.page > 0 && turn(-1), v.continue && turn(1)),
			v.items.length ? table("Workers", heads.map(([title, cls, fn, key]) => [title, cls, fn, key && sorted(key)]), v.items.map(workerRow))
				: empty(all ? "No worker fits the filter." : "No worker is configured: create a MultiKueueCluster."));
		},
	};
}

function list(box, params, tools) {
	const at = {stack: [""]};
	const phase = el("select", {}, el("option", {value: ""}, "all"), PHASES.map(p => el("option", {}, p)));
	phase.value = params.get("phase") || "";
	const inputs = Object.fromEntries([["name", "Name or job"], ["namespace", "Namespace"], ["cluster", "Cluster"], ["clusterQueue", "Queue"]]
		.map(([k, label]) => [k, [label, el("input", {type: "search", value: params.get(k) || "", autocapitalize: "off"})]]));
	inputs.phase = ["Phase", phase];
	const read = () => Object.fromEntries(Object.entries(inputs).map(([k, [, i]]) => [k, i.value.trim()]));
	const found = sweep((from, signal) => {
		const {name, ...filter} = read();
		return get("/v1/workloads?" + query({...filter, match: name, limit: ROWS, continue: from}), signal);
	}, ROWS);
	const changed = later(() => {
		at.stack = [""];
		found.begin("");
		history.replaceState(null, "", "#/workloads" + (query(read()) ? "?" + query(read()) : ""));
		poll.now();
	});
	for (const [, i] of Object.values(inputs)) i.addEventListener(i === phase ? "change" : "input", changed);
	tools.append(el("div", {class: "filters", role: "search"}, Object.values(inputs).map(([label, i]) => field(label, i))));
	const turn = fn => () => { fn(); found.begin(at.stack.at(-1)); poll.now(); };
	const view = {
		title: "Workloads",
		async load(signal) {
			const rows = await found.run(signal).catch(e => {
				if (e.status !== 410) throw e;
				at.stack = [""]; // the Workload that the page began behind is gone
				found.begin("");
				return found.run(signal);
			});
			view.more = !found.done;
			return once(rows, w => w.namespace + "/" + w.name);
		},
		draw(all) {
			const rows = all.slice(0, 2 * ROWS);
			fill(box, pager(`Page ${at.stack.length}, ${number(rows.length)} ${rows.length === 1 ? "Workload" : "Workloads"}` + (view.more ? "; looking for more …" : ""),
				at.stack.length > 1 && turn(() => at.stack.pop()), found.after && turn(() => at.stack.push(found.after))),
			rows.length ? table("Workloads", HEADS, rows.map(wlRow)) : empty(view.more ? "None found so far." : "No Workload fits."));
		},
	};
	return view;
}

function one(box, ns, name) {
	const path = "/v1/workloads/" + encodeURIComponent(ns) + "/" + encodeURIComponent(name), at = {page: 0, reason: ""};
	const follow = decisions({namespace: ns, workload: name}, ROWS);
	const ask = signal => get(path + "?" + query({limit: ROWS, continue: at.page * ROWS, reason: at.reason}), signal);
	const go = change => () => { Object.assign(at, change); poll.now(); };
	return {
		title: ns + "/" + name,
		async load(signal) {
			const mine = await follow(signal);
			try {
				let w = await ask(signal);
				if (!w.clusters.length && (at.page || at.reason)) {
					Object.assign(at, {page: 0, reason: ""}); // there are fewer by now
					w = await ask(signal);
				}
				return {w, mine};
			} catch (e) {
				if (e.status !== 404) throw e;
				return {w: {gone: e.message}, mine};
			}
		},
		draw({w, mine}) {
			if (w.gone) {
				fill(box, empty(w.gone), mine.length ? [el("h3", {}, "Decisions"), events("Decisions", mine.slice().reverse())] : null);
				return;
			}
			const of = list => w.reasons.filter(r => list.includes(r.reason)), win = mine.filter(e => e.rule === "win").at(-1);
			const sum = l => l.reduce((n, r) => n + r.workers, 0), winner = of(WINNER)[0], quota = of(["QuotaReserved", "Admitted"]);
			const names = (n, list) => n ? el("em", {}, list.length === n && n <= 5 ? list.join(", ") : number(n) + (n === 1 ? " worker" : " workers")) : null;
			const those = l => names(sum(l), l.flatMap(r => r.names));
			const notes = [names(w.nominated, w.clusters.filter(c => c.nominated).map(c => c.name)), those(of(CLONE)), those(quota.length ? quota : winner ? [winner] : []),
				win ? time(win.time) : w.cluster ? el("em", {}, w.cluster) : null,
				winner ? el("em", {}, winner.reason) : null];
			const all = sum(w.reasons), pages = Math.ceil(w.total / ROWS), chip = (reason, n) => el("button", {type: "button", class: "chip",
				"aria-pressed": String(at.reason === reason), on: {click: go({reason, page: 0})}}, (reason || "all") + " ", el("b", {}, number(n)));
			const facts = [["Phase", [state(w.phase), w.message ? ": " + w.message : ""]], ["Job", job(w)],
				["Queue", [w.localQueue, w.clusterQueue].filter(Boolean).join(" → ")],
				["Check", w.admissionCheck ? w.admissionCheck.name + " (" + w.admissionCheck.state + ")" : ""],
				["Dispatcher", w.dispatcher], ["Config", w.config], ["Priority", w.priority]];
			fill(box, el("dl", {class: "facts"}, facts.filter(f => f[1] !== "" && f[1] !== undefined).map(f => [el("dt", {}, f[0]), el("dd", {}, f[1])])),
				el("h3", {}, "Race"), race(w, notes), times(w.stages || []),
				el("h3", {}, "Why, worker by worker"),
				w.reasons.length > 1 && all > FIRST ? el("div", {class: "chips", role: "group", "aria-label": "Reasons"},
					chip("", all), w.reasons.map(r => chip(r.reason, r.workers))) : null,
				pages > 1 ? pager(`${number(w.total)} workers, page ${at.page + 1} of ${pages}`,
					at.page > 0 && go({page: at.page - 1}), w.continue && go({page: at.page + 1})) : null,
				w.clusters.length ? table("Reasons of the workers", [["Cluster"], ["Reason"], ["Nominated"], ["Since"], ["Until"], ["Message", "wide"], ["There", "wide"]],
					w.clusters.map(c => [c.name, state(c.reason), c.nominated ? "yes" : "no", age(c.since), c.until ? time(c.until) : "",
						[c.message, c.detail].filter(Boolean).join(": "),
						c.queue ? there(c.queue) : ""]))
					: empty("No worker is concerned."),
				el("h3", {}, "Next"),
				w.next.length ? el("ul", {}, w.next.map(n => el("li", {}, Date.parse(n.at) > Date.now() ? "in " + span(Date.parse(n.at) - Date.now()) : "now",
					n.cluster ? ", " + n.cluster : "", ": ", n.what)), w.nextTotal > w.next.length ? el("li", {class: "faint"}, number(w.nextTotal - w.next.length) + " more later") : null) : el("p", {class: "faint"}, "Nothing happens by itself at a known time."),
				el("h3", {}, "Decisions"), events("Decisions", mine.slice().reverse()));
		},
	};
}

// As Kubernetes writes quantities. Counts are whole up to a million; quotas may be as good as endless.
function amount(resource, n) {
	const binary = /memory|storage/.test(resource), step = binary ? 1024 : 1000, units = ["", "k", "M", "G", "T", "P"];
	let unit = 0;
	if (resource === "cpu") n /= 1000;
	if (!binary && Math.abs(n) < 1e6) return number(n);
	for (; unit < 5 && Math.abs(n) >= step; unit++) n /= step;
	return n.toLocaleString("en", {maximumFractionDigits: 1}) + (unit ? " " + units[unit].replace("k", binary ? "K" : "k") + (binary ? "i" : "") : "");
}
// What is free in the queue that a clone waits in.
function there(q) {
	const free = (q.flavors || []).flatMap(f => (f.free || []).map(r => `${f.name} ${r.name} ${amount(r.name, r.amount)} free`));
	return [q.name + (q.active === false ? " (inactive)" : ""), number(q.pending) + " pending", ...free].join(", ");
}
function usage(r) {
	const part = r.nominal > 0 ? r.used / r.nominal : r.used > 0 ? 1 : 0, label = r.flavor + " " + r.name;
	const bar = el("i", {});
	bar.style.width = Math.min(100, part * 100) + "%";
	return el("div", {class: "use"}, el("span", {class: "faint"}, label), " ", `${amount(r.name, r.used)} of ${amount(r.name, r.nominal)}`,
		r.used > r.nominal ? el("span", {class: "warn"}, " borrows " + amount(r.name, r.used - r.nominal)) : null,
		el("div", {class: part > 1 ? "bar over" : part === 1 ? "bar full" : "bar", role: "meter", "aria-label": label, "aria-valuemin": 0,
			"aria-valuemax": Math.max(r.nominal, r.used), "aria-valuenow": r.used}, bar));
}
const flat = q => q.flavors.flatMap(f => f.resources.map(r => ({flavor: f.name, name: r.name, nominal: r.nominal, used: r.used || 0})));

// The manager's ClusterQueues below their Cohorts, and what each Cohort has and uses in all. A Cohort that a
// queue names exists without an object. Cohorts whose parents lead in a circle have no place: they are on top, as
// is each LEVELS-th one of a long chain.
function grow(items, cohorts) {
	const named = new Map(), tops = [];
	const cohort = name => {
		if (!named.has(name)) named.set(name, {name, below: [], sums: new Map(), pending: 0, queues: 0});
		return named.get(name);
	};
	for (const c of cohorts) Object.assign(cohort(c.name), {parent: c.parent, own: flat(c)});
	for (const c of cohorts) if (c.parent) cohort(c.parent);
	for (const q of items) {
		const node = {name: q.name, queue: q, uses: flat(q), pending: q.pending, below: []};
		if (q.cohort) cohort(q.cohort).below.push(node);
		else tops.push(node);
	}
	const depth = new Map(), LEVELS = 30; // depth of each Cohort; -1: in a circle
	for (const c of named.values()) {
		const way = [];
		let at = c;
		for (; at && !depth.has(at); at = at.parent ? named.get(at.parent) : undefined) {
			depth.set(at, -1);
			way.push(at);
		}
		let n = !at ? 0 : way.includes(at) || depth.get(at) < 0 ? -1 : depth.get(at) + 1;
		for (const w of way.reverse()) depth.set(w, n < 0 ? -1 : n++);
	}
	const order = [...named.values()].sort((x, y) => depth.get(y) - depth.get(x));
	for (const c of order) {
		for (const r of c.own || []) add(c, {...r, used: 0});
		for (const q of c.below) {
			if (!q.queue) continue;
			q.uses.forEach(r => add(c, r));
			c.pending += q.pending;
			c.queues++;
		}
		c.uses = [...c.sums.values()];
		c.circle = depth.get(c) < 0;
		c.cut = depth.get(c) > 0 && depth.get(c) % LEVELS === 0;
		if (!c.parent || c.circle || c.cut) tops.push(c);
		if (!c.parent || c.circle) continue;
		const p = named.get(c.parent);
		if (!c.cut) p.below.push(c);
		c.uses.forEach(r => add(p, r));
		p.pending += c.pending;
		p.queues += c.queues;
	}
	const sort = l => l.sort((x, y) => Boolean(x.queue) - Boolean(y.queue) || x.name.localeCompare(y.name, "en", {numeric: true}));
	named.forEach(c => sort(c.below));
	return {tops: sort(tops), cohorts: named.size};
}
function add(c, r) {
	const key = r.flavor + "/" + r.name, sum = c.sums.get(key);
	if (sum) Object.assign(sum, {nominal: sum.nominal + r.nominal, used: sum.used + r.used});
	else c.sums.set(key, {...r});
}

// The rows of the tree, parents first: those that fit, and all that is above them.
function rowsOf(nodes, want, shut, up = []) {
	return nodes.flatMap(node => {
		const way = [...up, node], fits = node.name.toLowerCase().includes(want);
		const below = shut.has(node.name) && !node.queue && !want ? [] : rowsOf(node.below, fits ? "" : want, shut, way);
		return fits || below.length ? [{node, up}, ...below] : [];
	});
}

function queues(box, params, tools) {
	const text = el("input", {type: "search"}), at = {page: 0, far: [""], shut: new Set()}, PAGE = 50, FAR = 20;
	text.addEventListener("input", later(() => { Object.assign(at, {page: 0, far: [""]}); poll.now(); }));
	tools.append(el("div", {class: "filters", role: "search"}, field("Queue, Cohort or cluster", text)));
	const page = o => signal => get("/v1/queues?" + query(o), signal);
	const own = sweep((from, signal) => page({of: "manager", limit: ROWS, continue: from})(signal), Infinity);
	const cohorts = sweep(async (from, signal) => {
		const v = await page({of: "cohorts", limit: ROWS, continue: from})(signal);
		return {items: v.cohorts, continue: v.continue};
	}, Infinity);
	const uses = list => el("div", {class: "columns"}, list.map(usage));
	const toggle = name => () => {
		if (!at.shut.delete(name)) at.shut.add(name);
		view.draw(at.v);
	};
	const row = ({node, up}, again) => {
		const q = node.queue, open = !at.shut.has(node.name);
		const li = el("li", {class: again ? "again" : q ? "" : "cohort"},
			el("div", {class: q || again ? "name leaf" : "name"}, q || again ? null : el("button", {type: "button", class: "fold", "aria-expanded": String(open),
				"aria-label": "Queues of " + node.name, on: {click: toggle(node.name)}}, open ? "▾" : "▸"),
			q ? el("a", {href: "#/workloads?clusterQueue=" + encodeURIComponent(node.name)}, node.name) : el("b", {}, node.name),
			" ", q ? q.active ? null : state("Inactive") : el("span", {class: "faint"}, again ? "continued" : "Cohort of " + number(node.queues) + (node.queues === 1 ? " queue" : " queues")),
			again ? null : node.circle ? el("span", {class: "bad"}, "its parents lead in a circle, by " + node.parent)
				: node.cut ? el("span", {class: "faint"}, "below " + node.parent) : null,
			again ? null : el("span", {class: node.pending ? "pending" : "faint pending"}, number(node.pending) + " pending")),
			again ? null : uses(node.uses));
		li.style.setProperty("--depth", Math.min(up.length, 8));
		return li;
	};
	const view = {
		title: "Queues",
		async load(signal) {
			const mine = once((await own.run(signal)).filter(q => !q.cluster), q => q.name), groups = once(await cohorts.run(signal), c => c.name);
			const far = await page({of: "workers", match: text.value.trim(), limit: FAR, continue: at.far.at(-1)})(signal);
			view.more = !own.done || !cohorts.done;
			return {tree: grow(mine, groups), own: mine.length, far, items: far.items.filter(q => q.cluster)};
		},
		draw(v) {
			at.v = v;
			const want = text.value.trim().toLowerCase(), rows = rowsOf(v.tree.tops, want, at.shut);
			const pages = Math.max(1, Math.ceil(rows.length / PAGE)), turn = d => () => { at.page += d; view.draw(at.v); };
			const step = fn => () => { fn(); poll.now(); };
			at.page = Math.min(at.page, pages - 1);
			const shown = rows.slice(at.page * PAGE, (at.page + 1) * PAGE), first = shown[0];
			const above = first ? first.up.map((node, i) => row({node, up: first.up.slice(0, i)}, true)) : [];
			fill(box, pager("ClusterQueues of the manager: " + number(v.own) + ", Cohorts: " + number(v.tree.cohorts) + (view.more ? ", looking for more …" : "") +
				(pages > 1 ? `, page ${at.page + 1} of ${pages}` : ""), at.page > 0 && turn(-1), at.page < pages - 1 && turn(1)),
			shown.length ? el("ul", {class: "tree"}, above, shown.map(r => row(r))) : empty(v.own ? "No queue fits the filter."
				: "No queue of the manager is known: the daemon watches ClusterQueues and Cohorts where it may (conf/rbac/manager.yaml)."),
			v.far.total ? [el("h3", {}, "On workers"), pager("ClusterQueues: " + number(v.far.total) + (at.far.length > 1 || v.far.continue ? ", page " + at.far.length : ""),
				at.far.length > 1 && step(() => at.far.pop()), v.far.continue && step(() => at.far.push(v.far.continue))),
			v.items.length ? el("ul", {class: "tree"}, v.items.map(q => el("li", {},
				el("div", {class: "name"}, el("b", {}, q.name), " on ", el("a", {href: "#/workloads?cluster=" + encodeURIComponent(q.cluster)}, q.cluster), " ",
					q.active ? null : state("Inactive"), q.cohort ? el("span", {class: "faint"}, "in Cohort " + q.cohort) : null,
					el("span", {class: q.pending ? "pending" : "faint pending"}, number(q.pending) + " pending")), uses(flat(q)))))
				: empty(v.far.continue ? "None here fits the filter; Next looks further." : "No queue fits the filter.")]
				: el("p", {class: "faint"}, "Queues of workers are watched when a dispatcher wants facts (least_loaded, placement), and with quota automation."));
		},
	};
	return view;
}

function decided(box) {
	return {
		title: "Decisions",
		load: decisions({}, ROWS),
		draw: items => fill(box, events("Decisions", items.slice().reverse())),
	};
}

// --- which view, and when it asks --------------------------------------------------------------

const poll = {view: undefined, timer: undefined, stop: undefined, last: Promise.resolve(), fails: 0, since: undefined, answered: undefined};
function say(text, away) {
	const p = by("state");
	p.className = away ? "away" : "";
	if (p.textContent !== text) p.textContent = text;
}
// A poll begins when the one before has ended, which it ends; in a hidden tab none does.
poll.now = () => {
	clearTimeout(poll.timer);
	if (poll.stop) poll.stop.abort();
	const view = poll.view, stop = poll.stop = new AbortController();
	if (!document.hidden) poll.last = poll.last.then(() => stop.signal.aborted || poll.once(view, stop.signal));
};
poll.once = async (view, signal) => {
	let wait = POLL_MS;
	try {
		const v = await view.load(signal);
		if (signal.aborted) return;
		view.draw(v);
		Object.assign(poll, {fails: 0, since: undefined, answered: Date.now()});
		say("Live.");
		if (view.more) wait = SOON_MS;
	} catch (e) {
		if (signal.aborted) return;
		wait = Math.min(BACKOFF_MAX_MS, POLL_MS * 2 ** ++poll.fails);
		poll.since = poll.since || poll.answered || Date.now();
		say(e instanceof Refused ? "The daemon refuses: " + e.message
			: "The daemon does not answer since " + clock(poll.since) + ". What is shown is from then; asked again in " + span(wait) + ".", true);
	}
	poll.timer = setTimeout(poll.now, wait);
};
document.addEventListener("visibilitychange", () => {
	if (!document.hidden) {
		poll.now();
		return;
	}
	clearTimeout(poll.timer);
	if (poll.stop) poll.stop.abort();
});

function part(text) {
	try { return decodeURIComponent(text || ""); } catch { return text; }
}
function route() {
	if (location.hash === "#main") {
		main.focus();
		return;
	}
	const [path, params] = location.hash.replace(/^#\/?/, "").split("?"), [where, ns, name] = path.split("/");
	const tools = el("div", {}), box = el("div", {}), p = new URLSearchParams(params || "");
	const make = {workers, queues, decisions: decided, workloads: ns && name ? b => one(b, part(ns), part(name)) : list}[where] || fleet;
	poll.view = make(box, p, tools);
	main.replaceChildren(el("h2", {}, poll.view.title), tools, box);
	document.title = poll.view.title + " - multikueued";
	for (const a of by("nav").querySelectorAll("a")) {
		if (a.getAttribute("href") === "#/" + (make === fleet ? "" : where)) a.setAttribute("aria-current", "page");
		else a.removeAttribute("aria-current");
	}
	poll.now();
}

// --- light and dark ----------------------------------------------------------------------------

const dark = matchMedia("(prefers-color-scheme: dark)");
let chosen;
function paint() {
	const on = chosen === undefined ? dark.matches : chosen;
	document.documentElement.dataset.theme = on ? "dark" : "light";
	by("theme").textContent = on ? "Light" : "Dark";
}
by("theme").addEventListener("click", () => { chosen = document.documentElement.dataset.theme !== "dark"; paint(); });
dark.addEventListener("change", paint);

paint();
if (window.top !== window.self) say("This page is not shown within another one.", true);
else {
	addEventListener("hashchange", route);
	route();
}
