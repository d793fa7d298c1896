/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: YAML of API objects, read, connected, judged and summed up as the command line
 * does, once as they are and once as a change from their first half; what is valid becomes trees
 * that play a few cycles and must agree with their own recount. Nothing may crash, leak or run for
 * long; errors are what is expected.
 */
#include "core/base/yaml.h"
#include "core/quota/api_build.h"
#include "core/quota/validate.h"
#include "t/fuzz/fuzz.h"
#include "t/lib/quota_proof.h"

static struct api_set *link_some(struct arena *a, const struct json *docs, size_t n)
{
	struct api_set *set = api_set_new(a);
	struct json_iter it = json_iter(docs);

	for (size_t i = 0; set != NULL && i < n && json_next(&it); i++) {
		api_set_add(set, it.val, i, NULL);
	}
	return set != NULL && api_set_link(set, API_NONE, NULL) == ERR_OK ? set : NULL;
}

static void judge(struct arena *a, const struct api_set *now, const struct api_set *before,
		  size_t subject)
{
	struct validate_input in = {
		.now = now,
		.before = before,
		.subject = subject,
		.deleted = API_NONE,
	};
	struct validate_errors errors;

	if (validate(a, &in, &errors, NULL) == ERR_OK) {
		validate_text(a, errors.v, errors.n);
	}
}

static void play(struct arena *a, struct api_set *set, const struct api_model *m)
{
	struct quota *q = quota_new();
	struct mk_err err;

	if (!q || quota_apply(q, &m->desc, &err) != ERR_OK) {
		quota_free(q);
		return;
	}
	for (size_t i = 0; i < set->n_workloads; i++) {
		struct api_faults faults = {.n = 0};
		struct api_work w;

		if (api_work_read(a, set, set->workloads[i], &faults, &w) == ERR_OK) {
			api_build_put(a, set, m, q, &w, NULL);
		}
	}
	for (int64_t now = 0; now < 3; now++) {
		struct quota_step s = {.event = QUOTA_BLOCK};

		quota_cycle(q, now);
		for (int i = 0; i < 200 && s.event != QUOTA_END; i++) {
			if (quota_step(q, now, &s) != ERR_OK) {
				break;
			}
		}
	}
	if (proof_check(q, &err) == ERR_BUG) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
	quota_free(q);
}

/* What is valid can be built: no error but running out of room is left. */
static void build(struct arena *a, struct api_set *set)
{
	struct validate_input in = {.now = set, .subject = API_NONE, .deleted = API_NONE};
	struct validate_errors errors;
	struct api_models models = {.n = 0};

	if (validate(a, &in, &errors, NULL) != ERR_OK || errors.n > 0 ||
	    api_build(a, set, &models, NULL) != ERR_OK) {
		return;
	}
	for (size_t i = 0; i < models.n; i++) {
		play(a, set, &models.v[i]);
	}
}

int fuzz_one(const uint8_t *data, size_t size)
{
	struct arena a;
	struct json *docs = NULL;
	struct api_set *now, *before;
	struct api_faults faults = {.n = 0};

	arena_init(&a, 0);
	if (size < 65536 &&
	    yaml_documents(&a, (mk_str){(const char *)data, size}, NULL, &docs, NULL) == ERR_OK) {
		now = link_some(&a, docs, SIZE_MAX);
		before = link_some(&a, docs, json_len(docs) / 2);
		if (now != NULL && before != NULL) {
			judge(&a, now, NULL, API_NONE);
			judge(&a, now, before, API_NONE);
			judge(&a, now, before, now->n_objects > 0 ? now->n_objects - 1 : API_NONE);
			api_status(&a, now);
			build(&a, now);
		}
		for (size_t i = 0; now != NULL && i < now->n_workloads; i++) {
			struct api_work w;

			if (api_work_read(&a, now, now->workloads[i], &faults, &w) == ERR_OK &&
			    w.n_sets > 0 && now->n_flavors > 0) {
				api_work_may_use(&w.sets[0], now->flavors[0]);
			}
		}
	}
	arena_done(&a);
	return 0;
}
