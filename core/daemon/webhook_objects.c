/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three small loops of read, compare, write; see webhook_objects.h. Each has one request in the air at most. What is
 * equal is not written.
 */
#include "core/daemon/webhook_objects.h"

#include <stdlib.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/log.h"

enum {
	TIMEOUT_MS = 10000,
	SOON_MS = 5000,        /* after a failure */
	MISSING_MS = 10000,    /* an object that the operator installs */
	REGULAR_MS = 60000,    /* a look at what others may change */
	SECRET_MS = 600000,    /* its watch tells of changes */
	TABLE_GAP_MS = 1000,   /* between two writes of the table */
	PLAN_MS = 3600 * 1000, /* certificates end in months */
	PATCH_MAX = 500,       /* rows of one patch */
	ARENA_MAX = 64 * 1024 * 1024,
	SECRET_MAX = 1024 * 1024,
};

/* What marks the Secret as ours to write. */
#define OWNER_KEY "app.kubernetes.io/managed-by"
#define OWNER "multikueued"

enum task_id { TASK_SECRET, TASK_BUNDLE, TASK_TABLE, N_TASKS };

struct task {
	bool in_air;
	int64_t due_ms;
};

struct webhook_objects {
	struct webhook_objects_options o;
	struct task tasks[N_TASKS];
	struct arena arena; /* of one run or answer */
	int64_t mono_ms, wall_ms;
	bool leads;
	/* The Secret as read last. */
	struct arena secret_arena;
	struct serving_certs certs;
	mk_str secret_rv;
	bool secret_known, secret_exists, secret_foreign;
	int64_t plan_due_ms;
	/* The webhook configuration as read last. */
	struct buf trusted; /* PEM, or empty */
	/* The table. */
	uint64_t table_version; /* that the ConfigMap shows */
	bool table_exists;
};

struct webhook_objects *webhook_objects_new(const struct webhook_objects_options *o)
{
	struct webhook_objects *w = mk_calloc(1, sizeof(*w));

	if (w) {
		w->o = *o;
		w->table_version = UINT64_MAX;
		arena_init(&w->arena, ARENA_MAX);
		arena_init(&w->secret_arena, SECRET_MAX * 4);
		buf_init(&w->trusted, SECRET_MAX);
	}
	return w;
}

static void wipe(mk_str s)
{
	if (s.n > 0) {
		explicit_bzero((void *)(uintptr_t)s.p, s.n); /* in our own arena */
	}
}

static void forget_secret(struct webhook_objects *w)
{
	wipe(w->certs.ca_key);
	wipe(w->certs.key);
	w->certs = (struct serving_certs){.ca = {NULL, 0}};
	w->secret_rv = (mk_str){NULL, 0};
	w->secret_exists = false;
	w->secret_foreign = false;
	arena_clear(&w->secret_arena);
}

void webhook_objects_free(struct webhook_objects *w)
{
	if (w) {
		forget_secret(w);
		arena_done(&w->secret_arena);
		arena_done(&w->arena);
		buf_done(&w->trusted);
		mk_free(w);
	}
}

void webhook_objects_event(struct webhook_objects *w, const struct event *ev)
{
	bool is_up = ev->type == EV_LINK && ev->link == LINK_UP;

	if (ev->cluster != CLUSTER_MANAGER) {
		return;
	}
	if (is_up || ((ev->type == EV_OBSERVED || ev->type == EV_GONE) && ev->kind == KIND_SECRET &&
		      w->o.own_authority && str_eq(ev->name, w->o.secret))) {
		w->tasks[TASK_SECRET].due_ms = 0;
	}
	if (is_up) {
		w->tasks[TASK_BUNDLE].due_ms = 0;
		w->tasks[TASK_TABLE].due_ms = 0;
	}
}

/* --- requests ---------------------------------------------------------------------------------------- */

