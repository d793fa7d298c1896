/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few small loops of read, compare, write; see webhook_objects.h. Each has one request in the air
 * at most. What is equal is not written.
 */
#include "core/serve/webhook_objects.h"

#include <strings.h>

#include "core/api/names.h"
#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/log.h"
#include "core/serve/webhook_bodies.h"

enum {
	TIMEOUT_MS = 10000,
	SOON_MS = 5000,        /* after a failure */
	MISSING_MS = 10000,    /* an object that the operator installs */
	REGULAR_MS = 60000,    /* a look at what others may change */
	SECRET_MS = 600000,    /* its watch tells of changes */
	TABLE_GAP_MS = 1000,   /* between two writes of the table */
	PLAN_MS = 3600 * 1000, /* certificates end in months */
	ARENA_MAX = 64 * 1024 * 1024,
	SECRET_MAX = 1024 * 1024,
};

enum task_id { TASK_SECRET, TASK_BUNDLE, TASK_ALSO, TASK_TABLE, N_TASKS };

struct task {
	bool in_air;
	bool again; /* what is in the air may be older than what was told meanwhile */
	int64_t due_ms;
	int64_t news_ms; /* the table: when it is due, should the queues have changed */
};

/* An object that names whom API servers trust: as it was read last. */
struct trusting {
	uint16_t kind;
	mk_str name;       /* "": there is none to be written */
	struct buf bundle; /* PEM, or empty */
	bool known, exists;
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
	bool cert_refused; /* it could not be put in use, perhaps for lack of memory */
	int64_t plan_due_ms;
	struct trusting trusting[2]; /* of TASK_BUNDLE and TASK_ALSO */
	/* The table. */
	uint64_t table_version; /* that the ConfigMap shows */
	bool table_exists;
};

/* A task that only the leader has, with an authority of our own. */
static struct trusting *trusting_of(struct webhook_objects *w, size_t id)
{
	struct trusting *t = &w->trusting[id == TASK_ALSO ? 1 : 0];

	return (id == TASK_BUNDLE || id == TASK_ALSO) && t->name.n > 0 && w->o.own_authority ? t
											     : NULL;
}

/*
 * API servers refuse every job between a change of such an object and our next look at it. Where
 * the right to watch it is missing, that look comes each REGULAR_MS all the same.
 */
static bool watch_trusting(struct webhook_objects *w)
{
	bool good = true;

	for (enum task_id id = TASK_BUNDLE; id <= TASK_ALSO; id++) {
		const struct trusting *t = trusting_of(w, id);
		const struct op op = {.type = OP_WATCH_OPEN,
				      .cluster = CLUSTER_MANAGER,
				      .kind = t ? t->kind : KIND_WEBHOOKS,
				      .name = t ? t->name : STR_NONE,
				      .selector = STR(""),
				      .subresource = "",
				      .metadata_only = true};

		good = good && (!t || kube_do(w->o.kube, &op, NULL) == ERR_OK);
	}
	return good;
}

struct webhook_objects *webhook_objects_new(const struct webhook_objects_options *o)
{
	struct webhook_objects *w = mk_calloc(1, sizeof(*w));

	if (w) {
		w->o = *o;
		w->table_version = UINT64_MAX;
		arena_init(&w->arena, ARENA_MAX);
		arena_init(&w->secret_arena, SECRET_MAX * 4);
		w->trusting[0] = (struct trusting){.kind = o->trusting_kind, .name = o->trusting};
		w->trusting[1] = (struct trusting){.kind = o->also_kind, .name = o->also};
		for (size_t i = 0; i < 2; i++) {
			buf_init(&w->trusting[i].bundle, SECRET_MAX);
		}
		if (!watch_trusting(w)) {
			webhook_objects_free(w);
			return NULL;
		}
	}
	return w;
}

