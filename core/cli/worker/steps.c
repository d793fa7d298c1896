/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of `kubectl multikueue worker` share; see steps.h. */
#include "core/cli/worker/steps.h"

#include "core/base/base64.h"
#include "core/base/clock.h"

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

mk_str steps_token(const struct steps *s, int64_t number)
{
	struct arena *a = &s->c->a;
	struct json *secret = objects_token(a, str_of(s->ns), s->manager.uid, number);
	mk_str name = json_str_at(secret, "/metadata/name");
	int64_t until = clock_mono_ms() + s->timeout_ms, tell_at = clock_mono_ms() + TELL_MS;
	struct json *objects = json_new_arr(a), *found;
	mk_str token = STR(""),
	       what = arena_printf(a, "secret/%.*s has no token yet", STR_ARG(name));

	json_add(a, objects, secret);
	if (!plane_apply(&s->worker, objects)) {
		return STR("");
	}
	do {
		found = plane_get(&s->worker, "secret", name.p, s->ns);
		if (!found ||
		    base64_decode(a, json_str_at(found, "/data/token"), &token, NULL) != ERR_OK) {
			return STR("");
		}
	} while (token.n == 0 && next_look(s, until, &tell_at, what));
	if (token.n == 0) {
		cli_error(s->c,
			  "%s: %.*s; expected the token controller of kube-controller-manager to "
			  "fill it",
			  s->worker.name, STR_ARG(what));
	}
	return token;
}

/* What is still missing; "": nothing. */
static mk_str missing(const struct steps *s, const struct json *cluster)
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

bool steps_wait(const struct steps *s)
{
	int64_t begin = clock_mono_ms(), tell_at = begin + TELL_MS;
	mk_str what;

	do {
		struct json *cluster = plane_get(&s->manager, "multikueuecluster", s->name.p, NULL);

		if (!cluster) {
			return false;
		}
		what = missing(s, cluster);
	} while (what.n > 0 && next_look(s, begin + s->timeout_ms, &tell_at,
					 arena_printf(&s->c->a, "multikueuecluster/%.*s: %.*s",
						      STR_ARG(s->name), STR_ARG(what))));
	if (what.n > 0) {
		cli_error(s->c,
			  "multikueuecluster/%.*s: after %lld s %.*s; `kubectl multikueue status` "
			  "tells more",
			  STR_ARG(s->name), (long long)(s->timeout_ms / 1000), STR_ARG(what));
	}
	return what.n == 0;
}
