/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that admission asks for; see webhook_lists.h. */
#include "core/serve/webhook_lists.h"

#include "core/base/backoff.h"
#include "core/base/log.h"

enum {
	STEP_MS = 5000,
	STEP_MAX_MS = 300 * 1000,
	CALM_MS = 600 * 1000, /* without a wish: the next one is fulfilled at once */
};

static const uint16_t kinds[WEBHOOK_LISTS_KINDS] = {KIND_WORKLOAD, KIND_LOCAL_QUEUE,
						    KIND_CLUSTER_QUEUE, KIND_CHECK};

void webhook_lists_init(struct webhook_lists *l)
{
	*l = (struct webhook_lists){.n_over = 0};
	l->over = metric_gauge("multikueue_admission_namespaces_over",
			       "Namespaces with more LocalQueues than are remembered.", NULL);
	metric_set(l->over, METRIC_NONE, 0);
}

static void tell_over(struct webhook_lists *l, const struct admit_queues *q)
{
	char name[ADMIT_SPACE_MAX];
	size_t n = admit_queues_over(q, name);

	if (n == l->n_over) {
		return;
	}
	metric_set(l->over, METRIC_NONE, (double)n);
	if (n > l->n_over) {
		log_write(LOG_WARN, "webhook",
			  "namespaces have more LocalQueues than are remembered: reviews that name "
			  "one of the others are refused there; delete some",
			  LOG_INT("namespaces", n), LOG_CSTR("ns", name), LOG_END);
	} else if (n == 0) {
		log_write(LOG_INFO, "webhook", "all LocalQueues are remembered again", LOG_END);
	}
	l->n_over = n;
}

void webhook_lists_run(struct webhook_lists *l, struct kube *k, const struct admit_queues *q,
		       int64_t mono_ms)
{
	tell_over(l, q);
	for (size_t i = 0; i < WEBHOOK_LISTS_KINDS; i++) {
		if (!admit_queues_wants_list(q, kinds[i])) {
			if (mono_ms - l->kinds[i].due_ms > CALM_MS) {
				l->kinds[i].step_ms = 0;
			}
			continue;
		}
		if (l->kinds[i].step_ms > 0 && mono_ms < l->kinds[i].due_ms) {
			continue;
		}
		l->kinds[i].step_ms = l->kinds[i].step_ms == 0
					      ? STEP_MS
					      : backoff_ms(l->kinds[i].step_ms, 1, STEP_MAX_MS);
		l->kinds[i].due_ms = mono_ms + l->kinds[i].step_ms;
		log_write(LOG_WARN, "webhook",
			  "something that admission must know was lost, or left out: listing anew",
			  LOG_INT("kind", kinds[i]), LOG_END);
		kube_list_again(k, CLUSTER_MANAGER, kinds[i]);
	}
}

int64_t webhook_lists_next_ms(const struct webhook_lists *l, const struct admit_queues *q)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < WEBHOOK_LISTS_KINDS; i++) {
		if (admit_queues_wants_list(q, kinds[i])) {
			int64_t at = l->kinds[i].step_ms > 0 ? l->kinds[i].due_ms : 0;

			next = at < next ? at : next;
		}
	}
	return next;
}
