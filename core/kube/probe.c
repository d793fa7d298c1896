/* SPDX-License-Identifier: Apache-2.0 */
/* Is a connected cluster still there, and still the same one? link.c says what counts as a loss. */
#include "core/kube/impl.h"

static void on_probe(struct kube *k, void *ctx, const struct answer *an);
static void on_identity_probe(struct kube *k, void *ctx, const struct answer *an);

/* Where the identity may be read, the probe tells whether it is still the same cluster as well. */
void link_probe(struct kube *k, struct link *l, enum transport_class cls)
{
	bool known = l->identity[0] != '\0';

	if (!l->probe &&
	    !link_get(k, l, known ? STR(IDENTITY_PATH) : STR("/version"), cls, PROBE_TIMEOUT_MS,
		      known ? on_identity_probe : on_probe, &l->probe)) {
		l->probe = NULL; /* out of memory: the timer asks again */
	}
}

static void on_identity_probe(struct kube *k, void *ctx, const struct answer *an)
{
	struct link *l = ctx;
	struct json *doc = NULL;
	mk_str uid;

	if (an->end == TRANSPORT_OK && (an->http == 403 || an->http == 404)) {
		/* Not shown any more: that says nothing of the cluster. */
		l->probe = NULL;
		if (!link_get(k, l, STR("/version"), TRANSPORT_READ, PROBE_TIMEOUT_MS, on_probe,
			      &l->probe)) {
			l->probe = NULL;
		}
		return;
	}
	if (an->end == TRANSPORT_OK && an->http == 200 &&
	    json_parse(&k->scratch, an->body, &doc, NULL) == ERR_OK) {
		uid = json_str_at(doc, "/metadata/uid");
		if (uid.n > 0 && !str_is(str_cut(uid, sizeof(l->identity) - 1), l->identity)) {
			l->probe = NULL;
			link_fail(k, l, ERR_UNAVAILABLE, 0,
				  STR("another cluster answers: kube-system has another uid"));
			return;
		}
	}
	on_probe(k, l, an);
}

static void on_probe(struct kube *k, void *ctx, const struct answer *an)
{
	struct link *l = ctx;

	l->probe = NULL;
	if (an->end == TRANSPORT_OK && an->http == 429) {
		l->suspect_ms = -1; /* busy, but there */
	} else if (link_fail_by_answer(k, l, an)) {
		return;
	}
	l->suspect_ms = -1;
	link_arm(k, l);
}

void link_suspect(struct kube *k, struct link *l)
{
	if (l->phase != PHASE_UP && l->phase != PHASE_SYNC) {
		return;
	}
	if (l->suspect_ms < 0) {
		l->suspect_ms = k->mono_ms;
	}
	link_probe(k, l, TRANSPORT_READ);
}
