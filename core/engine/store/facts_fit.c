/* SPDX-License-Identifier: Apache-2.0 */
/* What Kueue's words about a clone without quota mean; see facts_fit.h. */
#include "core/engine/store/facts_fit.h"

#include <string.h>

/*
 * "couldn't assign flavors to pod set A: REASON, REASON; couldn't assign flavors to pod set B: ..."
 * One of the reasons has a comma of its own: "insufficient quota for R in flavor F, previously
 * considered podsets requests (N) + current podset request (N) > maximum capacity (N)".
 */
#define POD_SET "couldn't assign flavors to pod set "
#define TOO_MUCH "insufficient quota for "
#define BEFORE "previously considered podsets requests (0) + current podset request ("
#define CAPACITY ") > maximum capacity ("

static bool has(mk_str s, const char *words)
{
	return s.n > 0 && memmem(s.p, s.n, words, strlen(words)) != NULL;
}

/* The part before 'sep', which 's' is shortened by; all of it, and "" is left, without one. */
static mk_str cut_off(mk_str *s, const char *sep)
{
	const char *at = s->n > 0 ? memmem(s->p, s->n, sep, strlen(sep)) : NULL;
	size_t n = at ? (size_t)(at - s->p) : s->n;
	mk_str part = str_sub(*s, 0, n);

	*s = at ? str_sub(*s, n + strlen(sep), s->n) : STR("");
	return part;
}

/* A flavor that stays closed to the pod set, however much is free in it. */
static bool is_closed(mk_str reason)
{
	return str_starts(reason, STR("untolerated taint ")) ||
	       (str_starts(reason, STR("flavor ")) &&
		str_ends(reason, STR(" doesn't match node affinity")));
}

/*
 * Only closed flavors, and at least one that is too small? What an earlier pod set takes does not
 * count: it may come to be in another flavor.
 */
static bool is_too_much(mk_str reasons)
{
	bool any = false;

	while (reasons.n > 0) {
		mk_str reason = cut_off(&reasons, ", ");

		if (str_starts(reason, STR(TOO_MUCH))) {
			mk_str rest = cut_off(&reasons, ", ");

			if (!str_starts(rest, STR(BEFORE)) || !has(rest, CAPACITY) ||
			    !str_ends(rest, STR(")"))) {
				return false;
			}
			any = true;
		} else if (!is_closed(reason)) {
			return false;
		}
	}
	return any;
}

static bool may_shrink(const struct json *spec)
{
	struct json_iter it = json_iter(json_get(spec, "podSets"));

	while (json_next(&it)) {
		if (json_get(it.val, "minCount")) {
			return true;
		}
	}
	return false;
}

bool facts_never_fits(mk_str message, const struct json *spec)
{
	if (may_shrink(spec)) {
		return false;
	}
	while (str_starts(message, STR(POD_SET))) {
		mk_str one = cut_off(&message, "; ");

		(void)cut_off(&one, ": ");
		if (is_too_much(one)) {
			return true;
		}
	}
	return false;
}
