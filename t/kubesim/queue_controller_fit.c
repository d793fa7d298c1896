/* SPDX-License-Identifier: Apache-2.0 */
/* Which flavors of a ClusterQueue a Workload would get, and the texts when it gets none. */
#include "core/base/hash.h"
#include "t/kubesim/queue_controller.h"

enum { MAX_RESOURCES = 16 };

struct request {
	const char *resource; /* interned */
	int64_t milli;
	const char *flavor; /* chosen */
};

struct fit {
	struct ks_actors *k;
	const struct cq *q;
	struct cq_quota_use *use; /* of the pod sets before, and of this one */
	size_t n_use;
	struct request req[MAX_RESOURCES];
	size_t n_req;
	mk_str set; /* name of the pod set */
	mk_str why;
};

static void add(struct fit *f, mk_str resource, int64_t milli, bool max)
{
	const char *name = intern(f->k, resource);

	for (size_t i = 0; i < f->n_req; i++) {
		if (f->req[i].resource == name) {
			int64_t *m = &f->req[i].milli;

			*m = max ? (*m > milli ? *m : milli) : *m + milli;
			return;
		}
	}
	if (f->n_req < MAX_RESOURCES && name != NULL) {
		f->req[f->n_req++] = (struct request){.resource = name, .milli = milli};
	}
}

static void add_list(struct fit *f, const struct json *list, bool max)
{
	struct json_iter r = json_iter(list);

	while (json_next(&r)) {
		int64_t milli;

		if (!quantity_parse(json_str(r.val), &milli)) {
			milli = json_int(r.val, 0) * 1000;
		}
		add(f, r.key, milli, max);
	}
}

static void add_containers(struct fit *f, const struct json *containers, bool max)
{
	struct json_iter c = json_iter(containers);

	while (json_next(&c)) {
		const struct json *requests = json_at(c.val, "/resources/requests");

		add_list(f, requests != NULL ? requests : json_at(c.val, "/resources/limits"), max);
	}
}

/* Sum of the containers, at least the largest init container, plus overhead; times the pods. */
static void load_requests(struct fit *f, const struct json *set)
{
	const struct json *spec = json_at(set, "/template/spec");
	int64_t count = json_int(json_get(set, "count"), 1);

	f->n_req = 0;
	f->set = json_str(json_get(set, "name"));
	add_containers(f, json_get(spec, "containers"), false);
	add_containers(f, json_get(spec, "initContainers"), true);
	add_list(f, json_get(spec, "overhead"), false);
	for (size_t i = 0; i < f->n_req; i++) {
		f->req[i].milli *= count;
	}
}

uint64_t cq_quota_signature(struct ks_actors *k, const struct json *wl)
{
	struct fit f = {.k = k};
	struct json_iter sets = json_iter(json_at(wl, "/spec/podSets"));
	uint64_t sum = 0;

	while (json_next(&sets)) {
		load_requests(&f, sets.val);
		for (size_t i = 0; i < f.n_req; i++) {
			sum = (sum ^ hash64(str_of(f.req[i].resource))) * 31;
			sum = sum + (uint64_t)f.req[i].milli * 1000003;
		}
		sum *= 17;
	}
	return sum;
}

static const struct amount *find_amount(const struct fit *f, const char *resource,
					const char *flavor)
{
	for (size_t i = 0; i < f->q->n_amounts; i++) {
		const struct amount *m = &f->q->amount[i];

		if (m->resource == resource && (!flavor || m->flavor == flavor)) {
			return m;
		}
	}
	return NULL;
}

static int64_t assigned(const struct fit *f, const struct amount *m)
{
	int64_t sum = 0;

	for (size_t i = 0; i < f->n_use; i++) {
		if (f->use[i].flavor == m->flavor && f->use[i].resource == m->resource) {
			sum += f->use[i].milli;
		}
	}
	return sum;
}

static void add_why(struct fit *f, mk_str text)
{
	f->why = f->why.n == 0
			 ? text
			 : arena_printf(&f->k->a, "%.*s, %.*s", STR_ARG(f->why), STR_ARG(text));
}

/* Does request 'r' fit into flavor 'flavor'? */
static bool fits(struct fit *f, const struct request *r, const char *flavor)
{
	const struct amount *m = find_amount(f, r->resource, flavor);
	struct arena *a = &f->k->a;
	int64_t before, missing, most;

	if (!m) {
		return false;
	}
	before = assigned(f, m);
	missing = before + r->milli - cq_quota_free(f->k, f->q, m);
	if (missing <= 0) {
		return true;
	}
	most = cq_quota_most(f->k, f->q, m);
	if (before + r->milli > most) {
		add_why(f,
			arena_printf(a,
				     "insufficient quota for %s in flavor %s, previously "
				     "considered podsets requests (%s) + current podset request "
				     "(%s) > maximum capacity (%s)",
				     r->resource, flavor, quantity_text(a, r->resource, before).p,
				     quantity_text(a, r->resource, r->milli).p,
				     quantity_text(a, r->resource, most).p));
	} else {
		add_why(f, arena_printf(a,
					"insufficient unused quota for %s in flavor %s, %s more "
					"needed",
					r->resource, flavor,
					quantity_text(a, r->resource, missing).p));
	}
	return false;
}

