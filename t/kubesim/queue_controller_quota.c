/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterQueues, their quota and their pending Workloads, read from the store and kept in step. */
#include "core/base/alloc.h"
#include "core/base/timefmt.h"
#include "t/kubesim/queue_controller.h"

enum { PER_MILLE = 1000 };

/* --- quantities ------------------------------------------------------------------------------- */

static const struct {
	const char *suffix;
	int64_t factor; /* of thousandths; 0 = the suffix is 'm' */
} units[] = {
	{"Ei", INT64_C(1) << 60},
	{"Pi", INT64_C(1) << 50},
	{"Ti", INT64_C(1) << 40},
	{"Gi", INT64_C(1) << 30},
	{"Mi", INT64_C(1) << 20},
	{"Ki", INT64_C(1) << 10},
	{"E", INT64_C(1000000000000000000)},
	{"P", INT64_C(1000000000000000)},
	{"T", INT64_C(1000000000000)},
	{"G", 1000000000},
	{"M", 1000000},
	{"k", 1000},
	{"m", 0},
};

static int64_t mul_saturated(int64_t x, int64_t y)
{
	int64_t out;

	return __builtin_mul_overflow(x, y, &out) ? INT64_MAX : out;
}

bool quantity_parse(mk_str s, int64_t *ret_milli)
{
	int64_t factor = 1, whole = 0, part = 0, scale = PER_MILLE;
	bool milli = false;
	mk_str digits;

	s = str_trim(s);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		mk_str suffix = str_of(units[i].suffix);

		if (str_ends(s, suffix)) {
			s = str_sub(s, 0, s.n - suffix.n);
			milli = units[i].factor == 0;
			factor = milli ? 1 : units[i].factor;
			break;
		}
	}
	if (!str_split(&s, '.', &digits) || !str_i64(digits, &whole)) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9') {
			return false;
		}
		scale /= 10;
		part += (s.p[i] - '0') * scale;
	}
	if (milli) {
		*ret_milli = whole;
		return true;
	}
	whole = mul_saturated(mul_saturated(whole, PER_MILLE), factor);
	part = mul_saturated(part, factor);
	*ret_milli = whole > INT64_MAX - part ? INT64_MAX : whole + part;
	return true;
}

mk_str quantity_text(struct arena *a, const char *resource, int64_t milli)
{
	bool binary = str_starts(str_of(resource), STR("memory")) ||
		      str_ends(str_of(resource), STR("storage"));
	int64_t whole = milli / PER_MILLE;

	if (milli % PER_MILLE != 0) {
		return arena_printf(a, "%lldm", (long long)milli);
	}
	for (size_t i = 0; i + 1 < sizeof(units) / sizeof(units[0]) && whole != 0; i++) {
		bool is_binary = units[i].suffix[1] == 'i';

		if (is_binary == binary && whole % units[i].factor == 0) {
			return arena_printf(a, "%lld%s", (long long)(whole / units[i].factor),
					    units[i].suffix);
		}
	}
	return arena_printf(a, "%lld", (long long)whole);
}

/* --- queues ----------------------------------------------------------------------------------- */

bool cq_quota_init(struct ks_actors *k)
{
	k->queues = mk_calloc(1, sizeof(*k->queues));
	return k->queues != NULL;
}

void cq_quota_done(struct ks_actors *k)
{
	void *val;
	size_t pos = 0;

	if (!k->queues) {
		return;
	}
	while (map_next(&k->queues->by_name, &pos, NULL, &val)) {
		struct cq *q = val;

		mk_free(q->pending);
		mk_free(q);
	}
	map_done(&k->queues->by_name);
	tree_free_all(k);
	mk_free(k->queues);
	k->queues = NULL;
}

struct cq *queue_by_name(struct ks_actors *k, mk_str name)
{
	struct cq *q = map_get(&k->queues->by_name, name);

	if (q != NULL) {
		return q;
	}
	q = mk_calloc(1, sizeof(*q));
	if (!q || !map_put(&k->queues->by_name, name, q)) {
		mk_free(q);
		k->stale = true;
		return NULL;
	}
	q->name = intern(k, name);
	q->item = item_get(k, ITEM_QUEUE, RES_CLUSTERQUEUES, STR(""), name);
	if (q->item != NULL) {
		q->item->cq = q;
	}
	if (!q->name || !q->item) {
		k->stale = true;
	}
	return q;
}

