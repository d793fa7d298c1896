/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls hooks and distrusts what they return. The hook works on a copy of the draft, so that a
 * fault or MK_KEEP leaves the caller's untouched; the copy is handed over only after the output
 * checks. After a fault calls for a Workload, or of the item, pause (breaker.c).
 */
#include <stdio.h>

#include "core/base/timefmt.h"
#include "core/plug/host.h"

/* The plugin, hook and object of a call, for messages. */
struct blame {
	const struct plug_source *source;
	const char *hook;
	mk_str item;
	struct plug_breaker *breaker;
	struct plug_later workload; /* what it is called */
	int64_t now_ms;
};

/* What the Workload of a call is called. */
static struct plug_later called(const struct json *workload)
{
	return (struct plug_later){.ns = json_str_at(workload, "/metadata/namespace"),
				   .name = json_str_at(workload, "/metadata/name"),
				   .uid = json_str_at(workload, "/metadata/uid")};
}

static void add_stats(struct plug_stats *s, const struct host_call *c)
{
	s->calls++;
	s->faults += c->failed;
	s->soft_time += (c->over & HOST_OVER_TIME) != 0;
	s->soft_bytes += (c->over & HOST_OVER_BYTES) != 0;
	s->soft_calls += (c->over & HOST_OVER_CALLS) != 0;
}

static void tell_incident(const struct host_call *c, const struct blame *b)
{
	struct plug_incident in = {.source = b->source,
				   .hook = b->hook,
				   .item = b->item,
				   .ns = b->workload.ns,
				   .workload = b->workload.name,
				   .is_fault = c->failed,
				   .why = c->why};

	if (!c->failed) {
		in.why = (c->over & HOST_OVER_TIME)    ? "CPU time over the soft budget"
			 : (c->over & HOST_OVER_BYTES) ? "memory over the soft budget"
						       : "host calls over the soft budget";
	}
	c->plug->on_incident(c->plug->incident_data, &in);
}

/* Adds the cost of the call to the plugin's counts and reports an incident. */
static void account(const struct host_call *c, const struct blame *b)
{
	struct plug *p = c->plug;

	add_stats(&p->stats, c);
	for (size_t i = 0; i < p->n_sources; i++) {
		if (strcmp(p->sources[i].id, b->source->id) == 0) {
			add_stats(&p->source_stats[i], c);
		}
	}
	if (p->on_incident && (c->failed || c->over)) {
		tell_incident(c, b);
	}
}

/* Ends the call: ERR_OK when the plugin kept its contract, else the fault. */
static enum mk_code finish(struct host_call *c, const struct blame *b, struct mk_err *err)
{
	host_end(c);
	if (c->no_memory || arena_failed(c->a)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	account(c, b);
	if (!c->failed) {
		return ERR_OK;
	}
	breaker_fault(c->plug, b->breaker, b->workload.uid, b->now_ms);
	return err_set(err, ERR_PLUGIN_FAULT, "plugin %s %s, %s of %.*s: %s", b->source->id,
		       b->source->version, b->hook, STR_ARG(b->item), c->why);
}

static void check_verdict(struct host_call *c, int verdict, bool may_defer)
{
	int bits = verdict & ~(may_defer ? MK_DEFER : 0);

	if (bits != MK_KEEP && bits != MK_SET && verdict != MK_E_INPUT && verdict != MK_E_RETRY) {
		host_fail(c, "verdict: expected MK_KEEP, MK_SET%s or an error, found %d",
			  may_defer ? ", with or without MK_DEFER," : "", verdict);
	}
}

/* Labels and annotations: absent, or an object of strings. */
static void check_string_map(struct host_call *c, const struct json *v, const char *what)
{
	struct json_iter it = json_iter(v);

	if (v && json_type(v) != JSON_OBJ) {
		host_fail(c, "draft: /metadata/%s: expected an object, found another type", what);
		return;
	}
	while (json_next(&it)) {
		if (json_type(it.val) != JSON_STR) {
			host_fail(
				c,
				"draft: /metadata/%s: expected strings, found another type at %.*s",
				what, STR_ARG(it.key));
		}
	}
}

static bool is_free_text(mk_str key)
{
	return str_is(key, "labels") || str_is(key, "annotations");
}

/* Nothing of 'metadata' may differ but, at creation, labels and annotations. */
static void check_metadata(struct host_call *c, const struct json *was, const struct json *is,
			   bool creating)
{
	struct json_iter it = json_iter(is);

	if (json_type(is) != JSON_OBJ) {
		host_fail(c, "draft: /metadata: expected an object, found another type");
		return;
	}
	while (json_next(&it)) {
		if (creating && is_free_text(it.key)) {
			continue;
		}
		if (!json_equal(json_getn(was, it.key), it.val)) {
			host_fail(c,
				  "draft: /metadata/%.*s: expected no change, found another value",
				  STR_ARG(it.key));
		}
	}
	it = json_iter(was);
	while (json_next(&it)) {
		if (!(creating && is_free_text(it.key)) && !json_getn(is, it.key)) {
			host_fail(c, "draft: /metadata/%.*s: expected no change, found it removed",
				  STR_ARG(it.key));
		}
	}
	if (creating) {
		check_string_map(c, json_get(is, "labels"), "labels");
		check_string_map(c, json_get(is, "annotations"), "annotations");
	}
}

static void check_size(struct host_call *c, const struct json *draft)
{
	struct host_size size = host_measure(draft);

	if (size.bytes > c->plug->limits.draft_bytes) {
		host_fail(c, "draft: expected at most %zu bytes, found %zu",
			  c->plug->limits.draft_bytes, size.bytes);
	}
}

static void check_remote_draft(struct host_call *c, const struct json *was, const struct json *is,
			       bool creating)
{
	static const char *const fixed[] = {"apiVersion", "kind", "status"};

	if (json_type(is) != JSON_OBJ) {
		host_fail(c, "draft: expected an object, found another type");
		return;
	}
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (!json_equal(json_get(was, fixed[i]), json_get(is, fixed[i]))) {
			host_fail(c, "draft: /%s: expected no change, found another value",
				  fixed[i]);
		}
	}
	check_metadata(c, json_get(was, "metadata"), json_get(is, "metadata"), creating);
	check_size(c, is);
}

