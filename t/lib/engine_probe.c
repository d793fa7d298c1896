/* SPDX-License-Identifier: Apache-2.0 */
/* The probe; see engine_probe.h. */
#include "t/lib/engine_probe.h"

struct probe probe;

/* A scalar as text; "-" for what is absent or no scalar. */
static void put_scalar(mk_call *c, mk_val v, char *to, size_t size)
{
	mk_str s;
	int64_t i;

	if (c->host->str(c, v, &s)) {
		snprintf(to, size, "%.*s", (int)s.n, s.p);
	} else if (c->host->i64(c, v, &i)) {
		snprintf(to, size, "%lld", (long long)i);
	} else if (c->host->type(c, v) == MK_BOOL) {
		snprintf(to, size, "%s", c->host->boolean(c, v) ? "true" : "false");
	} else {
		snprintf(to, size, "-");
	}
}

static void put_list(mk_call *c, mk_val list, char *to, size_t size)
{
	size_t at = 0;

	to[0] = '\0';
	for (size_t i = 0; i < c->host->len(c, list) && at < size; i++) {
		mk_val one = c->host->at(c, list, i), v = c->host->get(c, one, "/value");
		char name[128], value[128];

		put_scalar(c, c->host->get(c, one, "/name"), name, sizeof(name));
		put_scalar(c, c->host->type(c, v) ? v : c->host->get(c, one, "/amount"), value,
			   sizeof(value));
		at += (size_t)snprintf(to + at, size - at, "%s=%s,", name, value);
	}
}

static void note(mk_call *c, const mk_dispatch *d, const char *at, char *to, size_t size)
{
	mk_val v = at[0] == 'c'   ? d->clusters
		   : at[0] == 'j' ? d->job
		   : at[0] == 'r' ? d->requests
				  : d->config;

	if (at[0] == 't') {
		snprintf(to, size, "%lld", (long long)d->reserved_ms);
		return;
	}
	v = c->host->get(c, v, at + 1);
	if (c->host->type(c, v) == MK_ARR) {
		put_list(c, v, to, size);
	} else {
		put_scalar(c, v, to, size);
	}
}

static int nominate(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	probe.calls++;
	for (size_t i = 0; i < PROBE_MAX; i++) {
		if (probe.at[i]) {
			note(c, d, probe.at[i], probe.got[i], sizeof(probe.got[i]));
		}
	}
	for (uint32_t i = 0; i < probe.n; i++) {
		pick->index[pick->n++] = probe.pick[i];
	}
	pick->wait_ms = probe.wait_ms;
	return MK_SET;
}

static const mk_dispatcher dispatcher = {
	.struct_size = sizeof(mk_dispatcher),
	.flags = MK_WANTS_FACTS | MK_WANTS_PLACES,
	.name = "test.io/probe",
	.nominate = nominate,
	.config_schema = "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
			 "\"rounds\":{\"type\":\"integer\",\"minimum\":1},"
			 "\"more\":{\"type\":\"object\"}}}",
};
static const void *const items[] = {&dispatcher};
static const mk_factory dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER, items};
static const mk_factory *const factories[] = {&dispatchers, NULL};
static const mk_entry plugin = MK_ENTRY_NEEDS(3, "io.test.probe", "1.0.0", factories);

struct world *probe_world(size_t n)
{
	struct world *w = w_new(n);

	w_stop(w);
	w_plugin(w, &plugin);
	w->dispatcher = "test.io/probe";
	memset(&probe, 0, sizeof(probe));
	probe.n = 1;
	probe.wait_ms = 1000;
	return w;
}

struct object *probe_queue(struct world *w, cluster_id c, const char *name, const char *spec,
			   const char *quota, const char *used)
{
	char text[2048];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s%s\"resourceGroups\":[{\"flavors\":[{"
		 "\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",%s}]}]}]},\"status\":{"
		 "\"conditions\":[{\"type\":\"Active\",\"status\":\"True\"}],"
		 "\"flavorsReservation\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
		 "\"total\":\"%s\"}]}]}}",
		 name, spec, spec[0] ? "," : "", quota, used);
	if (!strcmp(name, "cq")) {
		w_put(w, c, KIND_LOCAL_QUEUE,
		      "{\"metadata\":{\"name\":\"q\",\"namespace\":\"ns\"},\"spec\":{"
		      "\"clusterQueue\":\"cq\"}}");
	}
	return w_put(w, c, KIND_CLUSTER_QUEUE, text);
}

struct object *probe_job(struct world *w, const char *name)
{
	struct object *wl = a_job(w, name);

	w_patch(w, wl,
		"{\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":2,\"template\":{\"spec\":{"
		"\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]"
		"}}");
	w_settle(w);
	return wl;
}

int64_t probe_int(size_t i)
{
	int64_t v;

	return str_i64(str_of(probe.got[i]), &v) ? v : -1;
}
