/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials that a provider's program gives, for the link of a cluster that a ClusterProfile
 * describes.
 *
 * The program is run when the link is to be opened, before what it gave expires, and once when the
 * server answers 401; new credentials replace the old ones on the open link. A program that fails
 * is run again with backoff. The link goes down for it only when no credentials are left that may
 * be valid. Credentials are not kept: they go to the transport.
 */
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/backoff.h"
#include "core/base/base64.h"
#include "core/base/hash.h"
#include "core/kube/impl.h"

enum { ARGS_MAX = 1000 };

struct access {
	struct link *l;
	const struct kube_provider *provider;
	char *owned_body; /* how to get there */
	struct timer timer;
	uint64_t run; /* of the program, 0 = it does not run */
	int64_t asked_ms;
	int64_t expires_ms; /* monotonic; INT64_MAX = the program named no time */
	unsigned failures;
	bool due;      /* a 401 came: the program is to be run at once */
	bool again;    /* ... that is why it ran last */
	bool refused;  /* ... and the server refuses the present ones */
	char hash[65]; /* of the credentials in use, "" none */
};

static void start(struct kube *k, struct access *x);

static void on_timer(struct kube *k, void *ctx)
{
	struct access *x = ctx;

	x->again = x->due;
	x->due = false;
	start(k, x);
}

static void stop(struct kube *k, struct access *x)
{
	if (x->run != 0) {
		k->programs.cancel(k->programs.ctx, x->run);
	}
	x->run = 0;
	timer_off(k, &x->timer);
}

void access_end(struct kube *k, struct link *l)
{
	struct access *x = l->access;

	if (!x) {
		return;
	}
	stop(k, x);
	timer_done(k, &x->timer);
	mk_free(x->owned_body);
	mk_free(x);
	l->access = NULL;
}

bool access_is_pending(const struct link *l)
{
	return l->access != NULL && (l->access->run != 0 || l->access->due);
}

/* --- where to -------------------------------------------------------------------------------- */

static const struct kube_provider *find_provider(const struct kube *k, mk_str name)
{
	for (size_t i = 0; i < k->n_providers; i++) {
		if (str_eq(k->providers[i].name, name)) {
			return &k->providers[i];
		}
	}
	return NULL;
}

/* The endpoint without credentials, by the rules for kubeconfigs. */
static enum mk_code read_body(struct kube *k, const struct json *body, struct endpoint *ret,
			      struct mk_err *err)
{
	struct kubeconfig_options o = {.allow_loopback = k->allow_loopback,
				       .allow_link_local = k->allow_link_local};
	mk_str name = json_str(json_get(body, "tlsServerName"));

	if (json_get(body, "proxy") != NULL) {
		return err_set(err, ERR_INVALID, "proxy-url is not allowed");
	}
	return kubeconfig_endpoint(
		&k->scratch,
		&(struct kubeconfig_place){.server = json_str(json_get(body, "server")),
					   .tls_server_name = name,
					   .ca_base64 = json_str(json_get(body, "ca"))},
		&o, ret, err);
}

static bool is_known_version(mk_str v)
{
	return str_is(v, "client.authentication.k8s.io/v1") ||
	       str_is(v, "client.authentication.k8s.io/v1beta1");
}

/* False: reported why; no program is run. */
static bool is_usable(struct kube *k, struct link *l, const struct json *body,
		      const struct kube_provider *p)
{
	struct endpoint e = {.port = 0};
	struct mk_err err = {.code = ERR_OK};
	enum mk_code code;

	if (!p) {
		link_reject(k, l, ERR_INVALID, STR("BadClusterProfile"),
			    arena_printf(&k->scratch,
					 "load client config failed: no exec config found for "
					 "provider \"%.*s\"",
					 STR_ARG(json_str(json_get(body, "provider")))));
		return false;
	}
	code = read_body(k, body, &e, &err);
	if (code != ERR_OK) {
		link_reject(k, l, code, STR("BadRestConfig"),
			    arena_printf(&k->scratch, "load client config failed: %s", err.msg));
		return false;
	}
	if (!is_known_version(p->api_version)) {
		link_reject(k, l, ERR_INVALID, STR("ClientConnectionFailed"),
			    arena_printf(&k->scratch, "exec plugin: invalid apiVersion \"%.*s\"",
					 STR_ARG(p->api_version)));
		return false;
	}
	return true;
}