struct cq *queue_of(struct ks_actors *k, mk_str ns, mk_str local_queue, mk_str *ret_why)
{
	const struct json *lq = ks_get(k->store, RES_LOCALQUEUES, ns, local_queue);
	mk_str name = json_str(json_at(lq, "/spec/clusterQueue"));
	struct cq *q;

	if (!lq) {
		*ret_why =
			arena_printf(&k->a, "LocalQueue %.*s doesn't exist", STR_ARG(local_queue));
		return NULL;
	}
	q = queue_by_name(k, name);
	if (!q || !q->exists) {
		*ret_why = arena_printf(&k->a, "ClusterQueue %.*s doesn't exist", STR_ARG(name));
		return NULL;
	}
	return q;
}

/* A quantity, or a number; 'otherwise' when there is none. */
static int64_t quota_amount(const struct json *v, int64_t otherwise)
{
	int64_t milli;

	if (!v) {
		return otherwise;
	}
	return quantity_parse(json_str(v), &milli) ? milli : json_int(v, 0) * PER_MILLE;
}

static void load_group(struct ks_actors *k, struct cq *q, size_t group, const struct json *obj)
{
	struct json_iter f = json_iter(json_get(obj, "flavors"));

	while (json_next(&f)) {
		mk_str flavor = json_str(json_get(f.val, "name"));
		struct json_iter r = json_iter(json_get(f.val, "resources"));

		if (!ks_get(k->store, RES_FLAVORS, STR(""), flavor)) {
			q->active = false;
		}
		while (json_next(&r) && q->n_amounts < CQ_MAX_AMOUNTS) {
			struct amount *m = &q->amount[q->n_amounts++];

			*m = (struct amount){.group = group, .flavor = intern(k, flavor)};
			m->resource = intern(k, json_str(json_get(r.val, "name")));
			m->nominal = quota_amount(json_get(r.val, "nominalQuota"), 0);
			m->borrowing = quota_amount(json_get(r.val, "borrowingLimit"), -1);
			m->lending = quota_amount(json_get(r.val, "lendingLimit"), -1);
		}
	}
}

static void load_check(struct ks_actors *k, struct cq *q, mk_str name)
{
	const struct json *ac = ks_get(k->store, RES_CHECKS, STR(""), name);

	if (q->n_checks < CQ_MAX_CHECKS) {
		q->check[q->n_checks++] = intern(k, name);
	}
	if (!obj_is_true(ac, "Active")) {
		q->active = false;
	}
}

static void load_queue(struct ks_actors *k, const struct json *obj)
{
	struct cq *q = queue_by_name(k, obj_meta(obj, "name"));
	mk_str stop = json_str(json_at(obj, "/spec/stopPolicy"));
	mk_str cohort = json_str(json_at(obj, "/spec/cohortName"));
	struct json_iter it;
	size_t group = 0;

	if (!q) {
		return;
	}
	q->exists = true;
	q->cohort = cohort.n > 0 ? intern(k, cohort) : NULL;
	q->active = stop.n == 0 || str_is(stop, "None");
	q->draining = str_is(stop, "HoldAndDrain");
	q->strict = str_is(json_str(json_at(obj, "/spec/queueingStrategy")), "StrictFIFO");
	it = json_iter(json_at(obj, "/spec/resourceGroups"));
	while (json_next(&it)) {
		load_group(k, q, group++, it.val);
	}
	it = json_iter(json_at(obj, "/spec/admissionChecksStrategy/admissionChecks"));
	while (json_next(&it)) {
		load_check(k, q, json_str(json_get(it.val, "name")));
	}
	it = json_iter(json_at(obj, "/spec/admissionChecks"));
	while (json_next(&it)) {
		load_check(k, q, json_str(it.val));
	}
	item_at(k, q->item, 0);
}

static void count_use(const struct item *wl, int64_t sign)
{
	for (size_t i = 0; i < wl->n_use; i++) {
		for (size_t j = 0; j < wl->held_in->n_amounts; j++) {
			struct amount *m = &wl->held_in->amount[j];

			if (m->flavor == wl->use[i].flavor && m->resource == wl->use[i].resource) {
				m->used += sign * wl->use[i].milli;
			}
		}
	}
}