static void forget_secret(struct webhook_objects *w)
{
	str_wipe(w->certs.ca_key);
	str_wipe(w->certs.key);
	w->certs = (struct serving_certs){.ca = {NULL, 0}};
	w->secret_rv = (mk_str){NULL, 0};
	w->secret_exists = false;
	w->secret_foreign = false;
	w->cert_refused = false;
	arena_clear(&w->secret_arena);
}

void webhook_objects_free(struct webhook_objects *w)
{
	if (w) {
		forget_secret(w);
		arena_done(&w->secret_arena);
		arena_done(&w->arena);
		buf_done(&w->trusting[0].bundle);
		buf_done(&w->trusting[1].bundle);
		mk_free(w);
	}
}

static void look_at_once(struct task *t)
{
	t->due_ms = 0;
	t->again = t->in_air;
}

void webhook_objects_event(struct webhook_objects *w, const struct event *ev)
{
	bool is_up = ev->type == EV_LINK && ev->link == LINK_UP;
	bool changed = ev->type == EV_OBSERVED || ev->type == EV_GONE;

	if (ev->cluster != CLUSTER_MANAGER) {
		return;
	}
	if (is_up || (changed && ev->kind == KIND_SECRET && w->o.own_authority &&
		      str_eq(ev->name, w->o.secret))) {
		look_at_once(&w->tasks[TASK_SECRET]);
	}
	for (enum task_id id = TASK_BUNDLE; id <= TASK_ALSO; id++) {
		const struct trusting *t = trusting_of(w, id);

		if (t && (is_up || (changed && ev->kind == t->kind && str_eq(ev->name, t->name)))) {
			look_at_once(&w->tasks[id]);
		}
	}
	if (is_up) {
		w->tasks[TASK_TABLE].due_ms = 0;
	}
}

/* --- requests --------------------------------------------------------------------------------- */

static void set_due(struct webhook_objects *w, enum task_id id, int64_t in_ms)
{
	w->tasks[id].due_ms = w->mono_ms + in_ms;
	w->tasks[id].news_ms = w->tasks[id].due_ms;
}

static void send(struct webhook_objects *w, enum task_id id, enum kube_verb verb, uint16_t kind,
		 mk_str name, const struct json *body, kube_reply_fn *fn)
{
	struct kube_request r = {.cluster = CLUSTER_MANAGER,
				 .verb = verb,
				 .kind = kind,
				 .ns = trusting_of(w, id) ? STR_NONE : w->o.namespace_,
				 .name = name,
				 .subresource = "",
				 .field_manager = NAME_DAEMON,
				 .body = body ? json_write(&w->arena, body) : (mk_str){NULL, 0},
				 .timeout_ms = TIMEOUT_MS};

	set_due(w, id, SOON_MS);
	if (!arena_failed(&w->arena) &&
	    kube_send(w->o.kube, &r, (uint64_t)id, fn, w, NULL) == ERR_OK) {
		w->tasks[id].in_air = true;
	}
	if (kind == KIND_SECRET) {
		str_wipe(r.body);
	}
}

/*
 * The task of an answer, which is in the air no longer; it is due again in 'in_ms', or at once when
 * a change came meanwhile.
 */
static void landed(struct webhook_objects *w, enum task_id id, int64_t in_ms)
{
	set_due(w, id, w->tasks[id].again ? 0 : in_ms);
	w->tasks[id].in_air = false;
	w->tasks[id].again = false;
}

static const char *kind_word(uint16_t kind)
{
	return kind == KIND_WEBHOOKS     ? "MutatingWebhookConfiguration"
	       : kind == KIND_VALIDATING ? "ValidatingWebhookConfiguration"
					 : "APIService";
}

/*
 * After a write: read again at once when it was done or another writer was first, later when it
 * failed.
 */
