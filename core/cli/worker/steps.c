/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of `kubectl multikueue worker` share; see steps.h. */
#include "core/cli/worker/steps.h"

#include "core/base/base64.h"
#include "core/base/clock.h"
#include "core/base/yaml.h"

enum { LOOK_MS = 500, TELL_MS = 2000 };

bool steps_is_name(mk_str name)
{
	bool inner = false; /* may the last character be followed by '.' or the end? */

	for (size_t i = 0; i < name.n; i++) {
		char ch = name.p[i];
		bool plain = (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9');

		if (!plain && !(ch == '-' && i > 0 && name.p[i - 1] != '.') &&
		    !(ch == '.' && inner)) {
			return false;
		}
		inner = plain;
	}
	return inner && name.n <= 253;
}

bool steps_open(struct steps *s, struct cli *c, const struct cli_args *args, const char *name,
		const char *context, enum cli_exit *ret)
{
	const char *ns = cli_get(args, "namespace");
	int64_t seconds;

	*s = (struct steps){.c = c, .ns = ns ? ns : "kueue-system", .name = str_of(name)};
	*ret = CLI_USAGE;
	if (!steps_is_name(s->name)) {
		cli_error(c,
			  "\"%s\" cannot be the name of a MultiKueueCluster: expected lower-case "
			  "letters, digits, '-' and '.'",
			  name);
		return false;
	}
	if (!cli_get_number(c, args, "timeout", 1, 60, &seconds)) {
		return false;
	}
	s->timeout_ms = (seconds < 86400 ? seconds : 86400) * 1000;
	*ret = CLI_FAILED;
	if (!plane_open(&s->manager, c, args, cli_get(args, "manager-context")) ||
	    (context && !plane_open(&s->worker, c, args, context))) {
		return false;
	}
	if (context && str_eq(s->manager.uid, s->worker.uid)) {
		cli_error(c,
			  "context %s is the manager itself: its kube-system has the same uid, "
			  "%.*s; expected another cluster: see --manager-context",
			  context, STR_ARG(s->worker.uid));
		*ret = CLI_NO;
		return false;
	}
	return true;
}

struct json *steps_tokens(const struct steps *s)
{
	mk_str selector = arena_printf(&s->c->a, "--selector=" OBJECTS_MANAGER_UID "=%.*s",
				       STR_ARG(s->manager.uid));

	return selector.p ? plane_get(&s->worker, "secrets", selector.p, s->ns) : NULL;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* False: the time is over, or the output cannot be written. */
static bool next_look(const struct steps *s, int64_t until, int64_t *tell_at, mk_str what)
{
	int64_t now = clock_mono_ms();

	if (now >= until || !s->c->host) {
		return false;
	}
	if (now >= *tell_at) {
		buf_printf(&s->c->out, "waiting: %.*s\n", STR_ARG(what));
		*tell_at = now + TELL_MS;
		if (!cli_flush(s->c)) {
			return false;
		}
	}
	return s->c->host->wait(LOOK_MS);
}

enum steps_end steps_until(const struct steps *s, steps_look_fn *look, void *ctx,
			   mk_str *ret_missing)
{
	int64_t begin = clock_mono_ms(), tell_at = begin + TELL_MS;

	do {
		if (!look(ctx, ret_missing)) {
			return STEPS_FAILED;
		}
		if (arena_failed(&s->c->a)) {
			(void)cli_no_memory(s->c);
			return STEPS_FAILED;
		}
	} while (ret_missing->n > 0 && next_look(s, begin + s->timeout_ms, &tell_at, *ret_missing));
	return ret_missing->n > 0 ? STEPS_LATE : STEPS_DONE;
}

/* --- the token -------------------------------------------------------------------------------- */

/* A token Secret that is to be filled. */
struct filling {
	const struct steps *s;
	mk_str name, token;
};

static bool look_at_token(void *ctx, mk_str *ret_missing)
{
	struct filling *f = ctx;
	struct cli *c = f->s->c;
	struct json *found = plane_get(&f->s->worker, "secret", f->name.p, f->s->ns);
	struct mk_err err = {0};

	if (!found) {
		return false;
	}
	if (base64_decode(&c->a, json_str_at(found, "/data/token"), &f->token, &err) != ERR_OK) {
		cli_error(c, "%s: secret/%.*s: data.token: %s", f->s->worker.name, STR_ARG(f->name),
			  err.msg);
		return false;
	}
	*ret_missing = f->token.n > 0 ? STR("")
				      : arena_printf(&c->a, "secret/%.*s has no token yet",
						     STR_ARG(f->name));
	return true;
}

mk_str steps_token(const struct steps *s, int64_t number)
{
	struct arena *a = &s->c->a;
	struct json *secret = objects_token(a, str_of(s->ns), s->manager.uid, number);
	struct filling f = {.s = s, .name = json_str_at(secret, "/metadata/name")};
	struct json *objects = json_new_arr(a);
	mk_str missing = STR("");
	enum steps_end end;

	json_add(a, objects, secret);
	if (!plane_apply(&s->worker, objects)) {
		return STR("");
	}
	end = steps_until(s, look_at_token, &f, &missing);
	if (end == STEPS_LATE) {
		cli_error(s->c,
			  "%s: %.*s; expected the token controller of kube-controller-manager to "
			  "fill it",
			  s->worker.name, STR_ARG(missing));
	}
	return end == STEPS_DONE ? f.token : STR("");
}

/* --- the manager ------------------------------------------------------------------------------ */

static struct json *of_name(const struct json *list, mk_str name)
{
	struct json_iter it = json_iter(json_get(list, "items"));

	while (json_next(&it)) {
		if (str_eq(json_str_at(it.val, "/metadata/name"), name)) {
			return it.val;
		}
	}
	return NULL;
}

bool steps_find(const struct steps *s, struct steps_held *ret)
{
	struct json *cluster = plane_get(&s->manager, "multikueuecluster", s->name.p, NULL);
	struct json *secrets =
		cluster ? plane_get(&s->manager, "secrets", "--field-selector=type=Opaque", s->ns)
			: NULL;
	const struct json *source = json_at(cluster, "/spec/clusterSource/kubeConfig");
	mk_str type = json_str(json_get(source, "locationType"));

	if (!secrets) {
		return false;
	}
	*ret = (struct steps_held){
		.cluster = cluster, .secrets = secrets, .secret = json_new_obj(&s->c->a)};
	if (json_len(cluster) == 0) {
		ret->location = s->name;
	} else if (type.n == 0 || str_is(type, "Secret")) {
		ret->location = json_str(json_get(source, "location"));
	}
	if (ret->location.n > 0 && of_name(secrets, ret->location)) {
		ret->secret = of_name(secrets, ret->location);
	}
	return true;
}

enum cli_exit steps_no_cluster(const struct steps *s)
{
	struct arena *a = &s->c->a;
	struct json *all = plane_get(&s->manager, "multikueueclusters", NULL, NULL);
	struct json_iter it = json_iter(json_get(all, "items"));
	mk_str names = STR("");

	if (!all) {
		return CLI_FAILED;
	}
	while (json_next(&it)) {
		names = arena_printf(a, "%.*s%s%.*s", STR_ARG(names), names.n > 0 ? ", " : "",
				     STR_ARG(json_str_at(it.val, "/metadata/name")));
	}
	cli_error(s->c, "no multikueuecluster \"%.*s\" on %s, and nothing was changed; %s%.*s",
		  STR_ARG(s->name), s->manager.name,
		  names.n > 0 ? "expected one of: " : "it has none", STR_ARG(names));
	return arena_failed(a) ? cli_no_memory(s->c) : CLI_NO;
}

enum cli_exit steps_judge(const struct steps *s, const struct steps_held *held)
{
	mk_str uid =
		json_str(json_get(json_at(held->secret, "/metadata/labels"), OBJECTS_WORKER_UID));
	mk_str server = objects_server(&s->c->a, held->secret);

	if (json_len(held->secret) == 0) {
		cli_error(s->c,
			  "which cluster multikueuecluster/%.*s leads to is not known; expected "
			  "the Secret that `kubectl multikueue worker add` makes: see --namespace",
			  STR_ARG(s->name));
		return CLI_NO;
	}
	if (uid.n == 0) {
		cli_error(s->c,
			  "secret/%.*s was not made by `kubectl multikueue worker add`, so which "
			  "cluster it leads to is not known; expected label " OBJECTS_WORKER_UID
			  ": `kubectl multikueue worker add %s --name %.*s --force-conflicts` "
			  "makes it anew",
			  STR_ARG(held->location), s->worker.name, STR_ARG(s->name));
		return CLI_NO;
	}
	if (!str_eq(uid, s->worker.uid)) {
		cli_error(s->c,
			  "context %s is another cluster than multikueuecluster/%.*s, which leads "
			  "to %.*s; expected the context of that one: see --context",
			  s->worker.name, STR_ARG(s->name), STR_ARG(server));
		return CLI_NO;
	}
	return CLI_OK;
}

mk_str steps_inactive(const struct steps *s, const struct json *cluster)
{
	const struct json *active =
		json_find(json_at(cluster, "/status/conditions"), "type", "Active");

	if (!json_str_at(active, "/status").n) {
		return STR("the daemon has not said whether it is Active; is it running?");
	}
	if (!str_is(json_str_at(active, "/status"), "True")) {
		return arena_printf(&s->c->a, "it is not Active: %.*s: %.*s",
				    STR_ARG(json_str_at(active, "/reason")),
				    STR_ARG(json_str_at(active, "/message")));
	}
	return STR("");
}

static bool look_at_cluster(void *ctx, mk_str *ret_missing)
{
	const struct steps *s = ctx;
	struct json *cluster = plane_get(&s->manager, "multikueuecluster", s->name.p, NULL);
	mk_str why = cluster ? steps_inactive(s, cluster) : STR("");

	*ret_missing = why.n > 0 ? arena_printf(&s->c->a, "multikueuecluster/%.*s: %.*s",
						STR_ARG(s->name), STR_ARG(why))
				 : why;
	return cluster != NULL;
}

bool steps_wait(const struct steps *s)
{
	struct steps of = *s;
	mk_str missing = STR("");
	enum steps_end end = steps_until(s, look_at_cluster, &of, &missing);

	if (end == STEPS_LATE) {
		cli_error(s->c, "after %lld s %.*s; `kubectl multikueue status` tells more",
			  (long long)(s->timeout_ms / 1000), STR_ARG(missing));
	}
	return end == STEPS_DONE;
}

void steps_print(struct cli *c, const char *side, const char *name, const struct json *objects)
{
	struct json_iter it = json_iter(objects);

	buf_printf(&c->out, "# %s: %s\n", side, name);
	while (json_next(&it)) {
		buf_printf(&c->out, "---\n%.*s", STR_ARG(yaml_write(&c->a, it.val)));
	}
}
