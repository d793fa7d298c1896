/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker's queue has for the Workload; see placement.h. A pod set goes to one flavor of each
 * resource group, so with one pod set the best flavor of a group counts. Several pod sets may go to
 * several flavors: where no flavor takes them all, the flavors together count.
 *
 * What was placed there and does not show yet is taken from the flavors in their order, as Kueue
 * gives it out.
 */
#include "placement.h"

/*
 * Packing: what is left counts half when the Workload would fit so often more. A resource of which
 * all workers have plenty then says little, and one of which few copies are left says much.
 */
enum { FEW = 8 };

/* Of one resource that the Workload asks for. */
struct room {
	int64_t own;  /* nominal quota that is free */
	int64_t now;  /* with what may be borrowed */
	int64_t idle; /* ... before what was placed there is taken */
	int64_t most; /* with the queue and its cohort empty */
	bool has, knows_most;
};

/* The best flavor of a group. */
struct best {
	enum placement_fit fit;
	int64_t left;        /* of the scarcest resource */
	int64_t pack, parts; /* the sum over its resources, and how many they are */
	mk_str flavor;
	bool asked;
	bool idle; /* some flavor of the group is */
};

struct queue {
	struct placement *x;
	bool preempts;
	int64_t assumed[PLACEMENT_REQUESTS]; /* that no flavor before has taken */
	int64_t top[PLACEMENT_REQUESTS];     /* what the largest flavor could have */
	size_t group[PLACEMENT_REQUESTS];    /* whose resource it is */
	struct room all[PLACEMENT_REQUESTS]; /* of the flavors together */
	struct room one[PLACEMENT_REQUESTS]; /* of the flavor that is looked at */
	struct best best[PLACEMENT_GROUPS];
	size_t n_groups; /* of these that flavors name */
};

int64_t placement_add(int64_t a, int64_t b)
{
	if (b > 0 && a > INT64_MAX - b) {
		return INT64_MAX;
	}
	return b < 0 && a < INT64_MIN - b ? INT64_MIN : a + b;
}

int64_t placement_sub(int64_t a, int64_t b)
{
	if (b < 0 && a > INT64_MAX + b) {
		return INT64_MAX;
	}
	return b > 0 && a < INT64_MIN + b ? INT64_MIN : a - b;
}

int64_t placement_share(int64_t a, int64_t b)
{
	if (a <= INT64_MAX / PLACEMENT_FULL) {
		return a * PLACEMENT_FULL / b;
	}
	return a / b <= INT64_MAX / PLACEMENT_FULL ? a / b * PLACEMENT_FULL : INT64_MAX;
}

int64_t placement_falling(int64_t v, int64_t half)
{
	return v > INT64_MAX - half ? 0 : half * PLACEMENT_FULL / (half + v);
}

static ptrdiff_t request_at(const struct placement *x, mk_str name)
{
	for (size_t i = 0; i < x->n_requests; i++) {
		if (mk_same(x->requests[i].name, name)) {
			return (ptrdiff_t)i;
		}
	}
	return -1;
}

typedef void amount_fn(struct queue *q, size_t i, int64_t amount);

static void each_amount(struct queue *q, mk_val list, amount_fn *fn)
{
	mk_call *c = q->x->c;
	size_t n = c->host->len(c, list);

	for (size_t i = 0; i < n; i++) {
		mk_val one = c->host->at(c, list, i);
		ptrdiff_t at = request_at(q->x, mk_str_at(c, one, "/name"));
		int64_t amount;

		if (at >= 0 && c->host->i64(c, c->host->get(c, one, "/amount"), &amount)) {
			fn(q, (size_t)at, amount);
		}
	}
}

static void set_assumed(struct queue *q, size_t i, int64_t amount)
{
	q->assumed[i] = amount > 0 ? amount : 0;
}

static void set_own(struct queue *q, size_t i, int64_t amount)
{
	q->one[i].own = amount;
	q->one[i].now = amount;
	q->one[i].has = true;
}

static void add_borrow(struct queue *q, size_t i, int64_t amount)
{
	if (q->one[i].has) {
		q->one[i].now = placement_add(q->one[i].own, amount);
	}
}

static void set_most(struct queue *q, size_t i, int64_t amount)
{
	if (q->one[i].has) {
		q->one[i].most = amount > 0 ? amount : 0;
		q->one[i].knows_most = true;
	}
}

/* What others are to have, and what was placed there already, is taken. */
static void deduct(struct queue *q, size_t i)
{
	struct room *r = &q->one[i];
	int64_t kept =
		r->most / 100 * q->x->s.keep_percent + r->most % 100 * q->x->s.keep_percent / 100;
	int64_t taken;

	r->most -= kept;
	r->now = placement_sub(r->now, kept);
	r->own = placement_sub(r->own, kept);
	r->idle = r->now;
	taken = r->now > 0 ? r->now : 0;
	taken = q->assumed[i] < taken ? q->assumed[i] : taken;
	q->assumed[i] -= taken;
	r->now = placement_sub(r->now, taken);
	r->own = placement_sub(r->own, taken);
}

