/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision in words, at most 1 KiB: what is tried and why, what is dropped, what is left out.
 * Equal decisions have equal words, so no time that passes is in them. See placement.h.
 */
#include "placement.h"

enum { TEXT_MAX = 1000, ITEM_MAX = 240, WORD_MAX = 100, REST = 24, BEYOND = 80 };

/* Text of limited length; what does not fit is cut between letters. */
struct text {
	char p[TEXT_MAX];
	size_t n, max;
};

/* The bytes of the letter at 'p' of at most 'n'; a byte that begins none counts alone. */
static size_t letter(const char *p, size_t n)
{
	unsigned char c = (unsigned char)*p;
	size_t len = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

	return len <= n ? len : n;
}

static void add_str(struct text *t, mk_str s)
{
	for (size_t i = 0, n; i < s.n; i += n) {
		n = letter(s.p + i, s.n - i);
		if (t->n + n > t->max) {
			return;
		}
		memcpy(t->p + t->n, s.p + i, n);
		if (n == 1 && (unsigned char)t->p[t->n] < ' ') {
			t->p[t->n] = ' ';
		}
		t->n += n;
	}
}

static void add(struct text *t, const char *s)
{
	add_str(t, mk_lit(s));
}

/* What others have written: cut to a length at which the rest is still read. */
static void add_cut(struct text *t, mk_str s)
{
	struct text word = {.max = WORD_MAX};

	add_str(&word, s);
	add_str(t, (mk_str){word.p, word.n});
	if (word.n < s.n) {
		add(t, "...");
	}
}

static void add_int(struct text *t, int64_t i)
{
	char digits[24];

	add(t, mk_decimal(digits, i));
}

static bool is_bytes(mk_str resource)
{
	mk_str huge = mk_lit("hugepages-");

	return mk_same(resource, mk_lit("memory")) ||
	       mk_same(resource, mk_lit("ephemeral-storage")) ||
	       (resource.n > huge.n && memcmp(resource.p, huge.p, huge.n) == 0);
}

/* "8 cpu", "500m cpu", "64Gi memory" */
static void add_amount(struct text *t, mk_str resource, int64_t n)
{
	static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
	const char *unit = "";
	size_t k = 0;

	if (mk_same(resource, mk_lit("cpu"))) {
		unit = n % 1000 == 0 ? "" : "m";
		n = n % 1000 == 0 ? n / 1000 : n;
	} else if (is_bytes(resource)) {
		while (k < 5 && n > 0 && n % 1024 == 0) {
			n /= 1024;
			k++;
		}
		unit = units[k];
	}
	add_int(t, n);
	add(t, unit);
	add(t, " ");
	add_cut(t, resource);
}

static void add_lack(struct text *t, const struct placement_place *p)
{
	if (p->lack.resource.n == 0) {
		add(t, "has no flavor with enough of everything");
	} else if (p->lack.most < 0) {
		add(t, "has no quota for ");
		add_cut(t, p->lack.resource);
	} else {
		add(t, "has at most ");
		add_amount(t, p->lack.resource, p->lack.most);
	}
}

/* Why a worker is left out: "has at most 8 cpu". */
static void add_bar(struct text *t, const struct placement_place *p)
{
	switch (p->bar) {
	case BAR_REQUIRES:
		add(t, "does not meet ");
		add_cut(t, p->culprit);
		break;
	case BAR_TAINT:
		add(t, "has the taint ");
		add_cut(t, p->culprit);
		break;
	case BAR_NEVER:
		add_lack(t, p);
		break;
	case BAR_AWAY:
		add(t, "is not connected");
		break;
	case BAR_NO_QUEUE:
		add(t, "has no such queue");
		break;
	case BAR_INACTIVE:
		add(t, "has an inactive queue");
		break;
	case BAR_RESERVE:
		add(t, "keeps what is free for others");
		break;
	case BAR_ELDER:
		add(t, "has an older Workload to start first");
		break;
	case BAR_OVERFLOW:
		add(t, "is for overflow");
		break;
	case BAR_MISTAKE:
		add(t, "is not selected");
		break;
	case BAR_NONE:
		add(t, "is no better");
		break;
	}
}