static void on_written(void *ctx, uint64_t id, const struct kube_reply *reply)
{
	struct webhook_objects *w = ctx;
	const struct trusting *t = trusting_of(w, id);
	const char *what = t ? kind_word(t->kind) : id == TASK_SECRET ? "Secret" : "ConfigMap";
	bool again = reply->outcome == OUTCOME_APPLIED || reply->code == ERR_CONFLICT ||
		     reply->code == ERR_EXISTS || reply->code == ERR_NOT_FOUND;

	if (!again && reply->code != ERR_FENCED) {
		log_write(LOG_WARN, w->o.module, "an object of ours could not be written",
			  LOG_CSTR("what", what), LOG_CSTR("code", err_code_name(reply->code)),
			  LOG_STR("err", reply->text), LOG_END);
	}
	if (id == TASK_SECRET) {
		webhook_bodies_wipe(reply->obj);
	}
	landed(w, (enum task_id)id, again ? 0 : SOON_MS);
}

/* Also where the kind itself is not served. */
static bool is_missing(const struct kube_reply *reply)
{
	return reply->code == ERR_NOT_FOUND || reply->http == 404;
}

static void told_failure(const struct webhook_objects *w, const char *what,
			 const struct kube_reply *reply)
{
	log_write(LOG_WARN, w->o.module, "an object of ours could not be read",
		  LOG_CSTR("what", what), LOG_CSTR("code", err_code_name(reply->code)),
		  LOG_STR("err", reply->text), LOG_END);
}

/* --- the Secret ------------------------------------------------------------------------------- */

static mk_str decoded(struct webhook_objects *w, const struct json *secret, const char *key)
{
	mk_str out = {NULL, 0};

	if (base64_decode(&w->secret_arena, json_str(json_get(json_get(secret, "data"), key)), &out,
			  NULL) != ERR_OK) {
		out = (mk_str){NULL, 0};
	}
	return out;
}

/*
 * False: out of memory, and nothing was taken. What could not be kept must not look as if it were
 * missing.
 */
static bool take_secret(struct webhook_objects *w, const struct json *obj)
{
	mk_str before = arena_dup(&w->arena, w->certs.cert);
	bool retry = w->cert_refused;

	forget_secret(w);
	w->secret_exists = true;
	w->secret_rv = arena_dup(&w->secret_arena, json_str_at(obj, "/metadata/resourceVersion"));
	w->certs = (struct serving_certs){.ca = decoded(w, obj, SERVING_CA),
					  .ca_key = decoded(w, obj, SERVING_CA_KEY),
					  .cert = decoded(w, obj, SERVING_CERT),
					  .key = decoded(w, obj, SERVING_KEY)};
	if (arena_failed(&w->secret_arena)) {
		forget_secret(w);
		return false;
	}
	w->secret_foreign = webhook_bodies_foreign(obj);
	if (w->secret_foreign) {
		log_write(LOG_ERROR, w->o.module,
			  "the Secret for our certificate is another program's: it is left "
			  "alone; name another one in the configuration",
			  LOG_STR("ns", w->o.namespace_), LOG_STR("name", w->o.secret), LOG_END);
	} else if (w->certs.cert.n > 0 && (retry || !str_eq(before, w->certs.cert))) {
		w->cert_refused = !w->o.on_certificate(w->o.ctx, w->certs.cert, w->certs.key);
	}
	return true;
}

static void on_secret(void *ctx, uint64_t id, const struct kube_reply *reply)
{
	struct webhook_objects *w = ctx;
	bool is_there = reply->outcome == OUTCOME_APPLIED && reply->obj;

	(void)id;
	if (!is_there && !is_missing(reply)) {
		told_failure(w, "Secret", reply);
		landed(w, TASK_SECRET, SOON_MS);
		return;
	}
	if (!is_there) {
		forget_secret(w);
	}
	w->secret_known = !is_there || take_secret(w, reply->obj);
	webhook_bodies_wipe(reply->obj);
	arena_clear(&w->arena);
	if (!w->secret_known) {
		log_write(LOG_WARN, w->o.module, "out of memory while the Secret was read",
			  LOG_END);
		landed(w, TASK_SECRET, SOON_MS);
		return;
	}
	landed(w, TASK_SECRET, w->cert_refused ? REGULAR_MS : SECRET_MS);
	w->plan_due_ms = 0;
	w->tasks[TASK_BUNDLE].due_ms = 0;
	w->tasks[TASK_ALSO].due_ms = 0;
}