static enum placement_fit fit_of(const struct queue *q, const struct room *r, int64_t wanted)
{
	if (r->now >= wanted) {
		return r->own >= wanted ? FIT_FREE : FIT_BORROW;
	}
	if (r->knows_most && r->most < wanted) {
		return FIT_NEVER;
	}
	return q->preempts ? FIT_PREEMPT : FIT_LATER;
}

/* How often more the Workload fits in what is left, in thousandths. */
static int64_t left_of(const struct room *r, int64_t wanted)
{
	int64_t left = placement_sub(r->now, wanted);

	return left <= 0 ? 0 : placement_share(left, wanted);
}

/* Is the flavor the best of its group so far? */
static void weigh(struct queue *q, size_t group, mk_str name)
{
	struct best *best = &q->best[group],
		    this = {.fit = FIT_FREE, .left = INT64_MAX, .flavor = name, .idle = true};

	for (size_t i = 0; i < q->x->n_requests; i++) {
		const struct room *r = &q->one[i];
		int64_t wanted = q->x->requests[i].n, left;
		enum placement_fit fit;

		if (!r->has) {
			continue;
		}
		fit = fit_of(q, r, wanted);
		left = left_of(r, wanted);
		this.fit = fit < this.fit ? fit : this.fit;
		this.idle &= r->idle >= wanted;
		this.left = left < this.left ? left : this.left;
		this.pack += placement_falling(left, FEW * PLACEMENT_FULL);
		this.parts++;
		this.asked = true;
	}
	this.idle |= best->idle;
	if (this.asked && (!best->asked || this.fit > best->fit)) {
		*best = this;
	} else if (this.asked) {
		best->idle = this.idle;
	}
}

static void add_up(struct queue *q, size_t group)
{
	for (size_t i = 0; i < q->x->n_requests; i++) {
		const struct room *one = &q->one[i];
		struct room *all = &q->all[i];

		if (!one->has) {
			continue;
		}
		all->knows_most = one->knows_most && (all->knows_most || !all->has);
		all->own = placement_add(all->own, one->own);
		all->now = placement_add(all->now, one->now);
		all->most = placement_add(all->most, one->most);
		all->has = true;
		q->group[i] = group;
		q->top[i] = one->most > q->top[i] ? one->most : q->top[i];
	}
}

static void look_at_flavor(struct queue *q, mk_val flavor)
{
	mk_call *c = q->x->c;
	int64_t group = mk_i64_at(c, flavor, "/group", -1);

	if (group < 0 || group >= PLACEMENT_GROUPS) {
		return;
	}
	q->n_groups = (size_t)group < q->n_groups ? q->n_groups : (size_t)group + 1;
	for (size_t i = 0; i < q->x->n_requests; i++) {
		q->one[i] = (struct room){0};
	}
	each_amount(q, c->host->get(c, flavor, "/free"), set_own);
	each_amount(q, c->host->get(c, flavor, "/borrow"), add_borrow);
	each_amount(q, c->host->get(c, flavor, "/most"), set_most);
	for (size_t i = 0; i < q->x->n_requests; i++) {
		if (q->one[i].has) {
			deduct(q, i);
		}
	}
	weigh(q, (size_t)group, mk_str_at(c, flavor, "/name"));
	add_up(q, (size_t)group);
}

/* Several pod sets: the flavors of a group together may do what none does alone. */
static void pool(struct queue *q, struct placement_place *p)
{
	enum placement_fit fit[PLACEMENT_GROUPS];

	for (size_t g = 0; g < PLACEMENT_GROUPS; g++) {
		fit[g] = FIT_FREE;
	}
	for (size_t i = 0; i < q->x->n_requests; i++) {
		if (q->all[i].has) {
			enum placement_fit f = fit_of(q, &q->all[i], q->x->requests[i].n);

			fit[q->group[i]] = f < fit[q->group[i]] ? f : fit[q->group[i]];
		}
	}
	for (size_t g = 0; g < q->n_groups; g++) {
		if (q->best[g].asked && fit[g] > q->best[g].fit) {
			q->best[g].fit = fit[g];
			q->best[g].left = 0;
			q->best[g].pack = 0;
			q->best[g].flavor = (mk_str){NULL, 0};
			p->is_split = true;
		}
	}
}

/* For the words: the resource that keeps the Workload away for ever. */
static void find_lack(const struct queue *q, struct placement_place *p)
{
	for (size_t i = 0; i < q->x->n_requests; i++) {
		const struct room *r = &q->all[i];
		int64_t most = q->x->one_set ? q->top[i] : r->most;

		if (r->has && r->knows_most && most < q->x->requests[i].n) {
			p->lack = (struct placement_lack){q->x->requests[i].name, most};
			return;
		}
	}
}

