/* SPDX-License-Identifier: Apache-2.0 */
/* Watches for the store of queue trees; see trees_watch.h. */
#include "core/daemon/trees_watch.h"

#include "core/base/backoff.h"
#include "core/base/log.h"

enum {
	STEP_MS = 5000,
	STEP_MAX_MS = 300 * 1000,
	TEXT_MAX = 16 * 1024 * 1024, /* of an object whose bytes the event does not have */
};

static const struct {
	uint16_t kind;
	enum api_kind api;
} kinds[TREES_WATCH_KINDS] = {
	{KIND_CLUSTER_QUEUE, API_QUEUE}, {KIND_COHORT, API_COHORT},     {KIND_LOCAL_QUEUE, API_LQ},
	{KIND_QUOTA_TREE, API_TREE},     {KIND_QUEUE_TREE, API_STATUS}, {KIND_FLAVOR, API_FLAVOR},
	{KIND_ELASTIC, API_ELASTIC},
};

static int find(uint16_t kind)
{
	for (int i = 0; i < TREES_WATCH_KINDS; i++) {
		if (kinds[i].kind == kind) {
			return i;
		}
	}
	return -1;
}

int trees_watch_kind(enum api_kind kind)
{
	for (int i = 0; i < TREES_WATCH_KINDS; i++) {
		if (kinds[i].api == kind) {
			return kinds[i].kind;
		}
	}
	return -1;
}

enum mk_code trees_watch_open(struct trees_watch *w, struct kube *k, struct trees_store *s,
			      struct mk_err *err)
{
	enum mk_code code = ERR_OK;

	*w = (struct trees_watch){.kube = k, .store = s};
	for (size_t i = 0; i < TREES_WATCH_KINDS && code == ERR_OK; i++) {
		struct op op = {.type = OP_WATCH_OPEN,
				.cluster = CLUSTER_MANAGER,
				.kind = kinds[i].kind,
				.selector = STR(""),
				.subresource = ""};

		code = kube_do(k, &op, err);
	}
	return code;
}

static bool keep(struct trees_watch *w, int i, const struct event *ev)
{
	enum trees_kept kept = TREES_NO_ROOM;
	mk_str text = ev->raw;
	struct arena a;

	arena_init(&a, TEXT_MAX);
	if (text.n == 0 && ev->obj != NULL) {
		text = json_write(&a, ev->obj);
	}
	if (text.n > 0) {
		kept = trees_store_put(w->store, kinds[i].api, ev->ns, ev->name, ev->rv, text);
	}
	arena_done(&a);
	if (kept == TREES_NO_ROOM && !w->kinds[i].lost) {
		log_write(LOG_WARN, "daemon", "an object is not kept: listing its kind anew",
			  LOG_STR("ns", ev->ns), LOG_STR("name", ev->name), LOG_END);
		w->kinds[i].lost = true;
	}
	return kept == TREES_KEPT;
}

bool trees_watch_event(struct trees_watch *w, const struct event *ev)
{
	int i = ev->cluster == CLUSTER_MANAGER ? find(ev->kind) : -1;

	if (i < 0) {
		return false;
	}
	if (ev->type == EV_OBSERVED) {
		return keep(w, i, ev);
	}
	if (ev->type == EV_GONE) {
		return trees_store_drop(w->store, kinds[i].api, ev->ns, ev->name);
	}
	if (ev->type == EV_LIST_BEGIN) {
		w->kinds[i].lost = false;
		trees_store_list(w->store, kinds[i].api);
	} else if (ev->type == EV_LIST_END) {
		trees_store_listed(w->store, kinds[i].api);
	} else if (ev->type == EV_UNSERVED &&
		   (kinds[i].api == API_ELASTIC || ev->code == ERR_NOT_FOUND ||
		    ev->code == ERR_DENIED)) {
		trees_store_unserved(w->store, kinds[i].api);
	}
	return true;
}

void trees_watch_run(struct trees_watch *w, int64_t mono_ms)
{
	for (size_t i = 0; i < TREES_WATCH_KINDS; i++) {
		int64_t step = w->kinds[i].step_ms;

		if (w->kinds[i].lost && mono_ms >= w->kinds[i].due_ms) {
			w->kinds[i].step_ms =
				step == 0 ? STEP_MS : backoff_ms(step, 1, STEP_MAX_MS);
			w->kinds[i].due_ms = mono_ms + w->kinds[i].step_ms;
			kube_list_again(w->kube, CLUSTER_MANAGER, kinds[i].kind);
		}
	}
}

int64_t trees_watch_next_ms(const struct trees_watch *w)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < TREES_WATCH_KINDS; i++) {
		if (w->kinds[i].lost && w->kinds[i].due_ms < next) {
			next = w->kinds[i].due_ms;
		}
	}
	return next;
}
