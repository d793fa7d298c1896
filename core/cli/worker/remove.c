/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue worker remove`: what `worker add` made, away again. */
#include "core/api/names.h"
#include "core/cli/worker/uses.h"
#include "core/cli/worker/worker.h"

#define NAME "kubectl multikueue worker remove"
#define ROLE "multikueued-worker"
#define ACCOUNT "multikueued"
#define DRY " (dry run)\n"

/* One run of the command. */
struct removal {
	struct steps s;
	bool keeps_account, manager_only, is_dry;
	struct steps_held held;
	struct json *tokens;      /* of this manager on the worker, a List; NULL: not asked */
	struct uses uses;         /* who else needs what would go */
	struct json *configs;     /* those that name the cluster, without it */
	size_t n_ours, n_foreign; /* Workloads on the worker: ours, and those of other managers */
};

/* --- what is there ---------------------------------------------------------------------------- */

static bool is_there(const struct removal *t)
{
	return json_len(t->held.cluster) > 0;
}

/* CLI_NO: jobs run there. */
static enum cli_exit judge_jobs(const struct removal *t)
{
	size_t n = 0;

	if (!uses_running(&t->s, t->s.name, &n)) {
		return CLI_FAILED;
	}
	if (n > 0) {
		cli_error(t->s.c,
			  "%zu Workload%s on %.*s; expected none: `kubectl multikueue drain %.*s "
			  "--evict` queues %s again, without --evict it waits for the end",
			  n, n == 1 ? " runs" : "s run", STR_ARG(t->s.name), STR_ARG(t->s.name),
			  n == 1 ? "it" : "them");
	}
	return n == 0 ? CLI_OK : CLI_NO;
}

/* CLI_NO: a config would have no cluster left. */
static enum cli_exit judge_configs(struct removal *t)
{
	struct arena *a = &t->s.c->a;
	struct json *all = plane_get(&t->s.manager, "multikueueconfigs", NULL, NULL);
	struct json_iter it = json_iter(json_get(all, "items"));
	enum cli_exit rc = all ? CLI_OK : CLI_FAILED;

	t->configs = json_new_arr(a);
	while (json_next(&it)) {
		struct json *without = objects_config_without(a, it.val, t->s.name);

		if (without && json_len(json_at(without, "/spec/clusters")) == 0) {
			cli_error(t->s.c,
				  "multikueueconfig/%.*s names %.*s alone, and a config needs a "
				  "cluster; expected another one in it, or no such config: name "
				  "another worker there, or delete it",
				  STR_ARG(json_str_at(it.val, "/metadata/name")),
				  STR_ARG(t->s.name));
			rc = CLI_NO;
		}
		json_add(a, t->configs, without);
	}
	return rc;
}

/*
 * Is there a cluster of that name, or the Secret that an interrupted run left of it? Any other name
 * is a mistake, and what this manager has on the worker belongs to another name.
 */
static bool is_known(const struct removal *t)
{
	const struct json *labels = json_at(t->held.secret, "/metadata/labels");

	return is_there(t) || json_get(labels, OBJECTS_WORKER_UID);
}

static enum cli_exit look(struct removal *t)
{
	enum cli_exit rc = CLI_OK;

	if (!steps_find(&t->s, &t->held)) {
		return CLI_FAILED;
	}
	if (!is_known(t)) {
		return steps_no_cluster(&t->s);
	}
	if (!t->manager_only) {
		rc = steps_judge(&t->s, &t->held);
		if (rc != CLI_OK) {
			buf_printf(&t->s.c->err, "With --manager-only %s is left as it is.\n",
				   t->s.worker.name);
			return rc;
		}
		t->tokens = steps_tokens(&t->s);
		if (!t->tokens) {
			return CLI_FAILED;
		}
	}
	if (!uses_find(&t->s, &t->held, t->tokens, &t->uses)) {
		return CLI_FAILED;
	}
	if (is_there(t)) {
		rc = judge_jobs(t);
	}
	return rc == CLI_OK ? judge_configs(t) : rc;
}

/* --- the Workloads on the worker -------------------------------------------------------------- */

/* Counts them; those that no manager has signed are of others. */
static bool count_clones(struct removal *t)
{
	static const char *const words[] = {
		"get",
		"--all-namespaces",
		"--selector=" NAME_ORIGIN,
		"--output=jsonpath={range .items[*]}-{.metadata.annotations.multikueued\\.io/"
		"manager-id}{\"\\n\"}{end}",
		"workloads." NAME_GROUP,
		NULL};
	mk_str text, line;

	t->n_ours = t->n_foreign = 0;
	if (!plane_run(&t->s.worker, &text, words)) {
		return false;
	}
	while (str_split(&text, '\n', &line)) {
		bool ours = str_eq(str_sub(line, 1, line.n), t->s.manager.uid);

		t->n_ours += line.n > 0 && ours;
		t->n_foreign += line.n > 0 && !ours;
	}
	return true;
}

