/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and objects of the aggregated API; see api_answers.h. */
#include "core/serve/api_answers.h"

#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/serve/api_table.h"

/*
 * A page of one namespace may end at a Workload of another one, whose name is not for its reader:
 * the token is then the number of a place that is kept here.
 */
enum { PLACES = 256, KEY_SIZE = 384 };

struct place {
	uint64_t id; /* 0: none */
	char ns[256], key[KEY_SIZE];
};

struct api_answers {
	struct api_answers_options o;
	struct place places[PLACES];
	uint64_t last_id;
};

/* A request while it is answered. */
struct question {
	struct api_answers *s;
	struct call *c;
	const struct api_target *t;
	struct answer_env env;
	enum api_form form;
	enum api_include include;
	uint64_t limit, after, requests;
	mk_str token; /* continue */
	struct answer_filter filter;
};

struct api_answers *api_answers_new(const struct api_answers_options *o)
{
	struct api_answers *s = mk_calloc(1, sizeof(*s));

	if (s) {
		s->o = *o;
		/* Those of another process are unknown here, as they should be. */
		s->last_id = (uint64_t)clock_wall_ms() << 20;
	}
	return s;
}

void api_answers_free(struct api_answers *s)
{
	mk_free(s);
}

/* --- tokens of pages -------------------------------------------------------------------------- */

static bool is_in(mk_str key, mk_str ns)
{
	return ns.n == 0 || (str_starts(key, ns) && key.n > ns.n && key.p[ns.n] == '/');
}

/* The token for the page after the Workload 'key'; "" when memory is out. */
static mk_str token_of(struct question *q, mk_str key)
{
	struct place *p = &q->s->places[(q->s->last_id + 1) % PLACES];

	if (key.n == 0 || is_in(key, q->t->ns) || key.n >= KEY_SIZE ||
	    q->t->ns.n >= sizeof(p->ns)) {
		return key.n > 0 && is_in(key, q->t->ns) ? key : STR("");
	}
	p->id = ++q->s->last_id;
	snprintf(p->ns, sizeof(p->ns), "%.*s", STR_ARG(q->t->ns));
	snprintf(p->key, sizeof(p->key), "%.*s", STR_ARG(key));
	return arena_printf(&q->c->a, "%llu", (unsigned long long)p->id);
}

/* The Workload that a token means; "": none of this namespace that is known. */
static mk_str key_of(const struct question *q)
{
	const struct place *p;
	uint64_t id;

	if (!str_u64(q->token, &id)) {
		return is_in(q->token, q->t->ns) ? q->token : STR("");
	}
	p = &q->s->places[id % PLACES];
	return id > 0 && p->id == id && str_is(q->t->ns, p->ns) ? str_of(p->key) : STR("");
}

/* --- objects ---------------------------------------------------------------------------------- */

static mk_str name_of(struct arena *a, const struct api_resource *r, const struct json *row)
{
	mk_str cluster = json_str(json_get(row, "cluster")), name = json_str(json_get(row, "name"));

	if (strcmp(r->plural, "events") == 0) {
		return arena_printf(a, "%lld", (long long)json_int(json_get(row, "number"), 0));
	}
	if (strcmp(r->plural, "queues") == 0 && cluster.n > 0) {
		return arena_printf(a, "%.*s.%.*s", STR_ARG(cluster), STR_ARG(name));
	}
	if (strcmp(r->plural, "daemons") == 0) {
		name = json_str_at(row, "/lease/identity");
		return name.n > 0 ? name : STR("multikueued");
	}
	return name;
}

static mk_str namespace_of(const struct json *row)
{
	static const char *const places[] = {"/namespace", "/workload/namespace",
					     "/object/namespace"};
	mk_str ns = STR("");

	for (size_t i = 0; i < 3 && ns.n == 0; i++) {
		ns = json_str_at(row, places[i]);
	}
	return ns;
}

/* What the engine says of it, behind what Kubernetes wants of an object. */
static struct json *object_of(struct arena *a, const struct api_resource *r, const struct json *row)
{
	struct json *o = json_new_obj(a), *metadata = json_new_obj(a);
	struct json_iter it = json_iter(row);

	json_set_str(a, metadata, "name", name_of(a, r, row));
	if (r->namespaced) {
		json_set_str(a, metadata, "namespace", namespace_of(row));
	}
	json_set_str(a, o, "apiVersion", STR(NAME_VISIBILITY_API));
	json_set_str(a, o, "kind", str_of(r->kind));
	json_set(a, o, STR("metadata"), metadata);
	while (json_next(&it)) {
		json_append(a, o, it.key, json_share(a, it.val));
	}
	return o;
}

static void no_memory(struct question *q)
{
	call_refuse(q->c, 500, "InternalError", STR("out of memory"));
}

