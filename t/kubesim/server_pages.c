/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that shows what it does not have: lists of Workloads whose pages have no end (the fault
 * "flood" with one of these names), and objects of a kind with other members than they have (the
 * policy "show").
 */
#include "t/kubesim/server_priv.h"

enum { PAGE = 500, PAGE_MAX = 1024 * 1024 };

/* Each page has other objects, the same ones, or none. */
static const char *const names[] = {"pages", "pages-again", "pages-empty"};

bool pages_are_known(mk_str name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (str_is(name, names[i])) {
			return true;
		}
	}
	return false;
}

static bool is_ours(const struct exchange *ex)
{
	return str_starts(ex->user_agent, STR("multikueued"));
}

static void add_object(struct buf *b, uint64_t page, unsigned i)
{
	buf_printf(b,
		   "%s{\"metadata\":{\"name\":\"page-%llu-%u\",\"namespace\":\"default\",\"uid\":"
		   "\"f100d000-0000-4000-8000-%012llx\",\"resourceVersion\":\"5\",\"labels\":{"
		   "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"}},\"spec\":{"
		   "\"queueName\":\"user-queue\",\"podSets\":[{\"name\":\"main\",\"count\":1,"
		   "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}]},"
		   "\"status\":{}}",
		   i > 0 ? "," : "", (unsigned long long)page, i,
		   (unsigned long long)(page * PAGE + i));
}

bool pages_answer(struct exchange *ex)
{
	struct cluster *c = ex->conn->cluster;
	const char *name = c->faults.flood;
	struct buf b;

	if (!pages_are_known(str_of(name)) || !is_ours(ex) ||
	    !memmem(ex->target.p, ex->target.n, "/workloads?", 11)) {
		return false;
	}
	if (memmem(ex->target.p, ex->target.n, "sendInitialEvents=", 18)) {
		exchange_status(ex, 422, "Invalid",
				"sendInitialEvents: Forbidden: sendInitialEvents is forbidden for "
				"watch unless the WatchList feature gate is enabled");
		return true;
	}
	if (memmem(ex->target.p, ex->target.n, "watch=", 6)) {
		exchange_status(ex, 410, "Expired", "too old resource version");
		return true;
	}
	if (!memmem(ex->target.p, ex->target.n, "continue=", 9)) {
		c->pages_rv = ks_rv(c->store);
	}
	c->pages++;
	buf_init(&b, PAGE_MAX);
	buf_printf(&b,
		   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadList\","
		   "\"metadata\":{\"resourceVersion\":\"%llu\",\"continue\":\"c%llu\"},\"items\":[",
		   (unsigned long long)c->pages_rv, (unsigned long long)c->pages);
	for (unsigned i = 0; strcmp(name, "pages-empty") != 0 && i < PAGE; i++) {
		add_object(&b, strcmp(name, "pages") == 0 ? c->pages : 0, i);
	}
	buf_add(&b, STR("]}"));
	exchange_answer(ex, 200, "application/json", arena_dup(&ex->a, buf_str(&b)));
	c->bytes_flooded += b.n;
	buf_done(&b);
	return true;
}

/* --- shown otherwise -------------------------------------------------------------------------- */

static bool is_meant(const struct json *by, const struct json *o)
{
	mk_str name = json_str(json_get(by, "name"));

	return str_eq(json_str(json_get(o, "kind")), json_str(json_get(by, "kind"))) &&
	       (name.n == 0 || str_eq(name, json_str_at(o, "/metadata/name")));
}

/* The object as the list of {"kind", "name", "merge"} has it. */
static struct json *as_shown(struct arena *a, const struct json *show, struct json *o)
{
	struct json_iter it = json_iter(show);

	while (json_next(&it)) {
		if (is_meant(it.val, o)) {
			o = json_merge(a, o, json_get(it.val, "merge"));
		}
	}
	return o;
}

mk_str pages_shown(struct exchange *ex, struct arena *a, mk_str text)
{
	const struct json *show = is_ours(ex) ? policy_show(ex->conn->cluster, a) : NULL;
	struct json *o = NULL;

	if (!show || json_parse(a, text, &o, NULL) != ERR_OK) {
		return text;
	}
	if (json_get(o, "object")) {
		json_set(a, o, STR("object"), as_shown(a, show, json_get(o, "object")));
	}
	o = as_shown(a, show, o);
	return arena_printf(a, "%.*s\n", STR_ARG(json_write(a, o)));
}