static bool look_at_clones(void *ctx, mk_str *ret_missing)
{
	struct removal *t = ctx;
	struct json *cluster;
	mk_str why;

	*ret_missing = STR("");
	if (!count_clones(t)) {
		return false;
	}
	if (t->n_ours == 0) {
		return true;
	}
	cluster = plane_get(&t->s.manager, "multikueuecluster", t->s.name.p, NULL);
	why = cluster ? steps_inactive(&t->s, cluster) : STR("");
	*ret_missing =
		arena_printf(&t->s.c->a, "%zu Workload%s of this manager %s left on %s%s%.*s",
			     t->n_ours, t->n_ours == 1 ? "" : "s", t->n_ours == 1 ? "is" : "are",
			     t->s.worker.name, why.n > 0 ? ": " : "", STR_ARG(why));
	return cluster != NULL;
}

/* Waits until the daemon has removed what it made there. */
static enum cli_exit empty(struct removal *t)
{
	mk_str missing = STR("");
	enum steps_end end;

	if (t->manager_only || t->uses.is_shared || !is_there(t)) {
		return CLI_OK;
	}
	end = steps_until(&t->s, look_at_clones, t, &missing);
	if (end == STEPS_LATE) {
		cli_error(t->s.c,
			  "after %lld s %.*s; multikueuecluster/%.*s stays, cordoned: `kubectl "
			  "multikueue drain %.*s --evict` queues what runs there again, `kubectl "
			  "multikueue uncordon %.*s` takes it back",
			  (long long)(t->s.timeout_ms / 1000), STR_ARG(missing), STR_ARG(t->s.name),
			  STR_ARG(t->s.name), STR_ARG(t->s.name));
	}
	return end == STEPS_DONE ? CLI_OK : end == STEPS_LATE ? CLI_NO : CLI_FAILED;
}

/* --- the manager ------------------------------------------------------------------------------ */

/* Nothing new begins there from now on. */
static bool cordon(const struct removal *t)
{
	const struct json *notes = json_at(t->held.cluster, "/metadata/annotations");
	mk_str object = arena_printf(&t->s.c->a, "multikueuecluster/%.*s", STR_ARG(t->s.name));
	const char *words[] = {
		"annotate", "--overwrite",         "--field-manager=" OBJECTS_WRITER,
		object.p,   NAME_CORDON "=Cordon", NAME_CORDON_REASON "=is being removed",
		NULL};
	mk_str said;

	if (t->manager_only || !is_there(t) || json_get(notes, NAME_CORDON)) {
		return true;
	}
	if (t->is_dry) {
		buf_printf(&t->s.c->out, "%s: %.*s cordoned" DRY, t->s.manager.name,
			   STR_ARG(object));
		return true;
	}
	return object.p ? plane_run(&t->s.manager, &said, words) : cli_no_memory(t->s.c) == CLI_OK;
}

static bool leave_configs(struct removal *t)
{
	struct json_iter it = json_iter(t->configs);

	if (!t->is_dry) {
		return json_len(t->configs) == 0 || plane_apply(&t->s.manager, t->configs);
	}
	while (json_next(&it)) {
		buf_printf(&t->s.c->out, "%s: multikueueconfig/%.*s without %.*s" DRY,
			   t->s.manager.name, STR_ARG(json_str_at(it.val, "/metadata/name")),
			   STR_ARG(t->s.name));
	}
	return true;
}

static bool drop(struct removal *t, const struct plane *p, const char *what, mk_str name,
		 const char *ns)
{
	if (!t->is_dry) {
		return plane_delete(p, what, name, ns);
	}
	buf_printf(&t->s.c->out, "%s: %s \"%.*s\" deleted" DRY, p->name, what, STR_ARG(name));
	return true;
}

static bool drop_cluster(struct removal *t)
{
	return !is_there(t) || drop(t, &t->s.manager, "multikueuecluster", t->s.name, NULL);
}

/* Last of all: it tells the next run which cluster the worker is. */
static bool drop_secret(struct removal *t)
{
	const struct json *labels = json_at(t->held.secret, "/metadata/labels");

	if (json_len(t->held.secret) == 0) {
		return true;
	}
	if (t->uses.is_secret_shared || !json_get(labels, OBJECTS_WORKER_UID)) {
		buf_printf(&t->s.c->out, "%s: secret \"%.*s\" stays: %s\n", t->s.manager.name,
			   STR_ARG(t->held.location),
			   t->uses.is_secret_shared ? "another MultiKueueCluster names it"
						    : "it was not made by `worker add`");
		return true;
	}
	return drop(t, &t->s.manager, "secret", t->held.location, t->s.ns);
}