static void put_one(struct question *q, const struct json *row)
{
	struct arena *a = &q->c->a;
	struct json *o = object_of(a, q->t->resource, row), *list, *metadata;

	if (q->form == API_TABLE) {
		list = json_new_arr(a);
		metadata = json_new_obj(a);
		json_add(a, list, o);
		o = api_table(a, q->t->resource, list, metadata, q->include);
	}
	call_put(q->c, o);
}

/* 'answer' is that of the engine; 'token' begins the page behind it, or is "". */
static void put_list(struct question *q, const struct json *answer, mk_str token)
{
	struct arena *a = &q->c->a;
	struct json *o = json_new_obj(a), *metadata = json_new_obj(a), *items = json_new_arr(a);
	struct json_iter rows = json_iter(json_get(answer, "items")), it = json_iter(answer);

	if (!answer) {
		no_memory(q);
		return;
	}
	json_set_str(a, metadata, "resourceVersion", STR(""));
	if (token.n > 0) {
		json_set_str(a, metadata, "continue", token);
	}
	while (json_next(&rows)) {
		json_add(a, items, object_of(a, q->t->resource, rows.val));
	}
	if (q->form == API_TABLE) {
		call_put(q->c, api_table(a, q->t->resource, items, metadata, q->include));
		return;
	}
	json_set_str(a, o, "apiVersion", STR(NAME_VISIBILITY_API));
	json_set_str(a, o, "kind", arena_printf(a, "%sList", q->t->resource->kind));
	json_set(a, o, STR("metadata"), metadata);
	while (json_next(&it)) {
		if (!str_is(it.key, "items") && !str_is(it.key, "continue")) {
			json_append(a, o, it.key, json_share(a, it.val));
		}
	}
	json_set(a, o, STR("items"), items);
	call_put(q->c, o);
}

/* --- what is asked for ------------------------------------------------------------------------ */

/* "phase=Racing,cluster==w1": each a parameter of the same name. */
static bool take_fields(struct question *q, mk_str fields)
{
	const struct {
		const char *name;
		mk_str *value;
	} known[] = {{"phase", &q->filter.phase},
		     {"cluster", &q->filter.cluster},
		     {"clusterQueue", &q->filter.queue}};
	mk_str one, name;

	while (str_split(&fields, ',', &one)) {
		mk_str rest = one;
		size_t i = 0;
		bool has_value = str_index(one, '=') > 0 && str_split(&rest, '=', &name);

		while (has_value && i < 3 && !str_is(name, known[i].name)) {
			i++;
		}
		if (!has_value || i == 3 || strcmp(q->t->resource->plural, "workloads") != 0) {
			call_refuse(q->c, 400, "BadRequest",
				    arena_printf(&q->c->a,
						 "fieldSelector \"%.*s\": expected phase=, "
						 "cluster= or clusterQueue=, of workloads",
						 STR_ARG(one)));
			return false;
		}
		*known[i].value = rest.n > 0 && rest.p[0] == '=' ? str_sub(rest, 1, rest.n) : rest;
	}
	return true;
}

static bool take_include(struct question *q, mk_str include)
{
	static const char *const known[] = {"Metadata", "Object", "None"};

	for (size_t i = 0; i < 3; i++) {
		if (include.n == 0 || str_is(include, known[i])) {
			q->include = (enum api_include)i;
			return true;
		}
	}
	call_refuse(q->c, 400, "BadRequest",
		    arena_printf(&q->c->a, "includeObject=%.*s: expected None, Metadata or Object",
				 STR_ARG(include)));
	return false;
}

/* Those of each client that have no meaning here are let pass. */
static bool take_query(struct question *q)
{
	mk_str passed = STR(""), labels = STR(""), fields = STR(""), include = STR(""),
	       watch = STR("");
	const struct call_param params[] = {{"limit", .number = &q->limit, .most = ANSWER_ROWS_MAX},
					    {"continue", .text = &q->token},
					    {"phase", .text = &q->filter.phase},
					    {"cluster", .text = &q->filter.cluster},
					    {"clusterQueue", .text = &q->filter.queue},
					    {"requests", .number = &q->requests, .most = 1},
					    {"after", .number = &q->after, .most = UINT64_MAX},
					    {"fieldSelector", .text = &fields},
					    {"labelSelector", .text = &labels},
					    {"includeObject", .text = &include},
					    {"watch", .text = &watch},
					    {"pretty", .text = &passed},
					    {"timeout", .text = &passed},
					    {"timeoutSeconds", .text = &passed},
					    {"resourceVersion", .text = &passed},
					    {"resourceVersionMatch", .text = &passed},
					    {"allowWatchBookmarks", .text = &passed},
					    {"sendInitialEvents", .text = &passed},
					    {.name = NULL}};

	if (!call_query(q->c, params)) {
		return false;
	}
	if (str_is(watch, "1") || str_is(watch, "true")) {
		call_refuse(q->c, 405, "MethodNotAllowed",
			    STR("watch is not served: expected get or list"));
		return false;
	}
	if (labels.n > 0) {
		call_refuse(q->c, 400, "BadRequest",
			    STR("labelSelector: these objects have no labels; expected none"));
		return false;
	}
	return take_include(q, include) && take_fields(q, fields);
}