static struct access *make(struct kube *k, struct link *l, const struct kube_provider *p,
			   mk_str body)
{
	struct access *x = mk_calloc(1, sizeof(*x));

	if (!x) {
		return NULL;
	}
	x->l = l;
	x->provider = p;
	x->expires_ms = INT64_MAX;
	x->owned_body = mk_strndup(body);
	if (!x->owned_body || !timer_init(k, &x->timer, on_timer, x)) {
		mk_free(x->owned_body);
		mk_free(x);
		return NULL;
	}
	return x;
}

bool access_begin(struct kube *k, struct link *l, const struct json *body)
{
	const struct kube_provider *p = find_provider(k, json_str(json_get(body, "provider")));
	mk_str text = json_write(&k->scratch, body);
	struct access *x = NULL;

	if (!text.p) {
		return false;
	}
	if (l->access != NULL && str_eq(str_of(l->access->owned_body), text)) {
		return true;
	}
	access_end(k, l);
	if (!is_usable(k, l, body, p)) {
		return !arena_failed(&k->scratch);
	}
	x = make(k, l, p, text);
	if (!x) {
		return false;
	}
	l->access = x;
	link_await(k, l);
	start(k, x);
	return true;
}

/* --- running --------------------------------------------------------------------------------- */

static void failed(struct kube *k, struct access *x, mk_str text)
{
	struct link *l = x->l;
	int64_t delay = backoff_ms(ACCESS_FIRST_MS, x->failures++, ACCESS_MAX_MS);
	bool useless = x->hash[0] == '\0' || x->refused || k->mono_ms >= x->expires_ms;

	delay = delay / 2 + rng_range(&k->rng, 0, delay / 2);
	if (!useless && x->expires_ms - k->mono_ms < delay) {
		delay = x->expires_ms - k->mono_ms;
	}
	timer_set(k, &x->timer, k->mono_ms + delay);
	if (useless) {
		x->hash[0] = '\0';
		link_reject(k, l, ERR_UNAVAILABLE, STR("ClientConnectionFailed"),
			    arena_printf(&k->scratch,
					 "failed to get server groups: getting credentials: %.*s",
					 STR_ARG(text)));
	}
}

static void start(struct kube *k, struct access *x)
{
	const struct kube_provider *p = x->provider;
	size_t n = p->n_env < ARGS_MAX ? p->n_env : ARGS_MAX;
	mk_str *env = arena_array(&k->scratch, n + 2, sizeof(*env));
	struct kube_program program = {.command = p->command,
				       .args = p->args,
				       .n_args = p->n_args,
				       .env = env,
				       .n_env = n + 2};
	struct json *body = NULL;

	if (x->run != 0) {
		return;
	}
	timer_off(k, &x->timer);
	x->asked_ms = k->mono_ms;
	(void)json_parse(&k->scratch, str_of(x->owned_body), &body, NULL);
	if (env != NULL && body != NULL) {
		if (n > 0) {
			memcpy(env, p->env, n * sizeof(*env));
		}
		env[n] = STR("KUBERNETES_EXEC_INFO");
		env[n + 1] = credential_question(&k->scratch, p->api_version,
						 p->cluster_info ? body : NULL);
	}
	if (arena_failed(&k->scratch)) {
		failed(k, x, STR("out of memory"));
		return;
	}
	x->run = ++k->runs;
	if (!k->programs.run || !k->programs.run(k->programs.ctx, x->run, &program)) {
		x->run = 0;
		failed(k, x, STR("exec: the program cannot be run"));
	}
}

void access_denied(struct kube *k, struct link *l)
{
	struct access *x = l->access;

	if (!x || x->hash[0] == '\0') {
		return;
	}
	x->refused = true;
	if (x->run == 0 && (!x->again || k->mono_ms - x->asked_ms >= ACCESS_AGAIN_MS)) {
		x->due = true; /* not here: the caller, which got the 401, still uses the link */
		timer_set(k, &x->timer, k->mono_ms);
	}
}

/* --- the answer ------------------------------------------------------------------------------ */

