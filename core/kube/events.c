/* SPDX-License-Identifier: Apache-2.0 */
/* Event objects and their series. */
#include "core/kube/events.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/list.h"
#include "core/base/map.h"
#include "core/base/timefmt.h"

enum {
	SERIES_MS = 6 * 60 * 1000,
	HEARTBEAT_MS = 30 * 60 * 1000,
	WORD_MAX = 128, /* reason, action, reportingController, reportingInstance */
	NAME_MAX_LEN = 253,
	KEY_MAX = 40,
};

struct kept {
	struct list_node node; /* oldest first */
	char key[KEY_MAX];
	char ns[NAME_MAX_LEN + 1], name[NAME_MAX_LEN + 1];
	int64_t last_ms, written_ms;
	int64_t count;
};

struct events {
	char controller[WORD_MAX + 1], instance[WORD_MAX + 1];
	struct map by_key;
	struct list_node order;
	uint64_t n_made;
};

struct events *events_new(mk_str controller, mk_str instance)
{
	struct events *e = mk_calloc(1, sizeof(*e));

	if (e == NULL) {
		return NULL;
	}
	snprintf(e->controller, sizeof(e->controller), "%.*s",
		 STR_ARG(str_cut(controller, WORD_MAX)));
	snprintf(e->instance, sizeof(e->instance), "%.*s", STR_ARG(str_cut(instance, WORD_MAX)));
	map_init(&e->by_key);
	list_init(&e->order);
	return e;
}

static void drop(struct events *e, struct kept *k)
{
	list_del(&k->node);
	map_del(&e->by_key, str_of(k->key));
	mk_free(k);
}

void events_free(struct events *e)
{
	if (e == NULL) {
		return;
	}
	while (!list_empty(&e->order)) {
		drop(e, LIST_ENTRY(e->order.next, struct kept, node));
	}
	map_done(&e->by_key);
	mk_free(e);
}

void events_forget(struct events *e, mk_str ns, mk_str name)
{
	for (LIST_EACH(n, &e->order)) {
		struct kept *k = LIST_ENTRY(n, struct kept, node);

		if (str_is(ns, k->ns) && str_is(name, k->name)) {
			drop(e, k);
			return;
		}
	}
}

/* The event's content, checked and cut. */
struct content {
	const struct json *regarding;
	mk_str ns, type, reason, action, note;
};

static mk_str cut_note(struct arena *a, mk_str note)
{
	static const char dots[] = " ...";

	if (note.n <= EVENTS_NOTE_MAX) {
		return note;
	}
	return arena_printf(a, "%.*s%s",
			    STR_ARG(str_cut(note, EVENTS_NOTE_MAX - (sizeof(dots) - 1))), dots);
}

static bool read_content(struct arena *a, const struct json *in, struct content *c)
{
	c->regarding = json_get(in, "regarding");
	c->ns = json_str(json_get(c->regarding, "namespace"));
	c->type = json_str(json_get(in, "type"));
	c->reason = str_cut(json_str(json_get(in, "reason")), WORD_MAX);
	c->action = str_cut(json_str(json_get(in, "action")), WORD_MAX);
	c->note = cut_note(a, json_str(json_get(in, "note")));
	if (c->ns.n == 0) {
		c->ns = STR("default");
	}
	if (!str_is(c->type, "Warning")) {
		c->type = STR("Normal");
	}
	if (c->action.n == 0) {
		c->action = c->reason;
	}
	return c->reason.n > 0 && json_str(json_get(c->regarding, "name")).n > 0;
}

/* What makes two events the same. The note counts: a series shows the first one only. */
static bool make_key(struct arena *a, const struct content *c, char out[static KEY_MAX])
{
	mk_str text = arena_printf(a, "%.*s\n%.*s\n%.*s\n%.*s\n%.*s",
				   STR_ARG(json_write(a, c->regarding)), STR_ARG(c->type),
				   STR_ARG(c->reason), STR_ARG(c->action), STR_ARG(c->note));

	snprintf(out, KEY_MAX, "%016" PRIx64 "%08zx", hash64(text), text.n);
	return !arena_failed(a);
}

/* "<name of the object>.<hex>": unique by time and count. */
static mk_str make_name(struct events *e, struct arena *a, mk_str base, int64_t wall_ms)
{
	uint64_t n = (uint64_t)wall_ms * 1000000 + e->n_made++ % 1000000;
	mk_str cut = str_cut(base, NAME_MAX_LEN - 17);

	while (cut.n > 0 && (cut.p[cut.n - 1] == '.' || cut.p[cut.n - 1] == '-')) {
		cut.n--;
	}
	return arena_printf(a, "%.*s.%" PRIx64, STR_ARG(cut), n);
}

