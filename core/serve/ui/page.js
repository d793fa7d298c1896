// SPDX-License-Identifier: Apache-2.0
// The page of /ui: reads /status and /v1, writes nothing. All text goes in by textContent.
"use strict";
const POLL_MS = 3000, BACKOFF_MAX_MS = 30000, ANSWER_MS = 10000, ROWS = 100, LOOKS = 10, KEPT = 1024;
const PHASES = ["Racing", "NotNominated", "WaitsForQuota", "WaitsForOtherChecks", "Won", "Evicted", "Retry",
	"Rejected", "Inactive", "JobMissing", "JobNotManaged", "NoAdapter", "ConfigMissing",
	"DispatcherMissing", "BreakerOpen", "PluginFault", "NotOurs", "Finished", "Deleting", "Unknown"];
const GOOD = ["Connected", "JobRuns", "JobEnded", "Admitted", "Won", "Finished", "Ready"];
const BAD = ["NotConnected", "WinnerNotConnected", "JobRefused", "Rejected", "BreakerOpen", "KindRefused", "ForeignObject"];
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
			el("thead", {}, el("tr", {}, heads.map(h => el("th", {scope: "col", "aria-sort": h[3]},
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

// Pages from 'after' on until there are ROWS rows that 'fits' lets through, LOOKS requests at most.
async function workloads(filter, fits, after, signal) {
	const rows = [];
	let looks = 0;
	do {
		const page = await get("/v1/workloads?" + query({...filter, limit: ROWS, continue: after || ""}), signal);
		rows.push(...page.items.filter(fits));
		after = page.continue;
	} while (after && rows.length < ROWS && ++looks < LOOKS);
	return {rows, after};
}

// Decisions so far; 'since' tells one process from the next.
const news = {items: [], next: undefined, since: undefined};
async function decisions(signal) {
	for (let n = ROWS, i = 0; n === ROWS && i < 12; i++) {
		const v = await get("/v1/events?" + query({after: news.next, limit: ROWS}), signal);
		if (news.since && news.since !== v.since) {
			Object.assign(news, {items: [], next: undefined, since: undefined});
			continue;
		}
		news.items = news.items.concat(v.items).slice(-KEPT);
		Object.assign(news, {next: v.next, since: v.since});
		n = v.items.length;
	}
	return news.items;
}

// --- what several views show -----------------------------------------------------------------

const STAGES = ["nominated", "clones", "quota", "won", "created"];
const CLONE = ["WaitsForQuota", "WaitsAtGate", "QuotaReserved", "Admitted", "StaleClone", "CloneChanged"];
const WINNER = ["JobRuns", "JobSuspended", "JobEnded", "WinnerNotConnected", "JobAwaited", "JobRefused"];
// How far the race of a Workload got: 0 to 5.
function reached(w) {
	const reasons = (w.clusters || []).map(c => c.reason);
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
function card(title, value, href, note) {
	return el(href ? "a" : "div", {class: "card", href}, el("span", {}, title), el("b", {}, value), note ? el("span", {}, note) : null);
}
function field(label, input) { return el("label", {}, label, input); }
const later = fn => { let t; return () => { clearTimeout(t); t = setTimeout(fn, 250); }; };

// --- views: each returns {load, draw}; 'box' is what draw fills ---------------------------------

function count(rows, of) {
	const n = {};
	for (const r of rows) n[of(r)] = (n[of(r)] || 0) + 1;
	return n;
}

function fleet(box) {
	return {
		title: "Fleet",
		async load(signal) {
			const s = await get("/status", signal);
			await decisions(signal);
			return s;
		},
		draw(s) {
			const links = count(s.clusters.filter(c => c.name !== "manager"), c => c.link), n = s.phases || {}, first = s.first;
			fill(box, el("h3", {}, "Workers"), el("div", {class: "cards"},
				card("connected", number(links.up), "#/workers?state=Connected"),
				card("not connected", number(links.down), "#/workers?state=NotConnected"),
				card("connecting", number(links.connecting), "#/workers?state=Connecting")),
			el("h3", {}, "Workloads"), el("div", {class: "cards"},
				card("known to the daemon", number(s.workloads), "#/workloads"),
				PHASES.filter(p => n[p] || p === "Racing" || p === "Won").map(p => card(p, number(n[p]), "#/workloads?phase=" + p))),
			el("p", {}, first ? ["First in line: ", wlLink(first.namespace, first.name), ", for " + age(first.since)]
				: s.leader ? "No Workload waits for a worker." : "A standby: the leader knows which Workload is first in line."),
			el("h3", {}, "Daemon"), el("div", {class: "cards"},
				card("multikueued " + s.version, s.leader ? "leads" : "standby"),
				card("operations under way", number(s.pending)), card("clones made", number(s.dispatched)),
				card("admitted", number(s.admitted)), card("finished", number(s.finished))),
			el("h3", {}, "Recent decisions"), events("Recent decisions", news.items.slice(-10).reverse()));
		},
	};
}

function workers(box, params, tools) {
	const at = {page: 0, sort: "name", down: false, text: "", items: []};
	const text = el("input", {type: "search", value: params.get("name") || ""});
	const which = el("select", {}, el("option", {value: ""}, "all"), ["Connected", "NotConnected", "Connecting"].map(s => el("option", {}, s)));
	which.value = params.get("state") || "";
	const again = () => { at.page = 0; view.draw(at.items); };
	text.addEventListener("input", later(again));
	which.addEventListener("change", again);
	tools.append(el("div", {class: "filters"}, field("Name or message", text), field("State", which)));
	const sort = key => () => { Object.assign(at, {down: at.sort === key && !at.down, sort: key}); view.draw(at.items); };
	const head = (title, key, cls) => [title, cls, sort(key), at.sort === key ? at.down ? "descending" : "ascending" : undefined];
	const view = {
		title: "Workers",
		load: async signal => (await get("/v1/clusters", signal)).items,
		draw(items) {
			at.items = items;
			const want = text.value.toLowerCase();
			const rows = items.filter(c => (!which.value || c.state === which.value) &&
				(c.name + " " + (c.message || "")).toLowerCase().includes(want));
			const key = c => c[at.sort] === undefined ? "" : c[at.sort];
			rows.sort((x, y) => (typeof key(x) === "number" ? key(x) - key(y) : String(key(x)).localeCompare(String(key(y)), "en", {numeric: true})) * (at.down ? -1 : 1));
			const pages = Math.max(1, Math.ceil(rows.length / ROWS));
			at.page = Math.min(at.page, pages - 1);
			const turn = d => () => { at.page += d; view.draw(at.items); };
			fill(box, el("div", {class: "pager"}, el("button", {type: "button", disabled: at.page === 0, on: {click: turn(-1)}}, "Previous"),
				el("button", {type: "button", disabled: at.page === pages - 1, on: {click: turn(1)}}, "Next"),
				el("span", {}, `${number(rows.length)} of ${number(items.length)} workers, page ${at.page + 1} of ${pages}`)),
			rows.length ? table("Workers", [head("Name", "name"), head("State", "state"), head("Since", "since"), head("Clones", "clones", "num"),
				head("Waiting", "waiting", "num"), head("Memory", "bytes", "num"), ["Message", "wide"]],
			rows.slice(at.page * ROWS, (at.page + 1) * ROWS).map(c => [el("a", {href: "#/workloads?cluster=" + encodeURIComponent(c.name)}, c.name),
				state(c.state), age(c.since), number(c.clones), number(c.waiting), number(Math.round(c.bytes / 1024)) + " KiB",
				[c.message, c.unserved && c.unserved.length ? "does not serve " + c.unserved.map(kind).join(", ") : ""].filter(Boolean).join("; ")]))
				: empty(items.length ? "No worker fits the filter." : "No worker is configured: create a MultiKueueCluster."));
		},
	};
	return view;
}

function list(box, params, tools) {
	const at = {stack: [""], next: undefined};
	const phase = el("select", {}, el("option", {value: ""}, "all"), PHASES.map(p => el("option", {}, p)));
	phase.value = params.get("phase") || "";
	const inputs = Object.fromEntries([["name", "Name or job"], ["namespace", "Namespace"], ["cluster", "Cluster"], ["clusterQueue", "Queue"]]
		.map(([k, label]) => [k, [label, el("input", {type: "search", value: params.get(k) || "", autocapitalize: "off"})]]));
	inputs.phase = ["Phase", phase];
	const read = () => Object.fromEntries(Object.entries(inputs).map(([k, [, i]]) => [k, i.value.trim()]));
	const changed = later(() => {
		at.stack = [""];
		history.replaceState(null, "", "#/workloads" + (query(read()) ? "?" + query(read()) : ""));
		poll.now();
	});
	for (const [, i] of Object.values(inputs)) i.addEventListener(i === phase ? "change" : "input", changed);
	tools.append(el("div", {class: "filters", role: "search"}, Object.values(inputs).map(([label, i]) => field(label, i))));
	const turn = fn => () => { fn(); poll.now(); };
	return {
		title: "Workloads",
		async load(signal) {
			const {name, ...filter} = read(), want = name.toLowerCase();
			try {
				return await workloads(filter, w => !want || (w.name + " " + job(w)).toLowerCase().includes(want), at.stack.at(-1), signal);
			} catch (e) {
				if (e.status !== 410) throw e;
				at.stack = [""]; // the Workload that the page began behind is gone
				return workloads(filter, w => !want || (w.name + " " + job(w)).toLowerCase().includes(want), "", signal);
			}
		},
		draw({rows, after}) {
			fill(box, el("div", {class: "pager"},
				el("button", {type: "button", disabled: at.stack.length === 1, on: {click: turn(() => at.stack.pop())}}, "Previous"),
				el("button", {type: "button", disabled: !after, on: {click: turn(() => at.stack.push(after))}}, "Next"),
				el("span", {}, "Page " + at.stack.length + ", " + number(rows.length) + " Workloads" + (after && !rows.length ? "; more may follow" : ""))),
			rows.length ? table("Workloads", HEADS, rows.map(wlRow)) : empty(after ? "None here fits the filter; Next looks further." : "No Workload fits."));
		},
	};
}

function one(box, ns, name) {
	const path = "/v1/workloads/" + encodeURIComponent(ns) + "/" + encodeURIComponent(name);
	return {
		title: ns + "/" + name,
		async load(signal) {
			await decisions(signal);
			return get(path, signal).catch(e => { if (e.status !== 404) throw e; return {gone: e.message}; });
		},
		draw(w) {
			const mine = news.items.filter(e => e.workload && e.workload.namespace === ns && e.workload.name === name);
			if (w.gone) {
				fill(box, empty(w.gone), mine.length ? [el("h3", {}, "Decisions"), events("Decisions", mine.slice().reverse())] : null);
				return;
			}
			const winner = w.clusters.find(c => WINNER.includes(c.reason)), win = mine.filter(e => e.rule === "win").at(-1);
			const clones = w.clusters.filter(c => CLONE.includes(c.reason)), quota = w.clusters.filter(c => ["QuotaReserved", "Admitted"].includes(c.reason));
			const names = l => l.length ? el("em", {}, l.length > 5 ? number(l.length) + " workers" : l.map(c => c.name).join(", ")) : null;
			const notes = [names(w.clusters.filter(c => c.nominated)), names(clones), names(quota.length ? quota : winner ? [winner] : []),
				win ? time(win.time) : w.cluster ? el("em", {}, w.cluster) : null,
				winner ? el("em", {}, winner.reason) : null];
			const facts = [["Phase", [state(w.phase), w.message ? ": " + w.message : ""]], ["Job", job(w)],
				["Queue", [w.localQueue, w.clusterQueue].filter(Boolean).join(" → ")],
				["Check", w.admissionCheck ? w.admissionCheck.name + " (" + w.admissionCheck.state + ")" : ""],
				["Dispatcher", w.dispatcher], ["Config", w.config], ["Priority", w.priority]];
			fill(box, el("dl", {class: "facts"}, facts.filter(f => f[1] !== "" && f[1] !== undefined).map(f => [el("dt", {}, f[0]), el("dd", {}, f[1])])),
				el("h3", {}, "Race"), race(w, notes), times(w.stages || []),
				el("h3", {}, "Why, worker by worker"),
				w.clusters.length ? table("Reasons of the workers", [["Cluster"], ["Reason"], ["Nominated"], ["Since"], ["Until"], ["Message", "wide"], ["There", "wide"]],
					w.clusters.map(c => [c.name, state(c.reason), c.nominated ? "yes" : "no", age(c.since), c.until ? time(c.until) : "",
						[c.message, c.detail].filter(Boolean).join(": "),
						c.queue ? there(c.queue) : ""]))
					: empty("No worker is concerned."),
				el("h3", {}, "Next"),
				w.next.length ? el("ul", {}, w.next.map(n => el("li", {}, Date.parse(n.at) > Date.now() ? "in " + span(Date.parse(n.at) - Date.now()) : "now",
					n.cluster ? ", " + n.cluster : "", ": ", n.what))) : el("p", {class: "faint"}, "Nothing happens by itself at a known time."),
				el("h3", {}, "Decisions"), events("Decisions", mine.slice().reverse()));
		},
	};
}

function amount(resource, n) {
	if (resource === "cpu") return number(n / 1000);
	if (!/memory|storage/.test(resource)) return number(n);
	let unit = 0;
	for (; unit < 5 && Math.abs(n) >= 1024; unit++) n /= 1024;
	return n.toLocaleString("en", {maximumFractionDigits: 1}) + ["", " Ki", " Mi", " Gi", " Ti", " Pi"][unit];
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
	const text = el("input", {type: "search"}), at = {page: 0, far: 0, shut: new Set()}, PAGE = 50, FAR = 20;
	text.addEventListener("input", later(() => { at.page = at.far = 0; view.draw(at.v); }));
	tools.append(el("div", {class: "filters"}, field("Queue, Cohort or cluster", text)));
	const pager = (key, n, size, what) => {
		const pages = Math.max(1, Math.ceil(n / size)), turn = d => () => { at[key] += d; view.draw(at.v); };
		at[key] = Math.min(at[key], pages - 1);
		return el("div", {class: "pager"}, pages > 1 ? [el("button", {type: "button", disabled: at[key] === 0, on: {click: turn(-1)}}, "Previous"),
			el("button", {type: "button", disabled: at[key] === pages - 1, on: {click: turn(1)}}, "Next")] : null,
		el("span", {}, what + (pages > 1 ? `, page ${at[key] + 1} of ${pages}` : "")));
	};
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
			const v = await get("/v1/queues", signal), own = v.items.filter(q => !q.cluster);
			return {tree: grow(own, v.cohorts || []), own: own.length, far: v.items.filter(q => q.cluster)
				.sort((x, y) => x.name.localeCompare(y.name) || x.cluster.localeCompare(y.cluster, "en", {numeric: true}))};
		},
		draw(v) {
			at.v = v;
			const want = text.value.trim().toLowerCase(), rows = rowsOf(v.tree.tops, want, at.shut);
			const far = v.far.filter(q => (q.name + " " + q.cluster + " " + (q.cohort || "")).toLowerCase().includes(want));
			const head = pager("page", rows.length, PAGE, "ClusterQueues of the manager: " + number(v.own) + ", Cohorts: " + number(v.tree.cohorts));
			const shown = rows.slice(at.page * PAGE, (at.page + 1) * PAGE), first = shown[0];
			const above = first ? first.up.map((node, i) => row({node, up: first.up.slice(0, i)}, true)) : [];
			const foot = pager("far", far.length, FAR, "ClusterQueues: " + number(far.length));
			fill(box, head, shown.length ? el("ul", {class: "tree"}, above, shown.map(r => row(r))) : empty(v.own ? "No queue fits the filter."
				: "No queue of the manager is known: the daemon watches ClusterQueues and Cohorts where it may (conf/rbac/manager.yaml)."),
			v.far.length ? [el("h3", {}, "On workers"), foot, el("ul", {class: "tree"}, far.slice(at.far * FAR, (at.far + 1) * FAR).map(q => el("li", {},
				el("div", {class: "name"}, el("b", {}, q.name), " on ", el("a", {href: "#/workloads?cluster=" + encodeURIComponent(q.cluster)}, q.cluster), " ",
					q.active ? null : state("Inactive"), q.cohort ? el("span", {class: "faint"}, "in Cohort " + q.cohort) : null,
					el("span", {class: q.pending ? "pending" : "faint pending"}, number(q.pending) + " pending")), uses(flat(q)))))]
				: el("p", {class: "faint"}, "Queues of workers are watched when a dispatcher wants facts (least_loaded), and with quota automation."));
		},
	};
	return view;
}

function decided(box) {
	return {
		title: "Decisions",
		load: decisions,
		draw: items => fill(box, events("Decisions", items.slice(-200).reverse())),
	};
}

// --- which view, and when it asks --------------------------------------------------------------

const poll = {view: undefined, timer: undefined, stop: undefined, fails: 0, since: undefined, answered: undefined};
function say(text, away) {
	const p = by("state");
	p.className = away ? "away" : "";
	if (p.textContent !== text) p.textContent = text;
}
poll.now = async () => {
	clearTimeout(poll.timer);
	if (poll.stop) poll.stop.abort();
	const view = poll.view, stop = poll.stop = new AbortController();
	if (document.hidden) return;
	let wait = POLL_MS;
	try {
		const v = await view.load(stop.signal);
		if (stop.signal.aborted) return;
		view.draw(v);
		Object.assign(poll, {fails: 0, since: undefined, answered: Date.now()});
		say("Live.");
	} catch (e) {
		if (stop.signal.aborted) return;
		wait = Math.min(BACKOFF_MAX_MS, POLL_MS * 2 ** ++poll.fails);
		poll.since = poll.since || poll.answered || Date.now();
		say(e instanceof Refused ? "The daemon refuses: " + e.message
			: "The daemon does not answer since " + clock(poll.since) + ". What is shown is from then; asked again in " + span(wait) + ".", true);
	}
	poll.timer = setTimeout(poll.now, wait);
};
document.addEventListener("visibilitychange", () => {
	if (document.hidden) clearTimeout(poll.timer);
	else poll.now();
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
