/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a status says that pods of the job run, by the descriptor's signs, and the same status
 * when no copy is left that could have any. A sign's place is a pointer in which "*" stands for
 * each element or member.
 */
#include "core/base/json.h"
#include "core/plug/internal.h"

/* What every kind has that says nothing else, as of ABI 1.0: batch/Job's count. */
static const mk_sign usual[] = {{.pointer = "/status/active"}, {.pointer = NULL}};

bool sign_says(const mk_sign *sign, const struct json *v)
{
	mk_str s = json_str(v);

	switch (json_type(v)) {
	case JSON_STR:
		return s.n > 0 && (!sign->values || is_among(s, sign->values)) &&
		       !is_among(s, sign->except);
	case JSON_INT:
		return !sign->values && !sign->except && json_int(v, 1) != 0;
	case JSON_BOOL:
		return !sign->values && !sign->except && json_bool(v);
	case JSON_REAL:
		return !sign->values && !sign->except;
	case JSON_ARR:
	case JSON_OBJ:
		return !sign->values && !sign->except && json_len(v) > 0;
	case JSON_NULL:
	case JSON_ABSENT:
		break;
	}
	return false;
}

/* Takes the first token of 'at'. */
static mk_str next_token(const char **at)
{
	const char *begin = *at + 1;
	size_t n = strcspn(begin, "/");

	*at = begin + n;
	return (mk_str){begin, n};
}

/* Is the token, with its escapes, this member's name? */
static bool is_name(mk_str token, mk_str key)
{
	size_t n = 0;

	for (size_t i = 0; i < token.n; i++, n++) {
		char c = token.p[i];

		if (c == '~' && i + 1 < token.n) {
			c = token.p[++i] == '1' ? '/' : '~';
		}
		if (n >= key.n || key.p[n] != c) {
			return false;
		}
	}
	return n == key.n;
}

/*
 * Does 'token' lead to what the iteration is at? To elements only "*" does: when one goes, the
 * others get new numbers.
 */
static bool leads_to(mk_str token, const struct json *container, const struct json_iter *it)
{
	return str_is(token, "*") || (json_type(container) == JSON_OBJ && is_name(token, it->key));
}

static bool says_below(const mk_sign *sign, const struct json *v, const char *at)
{
	struct json_iter it = json_iter(v);
	mk_str token;

	if (*at == '\0') {
		return sign_says(sign, v);
	}
	token = next_token(&at);
	while (json_next(&it)) {
		if (leads_to(token, v, &it) && says_below(sign, it.val, at)) {
			return true;
		}
	}
	return false;
}

static bool is_sign_condition(const mk_sign *sign, const struct json *c)
{
	static const char *const yes[] = {"True", NULL};

	return str_is(json_str(json_get(c, "type")), sign->condition) &&
	       is_among(json_str(json_get(c, "status")), sign->values ? sign->values : yes);
}

static bool shows(const mk_sign *sign, const struct json *job)
{
	const struct json *conditions = json_at(job, "/status/conditions");
	struct json_iter it = json_iter(conditions);

	if (!sign->condition) {
		return says_below(sign, job, sign->pointer);
	}
	while (json_type(conditions) == JSON_ARR && json_next(&it)) {
		if (is_sign_condition(sign, it.val)) {
			return true;
		}
	}
	return false;
}

bool plug_active(const struct plug_adapter *ad, const struct json *job)
{
	const mk_sign *sign = ad->d->active ? ad->d->active : usual;

	for (; sign->condition || sign->pointer; sign++) {
		if (shows(sign, job)) {
			return true;
		}
	}
	return false;
}

