/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our conditions; see cond.h. A merge patch replaces lists, so the body repeats the other
 * conditions.
 */
#include "core/engine/act/cond.h"

#include "core/base/timefmt.h"
#include "core/engine/act/note.h"
#include "core/engine/act/ops.h"

static const char *type_of(const struct cond *c)
{
	return c->type ? c->type : "Active";
}

static struct json *find(struct engine *e, const struct record *r, const char *type)
{
	return json_find(json_at(record_parse(e, r), "/status/conditions"), "type", type);
}

bool cond_is_true(struct engine *e, const struct record *r, const char *type)
{
	return str_is(json_str(json_get(find(e, r, type), "status")), "True");
}

/* Is the condition as 'c' wants it? For Active the facts suffice; for others the text is parsed. */
static bool is_written(struct engine *e, const struct record *r, const struct cond *c)
{
	const struct facts *f = r->facts;
	const struct json *old;

	if (!c->type) {
		return facts_is(f, F_COND) && facts_is(f, F_COND_TRUE) == c->status &&
		       str_eq(f->s[S_REASON], c->reason) && str_eq(f->s[S_MESSAGE], c->message);
	}
	old = find(e, r, c->type);
	return old && str_is(json_str(json_get(old, "status")), c->status ? "True" : "False") &&
	       str_eq(json_str(json_get(old, "reason")), c->reason) &&
	       str_eq(json_str(json_get(old, "message")), c->message);
}

static struct json *condition(struct engine *e, const struct record *r, const struct cond *c)
{
	struct arena *a = e->out->arena;
	struct json *j = json_new_obj(a);
	const struct json *old = find(e, r, type_of(c));
	mk_str status = c->status ? STR("True") : STR("False");
	mk_str since = json_str(json_get(old, "lastTransitionTime"));
	int64_t ms;
	bool same = str_eq(json_str(json_get(old, "status")), status) && time_parse(since, &ms);

	json_set_str(a, j, "type", str_of(type_of(c)));
	json_set_str(a, j, "status", status);
	json_set_str(a, j, "reason", c->reason);
	json_set_str(a, j, "message", c->message);
	json_set_int(a, j, "observedGeneration", r->facts->generation);
	json_set_str(a, j, "lastTransitionTime",
		     same ? arena_dup(a, since) : time_rfc3339(a, c->since_wall_ms));
	return j;
}

/* All conditions, with 'mine' for the one of 'type' (NULL: without it). */
static void put_list(struct engine *e, const struct record *r, struct op *op, const char *type,
		     struct json *mine)
{
	struct arena *a = e->out->arena;
	struct json *list = json_new_arr(a);
	struct json_iter it = json_iter(json_at(record_parse(e, r), "/status/conditions"));

	while (json_next(&it)) {
		if (!str_is(json_str(json_get(it.val, "type")), type)) {
			json_add(a, list, json_dup(a, it.val));
		} else if (mine) {
			json_add(a, list, mine);
			mine = NULL;
		}
	}
	if (mine) {
		json_add(a, list, mine);
	}
	(void)json_put(a, ops_merge(e, r, op), "/status/conditions", list);
}

void cond_write(struct engine *e, struct record *r, struct queue_item *item, const struct cond *c,
		enum rule rule)
{
	struct op op = {.prio = PRIO_CONDITION, .subresource = "status"};
	mk_str text;

	if (is_written(e, r, c) || !ops_ready(e, r, item)) {
		return;
	}
	put_list(e, r, &op, type_of(c), condition(e, r, c));
	text = c->more.n == 0 ? c->message
			      : arena_printf(&e->scratch, "%.*s: %.*s", STR_ARG(c->message),
					     STR_ARG(c->more));
	ops_send_note(e, r, &op, rule,
		      &(struct note){.type = c->status != c->alarm ? "Normal" : "Warning",
				     .reason = c->reason,
				     .text = text});
}

void cond_remove(struct engine *e, struct record *r, struct queue_item *item, const char *type,
		 enum rule rule)
{
	struct op op = {.prio = PRIO_CONDITION, .subresource = "status"};

	if (!facts_is(r->facts, F_COND) || !ops_ready(e, r, item)) {
		return;
	}
	put_list(e, r, &op, type, NULL);
	ops_send(e, r, &op, rule);
}
