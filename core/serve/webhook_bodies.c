/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of requests about admission's own objects; see webhook_bodies.h. */
#include "core/serve/webhook_bodies.h"

#include <stdlib.h>

#include "core/api/names.h"
#include "core/base/base64.h"

enum { PATCH_MAX = 500 }; /* rows of one patch */

/* An object with the metadata that a write needs. */
static struct json *body_of(struct arena *a, mk_str name, mk_str rv)
{
	struct json *body = json_new_obj(a);
	struct json *meta = json_new_obj(a);

	json_set_str(a, meta, "name", name);
	if (rv.n > 0) {
		json_set_str(a, meta, "resourceVersion", rv);
	}
	json_set(a, body, STR("metadata"), meta);
	return body;
}

/* --- the Secret ------------------------------------------------------------------------------- */

bool webhook_bodies_foreign(const struct json *secret)
{
	mk_str owner = json_str(json_get(json_at(secret, "/metadata/labels"), NAME_MANAGED_BY));

	return !str_is(owner, NAME_DAEMON) && json_len(json_get(secret, "data")) > 0;
}

static void set_data(struct arena *a, struct json *data, const char *key, mk_str pem)
{
	mk_str text = base64_encode(a, pem);

	json_set_str(a, data, key, text);
	str_wipe(text);
}

static struct json *data_of(struct arena *a, const struct serving_certs *c)
{
	struct json *data = json_new_obj(a);

	set_data(a, data, SERVING_CA, c->ca);
	set_data(a, data, SERVING_CA_KEY, c->ca_key);
	set_data(a, data, SERVING_CERT, c->cert);
	set_data(a, data, SERVING_KEY, c->key);
	return data;
}

void webhook_bodies_wipe(const struct json *secret)
{
	struct json_iter it = json_iter(json_get(secret, "data"));

	while (json_next(&it)) {
		str_wipe(json_str(it.val));
	}
}

struct json *webhook_bodies_secret(struct arena *a, mk_str name, mk_str rv,
				   const struct serving_certs *certs)
{
	struct json *body = body_of(a, name, rv);
	struct json *labels = json_new_obj(a);

	json_set_str(a, labels, NAME_MANAGED_BY, STR(NAME_DAEMON));
	json_set(a, json_get(body, "metadata"), STR("labels"), labels);
	json_set(a, body, STR("data"), data_of(a, certs));
	if (rv.n == 0) {
		json_set_str(a, body, "apiVersion", STR("v1"));
		json_set_str(a, body, "kind", STR("Secret"));
	}
	return arena_failed(a) ? NULL : body;
}

/* --- who is told whom to trust ---------------------------------------------------------------- */

static bool is_kind(const struct json *trusting, const char *word)
{
	return str_is(json_str(json_get(trusting, "kind")), word);
}

mk_str webhook_bodies_trusted(const struct json *trusting)
{
	struct json_iter it = json_iter(json_get(trusting, "webhooks"));
	mk_str common = {NULL, 0};
	bool first = true;

	if (is_kind(trusting, "APIService")) {
		return json_str_at(trusting, "/spec/caBundle");
	}
	while (json_next(&it)) {
		mk_str one = json_str_at(it.val, "/clientConfig/caBundle");

		if (!first && !str_eq(one, common)) {
			return (mk_str){NULL, 0};
		}
		common = one;
		first = false;
	}
	return common;
}

static struct json *hooks_with(struct arena *a, const struct json *configuration, mk_str bundle)
{
	struct json *hooks = json_new_arr(a);
	struct json_iter it = json_iter(json_get(configuration, "webhooks"));

	while (json_next(&it)) {
		struct json *hook = json_new_obj(a);
		struct json *client = json_new_obj(a);

		json_set_str(a, client, "caBundle", bundle);
		json_set_str(a, hook, "name", json_str(json_get(it.val, "name")));
		json_set(a, hook, STR("clientConfig"), client);
		json_add(a, hooks, hook);
	}
	return hooks;
}

struct json *webhook_bodies_bundle(struct arena *a, const struct json *trusting, mk_str bundle)
{
	struct json *body = body_of(a, json_str_at(trusting, "/metadata/name"),
				    json_str_at(trusting, "/metadata/resourceVersion"));
	struct json *spec = json_new_obj(a);

	if (is_kind(trusting, "APIService")) {
		json_set_str(a, spec, "caBundle", bundle);
		json_set_str(a, body, "apiVersion", STR("apiregistration.k8s.io/v1"));
		json_set_str(a, body, "kind", STR("APIService"));
		json_set(a, body, STR("spec"), spec);
	} else {
		json_set_str(a, body, "apiVersion", STR("admissionregistration.k8s.io/v1"));
		json_set_str(a, body, "kind",
			     is_kind(trusting, "ValidatingWebhookConfiguration")
				     ? STR("ValidatingWebhookConfiguration")
				     : STR("MutatingWebhookConfiguration"));
		json_set(a, body, STR("webhooks"), hooks_with(a, trusting, bundle));
	}
	return arena_failed(a) ? NULL : body;
}

/* --- the table of queues ---------------------------------------------------------------------- */

static int by_key(const void *x, const void *y)
{
	return str_cmp(((const struct admit_row *)x)->key, ((const struct admit_row *)y)->key);
}

/* The ConfigMap's data as rows, sorted. NULL: out of memory. */
static const struct admit_row *rows_of(struct arena *a, const struct json *data, size_t *ret_n)
{
	struct admit_row *rows = arena_array(a, json_len(data) + 1, sizeof(*rows));
	struct json_iter it = json_iter(data);
	size_t n = 0;

	while (rows && json_next(&it)) {
		rows[n++] = (struct admit_row){.key = it.key, .cluster_queue = json_str(it.val)};
	}
	if (n > 0) {
		qsort(rows, n, sizeof(*rows), by_key);
	}
	*ret_n = n;
	return rows;
}

/* Changes that make 'data' the table. */
static struct json *table_changes(struct arena *a, const struct admit_queues *q,
				  const struct json *data)
{
	size_t n = 0;
	size_t n_old = 0;
	const struct admit_row *rows = admit_queues_table(q, a, &n);
	const struct admit_row *old = rows_of(a, data, &n_old);
	struct json *patch = json_new_obj(a);
	size_t i = 0;
	size_t j = 0;

	while (rows && old && (i < n || j < n_old) && json_len(patch) < PATCH_MAX) {
		int order = j == n_old ? -1 : i == n ? 1 : str_cmp(rows[i].key, old[j].key);

		if (order > 0) {
			json_set(a, patch, old[j].key, json_new_null(a));
		} else if (order < 0 || !str_eq(rows[i].cluster_queue, old[j].cluster_queue)) {
			json_set(a, patch, rows[i].key, json_new_str(a, rows[i].cluster_queue));
		}
		i += order <= 0 ? 1 : 0;
		j += order >= 0 ? 1 : 0;
	}
	return patch;
}

struct json *webhook_bodies_table(struct arena *a, const struct admit_queues *q,
				  const struct json *config_map)
{
	struct json *changes = table_changes(a, q, json_get(config_map, "data"));
	struct json *body;

	if (json_len(changes) == 0) {
		return NULL;
	}
	body = body_of(a, STR(WEBHOOK_TABLE), json_str_at(config_map, "/metadata/resourceVersion"));
	json_set(a, body, STR("data"), changes);
	return arena_failed(a) ? NULL : body;
}
