/* SPDX-License-Identifier: Apache-2.0 */
/* The webhook's parts and certificate files; see webhook.h. */
#include "core/serve/webhook.h"

#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/metric.h"
#include "core/net/tls_issue.h"
#include "core/serve/cert_files.h"
#include "core/serve/reviews.h"
#include "core/serve/webhook_bodies.h"
#include "core/serve/webhook_lists.h"
#include "core/serve/webhook_objects.h"

enum {
	FILES_MAX = 96 * 1024 * 1024, /* memory for one look at the files */
	LOOK_MS = 2000,               /* at the files */
	N_NAMES = 3,
};

struct webhook {
	struct webhook_options o;
	struct admit_queues *queues;
	struct tls_serve *tls;
	struct reviews *reviews;
	struct webhook_objects *objects;
	struct webhook_lists lists;
	struct arena arena; /* of one look at the files */
	struct arena names_arena;
	mk_str names[N_NAMES];
	size_t n_names;
	struct cert_files files;
	int64_t look_ms;
	struct metric *end, *reloads;
};

/* --- certificates ----------------------------------------------------------------------------- */

static bool use_certificate(struct webhook *w, mk_str cert, mk_str key, const char *from)
{
	struct mk_err err = {.code = ERR_OK};
	int64_t end = 0;

	if (tls_serve_set(w->tls, cert, key, &err) != ERR_OK) {
		log_write(LOG_ERROR, "webhook",
			  "a certificate cannot be used; the one before it stays, if there is one",
			  LOG_CSTR("from", from), LOG_ERR(&err), LOG_END);
		return false;
	}
	tls_cert_end(cert, &end);
	metric_set(w->end, METRIC_NONE, (double)end / 1000);
	metric_add(w->reloads, METRIC_NONE, 1);
	log_write(LOG_INFO, "webhook", "a certificate is in use", LOG_CSTR("from", from),
		  LOG_INT("days_left", (end - clock_wall_ms()) / (24 * 3600 * 1000)), LOG_END);
	return true;
}

static bool on_certificate(void *ctx, mk_str cert, mk_str key)
{
	return use_certificate(ctx, cert, key, "Secret");
}

static void look_at_files(struct webhook *w)
{
	struct cert_pair pair;
	struct mk_err err = {.code = ERR_OK};

	if (!cert_files_look(&w->files, &w->arena, &pair, &err)) {
		if (err.code != ERR_OK) {
			log_write(LOG_WARN, "webhook", "the certificate cannot be read",
				  LOG_ERR(&err), LOG_END);
		}
	} else {
		if (!use_certificate(w, pair.cert, pair.key, "files")) {
			cert_files_refused(&w->files);
		}
		str_wipe(pair.key);
	}
	arena_clear(&w->arena);
}

/* --- life ------------------------------------------------------------------------------------- */

static void make_metrics(struct webhook *w)
{
	webhook_lists_init(&w->lists);
	w->end = metric_gauge("multikueue_admission_certificate_end_seconds",
			      "End of the certificate in use, seconds since 1970.", NULL);
	w->reloads = metric_counter("multikueue_admission_certificates_total",
				    "Certificates put in use.", NULL);
}

/* What API servers may call us by; a host of the configuration is for those that use an URL. */
static bool make_names(struct webhook *w)
{
	const struct config *c = w->o.config;
	struct arena *a = &w->names_arena;

	w->names[w->n_names++] = arena_printf(a, "%.*s.%.*s.svc", STR_ARG(c->webhook_service_name),
					      STR_ARG(c->namespace_));
	w->names[w->n_names++] =
		arena_printf(a, "%.*s.%.*s.svc.cluster.local", STR_ARG(c->webhook_service_name),
			     STR_ARG(c->namespace_));
	if (c->webhook_host.n > 0 && !str_is(c->webhook_host, "0.0.0.0") &&
	    !str_is(c->webhook_host, "::")) {
		w->names[w->n_names++] = c->webhook_host;
	}
	return !arena_failed(a);
}

static enum mk_code make_objects(struct webhook *w, struct mk_err *err)
{
	const struct config *c = w->o.config;
	struct webhook_objects_options o = {.kube = manager_kube(w->o.manager),
					    .module = "webhook",
					    .trusting_kind = KIND_WEBHOOKS,
					    .trusting = STR(WEBHOOK_CONFIGURATION),
					    .also_kind = KIND_VALIDATING,
					    .also = w->o.trees ? STR(WEBHOOK_VALIDATING) : STR_NONE,
					    .queues = w->queues,
					    .namespace_ = c->namespace_,
					    .own_authority = c->internal_certs,
					    .secret = c->webhook_secret_name,
					    .names = w->names,
					    .n_names = w->n_names,
					    .on_certificate = on_certificate,
					    .ctx = w};