static const char *fit_words(const struct placement_place *p)
{
	switch (p->fit) {
	case FIT_FREE:
		return "free quota";
	case FIT_BORROW:
		return "quota to borrow";
	case FIT_UNKNOWN:
		return "facts not known";
	case FIT_PREEMPT:
		return "only by preemption";
	case FIT_LATER:
		return p->idle ? "room kept for others" : "full now";
	case FIT_NEVER:
		break;
	}
	return "too small";
}

static void add_price(struct text *t, int64_t cost)
{
	char digits[24];
	const char *rest = mk_decimal(digits, 1000 + cost % 1000) + 1;
	size_t n = 3;

	add_int(t, cost / 1000);
	while (n > 0 && rest[n - 1] == '0') {
		n--;
	}
	if (n > 0) {
		add(t, ".");
		add_str(t, (mk_str){rest, n});
	}
}

/* Why a worker is tried: "free quota of spot, cost 3, prefers 1 of 2, ran there last". */
static void add_merits(struct text *t, const struct placement_place *p)
{
	add(t, fit_words(p));
	if (placement_has_room(p) && p->flavor.n > 0) {
		add(t, " of ");
		add_cut(t, p->flavor);
	}
	if (p->cost >= 0) {
		add(t, ", cost ");
		add_price(t, p->cost);
	} else if (p->bad_cost) {
		add(t, ", cost not readable");
	}
	if (p->needs > 0) {
		add(t, ", prefers ");
		add_int(t, p->met);
		add(t, " of ");
		add_int(t, p->needs);
	}
	add(t, p->ran ? ", ran there last" : "");
	if (p->group > 0) {
		add(t, ", has ");
		add_int(t, p->group);
		add(t, " of its group");
	}
	if (p->failures > 0) {
		add(t, ", failed lately: ");
		add_int(t, p->failures);
	}
}

static void add_new(struct text *t, const struct placement_place *p)
{
	add(t, " (");
	add_merits(t, p);
	add(t, ")");
}

static void add_dropped(struct text *t, const struct placement_place *p)
{
	switch (p->drop) {
	case DROP_FORBIDDEN:
		add(t, " (it ");
		add_bar(t, p);
		add(t, ")");
		break;
	case DROP_ROOM:
		add(t, " (another has room without preemption)");
		break;
	case DROP_TURN:
		add(t, " (one worker preempts at a time)");
		break;
	case DROP_SWAP:
		add(t, " (maxWorkers: its place goes to another)");
		break;
	case DROP_NOT:
		break;
	}
}

static void add_kept(struct text *t, const struct placement_place *p)
{
	if (!p->connected) {
		add(t, " (is not connected)");
	} else if (p->quota) {
		add(t, " (has quota there)");
	} else if (p->preempting) {
		add(t, " (which evicts others for it)");
	} else if (p->says.n > 0) {
		add(t, " (");
		add_cut(t, p->says);
		add(t, ")");
	}
}

static void add_out(struct text *t, const struct placement_place *p)
{
	add(t, " ");
	add_bar(t, p);
}

typedef bool which_fn(const struct placement_place *p);
typedef void words_fn(struct text *t, const struct placement_place *p);

static bool is_kept(const struct placement_place *p)
{
	return p->is_listed && !p->is_new;
}

static bool is_dropped(const struct placement_place *p)
{
	return p->drop != DROP_NOT;
}

static bool is_barred(const struct placement_place *p)
{
	return p->bar != BAR_NONE;
}

static bool is_out(const struct placement_place *p)
{
	return !p->is_listed && p->drop == DROP_NOT && p->bar != BAR_NONE;
}

/* A list that is written: how many are, and how many had no room. */
struct list {
	struct text *t;
	const char *head;
	int64_t shown, more;
};