typedef int hook_fn(mk_call *, const mk_view *, mk_val);

struct run {
	hook_fn *fn;
	bool is_status, creating;
};

static void call_hook(struct host_call *c, const struct blame *b, const struct run *r,
		      const struct plug_view *v, struct json *draft, struct plug_result *ret)
{
	mk_view view = {.struct_size = sizeof(view),
			.flags = v->elastic ? MK_ELASTIC : 0,
			.local = host_input(c, v->local),
			.remote = host_input(c, v->remote),
			.workload = v->later.read ? host_later(c, &v->later)
						  : host_input(c, v->workload),
			.now = time_rfc3339(c->a, v->now_wall_ms)};
	struct json *copy = json_dup(c->a, draft);
	mk_val handle = host_draft(c, copy);

	if (!copy || !handle.h || !view.now.p || c->no_memory) {
		c->no_memory = true;
		return;
	}
	host_arm(c);
	running_begin(c->plug, b->source, b->hook,
		      &(struct running_object){b->item, v->local, b->workload.name, v->cluster});
	int verdict = r->fn(&c->base, &view, handle);

	running_end(c->plug);
	if (c->failed) {
		return;
	}
	check_verdict(c, verdict, r->is_status);
	ret->verdict = verdict;
	ret->said = c->said;
	if (verdict < 0 || !(verdict & MK_SET)) {
		return;
	}
	copy = host_value(c, handle);
	if (!r->is_status) {
		check_remote_draft(c, draft, copy, r->creating);
	} else if (json_type(copy) != JSON_OBJ) {
		host_fail(c, "draft: expected an object, found another type");
	} else {
		check_size(c, copy);
	}
	ret->draft = copy;
}

static enum mk_code run_hook(struct plug *p, size_t adapter, const struct run *r,
			     const struct plug_view *v, struct json *draft, struct arena *a,
			     struct plug_result *ret, struct mk_err *err)
{
	struct plug_adapter_item *item = p->adapters[adapter];
	const struct blame b = {&item->pub.source,
				r->is_status ? "status" : "remote",
				item->pub.gvk,
				&item->breaker,
				v->later.read ? v->later : called(v->workload),
				v->now_wall_ms};
	struct plug_result result = {.draft = draft, .said = {"", 0}};
	struct host_call c;

	host_begin(&c, p, a, item->pub.kind, item->pub.group);
	call_hook(&c, &b, r, v, draft, &result);
	enum mk_code code = finish(&c, &b, err);

	if (code == ERR_OK) {
		*ret = result;
	}
	return code;
}

static enum mk_code plain(int verdict, struct json *draft, struct plug_result *ret)
{
	*ret = (struct plug_result){verdict, draft, {"", 0}};
	return ERR_OK;
}

enum mk_code plug_remote(struct plug *p, size_t adapter, const struct plug_view *v,
			 struct json *draft, struct arena *a, struct plug_result *ret,
			 struct mk_err *err)
{
	if (adapter >= p->n_adapters || !draft) {
		return err_set(err, ERR_BUG, "no such adapter, or no draft");
	}
	const struct run r = {p->adapters[adapter]->pub.d->remote, false, !v->remote};

	if (!r.fn) {
		return plain(r.creating ? MK_SET : MK_KEEP, draft, ret);
	}
	return run_hook(p, adapter, &r, v, draft, a, ret, err);
}

enum mk_code plug_status(struct plug *p, size_t adapter, const struct plug_view *v,
			 struct json *draft, struct arena *a, struct plug_result *ret,
			 struct mk_err *err)
{
	if (adapter >= p->n_adapters || !draft) {
		return err_set(err, ERR_BUG, "no such adapter, or no draft");
	}
	const mk_adapter *d = p->adapters[adapter]->pub.d;
	const struct run r = {d->status, true, false};

