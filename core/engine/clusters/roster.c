/* SPDX-License-Identifier: Apache-2.0 */
/* The clusters of a MultiKueueConfig; see roster.h. */
#include "core/engine/clusters/roster.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/api/selector.h"
#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/engine/act/note.h"
#include "core/engine/clusters/autoquota.h"
#include "core/engine/store/touch.h"

enum {
	TELL_MS = 5 * 1000,        /* changes that come together are told together */
	TELL_AGAIN_MS = 60 * 1000, /* between two Events on one config */
	TOLD_NAMES = 20,
	QUOTED_BYTES = 256,
};

/* The list of a config with a selector. */
struct selection {
	struct queue_item item;
	char *config;
	mk_str *names; /* views into the facts of the config and the records of clusters */
	size_t n, n_named, room;
	bool seen;       /* 'told' counts */
	uint64_t told;   /* hash of what the last Event said, or would have */
	int64_t told_at; /* ... and when; INT64_MIN never */
};

/* --- selectors -------------------------------------------------------------------------------- */

/* The label of a cluster; 'ctx' is its facts, NULL: it has none. */
static int label_of(void *ctx, mk_str key, mk_str *value)
{
	const struct facts *f = ctx;

	return f && api_label_find(f->names, f->n_names, key, value);
}

static int selects(mk_str selector, const struct facts *cluster, const char **error, size_t *at)
{
	return api_selects(selector, label_of, (void *)(uintptr_t)cluster, error, at);
}

static bool takes(const struct facts *config, const struct facts *cluster)
{
	const char *error;
	size_t at;

	return selects(config->s[S_SELECTOR], cluster, &error, &at) == 1;
}

mk_str roster_mistake(const struct record *config, struct arena *a)
{
	const char *error;
	size_t at;
	mk_str selector = config->facts->s[S_SELECTOR];

	if (!facts_is(config->facts, F_SELECTS) || selects(selector, NULL, &error, &at) >= 0) {
		return STR("");
	}
	return arena_printf(a,
			    "Annotation " NAME_SELECTOR " takes no cluster: expected %s at byte "
			    "%zu of \"%.*s\"",
			    error, at + 1, STR_ARG(str_cut(selector, QUOTED_BYTES)));
}

/* --- lists ------------------------------------------------------------------------------------ */

struct roster roster_of(const struct engine *e, const struct record *config)
{
	const struct facts *f = config && config->present ? config->facts : NULL;
	const struct selection *s =
		facts_is(f, F_SELECTS) ? map_get(&e->selections, config->name) : NULL;

	if (s) {
		return (struct roster){s->names, s->n, s->n_named};
	}
	return f ? (struct roster){f->names, f->n_names, f->n_names} : (struct roster){NULL, 0, 0};
}

/* The first place from 'from' on whose name is not before 'name'. */
static size_t place_from(const mk_str *names, size_t from, size_t to, mk_str name)
{
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (str_cmp(names[middle], name) < 0) {
			from = middle + 1;
		} else {
			to = middle;
		}
	}
	return from;
}

size_t roster_place(const struct roster *r, mk_str name)
{
	size_t i = 0;

	while (i < r->n_named && !str_eq(r->names[i], name)) {
		i++;
	}
	if (i < r->n_named) {
		return i;
	}
	i = place_from(r->names, r->n_named, r->n, name);
	return i < r->n && str_eq(r->names[i], name) ? i : SIZE_MAX;
}

static const struct record *config_of(const struct engine *e, const struct selection *s)
{
	return manager_named(e, KIND_CONFIG, str_of(s->config));
}

/* The cluster joins or leaves: queues the passes that concerns. It is in the list meanwhile. */
static void tell_passes(struct engine *e, struct selection *s, mk_str name)
{
	struct cluster *c = cluster_named(e, name);

	if (c) {
		touch_view(e, c);
	}
	if (c && c->own.shared) {
		touch_clusters(e); /* of two names of one server the first in the list counts */
	}
	queue_add_at(&e->queue, &s->item, e->now + TELL_MS);
	autoquota_later(e);
}

static void take_out(struct engine *e, struct selection *s, mk_str name)
{
	size_t i = place_from(s->names, s->n_named, s->n, name);

	if (i < s->n && str_eq(s->names[i], name)) {
		tell_passes(e, s, name);
		s->n--;
		memmove(s->names + i, s->names + i + 1, (s->n - i) * sizeof(mk_str));
	}
}