static mk_str make_body(const struct events *e, struct arena *a, const struct content *c,
			mk_str name, int64_t wall_ms)
{
	struct json *doc = json_new_obj(a);
	struct json *meta = json_new_obj(a);

	json_set_str(a, doc, "apiVersion", STR("events.k8s.io/v1"));
	json_set_str(a, doc, "kind", STR("Event"));
	json_set_str(a, meta, "name", name);
	json_set_str(a, meta, "namespace", c->ns);
	json_set(a, doc, STR("metadata"), meta);
	json_set_str(a, doc, "eventTime", time_rfc3339_micro(a, wall_ms));
	json_set_str(a, doc, "reportingController", str_of(e->controller));
	json_set_str(a, doc, "reportingInstance", str_of(e->instance));
	json_set_str(a, doc, "action", c->action);
	json_set_str(a, doc, "reason", c->reason);
	json_set(a, doc, STR("regarding"), json_dup(a, c->regarding));
	json_set_str(a, doc, "note", c->note);
	json_set_str(a, doc, "type", c->type);
	return arena_failed(a) ? (mk_str){NULL, 0} : json_write(a, doc);
}

static mk_str make_series(struct arena *a, const struct kept *k, int64_t wall_ms)
{
	struct json *doc = json_new_obj(a);
	struct json *series = json_new_obj(a);

	json_set_int(a, series, "count", k->count);
	json_set_str(a, series, "lastObservedTime", time_rfc3339_micro(a, wall_ms));
	json_set(a, doc, STR("series"), series);
	return arena_failed(a) ? (mk_str){NULL, 0} : json_write(a, doc);
}

/* Remembers a new event. Without memory it is simply not part of a series. */
static void keep(struct events *e, const char *key, mk_str ns, mk_str name, int64_t wall_ms)
{
	struct kept *k = NULL;

	if (map_len(&e->by_key) >= EVENTS_KEPT_MAX) {
		drop(e, LIST_ENTRY(e->order.next, struct kept, node));
	}
	k = mk_calloc(1, sizeof(*k));
	if (k == NULL) {
		return;
	}
	snprintf(k->key, sizeof(k->key), "%s", key);
	snprintf(k->ns, sizeof(k->ns), "%.*s", STR_ARG(str_cut(ns, NAME_MAX_LEN)));
	snprintf(k->name, sizeof(k->name), "%.*s", STR_ARG(str_cut(name, NAME_MAX_LEN)));
	k->last_ms = wall_ms;
	k->written_ms = wall_ms;
	k->count = 1;
	if (!map_put(&e->by_key, str_of(k->key), k)) {
		mk_free(k);
		return;
	}
	list_add_tail(&e->order, &k->node);
}

static enum mk_code repeat(struct kept *k, struct arena *a, int64_t wall_ms,
			   struct events_request *ret, struct mk_err *err)
{
	struct events_request r = {.verb = EVENTS_NOTHING};

	k->count++;
	k->last_ms = wall_ms;
	if (k->count == 2 || wall_ms - k->written_ms >= HEARTBEAT_MS) {
		r.verb = EVENTS_SERIES;
		r.ns = arena_dup(a, str_of(k->ns));
		r.name = arena_dup(a, str_of(k->name));
		r.body = make_series(a, k, wall_ms);
		if (r.body.p == NULL) {
			return err_set(err, MK_NO_MEMORY, "events", "out of memory");
		}
		k->written_ms = wall_ms;
	}
	*ret = r;
	return MK_OK;
}

enum mk_code events_make(struct events *e, struct arena *a, const struct json *in, int64_t wall_ms,
			 struct events_request *ret, struct mk_err *err)
{
	struct content c = {.regarding = NULL};
	struct events_request r = {.verb = EVENTS_CREATE};
	struct kept *k = NULL;
	char key[KEY_MAX];

	if (!read_content(a, in, &c)) {
		return err_set(err, MK_INVALID, "events",
			       "an event needs regarding.name and reason");
	}
	if (!make_key(a, &c, key)) {
		return err_set(err, MK_NO_MEMORY, "events", "out of memory");
	}
	k = map_get(&e->by_key, str_of(key));
	if (k != NULL && wall_ms - k->last_ms < SERIES_MS && wall_ms >= k->last_ms) {
		return repeat(k, a, wall_ms, ret, err);
	}
	if (k != NULL) {
		drop(e, k);
	}
	r.ns = arena_dup(a, c.ns);
	r.name = make_name(e, a, json_str(json_get(c.regarding, "name")), wall_ms);
	r.body = make_body(e, a, &c, r.name, wall_ms);
	if (r.body.p == NULL) {
		return err_set(err, MK_NO_MEMORY, "events", "out of memory");
	}
	keep(e, key, r.ns, r.name, wall_ms);
	*ret = r;
	return MK_OK;
}