void cq_quota_reload(struct ks_actors *k)
{
	const struct json *obj;
	void *val;
	size_t pos = 0;

	k->config_dirty = false;
	while (map_next(&k->queues->by_name, &pos, NULL, &val)) {
		struct cq *q = val;

		q->exists = q->active = q->draining = false;
		q->n_amounts = q->n_checks = 0;
		q->n_passed = q->n_refused = 0;
	}
	for (pos = 0; (obj = ks_each(k->store, RES_CLUSTERQUEUES, &pos)) != NULL;) {
		load_queue(k, obj);
	}
	for (pos = 0; map_next(&k->items, &pos, NULL, &val);) {
		const struct item *it = val;

		if (it->kind == ITEM_WORKLOAD && it->held_in != NULL) {
			count_use(it, 1);
		}
	}
	tree_load_all(k);
	/* In key order: the map's own order must not show in the requests. */
	for (pos = 0; (obj = ks_each(k->store, RES_WORKLOADS, &pos)) != NULL;) {
		item_dirty(k, ITEM_WORKLOAD, RES_WORKLOADS, obj_meta(obj, "namespace"),
			   obj_meta(obj, "name"));
	}
	for (pos = 0; (obj = ks_each(k->store, RES_JOBS, &pos)) != NULL;) {
		item_dirty(k, ITEM_JOB, RES_JOBS, obj_meta(obj, "namespace"),
			   obj_meta(obj, "name"));
	}
}

/* --- cohorts ---------------------------------------------------------------------------------- */

/* What of the amount no other queue may use. */
static int64_t kept(const struct amount *m)
{
	return m->lending < 0 || m->lending >= m->nominal ? 0 : m->nominal - m->lending;
}

static int64_t taken(const struct amount *m)
{
	return m->used > kept(m) ? m->used - kept(m) : 0;
}

/* What the queues of the cohort lend in that flavor, and what of it is in use. */
static void sum_cohort(const struct ks_actors *k, const struct cq *q, const struct amount *m,
		       int64_t *ret_lent, int64_t *ret_taken)
{
	void *val;
	size_t pos = 0;

	*ret_lent = *ret_taken = 0;
	while (map_next(&k->queues->by_name, &pos, NULL, &val)) {
		const struct cq *o = val;

		for (size_t i = 0; o->exists && o->cohort == q->cohort && i < o->n_amounts; i++) {
			const struct amount *of = &o->amount[i];

			if (of->flavor == m->flavor && of->resource == m->resource) {
				*ret_lent += of->nominal - kept(of);
				*ret_taken += taken(of);
			}
		}
	}
}

static int64_t least(int64_t x, int64_t y)
{
	return x < y ? x : y;
}

int64_t cq_quota_free(const struct ks_actors *k, const struct cq *q, const struct amount *m)
{
	int64_t lent, used, own = m->used < kept(m) ? kept(m) - m->used : 0;

	if (!q->cohort) {
		return m->nominal - m->used;
	}
	sum_cohort(k, q, m, &lent, &used);
	lent -= used;
	if (m->borrowing >= 0) {
		lent = least(lent, m->nominal - kept(m) - taken(m) + m->borrowing);
	}
	return own + lent;
}

int64_t cq_quota_most(const struct ks_actors *k, const struct cq *q, const struct amount *m)
{
	int64_t lent, used;

	if (!q->cohort) {
		return m->nominal;
	}
	sum_cohort(k, q, m, &lent, &used);
	lent += kept(m);
	return m->borrowing >= 0 ? least(lent, m->nominal + m->borrowing) : lent;
}

/* Quota came back: the queue looks again, and so does each that may borrow it. */
static void look_again(struct ks_actors *k, struct cq *q)
{
	const struct json *obj;

	q->n_passed = q->n_refused = 0;
	item_at(k, q->item, 0);
	/* In key order: the map's own order must not show in the requests. */
	for (size_t pos = 0;
	     q->cohort && (obj = ks_each(k->store, RES_CLUSTERQUEUES, &pos)) != NULL;) {
		struct cq *o = map_get(&k->queues->by_name, obj_meta(obj, "name"));

		if (o != NULL && o != q && o->cohort == q->cohort) {
			o->n_passed = o->n_refused = 0;
			item_at(k, o->item, 0);
		}
	}
}

/* --- pending ---------------------------------------------------------------------------------- */

