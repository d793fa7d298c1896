/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: objects as servers, controllers and users may write them, given to the engine. A job
 * runs on one of three workers; then each line of the input picks an object and merges its JSON
 * into it, or deletes it, or moves time on; its first byte also says how the engine's writes end.
 * Whatever is there, the engine comes to rest, and what it asks for is well-formed: a delete names
 * a uid, a body the object that it is for.
 */
#include "t/fuzz/fuzz.h"
#include "t/lib/engine_world.h"

enum { MAX_LINES = 32, MAX_STEPS = 4000 };

/* How the next writes end. */
enum ending { END_APPLIED, END_SHOWN, END_CONFLICT, END_LOST, END_GONE, END_NEVER, N_ENDINGS };

static bool is_name(mk_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '/' || s.p[i] == '\0') {
			return false;
		}
	}
	return s.n > 0;
}

static void judge(const struct op *op)
{
	if (op->type > OP_GET) {
		return;
	}
	FUZZ_MUST(is_name(op->name) && (op->ns.n == 0 || is_name(op->ns)));
	FUZZ_MUST(op->type != OP_DELETE || op->uid.n > 0);
	if (op->type != OP_DELETE && op->type != OP_GET) {
		FUZZ_MUST(json_type(op->body) == JSON_OBJ);
	}
	if (op->type == OP_CREATE) {
		FUZZ_MUST(str_eq(json_str_at(op->body, "/metadata/name"), op->name));
		FUZZ_MUST(op->cluster != CLUSTER_MANAGER);
	}
}

static void answer(struct world *w, const struct op *op, enum ending how)
{
	struct pending *p;

	if (op->type > OP_GET || how == END_NEVER || w->n_q >= MAX_EVENTS) {
		return;
	}
	p = w_event(w, EV_OP_DONE, op->cluster, op->kind);
	p->ev.op_id = op->id;
	p->ev.outcome = how == END_LOST       ? OUTCOME_UNKNOWN
			: how >= END_CONFLICT ? OUTCOME_REFUSED
					      : OUTCOME_APPLIED;
	p->ev.code = how == END_CONFLICT ? ERR_CONFLICT
		     : how == END_LOST   ? ERR_UNKNOWN
		     : how == END_GONE   ? ERR_NOT_FOUND
					 : ERR_OK;
	if (how == END_SHOWN && op->body != NULL) {
		p->text = w_dup(json_write(&w->arena, op->body));
	}
}

/* One step with what waits; what it asks for is judged and answered, and carried out nowhere. */
static void step(struct world *w, enum ending how)
{
	struct op_list out = {.arena = &w->arena};

	w_ask(w, &out);
	for (size_t i = 0; i < out.n; i++) {
		judge(&out.v[i]);
		answer(w, &out.v[i], how);
	}
	arena_clear(&w->arena);
}

static void settle(struct world *w, enum ending how)
{
	int steps = 0;

	do {
		step(w, how);
		FUZZ_MUST(++steps < MAX_STEPS);
	} while (w->n_q > 0 || engine_next_ms(w->e) <= w->now);
}

static struct object *pick(struct world *w, unsigned which)
{
	unsigned n = 0;

	while (n < MAX_OBJECTS && w->o[n].text != NULL) {
		n++;
	}
	return n > 0 ? &w->o[which % n] : NULL;
}

/*
 * Merges 'patch' into an object. Its name, uid and version stay, as core/kube lets
 * nothing through that has none.
 */
static void change(struct world *w, struct object *o, mk_str patch)
{
	static const char *const kept[] = {"name", "namespace", "uid"};
	const char *values[] = {o->name, o->ns, o->uid};
	struct json *v = NULL, *p = NULL, *meta;
	struct arena a;

	arena_init(&a, 0);
	if (json_parse(&a, patch, &p, NULL) == ERR_OK && json_type(p) == JSON_OBJ &&
	    json_parse(&a, str_of(o->text), &v, NULL) == ERR_OK) {
		v = json_merge(&a, v, p);
		meta = json_get(v, "metadata");
		if (json_type(meta) == JSON_OBJ) {
			for (size_t i = 0; i < 3; i++) {
				json_set_str(&a, meta, kept[i], str_of(values[i]));
			}
			o->rv = ++w->rv;
			json_set_str(&a, meta, "resourceVersion",
				     arena_printf(&a, "%llu", (unsigned long long)o->rv));
			free(o->text);
			o->text = w_dup(json_write(&a, v));
			w_tell(w, o, EV_OBSERVED, VIA_WATCH);
		}
	}
	arena_done(&a);
}

/* <how><what><which><JSON> */
static void line(struct world *w, mk_str s)
{
	enum ending how = (unsigned char)s.p[0] % N_ENDINGS;
	struct object *o = pick(w, (unsigned char)s.p[2]);

	switch (s.p[1]) {
	case 'd':
		if (o != NULL) {
			w_tell(w, o, EV_GONE, VIA_WATCH);
		}
		break;
	case 't':
		w->now += 20000;
		w->wall += 20000;
		break;
	case 'l':
		w_link(w, 1 + (unsigned char)s.p[2] % 3, LINK_DOWN);
		break;
	case 'u':
		w_link(w, 1 + (unsigned char)s.p[2] % 3, LINK_UP);
		break;
	default:
		if (o != NULL) {
			change(w, o, (mk_str){s.p + 3, s.n - 3});
		}
		break;
	}
	settle(w, how);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	mk_str rest = {(const char *)data, size}, s;
	struct world *w;

	if (size > 8192) {
		return 0;
	}
	w = w_new(3);
	w->gate_elastic = w->gate_quota = true;
	w_restart(w);
	running_job(w);
	for (int i = 0; i < MAX_LINES && str_split(&rest, '\n', &s); i++) {
		if (s.n >= 3) {
			line(w, s);
		}
	}
	w_free(w);
	return 0;
}
