/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue worker add`: from two contexts to a MultiKueueCluster that is Active. */
#include "core/cli/worker/steps.h"
#include "core/cli/worker/worker.h"

#define NAME "kubectl multikueue worker add"

/* One run of the command. */
struct add {
	struct steps s;
	const char *config; /* NULL: none */
	struct endpoint e;
	int64_t token;    /* its number */
	struct json *old; /* the MultiKueueConfig as it is */
};

/* --- how the manager reaches the worker ------------------------------------------------------- */

static bool is_local(mk_str server)
{
	static const char *const hosts[] = {"https://localhost", "https://127.", "https://[::1]",
					    "https://0.0.0.0"};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		if (str_starts(server, str_of(hosts[i]))) {
			return true;
		}
	}
	return false;
}

static bool judge_endpoint(struct add *t, const struct json *cluster, const char *server)
{
	struct cli *c = t->s.c;
	const char *context = t->s.worker.name;

	if (json_bool(json_get(cluster, "insecure-skip-tls-verify"))) {
		cli_error(c,
			  "context %s has insecure-skip-tls-verify; expected "
			  "certificate-authority-data: the manager always verifies a worker",
			  context);
		return false;
	}
	if (json_get(cluster, "proxy-url") && !server) {
		cli_error(c,
			  "context %s uses the proxy %.*s, the manager does not; expected --server "
			  "with a URL that the manager reaches by itself",
			  context, STR_ARG(json_str(json_get(cluster, "proxy-url"))));
		return false;
	}
	if (!str_starts(t->e.server, STR("https://"))) {
		cli_error(c, "the worker's server is \"%.*s\"; expected https://HOST[:PORT]%s",
			  STR_ARG(t->e.server), server ? "" : ", see --server");
		return false;
	}
	if (!server && is_local(t->e.server)) {
		buf_printf(
			&c->err,
			"warning: %.*s of context %s is an address of this host: the manager may "
			"reach the worker at another one: see --server\n",
			STR_ARG(t->e.server), context);
	}
	return true;
}

static bool find_endpoint(struct add *t, const struct cli_args *args)
{
	/* Without the user's credentials. */
	static const char *const words[] = {"config",   "view",
					    "--raw",    "--flatten",
					    "--minify", "--output=jsonpath={.clusters[0].cluster}",
					    NULL};
	const char *server = cli_get(args, "server");
	struct json *v = NULL;
	struct mk_err err = {0};
	mk_str text;

	if (!plane_run(&t->s.worker, &text, words)) {
		return false;
	}
	if (json_parse(&t->s.c->a, text, &v, &err) != ERR_OK) {
		cli_error(t->s.c, "%s: kubectl config view: expected JSON: %s", t->s.worker.name,
			  err.msg);
		return false;
	}
	t->e = (struct endpoint){
		.server = server ? str_of(server) : json_str(json_get(v, "server")),
		.ca = json_str(json_get(v, "certificate-authority-data")),
		.tls_name = json_str(json_get(v, "tls-server-name")),
	};
	return judge_endpoint(t, v, server);
}

/* --- what is there already -------------------------------------------------------------------- */

/* May the MultiKueueCluster 'name' with this Secret be beside the worker that is to be added? */
static bool judge_cluster(const struct add *t, mk_str name, const struct json *secret)
{
	mk_str uid = json_str(json_get(json_at(secret, "/metadata/labels"), OBJECTS_WORKER_UID));
	mk_str server = objects_server(&t->s.c->a, secret);
	bool same = uid.n > 0 ? str_eq(uid, t->s.worker.uid) : str_eq(server, t->e.server);
	bool mine = str_eq(name, t->s.name);

	if (same && !mine) {
		cli_error(t->s.c,
			  "context %s is a worker already: multikueuecluster/%.*s leads to %.*s; "
			  "expected one name for a cluster: --name %.*s",
			  t->s.worker.name, STR_ARG(name), STR_ARG(server), STR_ARG(name));
	} else if (!same && mine && uid.n > 0) {
		cli_error(t->s.c,
			  "multikueuecluster/%.*s is another cluster, at %.*s; expected another "
			  "--name for context %s",
			  STR_ARG(name), STR_ARG(server), t->s.worker.name);
	}
	return same == mine || (mine && uid.n == 0);
}

/* CLI_NO: the worker is there under another name, or the name is taken. */
static enum cli_exit judge_present(const struct add *t)
{
	struct json *clusters = plane_get(&t->s.manager, "multikueueclusters", NULL, NULL);
	struct json *secrets = clusters ? plane_get(&t->s.manager, "secrets",
						    "--field-selector=type=Opaque", t->s.ns)
					: NULL;
	struct json_iter it = json_iter(json_get(clusters, "items"));

	if (!secrets) {
		return CLI_FAILED;
	}
	while (json_next(&it)) {
		mk_str location = json_str_at(it.val, "/spec/clusterSource/kubeConfig/location");
		struct json_iter each = json_iter(json_get(secrets, "items"));

		while (json_next(&each)) {
			if (str_eq(json_str_at(each.val, "/metadata/name"), location) &&
			    !judge_cluster(t, json_str_at(it.val, "/metadata/name"), each.val)) {
				return CLI_NO;
			}
		}
	}
	return CLI_OK;
}

/*
 * Would a Secret be overwritten that these commands did not make and that leads elsewhere, or a
 * MultiKueueCluster be led to another Secret? Then that has to be said, and wanted.
 */
static enum cli_exit judge_overwritten(const struct add *t, const struct cli_args *args)
{
	struct buf *out = &t->s.c->out;
	struct json *secret = plane_get(&t->s.manager, "secret", t->s.name.p, t->s.ns);
	const struct json *labels = json_at(secret, "/metadata/labels");
	struct steps_held held;
	bool moves;

	if (!secret || !steps_find(&t->s, &held)) {
		return CLI_FAILED;
	}
	moves = json_len(held.cluster) > 0 && !str_eq(held.location, t->s.name);
	if (moves) {
		buf_printf(out,
			   "multikueuecluster/%.*s has its kubeconfig in %s%.*s; it would be led "
			   "to secret/%.*s\n",
			   STR_ARG(t->s.name), held.location.n > 0 ? "secret/" : "no Secret",
			   STR_ARG(held.location), STR_ARG(t->s.name));
	}
	if (json_len(secret) > 0 && !json_get(labels, OBJECTS_WORKER_UID) &&
	    !str_eq(objects_server(&t->s.c->a, secret), t->e.server)) {
		buf_printf(out,
			   "secret/%.*s was not made by `kubectl multikueue worker add` and does "
			   "not lead to %.*s; its kubeconfig would be overwritten\n",
			   STR_ARG(t->s.name), STR_ARG(t->e.server));
	} else if (!moves) {
		return CLI_OK;
	}
	return cli_get(args, "dry-run") ? CLI_OK : cli_confirm(t->s.c, args, NAME, "Go on?");
}

/* Which token, which config: what there is decides what is applied. */
static enum cli_exit look(struct add *t, const struct cli_args *args)
{
	enum cli_exit rc = judge_present(t);
	struct json *tokens;

	if (rc == CLI_OK) {
		rc = judge_overwritten(t, args);
	}

	if (rc != CLI_OK) {
		return rc;
	}
	tokens = steps_tokens(&t->s);
	t->old = t->config ? plane_get(&t->s.manager, "multikueueconfig", t->config, NULL)
			   : json_new_obj(&t->s.c->a);
	if (!tokens || !t->old) {
		return CLI_FAILED;
	}
	if (!objects_newest_token(tokens, t->s.manager.uid, &t->token)) {
		t->token = 1;
	}
	return CLI_OK;
}

/* --- what is applied -------------------------------------------------------------------------- */

static struct json *for_manager(const struct add *t, mk_str token)
{
	struct arena *a = &t->s.c->a;
	struct json *all = json_new_arr(a);
	mk_str kubeconfig = objects_kubeconfig(a, t->s.name, &t->e, token);
	struct json *config =
		t->config ? objects_config(a, str_of(t->config), t->old, t->s.name) : NULL;

	json_add(a, all,
		 objects_secret(a, str_of(t->s.ns), t->s.name, t->s.worker.uid, kubeconfig));
	json_add(a, all, objects_cluster(a, t->s.name));
	if (config) {
		json_add(a, all, config);
	}
	return all;
}

static enum cli_exit show(const struct add *t, struct json *account)
{
	struct arena *a = &t->s.c->a;
	struct json *manager = for_manager(t, STR(OBJECTS_REDACTED));

	objects_show_kubeconfig(a, json_elem(manager, 0));
	json_add(a, account, objects_token(a, str_of(t->s.ns), t->s.manager.uid, t->token));
	steps_print(t->s.c, "worker", t->s.worker.name, account);
	steps_print(t->s.c, "manager", t->s.manager.name, manager);
	return arena_failed(a) ? cli_no_memory(t->s.c) : CLI_OK;
}

static enum cli_exit apply(const struct add *t, const struct json *account)
{
	struct cli *c = t->s.c;
	mk_str token;

	if (!plane_apply(&t->s.worker, account)) {
		return CLI_FAILED;
	}
	token = steps_token(&t->s, t->token);
	if (token.n == 0 || !plane_apply(&t->s.manager, for_manager(t, token)) ||
	    !steps_wait(&t->s)) {
		return CLI_FAILED;
	}
	buf_printf(&c->out,
		   "multikueuecluster/%.*s is Active\n"
		   "Its token does not end by itself; `kubectl multikueue worker rotate %.*s` "
		   "replaces it.\n",
		   STR_ARG(t->s.name), STR_ARG(t->s.name));
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}

static enum cli_exit run(struct cli *c, const struct cli_args *args)
{
	struct add t = {.config = cli_get(args, "config")};
	const char *name = cli_get(args, "name");
	struct json *account;
	enum cli_exit rc;

	if (args->n_rest != 1) {
		return cli_usage(c, NAME, "expected one context, found %zu", args->n_rest);
	}
	if (!name && !steps_is_name(str_of(args->rest[0]))) {
		return cli_usage(c, NAME,
				 "context %s cannot name a MultiKueueCluster; expected --name",
				 args->rest[0]);
	}
	if (!steps_open(&t.s, c, args, name ? name : args->rest[0], args->rest[0], &rc)) {
		return rc;
	}
	if (!find_endpoint(&t, args)) {
		return CLI_NO;
	}
	rc = look(&t, args);
	if (rc != CLI_OK) {
		return rc;
	}
	account = objects_account(&c->a, str_of(t.s.ns));
	if (!account) {
		return cli_no_memory(c);
	}
	return cli_get(args, "dry-run") ? show(&t, account) : apply(&t, account);
}

static const struct cli_option options[] = {
	{0, "name", "NAME", false, "of the MultiKueueCluster (default: the context)"},
	{0, "config", "NAME", false, "MultiKueueConfig to add it to; made when it is missing"},
	{0, "server", "URL", false,
	 "the worker's API server as the manager reaches it (default: the context's)"},
	{0, "dry-run", NULL, false, "print what would be applied, and apply nothing"},
	CLI_YES,
	STEPS_OPTIONS_APPLY,
	STEPS_OPTIONS,
	{.name = NULL}};

static const struct cli_place places[] = {{"", "CONTEXT"}, {"config", "CONFIG"}, {.of = NULL}};

const struct cli_command worker_add = {
	.name = "add",
	.synopsis = "CONTEXT [--name NAME] [--config NAME] [--server URL]",
	.summary = "account and token on the worker, MultiKueueCluster on the manager",
	.help = "On the cluster of CONTEXT: the account multikueued with the least rights, and a "
		"token that does\n"
		"not end by itself. On the manager: a Secret with the kubeconfig, and the "
		"MultiKueueCluster. Then\n"
		"waits until it is Active. Running it again changes nothing. Fields that others "
		"wrote stay theirs\n"
		"without --force-conflicts. Before a Secret that leads elsewhere is overwritten, "
		"it "
		"asks.\n",
	.examples = "  kubectl multikueue worker add west --config workers\n"
		    "  kubectl multikueue worker add kind-west --name west --server "
		    "https://10.0.0.7:6443\n"
		    "  kubectl multikueue worker add west --dry-run\n",
	.options = options,
	.places = places,
	.run = run,
};