/* There is room for it: roster_make_room. */
static void put_in(struct engine *e, struct selection *s, mk_str name)
{
	size_t i = place_from(s->names, s->n_named, s->n, name);

	if (str_in(name, s->names, s->n_named) || (i < s->n && str_eq(s->names[i], name))) {
		return;
	}
	memmove(s->names + i + 1, s->names + i, (s->n - i) * sizeof(mk_str));
	s->names[i] = name;
	s->n++;
	tell_passes(e, s, name);
}

static int by_name(const void *x, const void *y)
{
	return str_cmp(*(const mk_str *)x, *(const mk_str *)y);
}

/* The config is new, or has changed: all clusters are looked at. */
static void fill(struct engine *e, struct selection *s, const struct facts *f)
{
	const struct table *clusters = manager_table(e, KIND_CLUSTER);

	s->n_named = f->n_names;
	s->n = f->n_names;
	if (f->n_names > 0) {
		memcpy(s->names, f->names, f->n_names * sizeof(mk_str));
	}
	for (LIST_EACH_AS(struct record, r, &clusters->records, node)) {
		if (r->present && takes(f, r->facts) && !str_in(r->name, s->names, s->n_named)) {
			s->names[s->n++] = r->name;
		}
	}
	qsort(s->names + s->n_named, s->n - s->n_named, sizeof(mk_str), by_name);
	queue_add_at(&e->queue, &s->item, e->now + TELL_MS);
	autoquota_later(e);
}

static void forget(struct engine *e, struct selection *s)
{
	queue_del(&e->queue, &s->item);
	(void)map_del(&e->selections, str_of(s->config));
	mk_free(s->names);
	mk_free(s->config);
	mk_free(s);
}

/* Grown by halves: clusters come one by one. */
static bool grow(struct selection *s, size_t n)
{
	size_t room = s->room + s->room / 2 > n ? s->room + s->room / 2 : n;
	mk_str *more = s->room >= n ? s->names : mk_realloc(s->names, room * sizeof(mk_str));

	if (!more) {
		return false;
	}
	s->room = s->room >= n ? s->room : room;
	s->names = more;
	return true;
}

static struct selection *make(struct engine *e, mk_str config)
{
	struct selection *s = mk_calloc(1, sizeof(*s));

	if (!s || !keep_str(&s->config, config) || !grow(s, 1) ||
	    !map_put(&e->selections, config, s)) {
		if (s) {
			mk_free(s->names);
			mk_free(s->config);
		}
		mk_free(s);
		return NULL;
	}
	queue_item_init(&s->item, ITEM_ROSTER, STR_NONE);
	s->told_at = INT64_MIN;
	/* What a process finds when it starts is no news. */
	s->seen = manager_knows(e, KIND_CONFIG);
	return s;
}

/* --- what is observed ------------------------------------------------------------------------- */

static bool is_of_manager(const struct record *r, uint16_t kind)
{
	return r->table->cluster == CLUSTER_MANAGER && r->table->kind == kind;
}

bool roster_make_room(struct engine *e, const struct record *r, const struct facts *f)
{
	size_t clusters = manager_table(e, KIND_CLUSTER)->n_present, pos = 0;
	bool room = true;
	void *v;

	if (is_of_manager(r, KIND_CONFIG) && facts_is(f, F_SELECTS)) {
		struct selection *s = map_get(&e->selections, r->name);

		s = s ? s : make(e, r->name);
		return s && grow(s, clusters + f->n_names);
	}
	/* Room is no output: the order does not matter. */
	while (is_of_manager(r, KIND_CLUSTER) && map_next(&e->selections, &pos, NULL, &v)) {
		struct selection *s = v;

		room &= grow(s, s->n + 1);
	}
	return room;
}

/* Configs in the order in which they were seen first. */
static void saw_cluster(struct engine *e, const struct record *r)
{
	for (LIST_EACH_AS(struct record, config, &manager_table(e, KIND_CONFIG)->records, node)) {
		struct selection *s = config->present && facts_is(config->facts, F_SELECTS)
					      ? map_get(&e->selections, config->name)
					      : NULL;

		if (s && takes(config->facts, r->facts)) {
			put_in(e, s, r->name);
		} else if (s) {
			take_out(e, s, r->name);
		}
	}
}