/* --- the worker ------------------------------------------------------------------------------- */

/* What the account on the worker has. */
struct account {
	struct json *tokens;         /* of this manager */
	struct json *role, *binding; /* empty: not there */
	mk_str kept;                 /* why the account stays; "": it goes */
};

static mk_str why_kept(struct removal *t, const struct account *w, const struct json *secrets)
{
	struct arena *a = &t->s.c->a;
	mk_str token = objects_foreign_token(secrets, t->s.manager.uid);
	mk_str writer = objects_foreign_writer(w->role);

	if (t->keeps_account) {
		return STR("--keep-account");
	}
	if (token.n > 0) {
		return arena_printf(a, "another manager has the token of secret/%.*s",
				    STR_ARG(token));
	}
	if (t->n_foreign > 0) {
		return arena_printf(a, "%zu Workload%s there %s of another manager", t->n_foreign,
				    t->n_foreign == 1 ? "" : "s", t->n_foreign == 1 ? "is" : "are");
	}
	if (writer.n > 0) {
		return arena_printf(a, "%.*s wrote its rights, too, perhaps for another manager",
				    STR_ARG(writer));
	}
	return json_len(w->binding) > 0 && !objects_binds_alone(w->binding, str_of(t->s.ns))
		       ? STR("its rights are bound to others, too")
		       : STR("");
}

static bool look_at_account(struct removal *t, struct account *ret)
{
	const struct plane *p = &t->s.worker;
	struct json *secrets = NULL;

	*ret = (struct account){.tokens = steps_tokens(&t->s)};
	if (!ret->tokens || !count_clones(t)) {
		return false;
	}
	secrets = plane_get(p, "secrets",
			    "--field-selector=type=kubernetes.io/service-account-token", t->s.ns);
	ret->role =
		secrets ? plane_get(p, "clusterrole/" ROLE, "--show-managed-fields", NULL) : NULL;
	ret->binding = ret->role ? plane_get(p, "clusterrolebinding/" ROLE, NULL, NULL) : NULL;
	if (!ret->binding) {
		return false;
	}
	ret->kept = why_kept(t, ret, secrets);
	return true;
}

static bool drop_account(struct removal *t, const struct account *w)
{
	const struct plane *p = &t->s.worker;
	struct json *account = plane_get(p, "serviceaccount", ACCOUNT, t->s.ns);

	if (!account) {
		return false;
	}
	if (w->kept.n > 0) {
		if (json_len(account) > 0) {
			buf_printf(&t->s.c->out, "%s: serviceaccount \"" ACCOUNT "\" stays: %.*s\n",
				   p->name, STR_ARG(w->kept));
		}
		return true;
	}
	return (json_len(w->binding) == 0 || drop(t, p, "clusterrolebinding", STR(ROLE), NULL)) &&
	       (json_len(w->role) == 0 || drop(t, p, "clusterrole", STR(ROLE), NULL)) &&
	       (json_len(account) == 0 || drop(t, p, "serviceaccount", STR(ACCOUNT), t->s.ns));
}

static bool drop_from_worker(struct removal *t)
{
	struct account w;
	struct json_iter it;

	if (t->manager_only) {
		return true;
	}
	if (t->uses.is_shared) {
		buf_printf(&t->s.c->out, "%s: its token stays: %.*s\n", t->s.worker.name,
			   STR_ARG(t->uses.why_shared));
		return true;
	}
	if (!look_at_account(t, &w)) {
		return false;
	}
	it = json_iter(json_get(w.tokens, "items"));
	while (json_next(&it)) {
		if (objects_is_token(it.val, t->s.manager.uid) &&
		    !drop(t, &t->s.worker, "secret", json_str_at(it.val, "/metadata/name"),
			  t->s.ns)) {
			return false;
		}
	}
	return drop_account(t, &w);
}

/* --- the command ------------------------------------------------------------------------------ */

static void show_names(struct removal *t, const char *what, const struct json *names)
{
	struct json_iter it = json_iter(names);

	buf_printf(&t->s.c->out, "  %s:%s", what, json_len(names) == 0 ? " none" : "");
	while (json_next(&it)) {
		mk_str name = json_str(
			json_type(it.val) == JSON_OBJ ? json_at(it.val, "/metadata/name") : it.val);

		buf_printf(&t->s.c->out, " %.*s", STR_ARG(name));
	}
	buf_printf(&t->s.c->out, "\n");
}