static int compare(const struct item *x, const struct item *y)
{
	if (x->priority != y->priority) {
		return x->priority > y->priority ? -1 : 1;
	}
	if (x->created_ms != y->created_ms) {
		return x->created_ms < y->created_ms ? -1 : 1;
	}
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Place of the first item that is not before 'wl'. */
static size_t place(const struct cq *q, const struct item *wl)
{
	size_t lo = 0, hi = q->n_pending;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare(q->pending[mid], wl) < 0) {
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return lo;
}

void pending_add(struct ks_actors *k, struct cq *q, struct item *wl, const struct json *obj)
{
	const struct json *evicted = obj_condition(obj, "Evicted");
	int64_t priority = json_int(json_at(obj, "/spec/priority"), 0), created = 0;
	bool resized = wl->pending_in == q && slices_is_elastic(obj) &&
		       wl->signature != cq_quota_signature(k, obj);
	size_t i;

	/* one evicted by a check stands behind those that waited meanwhile */
	if (!obj_is_true(obj, "Evicted") ||
	    !str_is(json_str(json_get(evicted, "reason")), "AdmissionCheck") ||
	    !time_parse(json_str(json_get(evicted, "lastTransitionTime")), &created)) {
		time_parse(obj_meta(obj, "creationTimestamp"), &created);
	}
	if (wl->pending_in == q && wl->priority == priority && wl->created_ms == created &&
	    !resized) {
		return;
	}
	pending_del(wl);
	if (q->n_pending == q->pending_size) {
		size_t size = q->pending_size == 0 ? 64 : q->pending_size * 2;
		struct item **p = mk_realloc(q->pending, size * sizeof(struct item *));

		if (!p) {
			k->stale = true;
			return;
		}
		q->pending = p;
		q->pending_size = size;
	}
	wl->priority = priority;
	wl->created_ms = created;
	wl->signature = cq_quota_signature(k, obj);
	i = place(q, wl);
	q->n_passed = i < q->n_passed ? i : q->n_passed;
	memmove(&q->pending[i + 1], &q->pending[i], (q->n_pending - i) * sizeof(struct item *));
	q->pending[i] = wl;
	q->n_pending++;
	wl->pending_in = q;
	if (q->tree != NULL) {
		tree_put(k, q, wl, obj, false);
	}
	item_at(k, q->item, 0);
}

void pending_del(struct item *wl)
{
	struct cq *q = wl->pending_in;
	size_t i;

	if (!q) {
		return;
	}
	i = place(q, wl);
	memmove(&q->pending[i], &q->pending[i + 1], (q->n_pending - i - 1) * sizeof(struct item *));
	q->n_pending--;
	q->n_passed -= i < q->n_passed;
	wl->pending_in = NULL;
	if (q->tree != NULL) {
		tree_unput(q, wl);
	}
}

/* --- holding quota ---------------------------------------------------------------------------- */

void cq_quota_take(struct ks_actors *k, struct cq *q, struct item *wl,
		   const struct cq_quota_use *use, size_t n)
{
	cq_quota_release(k, wl);
	memcpy(wl->use, use, n * sizeof(*use));
	wl->n_use = n;
	wl->held_in = q;
	count_use(wl, 1);
	if (k->o.publish_usage) {
		item_at(k, q->item, 0);
	}
}

void cq_quota_lend(const struct cq *q, const struct item *wl, bool lent)
{
	if (wl != NULL && wl->held_in == q) {
		count_use(wl, lent ? -1 : 1);
	}
}

void cq_quota_release(struct ks_actors *k, struct item *wl)
{
	if (!wl->held_in) {
		return;
	}
	count_use(wl, -1);
	look_again(k, wl->held_in);
	if (wl->held_in->tree != NULL) {
		tree_release(wl->held_in, wl);
	}
	wl->evict_for = NULL;
	wl->held_in = NULL;
	wl->n_use = 0;
}

void cq_quota_adopt(struct ks_actors *k, struct item *wl, const struct json *obj)
{
	struct cq_quota_use use[QUOTA_MAX_USES];
	struct json_iter sets = json_iter(json_at(obj, "/status/admission/podSetAssignments"));
	struct cq *q = queue_by_name(k, json_str(json_at(obj, "/status/admission/clusterQueue")));
	size_t n = 0;

	if (!q || wl->held_in == q) {
		return;
	}
	while (json_next(&sets)) {
		struct json_iter r = json_iter(json_get(sets.val, "resourceUsage"));

		while (json_next(&r) && n < QUOTA_MAX_USES) {
			use[n].resource = intern(k, r.key);
			use[n].flavor = intern(
				k, json_str(json_getn(json_get(sets.val, "flavors"), r.key)));
			use[n].milli = 0;
			quantity_parse(json_str(r.val), &use[n].milli);
			n++;
		}
	}
	cq_quota_take(k, q, wl, use, n);
	if (q->tree != NULL && !tree_holds(q, wl)) {
		tree_put(k, q, wl, obj, true);
	}
}