static void add_item(struct list *l, const struct placement_place *p, words_fn *words)
{
	struct text item = {.max = ITEM_MAX};

	add(&item, l->shown > 0 ? ", " : l->t->n > 0 ? "; " : "");
	add(&item, l->shown > 0 ? "" : l->head);
	add_str(&item, p->name);
	words(&item, p);
	if (l->more > 0 || l->t->n + item.n + REST > l->t->max) {
		l->more++;
		return;
	}
	add_str(l->t, (mk_str){item.p, item.n});
	l->shown++;
}

static void end_list(const struct list *l)
{
	if (l->more > 0 && l->shown > 0) {
		add(l->t, " and ");
		add_int(l->t, l->more);
		add(l->t, " more");
	}
}

/* "; waits at east (has quota there), west (...) and 3 more" */
static void add_list(const struct placement *x, struct text *t, const char *head, which_fn *which,
		     words_fn *words)
{
	struct list l = {t, head, 0, 0};

	for (size_t i = 0; i < x->n; i++) {
		if (which(&x->p[i])) {
			add_item(&l, &x->p[i], words);
		}
	}
	end_list(&l);
}

/* In the order in which they were chosen. */
static void add_tried(const struct placement *x, struct text *t)
{
	struct list l = {t, "tries ", 0, 0};

	for (size_t i = 0; i < x->n_added; i++) {
		add_item(&l, &x->p[x->added[i]], add_new);
	}
	end_list(&l);
}

static void add_mistake(struct text *t, const struct placement_rule *r, const char *effect)
{
	if (!r->expected) {
		return;
	}
	add(t, t->n > 0 ? "; " : "");
	add(t, r->where);
	add(t, ": expected ");
	add(t, r->expected);
	add(t, " at character ");
	add_int(t, (int64_t)r->at + 1);
	add(t, " of \"");
	add_cut(t, r->text);
	add(t, "\"");
	add(t, effect);
}

static void add_long(struct text *t, const char *where)
{
	add(t, t->n > 0 ? "; " : "");
	add(t, where);
	add(t, ": expected at most 1024 bytes, so it tolerates nothing");
}

static void add_mistakes(const struct placement *x, struct text *t)
{
	if (x->s.long_tolerates[0]) {
		add_long(t, "tolerates of the section");
	}
	if (x->s.long_tolerates[1]) {
		add_long(t, "annotation multikueued.io/tolerates");
	}
	for (size_t i = 0; i < 2; i++) {
		add_mistake(t, &x->s.requires[i], ", so no worker is selected");
	}
	for (size_t i = 0; i < 2; i++) {
		add_mistake(t, &x->s.prefers[i], ", so none is preferred");
	}
	add_mistake(t, &x->s.overflow, ", so none is for overflow");
}

void placement_explain(struct placement *x, int verdict)
{
	struct text t = {.max = x->n_beyond > 0 ? TEXT_MAX - BEYOND : TEXT_MAX};

	add_mistakes(x, &t);
	if (x->n == 0) {
		add(&t, "there is no worker");
	} else if (verdict == (MK_KEEP | MK_UNPLACEABLE)) {
		if (!x->s.requires[1].expected) {
			add_list(x, &t, "no worker can ever take it: ", is_barred, add_out);
		}
	} else {
		add_tried(x, &t);
		add_list(x, &t, "waits at ", is_kept, add_kept);
		add_list(x, &t, "drops ", is_dropped, add_dropped);
		add_list(x, &t,
			 x->n_listed > 0 ? "left out: " : "no worker may take it now: ", is_out,
			 add_out);
	}
	if (x->n_beyond > 0) {
		t.max = TEXT_MAX;
		add(&t, "; not looked at: ");
		add_int(&t, (int64_t)x->n_beyond);
		add(&t, " workers behind the first 1024");
	}
	x->c->host->say(x->c, (mk_str){t.p, t.n});
}