	/*
	 * The flag is about a copy without a status. When there is no copy at all, the descriptor
	 * or the hook decides.
	 */
	bool no_status = (v->remote || (!r.fn && !d->active)) &&
			 json_type(json_get(v->remote, "status")) != JSON_OBJ;

	if ((d->flags & MK_STATUS_NONE) || ((d->flags & MK_STATUS_IF_PRESENT) && no_status)) {
		return plain(MK_KEEP, draft, ret);
	}
	if (!r.fn) {
		return plain(MK_SET, draft, ret);
	}
	return run_hook(p, adapter, &r, v, draft, a, ret, err);
}

/* The list that a dispatcher gave: in range, none twice. */
static void check_pick(struct host_call *c, int verdict, const mk_pick *pick, uint32_t cap,
		       const uint32_t *index, size_t n_clusters)
{
	if (verdict != MK_KEEP && verdict != MK_SET && verdict != (MK_KEEP | MK_EXHAUSTED) &&
	    verdict != (MK_KEEP | MK_UNPLACEABLE) && verdict != MK_E_INPUT &&
	    verdict != MK_E_RETRY) {
		host_fail(c,
			  "verdict: expected MK_SET, MK_KEEP, MK_KEEP with MK_EXHAUSTED or "
			  "MK_UNPLACEABLE, or an error, found %d",
			  verdict);
		return;
	}
	if (pick->wait_ms < -1) {
		host_fail(c, "wait_ms: expected -1 or more, found %lld", (long long)pick->wait_ms);
	}
	if (verdict != MK_SET) {
		return;
	}
	if (pick->n > cap) {
		host_fail(c, "n: expected at most %u, found %u", cap, pick->n);
		return;
	}
	for (uint32_t i = 0; i < pick->n; i++) {
		if (index[i] >= n_clusters) {
			host_fail(c, "index: expected less than %zu, found %u", n_clusters,
				  index[i]);
		}
		for (uint32_t k = 0; k < i; k++) {
			if (index[k] == index[i]) {
				host_fail(c, "index: expected no cluster twice, found %u again",
					  index[i]);
			}
		}
	}
}

static int64_t kept_wait_ms(int64_t ms)
{
	int64_t most = ms < PLUG_WAIT_MAX_MS ? ms : PLUG_WAIT_MAX_MS;

	return ms >= 0 && most < PLUG_WAIT_MIN_MS ? PLUG_WAIT_MIN_MS : most;
}

enum mk_code plug_nominate(struct plug *p, size_t dispatcher, const struct plug_question *q,
			   struct arena *a, struct plug_pick *ret, struct mk_err *err)
{
	if (dispatcher >= p->n_dispatchers) {
		return err_set(err, ERR_BUG, "no such dispatcher");
	}
	struct plug_dispatcher_item *item = p->dispatchers[dispatcher];
	bool is_template = item->pub.is_template;
	const struct blame b = {
		&item->pub.source, "nominate",          is_template ? q->name : item->pub.name,
		&item->breaker,    called(q->workload), q->now_wall_ms};
	struct plug_pick result = {.wait_ms = -1, .said = {"", 0}};
	struct json *made = q->config && !is_template ? NULL : json_new_obj(a);
	const mk_str none = {"", 0};
	const uint32_t cap = sizeof(result.index) / sizeof(result.index[0]);
	struct host_call c;

	if (is_template) { /* which has no section, and no name but in here */
		json_set_str(a, made, "name", q->name);
		json_set_str(a, made, "multiKueueConfig", q->config_name);
	}
	host_begin(&c, p, a, (mk_str){"", 0}, (mk_str){"", 0});
	mk_dispatch d = {.struct_size = sizeof(d),
			 .workload = host_input(&c, q->workload),
			 .clusters = host_input(&c, q->clusters),
			 .config = host_input(&c, made ? made : q->config),
			 .now_ms = q->now_wall_ms,
			 .last_set_ms = q->last_set_ms,
			 .requests = host_input(&c, q->requests),
			 .job = host_input(&c, q->job),
			 .reserved_ms = q->reserved_ms};
	mk_pick pick = {
		.struct_size = sizeof(pick), .cap = cap, .index = result.index, .wait_ms = -1};

	if (!c.no_memory && !arena_failed(a)) {
		host_arm(&c);
		running_begin(p, b.source, b.hook,
			      &(struct running_object){b.item, q->workload, b.workload.name, none});
		result.verdict = item->pub.d->nominate(&c.base, &d, &pick);
		running_end(p);
		check_pick(&c, result.verdict, &pick, cap, result.index, json_len(q->clusters));
	}
	enum mk_code code = finish(&c, &b, err);

	if (code == ERR_OK) {
		result.n = result.verdict == MK_SET ? pick.n : 0;
		result.wait_ms = kept_wait_ms(pick.wait_ms);
		result.said = c.said;
		*ret = result;
	}
	return code;
}
