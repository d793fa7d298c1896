/* SPDX-License-Identifier: Apache-2.0 */
/* What a wall lets through; see wall_judge.h. */
#include "core/engine/rules/wall_judge.h"

#include <stdarg.h>
#include <string.h>

#include "core/api/names.h"

enum {
	KEY_MAX = 512,   /* of a member's name without punctuation; a longer one is refused */
	SHOWN_MAX = 128, /* of a name that is repeated to users */
	PLACE_MAX = 256, /* of the place that is shown */
	LIST_MAX = 256,  /* of an allow-list that is shown */
};

/* One step of the way to a value: a member's name, or an element's number. */
struct step {
	const struct step *up;
	mk_str key;
	size_t i;
};

struct judge {
	const struct wall_question *q;
	const struct json *rule; /* one of the wall's 'allow' */
	struct arena *a;
	size_t nodes;
	mk_str why; /* the first thing that the rule does not allow; "" none so far */
};

/* --- words ------------------------------------------------------------------------------------ */

static mk_str shown(mk_str s)
{
	return str_cut(s, SHOWN_MAX);
}

/* "spec.template.spec.serviceAccountName", of a value of the object. */
static mk_str place_of(struct judge *j, const struct step *s)
{
	mk_str tail = STR("");

	for (; s; s = s->up) {
		tail = s->key.p ? arena_printf(j->a, ".%.*s%.*s", STR_ARG(shown(s->key)),
					       STR_ARG(tail))
				: arena_printf(j->a, "[%zu]%.*s", s->i, STR_ARG(tail));
		if (tail.n > PLACE_MAX) {
			return arena_printf(j->a, "...%.*s", STR_ARG(str_cut(tail, PLACE_MAX)));
		}
	}
	return tail.n > 0 ? str_sub(tail, 1, tail.n) : STR("the object");
}

/* "a, b", or "none". */
static mk_str list_of(struct judge *j, const struct json *allowed)
{
	struct json_iter it = json_iter(allowed);
	mk_str all = STR("");

	while (json_next(&it)) {
		mk_str name = json_str(it.val);

		if (all.n + name.n > LIST_MAX) {
			return arena_printf(j->a, "%.*s, ...", STR_ARG(all));
		}
		all = arena_printf(j->a, "%.*s%s%.*s", STR_ARG(all), all.n > 0 ? ", " : "",
				   STR_ARG(name));
	}
	return all.n > 0 ? all : STR("none");
}

static void refuse(struct judge *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void refuse(struct judge *j, const char *fmt, ...)
{
	va_list ap;

	if (j->why.n == 0) {
		va_start(ap, fmt);
		j->why = arena_vprintf(j->a, fmt, ap);
		va_end(ap);
	}
}

/* --- names ------------------------------------------------------------------------------------ */

/* Is 'name' in the list? An entry that ends with '*' stands for all that begin so. */
static bool is_allowed(const struct json *list, mk_str name)
{
	struct json_iter it = json_iter(list);

	while (json_next(&it)) {
		mk_str entry = json_str(it.val);

		if (str_ends(entry, STR("*")) ? str_starts(name, str_sub(entry, 0, entry.n - 1))
					      : str_eq(entry, name)) {
			return true;
		}
	}
	return false;
}

/* Asks the rule's list 'key' for a name; a rule without that list allows any. */
static void ask(struct judge *j, const char *key, const char *what, mk_str name,
		const struct step *at)
{
	const struct json *list = json_get(j->rule, key);

	if (list && !is_allowed(list, name)) {
		refuse(j, "%s \"%.*s\" (%.*s) is not allowed; allowed: %.*s", what,
		       STR_ARG(shown(name)), STR_ARG(place_of(j, at)), STR_ARG(list_of(j, list)));
	}
}

/*
 * Asks for each name in a value: a string, a list of them, or objects with the member "name". An
 * empty string names nothing.
 */
static void ask_all(struct judge *j, const char *key, const char *what, const struct json *v,
		    const struct step *at)
{
	struct json_iter it = json_iter(v);
	mk_str name = json_str(json_type(v) == JSON_OBJ ? json_get(v, "name") : v);

	if (name.n > 0) {
		ask(j, key, what, name, at);
	} else if (json_type(v) == JSON_ARR) {
		while (json_next(&it)) {
			name = json_str(json_type(it.val) == JSON_OBJ ? json_get(it.val, "name")
								      : it.val);
			if (name.n > 0) {
				ask(j, key, what, name, at);
			}
		}
	}
}

/* The letters and digits of 's', in lower case. False: too long. */
static bool plain(mk_str s, char out[static KEY_MAX], mk_str *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool upper = c >= 'A' && c <= 'Z';

		if (!upper && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) {
			continue;
		}
		if (n == KEY_MAX) {
			return false;
		}
		out[n++] = upper ? (char)(c - 'A' + 'a') : c;
	}
	*ret = (mk_str){out, n};
	return true;
}

