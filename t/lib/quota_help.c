/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/quota_help.h"

void help_init(struct help *h)
{
	memset(h, 0, sizeof(*h));
	h->d.frs = h->frs;
	h->d.nodes = h->nodes;
	h->d.lqs = h->lqs;
	h->q = quota_new();
}

void help_done(struct help *h)
{
	ok(proof_check(h->q, NULL) == ERR_OK, "... and all sums are right");
	quota_free(h->q);
}

void help_fr(struct help *h, const char *flavor, const char *resource, int64_t total)
{
	h->frs[h->d.n_frs++] = (struct quota_fr){
		.flavor = str_of(flavor), .resource = str_of(resource), .total = total};
}

static size_t help_find(const struct help *h, const char *name)
{
	for (size_t i = 0; name != NULL && i < h->d.n_nodes; i++) {
		if (str_is(h->nodes[i].name, name)) {
			return i;
		}
	}
	return QUOTA_NONE;
}

struct quota_node *help_node(struct help *h, const char *name, const char *parent, const char *kind,
			     int min, int max)
{
	struct quota_node *n = &h->nodes[h->d.n_nodes];

	*n = (struct quota_node){
		.name = str_of(name),
		.parent = help_find(h, parent),
		.policy = kind[0] == 'c'   ? QUOTA_CAPACITY
			  : kind[0] == 'f' ? QUOTA_FAIR
					   : QUOTA_FIFO,
		.fence_open = kind[0] != '\0' && kind[1] == 'o',
		.weight = 1000,
		.min_weight = min,
		.max_weight = max,
		.behaviour = {.reclaim = QUOTA_ANY},
	};
	h->d.n_nodes++;
	return n;
}

void help_amount(struct help *h, const char *name, size_t fr, int64_t min, int64_t lending,
		 int64_t max)
{
	struct quota_node *n = &h->nodes[help_find(h, name)];
	struct quota_amount *a = &h->amounts[h->n_amounts];

	n->absolute = true;
	n->min_weight = -1;
	n->max_weight = -1;
	if (min >= 0) {
		*a = (struct quota_amount){fr, min, lending};
		n->min = n->n_min == 0 ? a : n->min;
		n->n_min++;
		h->n_amounts++;
		a++;
	}
	if (max >= 0) {
		*a = (struct quota_amount){fr, max, -1};
		n->max = n->n_max == 0 ? a : n->max;
		n->n_max++;
		h->n_amounts++;
	}
}

void help_lq(struct help *h, const char *name, const char *leaf, int64_t weight)
{
	h->lqs[h->d.n_lqs++] = (struct quota_lq){str_of(name), help_find(h, leaf), weight};
}

void help_apply(struct help *h)
{
	struct mk_err err = {.msg = ""};

	if (quota_apply(h->q, &h->d, &err) != ERR_OK) {
		ok(false, err.msg);
	}
}

void help_total(struct help *h, size_t fr, int64_t total)
{
	h->frs[fr].total = total;
	help_apply(h);
}

void help_flat(struct help *h, const char *kind, int64_t total, const char *names, int min)
{
	static const char *const letters[] = {"A", "B", "C", "D"};

	help_init(h);
	help_fr(h, "default", "cpu", total);
	help_node(h, "root", NULL, kind, -1, -1);
	for (size_t i = 0; i < strlen(names); i++) {
		help_node(h, letters[i], "root", kind, min, -1);
	}
}

enum mk_code help_work(struct help *h, const char *uid, const char *leaf, const char *lq,
		       int priority, int64_t time, bool admitted, const struct help_ask *v,
		       size_t n)
{
	struct quota_ask asks[8];
	struct quota_work_desc d = {
		.uid = str_of(uid),
		.leaf = str_of(leaf),
		.lq = str_of(lq),
		.priority = priority,
		.time_ms = time,
		.admitted_ms = time,
		.admitted = admitted,
		.asks = asks,
		.n_asks = n,
		.n_pods = 1,
	};

	for (size_t i = 0; i < n; i++) {
		asks[i] = (struct quota_ask){.resource = str_of(v[i].resource),
					     .amount = v[i].amount,
					     .flavor = str_of(v[i].flavor)};
	}
	return quota_put(h->q, &d, NULL);
}

void help_wait(struct help *h, const char *uid, const char *leaf, int priority, int64_t time,
	       int64_t cpu)
{
	struct help_ask a = {"default", "cpu", cpu};

	if (help_work(h, uid, leaf, "", priority, time, false, &a, 1) != ERR_OK) {
		ok(false, uid);
	}
}

void help_run(struct help *h, const char *uid, const char *leaf, int priority, int64_t time,
	      int64_t cpu)
{
	struct help_ask a = {"default", "cpu", cpu};

	if (help_work(h, uid, leaf, "", priority, time, true, &a, 1) != ERR_OK) {
		ok(false, uid);
	}
}

static void help_say(struct help *h, const char *what, mk_str uid)
{
	size_t n = strlen(h->text);

	snprintf(h->text + n, sizeof(h->text) - n, "%s%s%.*s", n > 0 ? " " : "", what,
		 STR_ARG(uid));
}

static void help_say_work(struct help *h, const char *sign, const struct quota_work *w)
{
	char uid[QUOTA_MAX_UID + 1];

	help_say(h, sign, quota_work_uid(w, uid));
}

bool help_is(const struct quota_work *w, const char *uid)
{
	char buf[QUOTA_MAX_UID + 1];

	return str_is(quota_work_uid(w, buf), uid);
}

const char *help_cycle(struct help *h, int64_t now)
{
	struct quota_step s;

	h->text[0] = '\0';
	quota_cycle(h->q, now);
	for (;;) {
		if (quota_step(h->q, now, &s) != ERR_OK || s.event == QUOTA_END) {
			return h->text;
		}
		if (s.event == QUOTA_ADMIT) {
			help_say_work(h, "", s.work);
		} else if (s.event == QUOTA_RESERVE) {
			help_say_work(h, "+", s.work);
		} else if (s.event == QUOTA_EXPIRE) {
			help_say_work(h, "!", s.work);
		}
		for (size_t i = 0; s.event == QUOTA_RESERVE && i < s.plan.n; i++) {
			help_say_work(h, "-", s.plan.victims[i].work);
		}
	}
}

const char *help_plan(struct help *h, const char *uid)
{
	struct quota_plan p;
	struct quota_work *w = quota_work_find(h->q, str_of(uid));

	h->text[0] = '\0';
	if (quota_plan(h->q, w, 1000000, &p) != ERR_OK) {
		return "none";
	}
	for (size_t i = 0; i < p.n; i++) {
		help_say_work(h, "", p.victims[i].work);
	}
	return h->text;
}

struct quota_cell_info help_cell(const struct help *h, const char *node, size_t fr)
{
	return quota_cell_at(h->q, quota_node_find(h->q, str_of(node)), fr);
}

int help_state(const struct help *h, const char *uid)
{
	return (int)quota_work_at(h->q, quota_work_find(h->q, str_of(uid))).state;
}

const char *help_why(struct help *h, const char *uid)
{
	struct quota_decision d =
		quota_check(h->q, quota_work_find(h->q, str_of(uid)), false, NULL, 0, NULL);

	h->text[0] = '\0';
	if (d.verdict != QUOTA_FIT) {
		quota_row_text(h->q, &d.row, h->text, sizeof(h->text));
	}
	return h->text;
}