static void wipe_new(mk_str made, mk_str had)
{
	if (made.p != had.p) {
		str_wipe(made);
	}
}

/* What API servers trust for certain: nothing while two objects say two things. */
static mk_str trusted(const struct webhook_objects *w)
{
	const struct trusting *also = &w->trusting[1];
	mk_str bundle = buf_str(&w->trusting[0].bundle);
	bool same = also->name.n == 0 ||
		    (also->known && (!also->exists || str_eq(buf_str(&also->bundle), bundle)));

	return same ? bundle : STR_NONE;
}

/* The leader's part: makes and renews what the Secret holds. */
static void plan_certs(struct webhook_objects *w)
{
	struct serving_input in = {.have = w->certs,
				   .trusted = trusted(w),
				   .names = w->o.names,
				   .n_names = w->o.n_names,
				   .now_ms = w->wall_ms};
	struct serving_certs next;
	struct json *body;
	struct mk_err err = {.code = ERR_OK};
	bool change = false;

	w->plan_due_ms = w->mono_ms + PLAN_MS;
	if (w->secret_foreign) {
		return;
	}
	if (serving_certs_plan(&w->arena, &in, &next, &change, &err) != ERR_OK) {
		log_write(LOG_ERROR, w->o.module, "no certificate could be made", LOG_ERR(&err),
			  LOG_END);
		w->plan_due_ms = w->mono_ms + REGULAR_MS;
		return;
	}
	if (!change) {
		return;
	}
	log_write(LOG_INFO, w->o.module, "writing a new certificate", LOG_STR("name", w->o.secret),
		  LOG_BOOL("new_authority", !str_eq(next.ca_key, w->certs.ca_key)), LOG_END);
	body = webhook_bodies_secret(&w->arena, w->o.secret, w->secret_rv, &next);
	send(w, TASK_SECRET, w->secret_exists ? KUBE_MERGE : KUBE_CREATE, KIND_SECRET, w->o.secret,
	     body, on_written);
	webhook_bodies_wipe(body);
	wipe_new(next.ca_key, w->certs.ca_key);
	wipe_new(next.key, w->certs.key);
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

/* --- webhook configurations ------------------------------------------------------------------- */

static void take_bundle(struct webhook_objects *w, struct trusting *t, mk_str found)
{
	mk_str pem = STR_NONE;

	if (base64_decode(&w->arena, found, &pem, NULL) == ERR_OK &&
	    !str_eq(pem, buf_str(&t->bundle))) {
		buf_clear(&t->bundle);
		buf_add(&t->bundle, pem);
		w->plan_due_ms = 0;
	}
}

static void on_bundle(void *ctx, uint64_t id, const struct kube_reply *reply)
{
	struct webhook_objects *w = ctx;
	struct trusting *t = trusting_of(w, id);
	mk_str wanted = base64_encode(&w->arena, w->certs.ca);
	mk_str found = webhook_bodies_trusted(reply->obj);
	bool is_filled =
		json_len(json_get(reply->obj, "webhooks")) > 0 || t->kind == KIND_API_SERVICE;

	landed(w, (enum task_id)id, REGULAR_MS);
	t->exists = reply->outcome == OUTCOME_APPLIED && reply->obj;
	if (!t->exists) {
		if (!is_missing(reply)) {
			told_failure(w, kind_word(t->kind), reply);
		}
		set_due(w, (enum task_id)id, MISSING_MS);
	} else if (w->leads && w->certs.ca.n > 0 && !w->secret_foreign && is_filled &&
		   !str_eq(found, wanted)) {
		log_write(LOG_INFO, w->o.module, "telling the API servers whom to trust",
			  LOG_STR("name", t->name), LOG_END);
		send(w, (enum task_id)id, KUBE_APPLY, t->kind, t->name,
		     webhook_bodies_bundle(&w->arena, reply->obj, wanted), on_written);
	}
	/* One that cannot be read may be there. */
	if ((t->exists || is_missing(reply)) && !t->known) {
		t->known = true;
		w->plan_due_ms = 0;
	}
	take_bundle(w, t, found);
	arena_clear(&w->arena);
}

/* --- the table of queues ---------------------------------------------------------------------- */

static void on_table(void *ctx, uint64_t id, const struct kube_reply *reply)
{
	struct webhook_objects *w = ctx;
	uint64_t version = admit_queues_version(w->o.queues);
	struct json *body = NULL;

	(void)id;
	landed(w, TASK_TABLE, REGULAR_MS);
	w->table_exists = reply->outcome == OUTCOME_APPLIED && reply->obj;
	if (!w->table_exists) {
		if (!is_missing(reply)) {
			told_failure(w, "ConfigMap", reply);
			set_due(w, TASK_TABLE, SOON_MS);
		}
		return;
	}
	w->tasks[TASK_TABLE].news_ms = w->mono_ms + TABLE_GAP_MS;
	if (!w->leads || !admit_queues_ready(w->o.queues)) {
		return;
	}
	body = webhook_bodies_table(&w->arena, w->o.queues, reply->obj);
	if (body) {
		send(w, TASK_TABLE, KUBE_MERGE, KIND_CONFIG_MAP, STR(WEBHOOK_TABLE), body,
		     on_written);
	} else if (!arena_failed(&w->arena)) {
		w->table_version = version;
	}
	arena_clear(&w->arena);
}

/* --- what is due ------------------------------------------------------------------------------ */

/*
 * A change of the queues is written soon, where there is a table; not before a refused write may be
 * tried again.
 */
static int64_t table_due(const struct webhook_objects *w)
{
	const struct task *t = &w->tasks[TASK_TABLE];
	bool news = w->o.queues && w->table_exists && w->leads && admit_queues_ready(w->o.queues) &&
		    admit_queues_version(w->o.queues) != w->table_version;

	return news && t->news_ms < t->due_ms ? t->news_ms : t->due_ms;
}

void webhook_objects_run(struct webhook_objects *w, int64_t mono_ms, int64_t wall_ms, bool leads)
{
	if (leads && !w->leads) {
		w->tasks[TASK_BUNDLE].due_ms = mono_ms;
		w->tasks[TASK_ALSO].due_ms = mono_ms;
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
	for (enum task_id id = TASK_BUNDLE; id <= TASK_ALSO; id++) {
		const struct trusting *t = trusting_of(w, id);

		if (t && leads && !w->tasks[id].in_air && w->tasks[id].due_ms <= mono_ms) {
			send(w, id, KUBE_GET, t->kind, t->name, NULL, on_bundle);
		}
	}
	if (leads && w->o.queues && !w->tasks[TASK_TABLE].in_air && table_due(w) <= mono_ms) {
		send(w, TASK_TABLE, KUBE_GET, KIND_CONFIG_MAP, STR(WEBHOOK_TABLE), NULL, on_table);
	}
	arena_clear(&w->arena);
}

/* Is the task one of this replica's now? */
static bool is_wanted(const struct webhook_objects *w, size_t id)
{
	bool ours = id == TASK_TABLE ? w->o.queues != NULL : w->o.own_authority;

	return ours && (id == TASK_SECRET || w->leads) && (id != TASK_ALSO || w->o.also.n > 0);
}

int64_t webhook_objects_next_ms(const struct webhook_objects *w)
{
	int64_t next = w->mono_ms + SECRET_MS;

	for (size_t i = 0; i < N_TASKS; i++) {
		bool wanted = is_wanted(w, i) && !w->tasks[i].in_air;
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