static bool has(mk_str s, const char *word)
{
	return s.n > 0 && memmem(s.p, s.n, word, strlen(word));
}

/* --- members ---------------------------------------------------------------------------------- */

/* References to what stands on the worker, by words in the names of members. */
static const struct {
	const char *word;
	bool whole; /* the name is no more than this */
	const char *kind;
} references[] = {
	{"secret", false, NAME_REF_SECRET},
	{"configmap", false, NAME_REF_CONFIG_MAP},
	{"persistentvolumeclaim", false, NAME_REF_VOLUME_CLAIM},
	{"claimname", true, NAME_REF_VOLUME_CLAIM},
	{"datasource", true, NAME_REF_VOLUME_CLAIM}, /* a new claim may copy another one */
	{"datasourceref", true, NAME_REF_VOLUME_CLAIM},
	{"resourceclaim", false, NAME_REF_RESOURCE_CLAIM},
	{"hostpath", false, NAME_REF_HOST_PATH},
	{"hostnetwork", true, NAME_REF_HOST_NAMESPACE},
	{"hostpid", true, NAME_REF_HOST_NAMESPACE},
	{"hostipc", true, NAME_REF_HOST_NAMESPACE},
};

/* What every namespace has, and every pod with a token refers to. */
static bool is_public(const struct json *v)
{
	return str_is(json_str(json_get(v, "name")), "kube-root-ca.crt");
}

/* Does a member with this value refer to anything? */
static bool is_set(const struct json *v)
{
	switch (json_type(v)) {
	case JSON_ABSENT:
	case JSON_NULL:
		return false;
	case JSON_BOOL:
		return json_bool(v);
	case JSON_STR:
	case JSON_ARR:
	case JSON_OBJ:
		return (json_type(v) == JSON_STR ? json_str(v).n : json_len(v)) > 0;
	case JSON_INT:
	case JSON_REAL:
		break;
	}
	return true;
}

static void ask_reference(struct judge *j, mk_str key, const struct json *v, const struct step *at)
{
	const struct json *list = json_get(j->rule, "references");

	for (size_t i = 0; list && i < sizeof(references) / sizeof(*references); i++) {
		const char *word = references[i].word;

		if ((references[i].whole ? str_is(key, word) : has(key, word)) && is_set(v) &&
		    !is_public(v)) {
			ask(j, "references", "a reference of kind", str_of(references[i].kind), at);
			return;
		}
	}
}

/* Texts that a controller on the worker reads as objects or parts of them. */
static bool is_text_of_object(mk_str key, const struct json *v)
{
	return json_str(v).n > 0 && (str_is(key, "podspecpatch") || str_is(key, "manifest"));
}

static void judge_member(struct judge *j, mk_str name, const struct json *v, const struct step *at)
{
	char buf[KEY_MAX];
	mk_str key, ns;

	if (!plain(name, buf, &key)) {
		refuse(j, "the name of a member is too long to judge (%.*s)",
		       STR_ARG(place_of(j, at->up)));
		return;
	}
	if (str_ends(key, STR("serviceaccountname")) || str_ends(key, STR("serviceaccount"))) {
		ask_all(j, "serviceAccounts", "service account", v, at);
	} else if (str_ends(key, STR("priorityclassname")) ||
		   str_ends(key, STR("priorityclassref")) || str_ends(key, STR("priorityclass"))) {
		ask_all(j, "priorityClasses", "priority class", v, at);
	} else if (is_text_of_object(key, v)) {
		refuse(j, "%.*s is a text with fields of its own, which cannot be judged",
		       STR_ARG(place_of(j, at)));
	} else if (str_is(name, "metadata")) {
		ns = json_str(json_get(v, "namespace"));
		if (ns.n > 0 && !str_eq(ns, j->q->ns)) {
			refuse(j, "%.*s names another namespace, \"%.*s\"",
			       STR_ARG(place_of(j, at)), STR_ARG(shown(ns)));
		}
	} else {
		ask_reference(j, key, v, at);
	}
}

static bool names_one(const struct json *v)
{
	return json_str(v).n > 0;
}