/* A copy of 'v' in which the sign says nothing; NULL: nothing is left of it, or no memory. */
static struct json *quiet(struct arena *a, const mk_sign *sign, const struct json *v,
			  const char *at)
{
	struct json_iter it = json_iter(v);
	struct json *copy = NULL;
	mk_str token;

	if (*at == '\0' && sign_says(sign, v)) {
		(void)(sign->without && json_parse(a, str_of(sign->without), &copy, NULL));
		return copy;
	}
	if (*at == '\0' || (json_type(v) != JSON_OBJ && json_type(v) != JSON_ARR)) {
		return json_dup(a, v);
	}
	copy = json_type(v) == JSON_OBJ ? json_new_obj(a) : json_new_arr(a);
	token = next_token(&at);
	while (json_next(&it)) {
		struct json *part =
			leads_to(token, v, &it) ? quiet(a, sign, it.val, at) : json_dup(a, it.val);

		if (json_type(v) == JSON_OBJ) {
			json_append(a, copy, it.key, part);
		} else if (part) {
			json_add(a, copy, part);
		}
	}
	return copy;
}

static struct json *other_conditions(struct arena *a, const mk_sign *sign,
				     const struct json *conditions)
{
	struct json_iter it = json_iter(conditions);
	struct json *others = json_new_arr(a);

	while (json_next(&it)) {
		if (!is_sign_condition(sign, it.val)) {
			json_add(a, others, json_dup(a, it.val));
		}
	}
	return others;
}

/* In place: 'job' has a status of its own. */
static void take_back(struct arena *a, const mk_sign *sign, struct json *job)
{
	for (; sign && (sign->condition || sign->pointer); sign++) {
		if (!shows(sign, job)) {
			continue;
		}
		if (sign->condition) {
			json_set(a, json_get(job, "status"), STR("conditions"),
				 other_conditions(a, sign, json_at(job, "/status/conditions")));
		} else {
			json_set(a, job, STR("status"),
				 quiet(a, sign, json_get(job, "status"),
				       sign->pointer + strlen("/status")));
		}
	}
}

struct json *plug_status_without(const struct plug_adapter *ad, const struct json *local,
				 struct arena *a)
{
	const struct json *status = json_get(local, "status");
	struct json *job = json_share(a, local), *was;

	json_own(a, job);
	was = json_type(status) == JSON_OBJ ? json_dup(a, status) : json_new_obj(a);
	json_set(a, job, STR("status"), json_dup(a, was));
	if (ad->d->active && plug_active(ad, local)) {
		take_back(a, ad->d->active, job);
		take_back(a, ad->d->of_run, job);
	}
	if (arena_failed(a)) {
		return NULL;
	}
	return plug_ended(ad, local) && !plug_ended(ad, job) ? was : json_get(job, "status");
}

/* --- an end that only the Workload shows ------------------------------------------------------ */

static bool is_failure(const char *word)
{
	return str_starts(str_of(word), STR("Fail")) || str_starts(str_of(word), STR("FAIL"));
}

static void put_condition(struct arena *a, struct json *status, const char *type,
			  const struct plug_finish *how)
{
	struct json_iter it = json_iter(json_get(status, "conditions"));
	struct json *list = json_new_arr(a), *c = json_new_obj(a);

	while (json_next(&it)) {
		if (!str_is(json_str(json_get(it.val, "type")), type)) {
			json_add(a, list, json_dup(a, it.val));
		}
	}
	json_set_str(a, c, "type", str_of(type));
	json_set_str(a, c, "status", STR("True"));
	json_set_str(a, c, "reason", how->reason);
	json_set_str(a, c, "message", how->message);
	json_set_str(a, c, "lastTransitionTime", how->now);
	json_add(a, list, c);
	json_set(a, status, STR("conditions"), list);
}

struct json *plug_status_ended(const struct plug_adapter *ad, const struct json *local,
			       const struct plug_finish *how, struct arena *a)
{
	struct json *status = plug_status_without(ad, local, a);
	const mk_end *end = ad->d->ends;

	for (; status && end && (end->condition || end->pointer); end++) {
		if (end->condition && !end->values && is_failure(end->condition) == how->failed) {
			put_condition(a, status, end->condition, how);
			return arena_failed(a) ? NULL : status;
		}
		for (size_t i = 0; !end->condition && end->values && end->values[i]; i++) {
			if (is_failure(end->values[i]) == how->failed) {
				(void)json_put(a, status, end->pointer + strlen("/status"),
					       json_new_str(a, str_of(end->values[i])));
				return arena_failed(a) ? NULL : status;
			}
		}
	}
	return NULL;
}