static void send(struct webhook_objects *w, enum task_id id, enum kube_verb verb, uint16_t kind,
		 mk_str name, const struct json *body, kube_reply_fn *fn)
{
	struct kube_request r = {.cluster = CLUSTER_MANAGER,
				 .verb = verb,
				 .kind = kind,
				 .ns = kind == KIND_WEBHOOKS ? (mk_str){NULL, 0} : w->o.namespace_,
				 .name = name,
				 .subresource = "",
				 .field_manager = "multikueued",
				 .body = body ? json_write(&w->arena, body) : (mk_str){NULL, 0},
				 .timeout_ms = TIMEOUT_MS};

	w->tasks[id].due_ms = w->mono_ms + SOON_MS;
	if (!arena_failed(&w->arena) &&
	    kube_send(w->o.kube, &r, (uint64_t)id, fn, w, NULL) == MK_OK) {
		w->tasks[id].in_air = true;
	}
}

/* The task of an answer, which is in the air no longer; it is due again in 'in_ms'. */
static void landed(struct webhook_objects *w, enum task_id id, int64_t in_ms)
{
	w->tasks[id].in_air = false;
	w->tasks[id].due_ms = w->mono_ms + in_ms;
}

/* After a write: read again at once when it was done or somebody else was first, later when it failed. */
static void on_written(void *ctx, uint64_t id, const struct kube_reply *reply)
{
	static const char *const what[] = {"Secret", "MutatingWebhookConfiguration", "ConfigMap"};
	struct webhook_objects *w = ctx;
	bool again = reply->outcome == OUTCOME_APPLIED || reply->code == MK_CONFLICT ||
		     reply->code == MK_EXISTS || reply->code == MK_NOT_FOUND;

	if (!again && reply->code != MK_FENCED) {
		log_write(LOG_WARN, "webhook", "an object of admission could not be written",
			  LOG_CSTR("what", what[id]), LOG_CSTR("code", err_code_name(reply->code)),
			  LOG_STR("err", reply->text), LOG_END);
	}
	landed(w, (enum task_id)id, again ? 0 : SOON_MS);
}

static void told_failure(const char *what, const struct kube_reply *reply)
{
	log_write(LOG_WARN, "webhook", "an object of admission could not be read",
		  LOG_CSTR("what", what), LOG_CSTR("code", err_code_name(reply->code)),
		  LOG_STR("err", reply->text), LOG_END);
}

/* An object with the metadata that a write needs. */
static struct json *body_of(struct webhook_objects *w, mk_str name, mk_str rv)
{
	struct json *body = json_new_obj(&w->arena);
	struct json *meta = json_new_obj(&w->arena);

	json_set_str(&w->arena, meta, "name", name);
	if (rv.n > 0) {
		json_set_str(&w->arena, meta, "resourceVersion", rv);
	}
	json_set(&w->arena, body, STR("metadata"), meta);
	return body;
}

/* --- the Secret -------------------------------------------------------------------------------------- */

static mk_str decoded(struct webhook_objects *w, const struct json *secret, const char *key)
{
	mk_str out = {NULL, 0};

	if (base64_decode(&w->secret_arena, json_str(json_get(json_get(secret, "data"), key)), &out,
			  NULL) != MK_OK) {
		out = (mk_str){NULL, 0};
	}
	return out;
}

static void take_secret(struct webhook_objects *w, const struct json *obj)
{
	mk_str owner = json_str(json_get(json_at(obj, "/metadata/labels"), OWNER_KEY));
	mk_str before = arena_dup(&w->arena, w->certs.cert);

	forget_secret(w);
	w->secret_exists = true;
	w->secret_rv = arena_dup(&w->secret_arena, json_str_at(obj, "/metadata/resourceVersion"));
	w->certs = (struct serving_certs){.ca = decoded(w, obj, SERVING_CA),
					  .ca_key = decoded(w, obj, SERVING_CA_KEY),
					  .cert = decoded(w, obj, SERVING_CERT),
					  .key = decoded(w, obj, SERVING_KEY)};
	w->secret_foreign = !str_is(owner, OWNER) && json_len(json_get(obj, "data")) > 0;
	if (w->secret_foreign) {
		log_write(LOG_ERROR, "webhook",
			  "the Secret for our certificate belongs to somebody else: it is left "
			  "alone; name "
			  "another one in internalCertManagement.webhookSecretName",
			  LOG_STR("ns", w->o.namespace_), LOG_STR("name", w->o.secret), LOG_END);
	} else if (w->certs.cert.n > 0 && !str_eq(before, w->certs.cert)) {
		w->o.on_certificate(w->o.ctx, w->certs.cert, w->certs.key);
	}
}