/* When to ask for the next ones: some time before these expire, not all links at once. */
static void schedule(struct kube *k, struct access *x, int64_t expires_wall_ms)
{
	int64_t life = expires_wall_ms - k->wall_ms;
	int64_t early = life / 5;
	int64_t least = life / 2 < ACCESS_LATE_MS ? life / 2 : ACCESS_LATE_MS;

	if (expires_wall_ms < 0) {
		x->expires_ms = INT64_MAX;
		timer_off(k, &x->timer);
		return;
	}
	early = early < least ? least : early;
	early = early > ACCESS_EARLY_MS ? ACCESS_EARLY_MS : early;
	early += early > 0 ? rng_range(&k->rng, 0, early / 4) : 0;
	x->expires_ms = k->mono_ms + (life > 0 ? life : 0);
	life -= early;
	timer_set(k, &x->timer, k->mono_ms + (life > ACCESS_LEAST_MS ? life : ACCESS_LEAST_MS));
}

/* Equal credentials need no new handshake. "" when out of memory. */
static mk_str hash_of(struct kube *k, const struct credential *c)
{
	mk_str all =
		arena_printf(&k->scratch, "%zu %.*s %zu %.*s %.*s", c->token.n, STR_ARG(c->token),
			     c->cert_pem.n, STR_ARG(c->cert_pem), STR_ARG(c->key_pem));
	mk_str hash = sha256_hex(&k->scratch, all);

	str_wipe(all);
	return hash;
}

static enum mk_code use(struct kube *k, struct access *x, const struct credential *c,
			struct mk_err *err)
{
	struct link *l = x->l;
	struct json *body = NULL;
	struct endpoint e = {.port = 0};
	mk_str hash = hash_of(k, c);
	enum mk_code code = json_parse(&k->scratch, str_of(x->owned_body), &body, NULL);

	code = code == ERR_OK && hash.n != 64 ? ERR_NO_MEMORY : code;
	code = code == ERR_OK ? read_body(k, body, &e, err) : code;
	if (code != ERR_OK) {
		return code;
	}
	e.token = c->token;
	e.cert_pem = c->cert_pem;
	e.key_pem = c->key_pem;
	if (!l->opened || !k->transport->renew) {
		code = l->opened && str_is(hash, x->hash) ? ERR_OK
							  : link_open(k, l, &e, hash.p, err);
	} else if (!str_is(hash, x->hash)) {
		code = k->transport->renew(k->transport->ctx, l->id, &e, err);
	}
	if (code != ERR_OK) {
		return code;
	}
	snprintf(x->hash, sizeof(x->hash), "%s", hash.p);
	x->refused = false;
	link_try(k, l);
	return ERR_OK;
}

static mk_str with_hint(struct kube *k, const struct access *x, enum mk_code code, mk_str text)
{
	if (code != ERR_NOT_FOUND || x->provider->install_hint.n == 0) {
		return text;
	}
	return arena_printf(&k->scratch, "%.*s\n\n%.*s", STR_ARG(text),
			    STR_ARG(x->provider->install_hint));
}

static struct access *find_run(const struct kube *k, uint64_t id)
{
	for (size_t i = 0; i < k->n_links; i++) {
		if (k->links[i]->access != NULL && k->links[i]->access->run == id) {
			return k->links[i]->access;
		}
	}
	return NULL;
}

void kube_program_done(struct kube *k, uint64_t id, enum mk_code code, mk_str out, mk_str text)
{
	struct access *x = id != 0 ? find_run(k, id) : NULL;
	struct credential c = {.expires_wall_ms = -1};
	struct endpoint secrets = {.port = 0};
	struct mk_err err = {.code = ERR_OK};

	if (!x) {
		return;
	}
	x->run = 0;
	if (code == ERR_OK) {
		code = credential_parse(&k->scratch, out, x->provider->api_version, &c, &err);
		secrets.token = c.token;
		secrets.key_pem = c.key_pem;
		code = code == ERR_OK ? use(k, x, &c, &err) : code;
		text = code == ERR_NO_MEMORY ? STR("out of memory") : str_of(err.msg);
	} else {
		text = with_hint(k, x, code, text);
	}
	if (code == ERR_OK) {
		x->failures = 0;
		schedule(k, x, c.expires_wall_ms);
	} else {
		failed(k, x, text);
	}
	kubeconfig_wipe(&secrets);
	kube_clear(k);
}
