/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of an AdmissionCheck; see facts_check.h. */
#include "core/engine/store/facts_check.h"

#include "core/api/names.h"
#include "core/base/timefmt.h"

enum { WORD_MAX = 64 }; /* of a wrong value, in an Event */

static void draw_parameters(struct facts *f, const struct json *ref, struct arena *a)
{
	mk_str group = json_str(json_get(ref, "apiGroup"));
	mk_str kind = json_str(json_get(ref, "kind"));
	mk_str name = json_str(json_get(ref, "name"));

	if (json_type(ref) != JSON_OBJ) {
		f->s[S_PROBLEM] = STR("missing parameters reference");
	} else if (name.n == 0) {
		f->s[S_PROBLEM] = STR("empty name: bad parameters reference");
	} else if (!str_is(group, NAME_GROUP)) {
		f->s[S_PROBLEM] = arena_printf(
			a, "wrong group \"%.*s\", expecting \"%s\": bad parameters reference",
			STR_ARG(group), NAME_GROUP);
	} else if (!str_is(kind, "MultiKueueConfig")) {
		f->s[S_PROBLEM] = arena_printf(a,
					       "wrong kind \"%.*s\", expecting "
					       "\"MultiKueueConfig\": bad parameters reference",
					       STR_ARG(kind));
	} else {
		f->s[S_CONFIG] = name;
	}
}

/* The last of several wrong values is told; each is as if it were not there. */
static void wrong(struct facts *f, const char *key, const char *expected, mk_str found,
		  struct arena *a)
{
	f->s[S_LOCATION] = arena_printf(a,
					"Annotation %s: expected %s, found \"%.*s\"; it counts for "
					"nothing",
					key, expected, STR_ARG(str_cut(found, WORD_MAX)));
}

static void draw_placement(struct facts *f, const struct json *annotations, struct arena *a)
{
	const struct json *timeout = json_get(annotations, NAME_PLACEMENT_TIMEOUT);
	const struct json *unplaceable = json_get(annotations, NAME_UNPLACEABLE);
	mk_str word = json_str(unplaceable);
	int64_t ms;

	f->placement_ms = -1;
	if (timeout && duration_parse(json_str(timeout), &ms, NULL) && ms >= 0) {
		f->placement_ms = ms;
	} else if (timeout) {
		wrong(f, NAME_PLACEMENT_TIMEOUT, "a duration, such as 10m or 0s", json_str(timeout),
		      a);
	}
	if (str_is(word, "Reject")) {
		f->flags |= F_REJECTS;
	} else if (str_is(word, "Wait")) {
		f->flags |= F_MAY_WAIT;
	} else if (unplaceable) {
		wrong(f, NAME_UNPLACEABLE, "\"Reject\" or \"Wait\"", word, a);
	}
}

void facts_of_check(struct facts *f, const struct json *spec, const struct json *annotations,
		    struct arena *a)
{
	if (str_is(json_str(json_get(spec, "controllerName")), NAME_CONTROLLER)) {
		f->flags |= F_OURS;
	}
	draw_parameters(f, json_get(spec, "parameters"), a);
	draw_placement(f, annotations, a);
}