	w->objects = webhook_objects_new(&o);
	return w->objects ? ERR_OK : err_set(err, ERR_NO_MEMORY, "out of memory");
}

static enum mk_code listen_on(struct webhook *w, struct mk_err *err)
{
	const struct config *c = w->o.config;
	bool is_v6 = str_index(c->webhook_host, ':') >= 0;
	char address[128];
	struct reviews_options o = {.queues = w->queues, .tls = w->tls, .trees = w->o.trees};

	snprintf(address, sizeof(address), "%s%.*s%s:%d", is_v6 ? "[" : "",
		 STR_ARG(c->webhook_host), is_v6 ? "]" : "", (int)c->webhook_port);
	o.address = str_of(address);
	w->reviews = reviews_start(&o, err);
	if (!w->reviews) {
		return ERR_UNAVAILABLE;
	}
	log_write(LOG_INFO, "webhook", "listening", LOG_CSTR("address", address),
		  LOG_INT("port", reviews_port(w->reviews)),
		  LOG_BOOL("own_authority", c->internal_certs), LOG_END);
	return ERR_OK;
}

/* LocalQueues and ClusterQueues; AdmissionChecks are watched in any case. */
static enum mk_code watch_queues(struct webhook *w, struct mk_err *err)
{
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE};
	enum mk_code code = ERR_OK;

	for (size_t i = 0; i < 2 && code == ERR_OK; i++) {
		struct op op = {.type = OP_WATCH_OPEN,
				.cluster = CLUSTER_MANAGER,
				.kind = kinds[i],
				.selector = STR(""),
				.subresource = ""};

		code = kube_do(manager_kube(w->o.manager), &op, err);
	}
	return code;
}

struct webhook *webhook_new(const struct webhook_options *o, struct mk_err *err)
{
	struct webhook *w = mk_calloc(1, sizeof(*w));
	enum mk_code code;

	if (!w) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	w->o = *o;
	w->files.directory = o->config->webhook_cert_dir;
	arena_init(&w->arena, FILES_MAX);
	arena_init(&w->names_arena, 0);
	make_metrics(w);
	w->queues = admit_queues_new();
	if (!w->queues || !make_names(w)) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		webhook_free(w);
		return NULL;
	}
	w->tls = cert_tls_new(o->config, false, err);
	code = w->tls ? make_objects(w, err) : ERR_INVALID;
	code = code == ERR_OK ? listen_on(w, err) : code;
	code = code == ERR_OK ? watch_queues(w, err) : code;
	if (code != ERR_OK) {
		webhook_free(w);
		return NULL;
	}
	return w;
}

void webhook_free(struct webhook *w)
{
	if (w) {
		reviews_free(w->reviews);
		webhook_objects_free(w->objects);
		tls_serve_free(w->tls);
		admit_queues_free(w->queues);
		arena_done(&w->names_arena);
		arena_done(&w->arena);
		mk_free(w);
	}
}

void webhook_account(struct webhook *w, mk_str name)
{
	reviews_account(w->reviews, name);
}

void webhook_event(struct webhook *w, const struct event *ev)
{
	admit_queues_event(w->queues, ev);
	webhook_objects_event(w->objects, ev);
}

void webhook_run(struct webhook *w, int64_t mono_ms, int64_t wall_ms, bool leads)
{
	if (!w->o.config->internal_certs && w->look_ms <= mono_ms) {
		w->look_ms = mono_ms + LOOK_MS;
		look_at_files(w);
	}
	webhook_lists_run(&w->lists, manager_kube(w->o.manager), w->queues, mono_ms);
	webhook_objects_run(w->objects, mono_ms, wall_ms, leads);
}

int64_t webhook_next_ms(const struct webhook *w)
{
	int64_t lists = webhook_lists_next_ms(&w->lists, w->queues);
	int64_t next = webhook_objects_next_ms(w->objects);

	next = lists < next ? lists : next;
	return !w->o.config->internal_certs && w->look_ms < next ? w->look_ms : next;
}

const char *webhook_not_ready(const struct webhook *w)
{
	if (!tls_serve_ready(w->tls)) {
		return "the webhook has no certificate yet";
	}
	return admit_queues_ready(w->queues) ? NULL : "the queues are not known yet";
}
