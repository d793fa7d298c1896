/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of questions that are made once; see card.h. */
#include "core/engine/rules/card.h"

#include "core/api/amount.h"
#include "core/api/selector.h"
#include "core/base/alloc.h"
#include "core/engine/rules/facts_queue.h"
#include "core/engine/store/cohort.h"

/* A version of an object: a record may be freed, and another take its place in memory. */
struct version {
	const struct record *r;
	const struct facts *f;
	uint64_t rv;
	uint32_t epoch;
};

struct kept_card {
	struct card pub; /* first: card_free gets it */
	struct arena a;
	struct version place, queue;
	uint64_t cohort_no; /* of the table of 'queue', when that is in a cohort */
};

static struct version version_of(const struct record *r)
{
	return r ? (struct version){r, r->facts, r->rv, r->epoch} : (struct version){.r = NULL};
}

static bool same_version(const struct version *v, const struct record *r)
{
	return v->r == r && (!r || (v->f == r->facts && v->rv == r->rv && v->epoch == r->epoch));
}

static uint64_t cohort_no(const struct record *cq)
{
	return cq && cq->facts->s[S_QUEUE].n > 0 ? cq->table->cohort_no : 0;
}

void card_add_pair(struct arena *a, struct json *list, mk_str name, mk_str value)
{
	struct json *o = json_new_obj(a);

	json_append_lit(a, o, STR("name"), json_new_str(a, name));
	json_append_lit(a, o, STR("value"), json_new_str(a, value));
	json_add(a, list, o);
}

/* Facts of a MultiKueueCluster have them as "name=value", in the order of names. */
static struct json *pairs(struct arena *a, const mk_str *v, size_t n)
{
	struct json *list = json_new_arr(a);

	for (size_t i = 0; i < n; i++) {
		mk_str value, name = api_label_name(v[i], &value);

		card_add_pair(a, list, name, value);
	}
	return list;
}

static struct json *flavors_of(struct arena *a, const struct table *cqs, const struct facts *f)
{
	struct json *list = json_new_arr(a), *free_ = NULL, *borrow = NULL, *most = NULL;

	for (size_t i = 0; i < f->n_quotas; i++) {
		const struct api_quota *q = &f->quotas[i];
		struct cohort_room room = cohort_room(cqs, f, q);

		if (i == 0 || q->group != q[-1].group || !str_eq(q->flavor, q[-1].flavor)) {
			struct json *flavor = json_new_obj(a);

			free_ = json_new_arr(a);
			borrow = json_new_arr(a);
			most = json_new_arr(a);
			json_append_lit(a, flavor, STR("name"), json_new_str(a, q->flavor));
			json_append_lit(a, flavor, STR("group"), json_new_int(a, q->group));
			json_append_lit(a, flavor, STR("free"), free_);
			json_append_lit(a, flavor, STR("borrow"), borrow);
			json_append_lit(a, flavor, STR("most"), most);
			json_add(a, list, flavor);
		}
		facts_add_amount(a, free_, q->resource, api_add(q->nominal, -q->used));
		facts_add_amount(a, borrow, q->resource, room.borrow);
		facts_add_amount(a, most, q->resource, room.most);
	}
	return list;
}

static void make(struct kept_card *k, struct engine *e, const struct cluster *c,
		 const struct record *cq, bool place)
{
	const struct record *r = cluster_record(e, c);
	const struct facts *f = r ? r->facts : NULL;
	struct arena *a = &k->a;

	k->place = version_of(r);
	k->queue = version_of(cq);
	k->cohort_no = cohort_no(cq);
	k->pub = (struct card){.name = json_new_str(a, str_of(c->name))};
	if (place) {
		k->pub.labels = pairs(a, f ? f->names : NULL, f ? f->n_names : 0);
		k->pub.annotations = pairs(a, f ? f->checks : NULL, f ? f->n_checks : 0);
	}
	if (cq) {
		k->pub.queue = json_new_str(a, cq->name);
		k->pub.flavors = flavors_of(a, cq->table, cq->facts);
	}
}

/* A card that is kept has the record of the queue that was asked for last, if any was. */
static bool is_current(const struct kept_card *k, const struct engine *e, const struct cluster *c,
		       const struct record *cq, bool place)
{
	return same_version(&k->place, cluster_record(e, c)) && (!place || k->pub.labels) &&
	       (!cq || (same_version(&k->queue, cq) && k->cohort_no == cohort_no(cq)));
}

const struct card *card_of(struct engine *e, struct cluster *c, const struct record *cq, bool place)
{
	struct kept_card *k = (struct kept_card *)(void *)c->card;

	if (k && is_current(k, e, c, cq, place)) {
		return &k->pub;
	}
	if (k) {
		arena_clear(&k->a);
	} else {
		k = mk_calloc(1, sizeof(*k));
		if (!k) {
			e->scratch.failed = true;
			return NULL;
		}
		arena_init(&k->a, 0);
		c->card = &k->pub;
	}
	make(k, e, c, cq, place);
	if (arena_failed(&k->a)) {
		card_free(c->card);
		c->card = NULL;
		e->scratch.failed = true;
		return NULL;
	}
	return &k->pub;
}

void card_free(struct card *card)
{
	struct kept_card *k = (struct kept_card *)(void *)card;

	if (k) {
		arena_done(&k->a);
		mk_free(k);
	}
}