static void on_secret(void *ctx, uint64_t id, const struct kube_reply *reply)
{
	struct webhook_objects *w = ctx;

	landed(w, TASK_SECRET, SECRET_MS);
	(void)id;
	if (reply->outcome == OUTCOME_APPLIED && reply->obj) {
		take_secret(w, reply->obj);
	} else if (reply->code == MK_NOT_FOUND) {
		forget_secret(w);
	} else {
		told_failure("Secret", reply);
		landed(w, TASK_SECRET, SOON_MS);
		return;
	}
	w->secret_known = true;
	w->plan_due_ms = 0;
	w->tasks[TASK_BUNDLE].due_ms = 0;
	arena_clear(&w->arena);
}

static struct json *data_of(struct webhook_objects *w, const struct serving_certs *c)
{
	struct json *data = json_new_obj(&w->arena);

	json_set_str(&w->arena, data, SERVING_CA, base64_encode(&w->arena, c->ca));
	json_set_str(&w->arena, data, SERVING_CA_KEY, base64_encode(&w->arena, c->ca_key));
	json_set_str(&w->arena, data, SERVING_CERT, base64_encode(&w->arena, c->cert));
	json_set_str(&w->arena, data, SERVING_KEY, base64_encode(&w->arena, c->key));
	return data;
}

/* The leader's part: makes and renews what the Secret holds. */
static void plan_certs(struct webhook_objects *w)
{
	struct serving_input in = {.have = w->certs,
				   .trusted = buf_str(&w->trusted),
				   .names = w->o.names,
				   .n_names = w->o.n_names,
				   .now_ms = w->wall_ms};
	struct serving_certs next;
	struct mk_err err = {.code = MK_OK};
	bool change = false;
	struct json *body;
	struct json *labels;

	w->plan_due_ms = w->mono_ms + PLAN_MS;
	if (w->secret_foreign) {
		return;
	}
	if (serving_certs_plan(&w->arena, &in, &next, &change, &err) != MK_OK) {
		log_write(LOG_ERROR, "webhook", "no certificate could be made", LOG_ERR(&err),
			  LOG_END);
		return;
	}
	if (!change) {
		return;
	}
	body = body_of(w, w->o.secret, w->secret_rv);
	labels = json_new_obj(&w->arena);
	json_set_str(&w->arena, labels, OWNER_KEY, STR(OWNER));
	json_set(&w->arena, json_get(body, "metadata"), STR("labels"), labels);
	json_set(&w->arena, body, STR("data"), data_of(w, &next));
	log_write(LOG_INFO, "webhook", "writing a new certificate", LOG_STR("name", w->o.secret),
		  LOG_BOOL("new_authority", !str_eq(next.ca_key, w->certs.ca_key)), LOG_END);
	if (!w->secret_exists) {
		json_set_str(&w->arena, body, "apiVersion", STR("v1"));
		json_set_str(&w->arena, body, "kind", STR("Secret"));
	}
	send(w, TASK_SECRET, w->secret_exists ? KUBE_MERGE : KUBE_CREATE, KIND_SECRET, w->o.secret,
	     body, on_written);
}

static void run_secret(struct webhook_objects *w)
{
	struct task *t = &w->tasks[TASK_SECRET];

	if (t->in_air) {
		return;
	}
	if (t->due_ms <= w->mono_ms) {
		send(w, TASK_SECRET, KUBE_GET, KIND_SECRET, w->o.secret, NULL, on_secret);
	} else if (w->leads && w->secret_known && w->plan_due_ms <= w->mono_ms) {
		plan_certs(w);
	}
}

/* --- the webhook configuration ----------------------------------------------------------------------- */