static bool group_fits(struct fit *f, size_t group, const char *flavor)
{
	for (size_t i = 0; i < f->n_req; i++) {
		const struct amount *m = find_amount(f, f->req[i].resource, NULL);

		if (m != NULL && m->group == group && !fits(f, &f->req[i], flavor)) {
			return false;
		}
	}
	return true;
}

/* Chooses the first flavor of the group that takes all of its resources. */
static bool choose(struct fit *f, size_t group)
{
	const char *last = NULL;

	for (size_t i = 0; i < f->q->n_amounts; i++) {
		const struct amount *m = &f->q->amount[i];

		if (m->group != group || m->flavor == last) {
			continue;
		}
		last = m->flavor;
		if (!group_fits(f, group, m->flavor)) {
			continue;
		}
		for (size_t j = 0; j < f->n_req; j++) {
			const struct amount *own = find_amount(f, f->req[j].resource, NULL);

			if (own != NULL && own->group == group) {
				f->req[j].flavor = m->flavor;
			}
		}
		return true;
	}
	return false;
}

static bool fit_set(struct fit *f)
{
	f->why = (mk_str){NULL, 0};
	for (size_t i = 0; i < f->n_req; i++) {
		const struct amount *m = find_amount(f, f->req[i].resource, NULL);

		if (!m) {
			f->why = arena_printf(&f->k->a, "resource %s unavailable in ClusterQueue",
					      f->req[i].resource);
			return false;
		}
		if (!f->req[i].flavor && !choose(f, m->group)) {
			return false;
		}
	}
	return true;
}

static struct json *assignment(struct fit *f, const struct json *set)
{
	struct arena *a = &f->k->a;
	struct json *out = json_new_obj(a), *flavors = json_new_obj(a), *usage = json_new_obj(a);

	json_set_int(a, out, "count", json_int(json_get(set, "count"), 1));
	for (size_t i = 0; i < f->n_req; i++) {
		const struct request *r = &f->req[i];

		json_set_str(a, flavors, r->resource, str_of(r->flavor));
		json_set_str(a, usage, r->resource, quantity_text(a, r->resource, r->milli));
		if (f->n_use < QUOTA_MAX_USES) {
			f->use[f->n_use++] = (struct cq_quota_use){
				.flavor = r->flavor, .resource = r->resource, .milli = r->milli};
		}
	}
	if (f->n_req != 0) {
		json_set(a, out, STR("flavors"), flavors);
	}
	json_set_str(a, out, "name", f->set);
	if (f->n_req != 0) {
		json_set(a, out, STR("resourceUsage"), usage);
	}
	return out;
}

struct json *cq_admission(struct ks_actors *k, const struct cq *q, const struct json *wl,
			  mk_str (*flavor_of)(void *ctx, size_t set, mk_str resource), void *ctx,
			  struct cq_quota_use *ret_use, size_t *ret_n)
{
	struct fit f = {.k = k, .q = q, .use = ret_use};
	struct json *admission = json_new_obj(&k->a), *list = json_new_arr(&k->a);
	struct json_iter sets = json_iter(json_at(wl, "/spec/podSets"));

	for (size_t set = 0; json_next(&sets); set++) {
		size_t n = 0;

		load_requests(&f, sets.val);
		for (size_t i = 0; i < f.n_req; i++) {
			mk_str flavor = flavor_of(ctx, set, str_of(f.req[i].resource));

			if (flavor.n > 0) {
				f.req[n] = f.req[i];
				f.req[n++].flavor = intern(k, flavor);
			}
		}
		f.n_req = n;
		json_add(&k->a, list, assignment(&f, sets.val));
	}
	json_set_str(&k->a, admission, "clusterQueue", str_of(q->name));
	json_set(&k->a, admission, STR("podSetAssignments"), list);
	*ret_n = f.n_use;
	return admission;
}

bool cq_quota_fits(struct ks_actors *k, const struct cq *q, const struct json *wl,
		   struct json **ret_admission, struct cq_quota_use *ret_use, size_t *ret_n,
		   mk_str *ret_why)
{
	struct fit f = {.k = k, .q = q, .use = ret_use};
	struct json *admission = json_new_obj(&k->a), *list = json_new_arr(&k->a);
	struct json_iter sets = json_iter(json_at(wl, "/spec/podSets"));

	while (json_next(&sets)) {
		load_requests(&f, sets.val);
		if (!fit_set(&f)) {
			*ret_why =
				arena_printf(&k->a, "couldn't assign flavors to pod set %.*s: %.*s",
					     STR_ARG(f.set), STR_ARG(f.why));
			return false;
		}
		json_add(&k->a, list, assignment(&f, sets.val));
	}
	json_set_str(&k->a, admission, "clusterQueue", str_of(q->name));
	json_set(&k->a, admission, STR("podSetAssignments"), list);
	*ret_admission = admission;
	*ret_n = f.n_use;
	return true;
}
