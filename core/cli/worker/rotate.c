/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue worker rotate`: another token for the manager, and the end of the former. */
#include "core/base/base64.h"
#include "core/cli/worker/steps.h"
#include "core/cli/worker/worker.h"

#define NAME "kubectl multikueue worker rotate"

/* One run of the command. */
struct rotate {
	struct steps s;
	struct steps_held held;
	struct objects_rotation r;
	struct json *tokens; /* Secrets of this manager on the worker, a List */
	mk_str old;          /* the token that the manager has */
	mk_str secret;       /* the Secret with the new one, on the worker */
	bool is_active;      /* when it was looked last */
	bool deletes;
};

/* --- what is there ---------------------------------------------------------------------------- */

/* The token in a Secret of the worker. */
static mk_str token_in(const struct rotate *t, const struct json *secret)
{
	mk_str token = STR("");

	(void)base64_decode(&t->s.c->a, json_str_at(secret, "/data/token"), &token, NULL);
	return token;
}

static bool is_former(const struct rotate *t, mk_str name)
{
	struct json_iter it = json_iter(t->r.former);

	while (json_next(&it)) {
		if (str_eq(json_str(it.val), name)) {
			return true;
		}
	}
	return false;
}

/* Does that Secret of the manager have a token that is to go? */
static bool has_former(const struct rotate *t, const struct json *secret)
{
	mk_str token = objects_kubeconfig_token(&t->s.c->a, secret);
	struct json_iter it = json_iter(json_get(t->tokens, "items"));

	while (json_next(&it)) {
		if (token.n > 0 && is_former(t, json_str_at(it.val, "/metadata/name")) &&
		    str_eq(token, token_in(t, it.val))) {
			return true;
		}
	}
	return false;
}

/* False: another Secret needs a token that would go, and the error was printed. */
static bool judge_others(const struct rotate *t)
{
	struct json_iter it = json_iter(json_get(t->held.secrets, "items"));

	while (json_next(&it)) {
		mk_str name = json_str_at(it.val, "/metadata/name");

		if (!str_eq(name, t->held.location) && has_former(t, it.val)) {
			cli_error(t->s.c,
				  "secret/%.*s on the manager has a token that would be deleted, "
				  "too; expected it in secret/%.*s alone: give the other a token "
				  "of its own, or delete it",
				  STR_ARG(name), STR_ARG(t->held.location));
			return false;
		}
	}
	return true;
}

/* False: the MultiKueueCluster has no token in a Secret; the error was printed. */
static bool judge_held(struct rotate *t)
{
	struct cli *c = t->s.c;
	const struct steps_held *h = &t->held;

	if (h->location.n == 0) {
		cli_error(c,
			  "the kubeconfig of multikueuecluster/%.*s is in no Secret; expected "
			  "locationType Secret: replace the token where the kubeconfig is",
			  STR_ARG(t->s.name));
	} else if (json_len(h->secret) == 0) {
		cli_error(c,
			  "no secret/%.*s, which multikueuecluster/%.*s names, in namespace %s of "
			  "%s; expected it there: see --namespace",
			  STR_ARG(h->location), STR_ARG(t->s.name), t->s.ns, t->s.manager.name);
	} else {
		t->old = objects_kubeconfig_token(&c->a, h->secret);
		if (t->old.n == 0) {
			cli_error(c,
				  "the kubeconfig in secret/%.*s cannot be changed; expected one "
				  "user with a token",
				  STR_ARG(h->location));
		}
		return t->old.n > 0;
	}
	return false;
}

static enum cli_exit look(struct rotate *t)
{
	enum cli_exit rc;
	struct json *secret;

	if (!steps_find(&t->s, &t->held)) {
		return CLI_FAILED;
	}
	if (json_len(t->held.cluster) == 0) {
		return steps_no_cluster(&t->s);
	}
	if (!judge_held(t)) {
		return CLI_NO;
	}
	rc = steps_judge(&t->s, &t->held);
	if (rc != CLI_OK) {
		return rc;
	}
	t->tokens = steps_tokens(&t->s);
	if (!t->tokens) {
		return CLI_FAILED;
	}
	t->r = objects_rotate(&t->s.c->a, t->tokens, t->s.manager.uid, t->old);
	secret = objects_token(&t->s.c->a, str_of(t->s.ns), t->s.manager.uid, t->r.number);
	t->secret = json_str_at(secret, "/metadata/name");
	return judge_others(t) ? CLI_OK : CLI_NO;
}

/* --- the new token ---------------------------------------------------------------------------- */

/* The manager's Secret with that token. */
static struct json *for_manager(const struct rotate *t, mk_str token)
{
	struct arena *a = &t->s.c->a;
	struct json *all = json_new_arr(a);

	json_add(a, all, objects_with_token(a, t->held.secret, token));
	return all;
}

static enum cli_exit show(const struct rotate *t)
{
	struct cli *c = t->s.c;
	struct arena *a = &c->a;
	struct json *worker = json_new_arr(a);
	struct json *manager = for_manager(t, STR(OBJECTS_REDACTED));
	struct json_iter it = json_iter(t->r.former);

	json_add(a, worker, objects_token(a, str_of(t->s.ns), t->s.manager.uid, t->r.number));
	objects_show_kubeconfig(a, json_elem(manager, 0));
	json_set(a, json_at(manager, "/0/metadata"), STR("resourceVersion"), NULL);
	steps_print(c, "worker", t->s.worker.name, worker);
	steps_print(c, "manager", t->s.manager.name, manager);
	buf_printf(&c->out, "# worker: %s, once its API server has seen the new token\n",
		   t->s.worker.name);
	while (json_next(&it)) {
		buf_printf(&c->out, "# secret \"%.*s\" deleted (dry run)\n",
			   STR_ARG(json_str(it.val)));
	}
	return arena_failed(a) ? cli_no_memory(c) : CLI_OK;
}

/* Is the new token in use, and the cluster Active with it? */
static bool look_at_use(void *ctx, mk_str *ret_missing)
{
	struct rotate *t = ctx;
	struct arena *a = &t->s.c->a;
	struct json *secret = plane_get(&t->s.worker, "secret", t->secret.p, t->s.ns);
	struct json *cluster =
		secret ? plane_get(&t->s.manager, "multikueuecluster", t->s.name.p, NULL) : NULL;
	mk_str why = cluster ? steps_inactive(&t->s, cluster) : STR("");

	t->is_active = cluster && why.n == 0;
	*ret_missing = STR("");
	if (why.n > 0) {
		*ret_missing = arena_printf(a, "multikueuecluster/%.*s: %.*s", STR_ARG(t->s.name),
					    STR_ARG(why));
	} else if (objects_last_used(secret).n == 0) {
		*ret_missing = arena_printf(a, "%s has not seen the token of secret/%.*s",
					    t->s.worker.name, STR_ARG(t->secret));
	}
	return cluster != NULL;
}

/* The former token again, whatever has changed the Secret since. */
static void put_back(const struct rotate *t)
{
	struct json *former = for_manager(t, t->old);

	json_set(&t->s.c->a, json_at(former, "/0/metadata"), STR("resourceVersion"), NULL);
	if (plane_apply(&t->s.manager, former)) {
		buf_printf(&t->s.c->err, "The manager has its former token again.\n");
	} else {
		cli_error(t->s.c,
			  "the former token could not be put back into secret/%.*s, which has "
			  "the new one; both are in force",
			  STR_ARG(t->held.location));
	}
}

/* The new token is not known to be in use: nothing is deleted. */
static enum cli_exit not_proven(const struct rotate *t, mk_str missing)
{
	struct cli *c = t->s.c;
	struct json_iter it = json_iter(t->r.former);

	cli_error(c, "after %lld s %.*s", (long long)(t->s.timeout_ms / 1000), STR_ARG(missing));
	if (!t->is_active && !t->r.is_used) {
		put_back(t);
	}
	if (t->is_active) {
		buf_printf(&c->err,
			   "The manager has the new token and is Active; the former ones stay in "
			   "force. The API server of %s did not set label "
			   "kubernetes.io/legacy-token-last-used: Kubernetes before 1.26 never "
			   "does, and no daemon may be running. When you are sure that the new "
			   "token is used, delete the former Secrets of namespace %s there:",
			   t->s.worker.name, t->s.ns);
		while (json_next(&it)) {
			buf_printf(&c->err, " %.*s", STR_ARG(json_str(it.val)));
		}
		buf_printf(&c->err, "\n");
	}
	return CLI_NO;
}

static enum cli_exit delete_former(struct rotate *t)
{
	struct cli *c = t->s.c;
	struct json_iter it = json_iter(t->r.former);

	t->deletes = true;
	while (json_next(&it)) {
		if (!plane_delete(&t->s.worker, "secret", json_str(it.val), t->s.ns)) {
			return CLI_FAILED;
		}
	}
	buf_printf(&c->out, "multikueuecluster/%.*s uses the token of secret/%.*s on %s\n",
		   STR_ARG(t->s.name), STR_ARG(t->secret), t->s.worker.name);
	if (t->r.is_used) {
		buf_printf(&c->out,
			   "That ended a rotation of before; run this again for another token.\n");
	}
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}

static enum cli_exit rotate(struct rotate *t)
{
	mk_str token = steps_token(&t->s, t->r.number), missing = STR("");
	struct json *secret = token.n > 0 ? for_manager(t, token) : NULL;

	if (!secret || (!t->r.is_used && !plane_apply(&t->s.manager, secret))) {
		return CLI_FAILED;
	}
	switch (steps_until(&t->s, look_at_use, t, &missing)) {
	case STEPS_DONE:
		return delete_former(t);
	case STEPS_LATE:
		return not_proven(t, missing);
	case STEPS_FAILED:
	default:
		return CLI_FAILED;
	}
}

/* --- the command ------------------------------------------------------------------------------ */

static enum cli_exit run(struct cli *c, const struct cli_args *args)
{
	struct rotate t = {.r = {.number = 0}};
	const char *context = cli_get(args, "context");
	enum cli_exit rc;

	if (args->n_rest != 1) {
		return cli_usage(c, NAME, "expected one MultiKueueCluster, found %zu",
				 args->n_rest);
	}
	if (!steps_open(&t.s, c, args, args->rest[0], context ? context : args->rest[0], &rc)) {
		return rc;
	}
	rc = look(&t);
	if (rc != CLI_OK) {
		return rc;
	}
	if (cli_get(args, "dry-run")) {
		return show(&t);
	}
	rc = rotate(&t);
	if (rc != CLI_OK) {
		buf_printf(&c->err, "%sRunning this again goes on from here.\n",
			   t.deletes ? "" : "No token was deleted. ");
	}
	return rc;
}

static const struct cli_option options[] = {
	STEPS_CONTEXT,
	{0, "dry-run", NULL, false, "print what would be applied and deleted, and do neither"},
	STEPS_OPTIONS_APPLY,
	STEPS_OPTIONS,
	{.name = NULL}};

const struct cli_command worker_rotate = {
	.name = "rotate",
	.synopsis = "NAME [--context CONTEXT]",
	.summary = "another token for the manager on a worker, and the end of the former",
	.help = "Makes a token on the worker and gives it to the manager. Waits until the worker's "
		"API server has\n"
		"seen it in use (label kubernetes.io/legacy-token-last-used of its Secret) and the "
		"MultiKueueCluster\n"
		"is Active; only then deletes the former tokens of this manager. Whatever fails "
		"before that leaves\n"
		"them in force, and running it again goes on from there. Jobs run on.\n",
	.examples = "  kubectl multikueue worker rotate west\n"
		    "  kubectl multikueue worker rotate west --context kind-west\n"
		    "  kubectl multikueue worker rotate west --dry-run\n",
	.options = options,
	.run = run,
};
