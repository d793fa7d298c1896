/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod sets of Workloads: the requests of their pods, and what an admission gave them; see pods.h.
 */
#include "core/api/pods.h"

#include <string.h>

#include "core/api/amount.h"
#include "core/api/field.h"

/* --- requests of one pod --------------------------------------------------------------------- */

/* Amounts by resource, in order of first mention. */
struct sums {
	struct arena *a;
	struct api_request *v;
	size_t n, size;
	bool up_to; /* add: takes the larger instead of the sum */
};

static int64_t *sum_of(struct sums *s, mk_str resource)
{
	for (size_t i = 0; i < s->n; i++) {
		if (str_eq(s->v[i].resource, resource)) {
			return &s->v[i].amount;
		}
	}
	if (s->n == s->size) {
		size_t size = s->size ? s->size * 2 : 8;
		struct api_request *bigger = arena_array(s->a, size, sizeof(*bigger));

		if (!bigger) {
			return NULL;
		}
		if (s->n > 0) {
			memcpy(bigger, s->v, s->n * sizeof(*bigger));
		}
		s->v = bigger;
		s->size = size;
	}
	s->v[s->n].resource = resource;
	return &s->v[s->n++].amount;
}

struct pod_reader {
	struct arena *a;
	struct api_faults *faults;
	mk_str path; /* of the pod template's spec */
};

static void add_one(struct pod_reader *r, struct sums *s, mk_str resource, const struct json *v,
		    const char *what)
{
	struct api_amount q = {.v = 0};
	int64_t *sum;

	if (!api_amount_read(r->a, v, resource, true, &q) || q.v < 0) {
		if (!arena_failed(r->a)) {
			api_fault_add(
				r->a, r->faults, 0, r->path,
				"Invalid value: \"%.*s\": %s of %.*s must be a quantity of at "
				"least 0",
				STR_ARG(str_cut(json_str(v), 64)), what,
				STR_ARG(str_cut(resource, 253)));
		}
		return;
	}
	sum = sum_of(s, resource);
	if (sum != NULL && s->up_to) {
		*sum = q.v > *sum ? q.v : *sum;
	} else if (sum != NULL) {
		*sum = api_add(*sum, q.v);
	}
}

/* Requests of a container; a limit stands for a request that is not there. */
static void add_container(struct pod_reader *r, struct sums *s, const struct json *container)
{
	const struct json *resources = api_get(container, "resources");
	const struct json *requests = api_get(resources, "requests");
	struct json_iter it = json_iter(json_type(requests) == JSON_OBJ ? requests : NULL);

	while (json_next(&it)) {
		add_one(r, s, it.key, it.val, "request");
	}
	resources = api_get(resources, "limits");
	it = json_iter(json_type(resources) == JSON_OBJ ? resources : NULL);
	while (json_next(&it)) {
		if (!json_getn(requests, it.key)) {
			add_one(r, s, it.key, it.val, "limit");
		}
	}
}

/*
 * What Kubernetes reserves for a pod: the sum of containers and sidecars or, if larger, the most
 * that an init container needs; and the overhead.
 */
static void pod_requests(struct pod_reader *r, const struct json *spec, struct sums *out)
{
	struct sums start = {.a = r->a, .up_to = true};
	struct sums sidecars = {.a = r->a};
	struct json_iter it = json_iter(api_get(spec, "initContainers"));
	const struct json *overhead = api_get(spec, "overhead");

	while (json_next(&it)) {
		bool stays = str_is(json_str(api_get(it.val, "restartPolicy")), "Always");
		struct sums one = {.a = r->a};

		add_container(r, stays ? &sidecars : &one, it.val);
		for (size_t i = 0; i < one.n; i++) {
			int64_t *most = sum_of(&start, one.v[i].resource);
			int64_t *beside = sum_of(&sidecars, one.v[i].resource);
			int64_t both = api_add(one.v[i].amount, beside != NULL ? *beside : 0);

			if (most != NULL && both > *most) {
				*most = both;
			}
		}
	}
	it = json_iter(api_get(spec, "containers"));
	while (json_next(&it)) {
		add_container(r, out, it.val);
	}
	for (size_t i = 0; i < sidecars.n; i++) {
		int64_t *sum = sum_of(out, sidecars.v[i].resource);

		if (sum != NULL) {
			*sum = api_add(*sum, sidecars.v[i].amount);
		}
	}
	for (size_t i = 0; i < start.n; i++) {
		int64_t *sum = sum_of(out, start.v[i].resource);

		if (sum != NULL && start.v[i].amount > *sum) {
			*sum = start.v[i].amount;
		}
	}
	it = json_iter(json_type(overhead) == JSON_OBJ ? overhead : NULL);
	while (json_next(&it)) {
		add_one(r, out, it.key, it.val, "overhead");
	}
}

