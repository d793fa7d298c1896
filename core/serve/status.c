/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /status; see status.h. */
#include "core/serve/status.h"

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/timefmt.h"

enum { PART_MAX = 64 * 1024 };

/* Whose Lease it is and who has it, which may be a program that we know nothing of: any text. */
static struct json *lease_of(struct arena *a, const struct lease_view *l)
{
	struct json *o = json_new_obj(a);

	json_set_str(a, o, "namespace", str_of(l->ns));
	json_set_str(a, o, "name", str_of(l->name));
	json_set_str(a, o, "identity", str_of(l->identity));
	json_set_str(a, o, "holder", str_of(l->holder));
	return o;
}

static struct json *kueue_of(struct arena *a, const struct kueue_view *v)
{
	struct json *o = json_new_obj(a);

	json_set_str(a, o, "takenFor", arena_printf(a, "0.%d", v->takes));
	json_set_bool(a, o, "configured", v->named);
	json_set_str(a, o, "seems", str_of(kueue_seen_text(v->seems)));
	json_set_bool(a, o, "differs", kueue_seen_differs(v));
	return o;
}

/* The Workload that has waited for a worker the longest; NULL: none does. */
static struct json *first_of(struct arena *a, const struct engine *e)
{
	struct json *o;
	mk_str ns, name;
	int64_t since;

	if (!engine_first_waiting(e, &ns, &name, &since)) {
		return NULL;
	}
	o = json_new_obj(a);
	json_set_str(a, o, "namespace", ns);
	json_set_str(a, o, "name", name);
	json_set_str(a, o, "since", time_rfc3339(a, clock_wall_ms() - (clock_mono_ms() - since)));
	return o;
}

struct counts {
	struct arena *a;
	struct json *o;
};

static void add_phase(void *ctx, const char *phase, size_t n)
{
	struct counts *c = ctx;

	if (n > 0) {
		json_set_int(c->a, c->o, phase, (int64_t)n);
	}
}

static void put(struct buf *out, const char *name, struct arena *a, const struct json *v)
{
	buf_printf(out, "\"%s\":", name);
	buf_add(out, v && !arena_failed(a) ? json_write(a, v) : STR("null"));
	buf_add(out, STR(","));
}

bool status_write(struct fleet *f, const struct telemetry_sources *s, bool clusters,
		  struct buf *out)
{
	const struct engine *e = manager_engine(s->manager);
	struct engine_stats st;
	struct counts phases;
	struct arena a;
	struct json *first;

	engine_get_stats(e, &st);
	arena_init(&a, PART_MAX);
	phases = (struct counts){&a, json_new_obj(&a)};
	engine_phases(e, add_phase, &phases);
	first = first_of(&a, e);
	buf_printf(out, "{\"version\":\"%s\",\"leader\":%s,", MK_VERSION,
		   s->leads ? "true" : "false");
	put(out, "lease", &a, s->lease ? lease_of(&a, s->lease) : NULL);
	put(out, "kueue", &a, s->kueue.takes != 0 ? kueue_of(&a, &s->kueue) : NULL);
	put(out, "phases", &a, phases.o);
	if (first) {
		put(out, "first", &a, first);
	}
	arena_done(&a);
	buf_printf(out,
		   "\"workloads\":%zu,\"queued\":%zu,\"pending\":%zu,\"dispatched\":%llu,"
		   "\"admitted\":%llu,\"finished\":%llu,\"storeBytes\":%zu",
		   st.workloads, st.queued, manager_pending(s->manager),
		   (unsigned long long)st.dispatched, (unsigned long long)st.admitted,
		   (unsigned long long)st.finished, st.bytes);
	return (!clusters || (buf_add(out, STR(",\"clusters\":")) && fleet_write(f, out))) &&
	       buf_add(out, STR("}\n"));
}