/* What is taken of the fullest resource, what waits there included. */
static int64_t load_of(const struct queue *q)
{
	int64_t load = 0;

	for (size_t i = 0; i < q->x->n_requests; i++) {
		const struct room *r = &q->all[i];
		int64_t taken = placement_add(placement_sub(r->most, r->now), q->assumed[i]), share;

		if (!r->has || r->most <= 0 || taken <= 0) {
			continue;
		}
		share = placement_share(taken, r->most);
		load = share > load ? share : load;
	}
	return load;
}

static void total(struct queue *q, struct placement_place *p)
{
	int64_t pack = 0, parts = 0;

	p->fit = FIT_FREE;
	p->idle = true;
	p->left = INT64_MAX;
	for (size_t g = 0; g < q->n_groups; g++) {
		const struct best *b = &q->best[g];

		if (!b->asked) {
			continue;
		}
		p->fit = b->fit < p->fit ? b->fit : p->fit;
		p->idle &= b->idle;
		p->left = b->left < p->left ? b->left : p->left;
		p->flavor = parts > 0 ? p->flavor : b->flavor;
		pack += b->pack;
		parts += b->parts;
	}
	p->idle &= parts > 0;
	p->left = parts > 0 ? p->left : 0;
	p->pack = parts > 0 ? pack / parts : 0;
	p->load = load_of(q);
}

/* A number with at most three digits behind the point, in thousandths; false: it is none. */
static bool price_of(mk_str text, int64_t *ret)
{
	int64_t v = 0, digits = 0, behind = -1;

	for (size_t i = 0; i < text.n; i++) {
		char ch = text.p[i];

		if (ch == '.' && behind < 0 && digits > 0) {
			behind = 0;
		} else if (ch >= '0' && ch <= '9' && digits < 15 && behind < 3) {
			v = v * 10 + (ch - '0');
			digits++;
			behind += behind >= 0 ? 1 : 0;
		} else {
			return false;
		}
	}
	for (int64_t k = behind < 0 ? 0 : behind; k < 3; k++) {
		v *= 10;
	}
	*ret = v;
	return digits > 0 && behind != 0;
}

/* The price of the chosen flavors. A list with a mistake has none. */
static void read_cost(const struct queue *q, mk_str list, struct placement_place *p)
{
	int64_t sum = 0, found = 0, price;
	mk_str item;

	if (list.n > PLACEMENT_TEXT) {
		p->bad_cost = true;
		return;
	}
	while (placement_next_item(&list, &item)) {
		const char *is = memchr(item.p, '=', item.n);
		mk_str key = {item.p, is ? (size_t)(is - item.p) : 0};
		mk_str value = is ? (mk_str){is + 1, item.n - key.n - 1} : item;
		bool chosen = !is;

		if (!price_of(placement_trim(value), &price)) {
			p->bad_cost = true;
			return;
		}
		for (size_t g = 0; is && g < q->n_groups; g++) {
			chosen |=
				q->best[g].asked && mk_same(q->best[g].flavor, placement_trim(key));
		}
		if (chosen) {
			sum = placement_add(sum, price);
			found++;
		}
	}
	p->cost = found > 0 ? sum : -1;
}

static bool is_covered(const struct queue *q, size_t i)
{
	/* Pods count only where a queue counts them. */
	return q->all[i].has || mk_same(q->x->requests[i].name, mk_lit("pods"));
}

/* A host that does not tell: each clone of others that waits there is taken for one as large. */
static void assume_waiting(struct queue *q, const struct placement_place *p)
{
	int64_t others = p->waiting - (p->since_ms >= 0 && !p->quota ? 1 : 0);

	for (size_t i = 0; others > 0 && i < q->x->n_requests; i++) {
		int64_t n = q->x->requests[i].n;

		q->assumed[i] = others > INT64_MAX / n ? INT64_MAX : others * n;
	}
}

void placement_room(struct placement *x, mk_val queue, mk_str cost, struct placement_place *p)
{
	struct queue q = {.x = x, .preempts = false};
	mk_call *c = x->c;
	mk_val flavors = c->host->get(c, queue, "/flavors"), assumed;
	size_t n = c->host->len(c, flavors);

	q.preempts = c->host->boolean(c, c->host->get(c, queue, "/preempts"));
	assumed = c->host->get(c, queue, "/assumed");
	if (c->host->type(c, assumed) == MK_ARR) {
		each_amount(&q, assumed, set_assumed);
	} else {
		assume_waiting(&q, p);
	}
	for (size_t i = 0; i < n; i++) {
		look_at_flavor(&q, c->host->at(c, flavors, i));
	}
	if (!x->one_set) {
		pool(&q, p);
	}
	total(&q, p);
	read_cost(&q, cost, p);
	for (size_t i = 0; i < x->n_requests; i++) {
		if (!is_covered(&q, i)) {
			p->fit = FIT_NEVER;
			p->lack = (struct placement_lack){x->requests[i].name, -1};
			return;
		}
	}
	if (p->fit == FIT_NEVER && x->may_shrink) {
		p->fit = FIT_LATER;
	} else if (p->fit == FIT_NEVER) {
		find_lack(&q, p);
	}
}