/* The caBundle (base64) of all webhooks of 'obj', or "" when they differ or have none. */
static mk_str bundle_of(const struct json *obj)
{
	struct json_iter it = json_iter(json_get(obj, "webhooks"));
	mk_str common = {NULL, 0};
	bool first = true;

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

static void write_bundle(struct webhook_objects *w, const struct json *obj, mk_str bundle)
{
	struct json *body = body_of(w, STR(WEBHOOK_CONFIGURATION),
				    json_str_at(obj, "/metadata/resourceVersion"));
	struct json *hooks = json_new_arr(&w->arena);
	struct json_iter it = json_iter(json_get(obj, "webhooks"));

	while (json_next(&it)) {
		struct json *hook = json_new_obj(&w->arena);
		struct json *client = json_new_obj(&w->arena);

		json_set_str(&w->arena, client, "caBundle", bundle);
		json_set_str(&w->arena, hook, "name", json_str(json_get(it.val, "name")));
		json_set(&w->arena, hook, STR("clientConfig"), client);
		json_add(&w->arena, hooks, hook);
	}
	json_set_str(&w->arena, body, "apiVersion", STR("admissionregistration.k8s.io/v1"));
	json_set_str(&w->arena, body, "kind", STR("MutatingWebhookConfiguration"));
	json_set(&w->arena, body, STR("webhooks"), hooks);
	log_write(LOG_INFO, "webhook", "telling the API servers whom to trust",
		  LOG_CSTR("name", WEBHOOK_CONFIGURATION), LOG_END);
	send(w, TASK_BUNDLE, KUBE_APPLY, KIND_WEBHOOKS, STR(WEBHOOK_CONFIGURATION), body,
	     on_written);
}

static void on_bundle(void *ctx, uint64_t id, const struct kube_reply *reply)
{
	struct webhook_objects *w = ctx;
	mk_str wanted = base64_encode(&w->arena, w->certs.ca);
	mk_str pem = {NULL, 0};
	mk_str found = bundle_of(reply->obj);

	(void)id;
	landed(w, TASK_BUNDLE, REGULAR_MS);
	if (reply->outcome != OUTCOME_APPLIED || !reply->obj) {
		if (reply->code != MK_NOT_FOUND) {
			told_failure("MutatingWebhookConfiguration", reply);
		}
		landed(w, TASK_BUNDLE, MISSING_MS);
	} else if (w->leads && w->certs.ca.n > 0 && !w->secret_foreign &&
		   json_len(json_get(reply->obj, "webhooks")) > 0 && !str_eq(found, wanted)) {
		write_bundle(w, reply->obj, wanted);
	}
	if (base64_decode(&w->arena, found, &pem, NULL) == MK_OK &&
	    !str_eq(pem, buf_str(&w->trusted))) {
		buf_clear(&w->trusted);
		buf_add(&w->trusted, pem);
		w->plan_due_ms = 0;
	}
	arena_clear(&w->arena);
}

/* --- the table of queues ----------------------------------------------------------------------------- */

static int by_key(const void *x, const void *y)
{
	return str_cmp(((const struct admit_row *)x)->key, ((const struct admit_row *)y)->key);
}

/* The ConfigMap's data as rows, sorted. NULL: out of memory. */
static const struct admit_row *rows_of(struct webhook_objects *w, const struct json *data,
				       size_t *ret_n)
{
	struct admit_row *rows = arena_array(&w->arena, json_len(data) + 1, sizeof(*rows));
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

/* A merge patch of 'data' that makes it the table, or NULL. A long one is cut: the rest is done by the next. */
static struct json *table_patch(struct webhook_objects *w, const struct json *data)
{
	size_t n = 0;
	size_t n_old = 0;
	const struct admit_row *rows = admit_queues_table(w->o.queues, &w->arena, &n);
	const struct admit_row *old = rows_of(w, data, &n_old);
	struct json *patch = json_new_obj(&w->arena);
	size_t i = 0;
	size_t j = 0;

	while (rows && old && (i < n || j < n_old) && json_len(patch) < PATCH_MAX) {
		int order = j == n_old ? -1 : i == n ? 1 : str_cmp(rows[i].key, old[j].key);

		if (order > 0) {
			json_set(&w->arena, patch, old[j].key, json_new_null(&w->arena));
		} else if (order < 0 || !str_eq(rows[i].cluster_queue, old[j].cluster_queue)) {
			json_set(&w->arena, patch, rows[i].key,
				 json_new_str(&w->arena, rows[i].cluster_queue));
		}
		i += order <= 0 ? 1 : 0;
		j += order >= 0 ? 1 : 0;
	}
	return json_len(patch) > 0 ? patch : NULL;
}

static void on_table(void *ctx, uint64_t id, const struct kube_reply *reply)
{
	struct webhook_objects *w = ctx;
	uint64_t version = admit_queues_version(w->o.queues);
	struct json *patch = NULL;

	(void)id;
	landed(w, TASK_TABLE, REGULAR_MS);
	w->table_exists = reply->outcome == OUTCOME_APPLIED && reply->obj;
	if (!w->table_exists) {
		if (reply->code != MK_NOT_FOUND) {
			told_failure("ConfigMap", reply);
			landed(w, TASK_TABLE, SOON_MS);
		}
		return;
	}
	if (!w->leads || !admit_queues_ready(w->o.queues)) {
		return;
	}
	patch = table_patch(w, json_get(reply->obj, "data"));
	if (patch) {
		struct json *body = body_of(w, STR(WEBHOOK_TABLE),
					    json_str_at(reply->obj, "/metadata/resourceVersion"));

		json_set(&w->arena, body, STR("data"), patch);
		send(w, TASK_TABLE, KUBE_MERGE, KIND_CONFIG_MAP, STR(WEBHOOK_TABLE), body,
		     on_written);
	} else if (!arena_failed(&w->arena)) {
		w->table_version = version;
	}
	arena_clear(&w->arena);
}

/* --- what is due ------------------------------------------------------------------------------------- */

/* A change of the queues is written soon, where there is a table. */
static int64_t table_due(const struct webhook_objects *w)
{
	const struct task *t = &w->tasks[TASK_TABLE];
	bool news = w->table_exists && w->leads && admit_queues_ready(w->o.queues) &&
		    admit_queues_version(w->o.queues) != w->table_version;
	int64_t soon = t->due_ms - REGULAR_MS + TABLE_GAP_MS;

	return news && soon < t->due_ms ? soon : t->due_ms;
}

void webhook_objects_run(struct webhook_objects *w, int64_t mono_ms, int64_t wall_ms, bool leads)
{
	if (leads && !w->leads) {
		w->tasks[TASK_BUNDLE].due_ms = mono_ms;
		w->tasks[TASK_TABLE].due_ms = mono_ms;
		w->plan_due_ms = mono_ms;
	}
	w->mono_ms = mono_ms;
	w->wall_ms = wall_ms;
	w->leads = leads;
	if (!kube_is_up(w->o.kube, CLUSTER_MANAGER)) {
		return;
	}
	if (w->o.own_authority) {
		run_secret(w);
	}
	if (w->o.own_authority && leads && !w->tasks[TASK_BUNDLE].in_air &&
	    w->tasks[TASK_BUNDLE].due_ms <= mono_ms) {
		send(w, TASK_BUNDLE, KUBE_GET, KIND_WEBHOOKS, STR(WEBHOOK_CONFIGURATION), NULL,
		     on_bundle);
	}
	if (leads && !w->tasks[TASK_TABLE].in_air && table_due(w) <= mono_ms) {
		send(w, TASK_TABLE, KUBE_GET, KIND_CONFIG_MAP, STR(WEBHOOK_TABLE), NULL, on_table);
	}
	arena_clear(&w->arena);
}

int64_t webhook_objects_next_ms(const struct webhook_objects *w)
{
	int64_t next = w->mono_ms + SECRET_MS;

	for (size_t i = 0; i < N_TASKS; i++) {
		bool wanted = (i == TASK_TABLE || w->o.own_authority) &&
			      (i == TASK_SECRET || w->leads) && !w->tasks[i].in_air;
		int64_t due = i == TASK_TABLE ? table_due(w) : w->tasks[i].due_ms;

		if (wanted && due < next) {
			next = due;
		}
	}
	if (w->leads && w->secret_known && !w->tasks[TASK_SECRET].in_air && w->plan_due_ms < next) {
		next = w->plan_due_ms;
	}
	return kube_is_up(w->o.kube, CLUSTER_MANAGER) ? next : INT64_MAX;
}