/* --- resources -------------------------------------------------------------------------------- */

static void workloads(struct question *q)
{
	struct answer_filter *f = &q->filter;
	struct json *page;

	f->ns = q->t->ns;
	f->limit = (size_t)q->limit;
	f->requests = q->requests > 0;
	f->after = key_of(q);
	page = q->token.n > 0 && f->after.n == 0 ? NULL : answer_workloads(&q->env, f);
	if (!page && !arena_failed(&q->c->a) && q->token.n > 0) {
		call_refuse(q->c, 410, "Expired",
			    STR("continue: this place in the list is gone; begin again without "
				"it"));
		return;
	}
	put_list(q, page, page ? token_of(q, json_str(json_get(page, "continue"))) : STR(""));
}

static void events(struct question *q)
{
	struct arena *a = &q->c->a;
	struct decisions_filter f = {.after = q->after, .ns = q->t->ns, .limit = (size_t)q->limit};
	struct json *answer;
	mk_str token = STR("");

	f.limit = f.limit > 0 ? f.limit : ANSWER_ROWS_MAX;
	if (q->token.n > 0 && !str_u64(q->token, &f.after)) {
		call_refuse(q->c, 400, "BadRequest", STR("continue: expected a number"));
		return;
	}
	answer = decisions_answer(q->s->o.visibility.decisions, &f, a);
	if (json_len(json_get(answer, "items")) == f.limit) {
		token = arena_printf(a, "%lld", (long long)json_int(json_get(answer, "next"), 0));
	}
	put_list(q, answer, token);
}

/* The replica that answers. */
static void daemons(struct question *q)
{
	struct arena *a = &q->c->a;
	struct json *answer = json_new_obj(a), *items = json_new_arr(a), *row = NULL;
	struct buf text;

	buf_init(&text, HTTP_MAX_ANSWER);
	q->s->o.status(q->s->o.ctx, &text);
	if (!text.failed && json_parse(a, buf_str(&text), &row, NULL) == ERR_OK) {
		json_add(a, items, row);
		json_set(a, answer, STR("items"), items);
	}
	buf_done(&text);
	put_list(q, row ? answer : NULL, STR(""));
}

static void not_found(struct question *q)
{
	call_refuse(q->c, 404, "NotFound",
		    arena_printf(&q->c->a, "%s." NAME_VISIBILITY_GROUP " \"%.*s\" not found",
				 q->t->resource->plural, STR_ARG(q->t->name)));
}

static void one_cluster(struct question *q)
{
	struct json *all = answer_clusters(&q->env);
	struct json_iter it = json_iter(json_get(all, "items"));

	while (json_next(&it)) {
		if (str_eq(json_str(json_get(it.val, "name")), q->t->name)) {
			put_one(q, it.val);
			return;
		}
	}
	all ? not_found(q) : no_memory(q);
}

static void one_workload(struct question *q)
{
	struct json *answer = answer_workload(&q->env, q->t->ns, q->t->name);

	if (answer) {
		put_one(q, answer);
	} else if (arena_failed(&q->c->a)) {
		no_memory(q);
	} else {
		not_found(q);
	}
}

static void one(struct question *q)
{
	if (strcmp(q->t->resource->plural, "workloads") == 0) {
		one_workload(q);
	} else {
		one_cluster(q);
	}
}

static void list(struct question *q)
{
	const char *plural = q->t->resource->plural;

	if (strcmp(plural, "workloads") == 0) {
		workloads(q);
	} else if (strcmp(plural, "events") == 0) {
		events(q);
	} else if (strcmp(plural, "clusters") == 0) {
		put_list(q, answer_clusters(&q->env), STR(""));
	} else if (strcmp(plural, "queues") == 0) {
		put_list(q, answer_queues(&q->env), STR(""));
	} else {
		daemons(q);
	}
}

void api_answers_put(struct api_answers *s, struct call *c, const struct api_target *t)
{
	struct question q = {.s = s,
			     .c = c,
			     .t = t,
			     .form = api_form_of(c->rq->headers),
			     .after = DECISIONS_ALL,
			     .token = STR("")};

	if (q.form == API_UNKNOWN) {
		call_refuse(c, 406, "NotAcceptable",
			    STR("expected application/json in Accept, also as a Table of "
				"meta.k8s.io/v1"));
		return;
	}
	if (!take_query(&q)) {
		return;
	}
	q.env = manager_answers(s->o.visibility.manager, clock_mono_ms(), clock_wall_ms(), &c->a);
	if (t->what == API_ONE) {
		one(&q);
	} else {
		list(&q);
	}
}
