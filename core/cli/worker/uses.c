/* SPDX-License-Identifier: Apache-2.0 */
/* Who else uses a worker; see uses.h. */
#include "core/cli/worker/uses.h"

#include "core/api/names.h"
#include "core/base/base64.h"

static mk_str name_of(const struct json *object)
{
	return json_str_at(object, "/metadata/name");
}

static mk_str worker_uid(const struct json *secret)
{
	return json_str(json_get(json_at(secret, "/metadata/labels"), OBJECTS_WORKER_UID));
}

static bool same(mk_str a, mk_str b)
{
	return a.n > 0 && str_eq(a, b);
}

bool uses_running(const struct steps *s, mk_str name, size_t *ret)
{
	mk_str path =
		arena_printf(&s->c->a,
			     "--output=jsonpath={range .items[?(@.status.clusterName==\"%.*s\""
			     ")]}-{.status.conditions[?(@.type==\"Finished\")].status}{\"\\n\"}"
			     "{end}",
			     STR_ARG(name));
	const char *words[] = {"get", "--all-namespaces", path.p, "workloads." NAME_GROUP, NULL};
	mk_str text, line;

	if (!path.p) {
		return cli_no_memory(s->c) == CLI_OK;
	}
	if (!plane_run(&s->manager, &text, words)) {
		return false;
	}
	*ret = 0;
	while (str_split(&text, '\n', &line)) {
		*ret += line.n > 0 && !str_is(line, "-True");
	}
	return true;
}

/* Has the kubeconfig in 'secret' one of the tokens? */
static bool has_token(struct arena *a, const struct json *secret, const struct json *tokens)
{
	mk_str mine = objects_kubeconfig_token(a, secret), token;
	struct json_iter it = json_iter(json_get(tokens, "items"));

	while (json_next(&it)) {
		token = STR("");
		(void)base64_decode(a, json_str_at(it.val, "/data/token"), &token, NULL);
		if (same(token, mine)) {
			return true;
		}
	}
	return false;
}

static const struct json *secret_of(const struct steps_held *held, const struct json *cluster)
{
	const struct json *source = json_at(cluster, "/spec/clusterSource/kubeConfig");
	mk_str type = json_str(json_get(source, "locationType"));
	struct json_iter it = json_iter(json_get(held->secrets, "items"));

	while (json_next(&it) && (type.n == 0 || str_is(type, "Secret"))) {
		if (same(json_str(json_get(source, "location")), name_of(it.val))) {
			return it.val;
		}
	}
	return NULL;
}

/* Does that Secret need this worker's account, by its label or its token? */
static bool needs_account(const struct steps *s, const struct steps_held *held,
			  const struct json *tokens, const struct json *secret)
{
	return !same(name_of(secret), held->location) &&
	       (same(worker_uid(secret), worker_uid(held->secret)) ||
		has_token(&s->c->a, secret, tokens));
}

static void judge_cluster(const struct steps *s, const struct steps_held *held,
			  const struct json *tokens, const struct json *cluster, struct uses *ret)
{
	struct arena *a = &s->c->a;
	const struct json *secret = secret_of(held, cluster);
	mk_str name = name_of(cluster);

	if (!secret) {
		json_add(a, ret->unknown, json_new_str(a, name));
	} else if (same(name_of(secret), held->location)) {
		ret->is_secret_shared = true;
		json_add(a, ret->others, json_new_str(a, name));
	} else if (needs_account(s, held, tokens, secret) ||
		   same(objects_server(a, secret), objects_server(a, held->secret))) {
		json_add(a, ret->others, json_new_str(a, name));
	}
}

/* A Secret that no MultiKueueCluster names may be one that will be named again. */
static void judge_secrets(const struct steps *s, const struct steps_held *held,
			  const struct json *tokens, struct uses *ret)
{
	struct json_iter it = json_iter(json_get(held->secrets, "items"));

	while (json_next(&it) && ret->why_shared.n == 0) {
		if (needs_account(s, held, tokens, it.val)) {
			ret->why_shared =
				arena_printf(&s->c->a, "secret/%.*s of the manager needs it",
					     STR_ARG(name_of(it.val)));
		}
	}
}

bool uses_find(const struct steps *s, const struct steps_held *held, const struct json *tokens,
	       struct uses *ret)
{
	struct arena *a = &s->c->a;
	struct json *all = plane_get(&s->manager, "multikueueclusters", NULL, NULL);
	struct json_iter it = json_iter(json_get(all, "items"));

	*ret = (struct uses){
		.others = json_new_arr(a), .unknown = json_new_arr(a), .why_shared = STR("")};
	while (json_next(&it)) {
		if (!str_eq(name_of(it.val), s->name)) {
			judge_cluster(s, held, tokens, it.val, ret);
		}
	}
	it = json_iter(ret->others);
	while (json_next(&it)) {
		size_t n;

		if (!uses_running(s, json_str(it.val), &n)) {
			return false;
		}
		ret->n_running += n;
		ret->why_shared = arena_printf(a, "multikueuecluster/%.*s leads there, too",
					       STR_ARG(json_str(it.val)));
	}
	judge_secrets(s, held, tokens, ret);
	ret->is_shared = ret->why_shared.n > 0;
	return all && (!arena_failed(a) || cli_no_memory(s->c) == CLI_OK);
}