void roster_saw(struct engine *e, struct record *r)
{
	struct selection *s =
		is_of_manager(r, KIND_CONFIG) ? map_get(&e->selections, r->name) : NULL;

	if (is_of_manager(r, KIND_CLUSTER)) {
		saw_cluster(e, r);
	} else if (s && facts_is(r->facts, F_SELECTS)) {
		fill(e, s, r->facts);
	} else if (s) {
		forget(e, s);
	}
}

void roster_lose(struct engine *e, const struct record *r)
{
	struct selection *s =
		is_of_manager(r, KIND_CONFIG) ? map_get(&e->selections, r->name) : NULL;

	if (s) {
		forget(e, s);
	}
	if (!is_of_manager(r, KIND_CLUSTER)) {
		return;
	}
	for (LIST_EACH_AS(struct record, config, &manager_table(e, KIND_CONFIG)->records, node)) {
		s = config->present ? map_get(&e->selections, config->name) : NULL;
		if (s) {
			take_out(e, s, r->name);
		}
	}
}

void roster_done(struct engine *e)
{
	size_t pos = 0;
	void *v;

	while (map_next(&e->selections, &pos, NULL, &v)) {
		struct selection *s = v;

		mk_free(s->names);
		mk_free(s->config);
		mk_free(s);
	}
	map_done(&e->selections);
}

void roster_touch(struct engine *e)
{
	for (LIST_EACH_AS(struct record, r, &manager_table(e, KIND_CONFIG)->records, node)) {
		struct selection *s = r->present ? map_get(&e->selections, r->name) : NULL;

		if (s) {
			queue_add_at(&e->queue, &s->item, e->now + TELL_MS);
		}
	}
}

/* --- Events ----------------------------------------------------------------------------------- */

struct selection *roster_selection(struct queue_item *item)
{
	return HEAP_ENTRY(item, struct selection, item);
}

/* "a, b, c and 12 more" */
static mk_str names_of(struct arena *a, const struct selection *s)
{
	size_t n = s->n - s->n_named;
	mk_str text = STR("");

	for (size_t i = 0; i < n && i < TOLD_NAMES; i++) {
		text = arena_printf(a, "%.*s%s%.*s", STR_ARG(text), i > 0 ? ", " : "",
				    STR_ARG(s->names[s->n_named + i]));
	}
	return n > TOLD_NAMES ? arena_printf(a, "%.*s and %zu more", STR_ARG(text), n - TOLD_NAMES)
			      : text;
}

static void tell(struct engine *e, struct selection *s, const struct record *config, mk_str mistake)
{
	struct note note = {.type = "Normal", .reason = STR("ClustersSelected")};
	size_t n = s->n - s->n_named;
	mk_str selector = str_cut(config->facts->s[S_SELECTOR], QUOTED_BYTES);

	note.text =
		arena_printf(&e->scratch,
			     "Annotation " NAME_SELECTOR " \"%.*s\" takes %zu MultiKueueCluster%s "
			     "beside those of spec.clusters%s%.*s",
			     STR_ARG(selector), n, n == 1 ? "" : "s", n > 0 ? ": " : "",
			     STR_ARG(names_of(&e->scratch, s)));
	if (mistake.n > 0) {
		note = (struct note){
			.type = "Warning", .reason = STR("BadSelector"), .text = mistake};
	} else if (n == 0) {
		note.type = "Warning";
		note.reason = STR("NothingSelected");
	}
	note_send(e, config, &note);
	s->told_at = e->now;
}

/* A new process tells a mistake once more, and what a selector takes only when that changes. */
void roster_pass(struct engine *e, struct selection *s)
{
	const struct record *config = config_of(e, s);
	mk_str mistake;
	uint64_t now;

	if (!config || !manager_knows(e, KIND_CLUSTER) || !manager_knows(e, KIND_CONFIG)) {
		return; /* the end of the list queues it */
	}
	if (s->told_at != INT64_MIN && e->now < s->told_at + TELL_AGAIN_MS) {
		queue_add_at(&e->queue, &s->item, s->told_at + TELL_AGAIN_MS);
		return;
	}
	mistake = roster_mistake(config, &e->scratch);
	now = hash64(config->facts->s[S_SELECTOR]);
	for (size_t i = s->n_named; i < s->n; i++) {
		now = (now ^ hash64(s->names[i])) * 1099511628211u;
	}
	if (e->may_write && (s->seen || mistake.n > 0) && s->told != now) {
		tell(e, s, config, mistake);
	}
	s->seen = true;
	s->told = e->may_write || mistake.n == 0 ? now : s->told;
}