/* --- pod sets -------------------------------------------------------------------------------- */

static const struct json *by_name(const struct json *list, mk_str name)
{
	struct json_iter it = json_iter(list);

	while (json_next(&it)) {
		if (str_eq(json_str(api_get(it.val, "name")), name)) {
			return it.val;
		}
	}
	return NULL;
}

static int64_t times(int64_t x, int64_t n)
{
	int64_t product;

	return __builtin_mul_overflow(x, n, &product) ? INT64_MAX : product;
}

/*
 * What an admitted pod set holds, as its assignment says: flavors, and usage where it differs from
 * the requests.
 */
static void take_assignment(struct pod_reader *r, const struct json *assignment,
			    struct api_pod_set *ps, bool whole)
{
	const struct json *usage = api_get(assignment, "resourceUsage");
	const struct json *flavors = api_get(assignment, "flavors");

	for (size_t i = 0; i < ps->n; i++) {
		struct api_request *q = &ps->requests[i];
		const struct json *held = json_getn(usage, q->resource);
		struct api_amount amount;

		q->flavor = json_str(json_getn(flavors, q->resource));
		if (held != NULL && whole &&
		    api_amount_read(r->a, held, q->resource, true, &amount) && amount.v >= 0) {
			q->amount = amount.v;
		}
	}
}

static void read_set(struct pod_reader *r, const struct json *v, const struct json *status,
		     struct api_pod_set *ps)
{
	const struct json *assignments = api_get(api_get(status, "admission"), "podSetAssignments");
	struct sums sums = {.a = r->a};
	const struct json *assignment, *back;
	int64_t count, all, gone;

	ps->name = json_str(api_get(v, "name"));
	ps->name = ps->name.n > 0 ? ps->name : STR("main");
	ps->spec = api_get(api_get(v, "template"), "spec");
	assignment = by_name(assignments, ps->name);
	all = json_int(api_get(v, "count"), 1);
	all = json_int(api_get(assignment, "count"), all);
	all = all < 0 ? 0 : all;
	back = by_name(api_get(status, "reclaimablePods"), ps->name);
	gone = json_int(api_get(back, "count"), 0);
	count = gone > 0 ? all - gone : all;
	ps->count = count < 0 ? 0 : count;
	pod_requests(r, ps->spec, &sums);
	for (size_t i = 0; i < sums.n; i++) {
		sums.v[i].amount = times(sums.v[i].amount, ps->count);
	}
	if (sum_of(&sums, STR("pods")) != NULL) {
		*sum_of(&sums, STR("pods")) = ps->count;
	}
	ps->requests = sums.v;
	ps->n = sums.n;
	take_assignment(r, assignment, ps, ps->count == all);
}

enum mk_code api_pod_sets_read(struct arena *a, const struct json *workload,
			       struct api_faults *faults, struct api_pod_sets *ret)
{
	const struct json *spec = api_get(workload, "spec");
	const struct json *list = api_get(spec, "podSets");
	struct json_iter it = json_iter(list);
	struct pod_reader r = {a, faults, STR("spec.podSets")};
	struct api_pod_sets sets = {arena_array(a, json_len(list), sizeof(*sets.v)), 0};

	if (!sets.v) {
		return ERR_NO_MEMORY;
	}
	while (json_next(&it) && !arena_failed(a)) {
		r.path = arena_printf(a, "spec.podSets[%zu].template.spec", sets.n);
		read_set(&r, it.val, api_get(workload, "status"), &sets.v[sets.n++]);
	}
	if (arena_failed(a)) {
		return ERR_NO_MEMORY;
	}
	*ret = sets;
	return ERR_OK;
}
