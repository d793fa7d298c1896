/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our conditions; see cond.h. A merge patch replaces lists, so the body repeats the other
 * conditions.
 */
#include "core/engine/act/cond.h"

#include "core/base/timefmt.h"
#include "core/engine/act/note.h"
#include "core/engine/act/ops.h"

enum { MESSAGE_MAX = 32768 }; /* the API server refuses more */

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

mk_str cond_reason(struct engine *e, const struct record *r, const char *type)
{
	return json_str(json_get(find(e, r, type), "reason"));
}

/* A condition as an object shows it. */
struct shown {
	bool there, status;
	mk_str reason, message;
	int64_t generation;
};

/* For Active the facts suffice; for others the text is parsed. */
static struct shown shown(struct engine *e, const struct record *r, const struct cond *c)
{
	const struct facts *f = r->facts;
	const struct json *old;

	if (!c->type) {
		return (struct shown){.there = facts_is(f, F_COND),
				      .status = facts_is(f, F_COND_TRUE),
				      .reason = f->s[S_REASON],
				      .message = f->s[S_MESSAGE],
				      .generation = f->observed};
	}
	old = find(e, r, c->type);
	return (struct shown){.there = old != NULL,
			      .status = str_is(json_str(json_get(old, "status")), "True"),
			      .reason = json_str(json_get(old, "reason")),
			      .message = json_str(json_get(old, "message")),
			      .generation = json_int(json_get(old, "observedGeneration"), 0)};
}

/* Says the object the same already, whatever generation it says it of, and whatever its tail? */
static bool is_told(const struct shown *old, const struct cond *c)
{
	mk_str rest = str_sub(old->message, c->message.n, SIZE_MAX);

	return old->there && old->status == c->status && str_eq(old->reason, c->reason) &&
	       str_starts(old->message, c->message) &&
	       (rest.n == 0 || str_starts(rest, STR(COND_TAIL)));
}

static struct json *condition(struct engine *e, const struct record *r, const struct cond *c,
			      mk_str message)
{
	struct arena *a = e->out->arena;
	struct json *j = json_new_obj(a);
	const struct json *old = find(e, r, type_of(c));
	mk_str status = c->status ? STR("True") : STR("False");
	mk_str since = json_str(json_get(old, "lastTransitionTime"));
	int64_t ms;
	bool same = !c->anew && str_eq(json_str(json_get(old, "status")), status) &&
		    time_parse(since, &ms);

	json_set_str(a, j, "type", str_of(type_of(c)));
	json_set_str(a, j, "status", status);
	json_set_str(a, j, "reason", c->reason);
	json_set_str(a, j, "message", message);
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

/* What is too long ends as Kueue ends it. */
static mk_str cut(struct engine *e, mk_str message)
{
	const mk_str more = STR(" ...");
	mk_str kept = str_cut(message, MESSAGE_MAX - more.n);

	return message.n <= MESSAGE_MAX
		       ? message
		       : arena_printf(&e->scratch, "%.*s%.*s", STR_ARG(kept), STR_ARG(more));
}

static void write(struct engine *e, struct record *r, struct queue_item *item, const struct cond *c,
		  enum rule rule)
{
	struct op op = {.prio = PRIO_CONDITION, .subresource = "status"};
	const struct shown old = shown(e, r, c);
	bool told = is_told(&old, c);
	mk_str text, message = c->message;

	if (c->tail.n > 0) {
		message = arena_printf(&e->scratch, "%.*s%.*s", STR_ARG(message), STR_ARG(c->tail));
		message = cut(e, message);
	}
	if ((told && str_eq(old.message, message) && old.generation == r->facts->generation) ||
	    !ops_ready(e, r, item)) {
		return;
	}
	put_list(e, r, &op, type_of(c), condition(e, r, c, message));
	if (told || c->quiet) {
		ops_send(e, r, &op, rule);
		return;
	}
	text = c->more.n == 0 ? c->message
			      : arena_printf(&e->scratch, "%.*s: %.*s", STR_ARG(c->message),
					     STR_ARG(c->more));
	ops_send_note(e, r, &op, rule,
		      &(struct note){.type = c->status != c->alarm ? "Normal" : "Warning",
				     .reason = c->reason,
				     .text = text});
}

void cond_write(struct engine *e, struct record *r, struct queue_item *item, const struct cond *c,
		enum rule rule)
{
	struct cond whole = *c;

	whole.message = cut(e, c->message);
	if (whole.message.p) {
		write(e, r, item, &whole, rule);
	} else {
		say_no_memory(e);
	}
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