/* Where the name leads and who is there, for the one who has to say yes. */
static bool show_uses(struct removal *t)
{
	struct buf *out = &t->s.c->out;
	mk_str server = objects_server(&t->s.c->a, t->held.secret);

	buf_printf(out, "multikueuecluster/%.*s leads to %.*s", STR_ARG(t->s.name),
		   STR_ARG(server.n > 0 ? server : STR("a server that is not known")));
	if (!t->manager_only) {
		buf_printf(out, ", which is the cluster of context %s", t->s.worker.name);
	}
	buf_printf(out, "\n");
	show_names(t, "MultiKueueConfigs that name it", t->configs);
	show_names(t, "other MultiKueueClusters that lead there", t->uses.others);
	if (json_len(t->uses.unknown) > 0) {
		show_names(t, "MultiKueueClusters that may lead anywhere", t->uses.unknown);
	}
	if (t->uses.n_running > 0) {
		buf_printf(out, "  Workloads that run there by those other names: %zu\n",
			   t->uses.n_running);
	}
	if (t->manager_only) {
		return true;
	}
	if (!count_clones(t)) {
		return false;
	}
	buf_printf(out, "  Workloads there: %zu of this manager, %zu of others\n", t->n_ours,
		   t->n_foreign);
	return true;
}

static enum cli_exit withdraw(struct removal *t)
{
	enum cli_exit rc;

	if (json_len(t->configs) > 0 && !plane_try(&t->s.manager, t->configs)) {
		return CLI_FAILED;
	}
	if (!cordon(t)) {
		return CLI_FAILED;
	}
	rc = t->is_dry ? CLI_OK : empty(t);
	if (rc == CLI_OK && !leave_configs(t)) {
		rc = CLI_FAILED;
	}
	/* What began in between. */
	return rc == CLI_OK && !t->is_dry ? empty(t) : rc;
}

static enum cli_exit remove_worker(struct removal *t)
{
	struct cli *c = t->s.c;
	enum cli_exit rc = withdraw(t);

	if (rc != CLI_OK) {
		return rc;
	}
	if (!drop_cluster(t) || !drop_from_worker(t) || !drop_secret(t)) {
		return CLI_FAILED;
	}
	if (!t->is_dry) {
		buf_printf(&c->out, "multikueuecluster/%.*s is removed\n", STR_ARG(t->s.name));
	}
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}

static enum cli_exit run(struct cli *c, const struct cli_args *args)
{
	struct removal t = {.keeps_account = cli_get(args, "keep-account") != NULL,
			    .manager_only = cli_get(args, "manager-only") != NULL,
			    .is_dry = cli_get(args, "dry-run") != NULL};
	const char *context = cli_get(args, "context");
	enum cli_exit rc;

	if (args->n_rest != 1) {
		return cli_usage(c, NAME, "expected one MultiKueueCluster, found %zu",
				 args->n_rest);
	}
	if (t.manager_only && context) {
		return cli_usage(c, NAME, "--manager-only asks no worker; expected no --context");
	}
	context = context ? context : args->rest[0];
	if (steps_open(&t.s, c, args, args->rest[0], t.manager_only ? NULL : context, &rc)) {
		rc = look(&t);
		if (rc == CLI_OK && !show_uses(&t)) {
			rc = CLI_FAILED;
		}
		if (rc == CLI_OK && !t.is_dry) {
			rc = cli_confirm(c, args, NAME, "Remove it?");
		}
		rc = rc == CLI_OK ? remove_worker(&t) : rc;
	}
	if (rc == CLI_FAILED) {
		buf_printf(&c->err, "Running this again goes on from here.%s\n",
			   t.manager_only ? ""
					  : " For a worker that is gone for good: --manager-only.");
	}
	return rc;
}

static const struct cli_option options[] = {
	STEPS_CONTEXT,
	{0, "keep-account", NULL, false, "leave the account and its rights on the worker"},
	{0, "manager-only", NULL, false, "the worker is gone for good: do not ask it"},
	{0, "dry-run", NULL, false, "print what would be done, and do nothing"},
	CLI_YES,
	STEPS_OPTIONS_APPLY,
	STEPS_OPTIONS,
	{.name = NULL}};

const struct cli_command worker_remove = {
	.name = "remove",
	.synopsis = "NAME [--context CONTEXT] [--keep-account]",
	.summary = "a worker that is not used any more, away with all that `add` made",
	.help = "Shows where NAME leads and who uses that worker, and asks. Refuses while jobs run "
		"there: `kubectl\n"
		"multikueue drain NAME --evict` queues them again. Cordons the worker, waits until "
		"no Workload of\n"
		"this manager is left on it, takes it out of each MultiKueueConfig, and deletes "
		"the\n"
		"MultiKueueCluster; on the worker the tokens of this manager, and the account with "
		"its rights where\n"
		"no other manager may need them; last the Secret. Running it again goes on from "
		"there.\n",
	.examples = "  kubectl multikueue worker remove west\n"
		    "  kubectl multikueue worker remove west --dry-run\n"
		    "  kubectl multikueue worker remove west --context kind-west --keep-account\n"
		    "  kubectl multikueue worker remove west --manager-only --yes\n",
	.options = options,
	.run = run,
};
