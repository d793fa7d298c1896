/* SPDX-License-Identifier: Apache-2.0 */
/* Which states the engine knows, so that they need not be parsed, and that it keeps their bytes. */
#include "core/engine/state.h"
#include "core/engine/store/kept.h"
#include "t/lib/engine_world.h"

static bool knows(struct world *w, struct event ev)
{
	return engine_knows(w->e, &ev);
}

#define CHECK                                                                                      \
	"{\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"x\"},\"spec\":{\"a\":\"\\u003c\"}," \
	"\"status\":{\"b\":\"\\u003c\"}}"

static void keeps_bytes(struct world *w)
{
	const mk_str text = STR(CHECK);
	struct op_list out = {.arena = &w->arena};
	struct event ev = {.type = EV_OBSERVED,
			   .kind = KIND_CHECK,
			   .epoch = 1,
			   .name = STR("x"),
			   .uid = STR("u"),
			   .rv = 1000000,
			   .raw = text,
			   .via = VIA_WATCH};
	const struct record *r;
	struct json *obj = NULL;

	json_parse(&w->arena, text, &obj, NULL);
	ev.obj = obj;
	ev.raw_spec.p = strstr(text.p, "\"spec\"");
	ev.raw_spec.n = (size_t)(strstr(text.p, "\"status\"") - ev.raw_spec.p);
	w_engine(w, &ev, 1, &out);
	r = manager_get(w->e, KIND_CHECK, STR(""), STR("x"));
	is_str(r ? kept_text(r->kept, &w->arena).p : "",
	       "{\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"x\"},\"status\":{\"b\":"
	       "\"\\u003c\"}}",
	       "the bytes as they came, without the spec, are kept");
}

int main(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	struct event ev = {.type = EV_OBSERVED,
			   .kind = KIND_WORKLOAD,
			   .epoch = 1,
			   .ns = STR("ns"),
			   .name = STR("wl-j"),
			   .via = VIA_WATCH};
	struct event other;

	w_settle(w);
	ev.ns = str_of(wl->ns);
	ev.name = str_of(wl->name);
	ev.uid = str_of(wl->uid);
	ev.rv = wl->rv;
	ok(knows(w, ev), "the state that it observed");
	ev.type = EV_OP_DONE;
	ok(knows(w, ev), "whether an event or an answer shows it");
	other = ev;
	other.rv--;
	ok(knows(w, other), "an older one");
	other.rv = ev.rv + 1;
	ok(!knows(w, other), "not a newer one");
	other = ev;
	other.uid = STR("another");
	ok(!knows(w, other), "not another object of the name");
	other = ev;
	other.epoch++;
	ok(!knows(w, other), "not one of another epoch");
	other = ev;
	other.name = STR("unseen");
	ok(!knows(w, other), "not an object that it has not seen");
	other = ev;
	other.cluster = 77;
	ok(!knows(w, other), "nor of a cluster that is not there");
	keeps_bytes(w);
	w_free(w);
	return tap_done();
}