/* What an object says as a whole: its kind, and as the spec of pods what it leaves out. */
static void judge_object(struct judge *j, const struct json *v, const struct step *at)
{
	mk_str api = json_str(json_get(v, "apiVersion")), kind = json_str(json_get(v, "kind"));
	ptrdiff_t slash = str_index(api, '/');
	mk_str group = slash < 0 ? STR("") : str_sub(api, 0, (size_t)slash);
	mk_str version = slash < 0 ? api : str_sub(api, (size_t)slash + 1, api.n);

	if (j->q->is_job && at && api.n > 0 && kind.n > 0 && json_get(j->rule, "kinds")) {
		ask(j, "kinds", "an object of kind",
		    arena_printf(j->a, "%.*s.%.*s.%.*s", STR_ARG(kind), STR_ARG(version),
				 STR_ARG(group)),
		    at);
	}
	if (json_type(json_get(v, "containers")) == JSON_ARR &&
	    !names_one(json_get(v, "serviceAccountName")) &&
	    !names_one(json_get(v, "serviceAccount"))) {
		ask(j, "serviceAccounts", "service account", STR("default"), at);
	}
}

/* Recursion ends with the depth of parsed JSON. */
static void walk(struct judge *j, const struct json *v, const struct step *at)
{
	struct json_iter it = json_iter(v);
	bool is_object = json_type(v) == JSON_OBJ;

	if (j->why.n > 0 || (!is_object && json_type(v) != JSON_ARR)) {
		return;
	}
	if (is_object) {
		judge_object(j, v, at);
	}
	for (size_t i = 0; j->why.n == 0 && json_next(&it); i++) {
		struct step below = {.up = at, .i = i};

		if (++j->nodes > WALL_NODES_MAX) {
			refuse(j, "it has more than %d members and cannot be judged",
			       WALL_NODES_MAX);
			return;
		}
		if (is_object) {
			below.key = it.key;
			judge_member(j, it.key, it.val, &below);
		}
		walk(j, it.val, &below);
	}
}

/* --- rules and walls -------------------------------------------------------------------------- */

static void judge_priority(struct judge *j)
{
	const struct json *classes = json_get(j->rule, "priorityClasses");
	const struct json *spec = j->q->obj;
	int64_t priority = json_int(json_get(spec, "priority"), 0);

	if (classes && !j->q->is_job && priority != 0 &&
	    !names_one(json_at(spec, "/priorityClassRef/name"))) {
		refuse(j,
		       "priority %lld of a Workload that names no priority class is not "
		       "allowed",
		       (long long)priority);
	}
}

/* What the rule does not allow, "" nothing. */
static mk_str judge_by(struct judge *j)
{
	const struct kind *k = j->q->kind;
	const struct step top = {.key = STR("kind")};

	if (json_get(j->rule, "kinds")) {
		ask(j, "kinds", "a job of kind",
		    arena_printf(j->a, "%.*s.%.*s.%.*s", STR_ARG(k->kind), STR_ARG(k->version),
				 STR_ARG(k->group)),
		    &top);
	}
	judge_priority(j);
	walk(j, j->q->obj, NULL);
	return j->why;
}

/* The wall of that config: its own, else that of all others, "*"; NULL none. */
static const struct json *wall_of(const struct json *walls, mk_str config)
{
	const struct json *any = NULL;
	struct json_iter it = json_iter(walls);

	while (json_next(&it)) {
		mk_str of = json_str(json_get(it.val, "config"));

		if (str_eq(of, config)) {
			return it.val;
		}
		any = str_is(of, "*") ? it.val : any;
	}
	return any;
}

bool wall_judge_stands(const struct json *walls, mk_str config)
{
	return wall_of(walls, config) != NULL;
}

mk_str wall_judge_account(const struct json *walls, mk_str config)
{
	return json_str_at(wall_of(walls, config), "/impersonate/serviceAccount");
}

enum wall_verdict wall_judge(const struct wall_question *q, struct arena *a, mk_str *ret_why)
{
	const struct json *wall = wall_of(q->walls, q->config);
	struct json_iter it = json_iter(json_get(wall, "allow"));
	mk_str first = STR("");

	while (json_next(&it)) {
		struct judge j = {.q = q, .rule = it.val, .a = a, .why = STR("")};
		const struct json *namespaces = json_get(it.val, "namespaces");

		if (namespaces && !is_allowed(namespaces, q->ns)) {
			continue;
		}
		if (judge_by(&j).n == 0 && !arena_failed(a)) {
			return WALL_LETS;
		}
		first = first.n > 0 ? first : j.why;
	}
	if (!wall) {
		return WALL_LETS;
	}
	if (first.n == 0) {
		first = arena_printf(a, "nothing may leave namespace \"%.*s\"", STR_ARG(q->ns));
	}
	*ret_why = arena_printf(a, "the wall of MultiKueueConfig \"%.*s\" keeps it here: %.*s",
				STR_ARG(q->config), STR_ARG(first));
	return arena_failed(a) ? WALL_NO_MEMORY : WALL_REFUSES;
}
