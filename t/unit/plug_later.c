/* SPDX-License-Identifier: Apache-2.0 */
/* A Workload whose text is read only for hooks that look at it. */
#include "core/plug/plug.h"
#include "t/lib/parse_json.h"
#include "t/lib/plug_hook.h"
#include "t/lib/tap.h"

static struct plug *p;
static struct arena a;
static struct plug_incident told;
static char told_workload[16];
static size_t n_read;

static const struct json *read_workload(void *ctx)
{
	n_read++;
	return ctx;
}

static int looks_away(mk_call *c, const mk_view *v, mk_val draft)
{
	is_int(c->host->type(c, c->host->get(c, v->local, "/spec")), MK_OBJ, "the local object");
	ok(v->workload.h != 0 && draft.h != 0, "the Workload has a handle");
	return MK_KEEP;
}

static int looks(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)draft;
	ok(mk_same(mk_str_at(c, v->workload, "/metadata/name"), mk_lit("w")), "its name");
	is_int(c->host->type(c, v->workload), MK_OBJ, "its type");
	return MK_KEEP;
}

static int looks_in_vain(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)draft;
	is_int((int64_t)mk_str_at(c, v->workload, "/metadata/name").n, 0, "no name");
	return MK_KEEP;
}

static int changes_it(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)c->host->set(c, v->workload, "/metadata", draft);
	return MK_KEEP;
}

static enum mk_code call(hook_fn *hook, const char *workload)
{
	static int64_t now_ms;
	struct plug_view v = {.now_wall_ms = now_ms += 100000}; /* far apart: nothing rests */
	struct plug_result r = {.verdict = 0};
	struct mk_err err = {0};

	arena_clear(&a);
	v.local = parse_json(&a, "{\"metadata\":{\"name\":\"j\"},\"spec\":{}}");
	v.remote = parse_json(&a, "{\"status\":{}}");
	v.later = (struct plug_later){.read = read_workload,
				      .ctx = workload ? parse_json(&a, workload) : NULL,
				      .ns = STR("s"),
				      .name = STR("w"),
				      .uid = STR("u")};
	hook_does = hook;
	n_read = 0;
	return plug_status(p, 0, &v, parse_json(&a, "{}"), &a, &r, &err);
}

static void tell(void *ctx, const struct plug_incident *in)
{
	(void)ctx;
	told = *in;
	snprintf(told_workload, sizeof(told_workload), "%.*s/%.*s", STR_ARG(in->ns),
		 STR_ARG(in->workload));
}

int main(void)
{
	static const char workload[] = "{\"metadata\":{\"name\":\"w\"}}";

	p = plug_new(NULL);
	arena_init(&a, 0);
	is_int(plug_add(p, &hook_entry, "", NULL), ERR_OK, "added");
	is_int(call(looks_away, workload), ERR_OK, "a hook that does not look");
	is_int((int64_t)n_read, 0, "nothing is read");
	is_int(call(looks, workload), ERR_OK, "a hook that looks twice");
	is_int((int64_t)n_read, 1, "it is read once");
	plug_on_incident(p, tell, NULL);
	is_int(call(changes_it, workload), ERR_PLUGIN_FAULT, "it cannot be changed");
	ok(told.is_fault, "that is told");
	is_str(told_workload, "s/w", "of which Workload, too");
	is_int(call(looks_away, NULL), ERR_OK, "without memory, and it does not look");
	is_int(call(looks_in_vain, NULL), ERR_NO_MEMORY, "without memory");
	arena_done(&a);
	plug_free(p);
	return done_testing();
}
