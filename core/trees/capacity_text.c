/* SPDX-License-Identifier: Apache-2.0 */
/* The condition CapacityFromWorkers, and totals written into objects; see capacity.h. */
#include <stdlib.h>

#include "core/base/timefmt.h"
#include "core/trees/capacity_int.h"

enum { LISTED = 10, WAITS_LISTED = 3 };

/* --- the condition ---------------------------------------------------------------------------- */

static int by_name(const void *x, const void *y)
{
	return str_cmp(((const struct trees_seat *)x)->name, ((const struct trees_seat *)y)->name);
}

static void set(struct trees_tally *t, const char *status, const char *reason, mk_str message)
{
	t->out->status = status;
	t->out->reason = reason;
	t->out->message = message;
}

static mk_str time_of(struct trees_tally *t, int64_t wall_ms)
{
	return time_rfc3339(t->a, wall_ms);
}

/* "a", and of one that is out of sight since when and until when. */
static mk_str seat_text(struct trees_tally *t, const struct trees_seat *s)
{
	int64_t since, until;

	switch (s->state) {
	case TREES_COUNTED:
	case TREES_TWIN:
		return s->name;
	case TREES_NO_SUCH:
		return arena_printf(t->a, "%.*s (there is no MultiKueueCluster of that name)",
				    STR_ARG(s->name));
	case TREES_LOST:
	case TREES_LEFT_OUT:
	case TREES_UNKNOWN:
		break;
	}
	if (s->worker->hidden_ms == INT64_MAX) {
		return s->name;
	}
	since = s->worker->hidden_wall_ms;
	until = api_add(since, s->lost_ms);
	if (s->state == TREES_LEFT_OUT) {
		return arena_printf(t->a, "%.*s (its queues cannot be seen since %.*s)",
				    STR_ARG(s->name), STR_ARG(time_of(t, since)));
	}
	return arena_printf(t->a, "%.*s (its queues cannot be seen since %.*s; left out at %.*s)",
			    STR_ARG(s->name), STR_ARG(time_of(t, since)),
			    STR_ARG(time_of(t, until)));
}

/* The workers in that state, "a, b and 5 more"; empty: none. */
static mk_str names_of(struct trees_tally *t, enum trees_seat_state state)
{
	mk_str text = STR("");
	size_t n = 0;

	for (size_t i = 0; i < t->n_seats; i++) {
		const struct trees_seat *s = &t->seats[i];

		if (s->state != state) {
			continue;
		}
		if (n < LISTED) {
			text = arena_printf(t->a, "%.*s%s%.*s", STR_ARG(text), n > 0 ? ", " : "",
					    STR_ARG(seat_text(t, s)));
		}
		n++;
	}
	return n > LISTED ? arena_printf(t->a, "%.*s and %zu more", STR_ARG(text), n - LISTED)
			  : text;
}

static size_t count(const struct trees_tally *t, enum trees_seat_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_seats; i++) {
		n += t->seats[i].state == state ? 1 : 0;
	}
	return n;
}

/* 'what' and the workers in that state as a line more, when there are any. */
static mk_str add_names(struct trees_tally *t, mk_str text, const char *what,
			enum trees_seat_state state)
{
	mk_str names = names_of(t, state);

	return names.n > 0
		       ? arena_printf(t->a, "%.*s\n%s: %.*s", STR_ARG(text), what, STR_ARG(names))
		       : text;
}

static mk_str add_waits(struct trees_tally *t, mk_str text, size_t *n)
{
	*n = 0;
	for (size_t i = 0; i < t->n_pairs; i++) {
		const struct trees_pair *p = &t->pairs[i];
		mk_str resource = p->declared->resource;

		if (p->waits_wall_ms == 0) {
			continue;
		}
		if ((*n)++ < WAITS_LISTED) {
			text = arena_printf(
				t->a,
				"%.*s\n%.*s in flavor %.*s: the workers have %.*s, the tree keeps "
				"%.*s until %.*s",
				STR_ARG(text), STR_ARG(resource), STR_ARG(p->declared->flavor),
				STR_ARG(api_amount_shown(
					t->a, p->sure > p->current ? p->sure : p->present,
					resource)),
				STR_ARG(api_amount_shown(t->a, p->current, resource)),
				STR_ARG(time_of(t, p->waits_wall_ms)));
		}
	}
	return *n > WAITS_LISTED ? arena_printf(t->a, "%.*s\nand %zu more that wait", STR_ARG(text),
						*n - WAITS_LISTED)
				 : text;
}

static mk_str add_strangers(struct trees_tally *t, mk_str text)
{
	for (size_t i = 0; i < t->n_strangers; i++) {
		text = arena_printf(t->a, "%.*s%s%.*s", STR_ARG(text),
				    i == 0 ? "\nnot counted, because the tree does not have it: "
					   : ", ",
				    STR_ARG(t->strangers[i]));
	}
	return text;
}

/* "MultiKueueConfig "fleet"", or "the selector". */
static mk_str whose(struct trees_tally *t)
{
	return t->from->config.set
		       ? arena_printf(t->a, "MultiKueueConfig \"%.*s\"", STR_ARG(t->from->config.v))
		       : STR("the selector");
}

static void say_unsure(struct trees_tally *t)
{
	const char *now = t->out->known ? "the total stays as it is"
					: "nothing is written for the tree until there is a total";
	mk_str text;

	if (!t->fleet_known) {
		set(t, "Unknown", "WorkersUnknown",
		    arena_printf(t->a, "%s: the manager's lists of workers are not complete", now));
		return;
	}
	if (t->no_config) {
		set(t, "False", "ConfigNotFound",
		    arena_printf(t->a, "%s: there is no %.*s", now, STR_ARG(whose(t))));
		return;
	}
	if (t->n_seats == 0) {
		set(t, "False", "NoWorkers",
		    arena_printf(t->a, "%s: no MultiKueueCluster is meant by %.*s", now,
				 STR_ARG(whose(t))));
		return;
	}
	text = arena_printf(t->a, "%s: not all workers of %.*s are known", now, STR_ARG(whose(t)));
	text = add_names(t, text, "not known yet", TREES_UNKNOWN);
	set(t, "Unknown", "WorkersUnknown", add_names(t, text, "left out", TREES_LEFT_OUT));
}

void trees_capacity_say(struct trees_tally *t)
{
	size_t n_lost = count(t, TREES_LOST);
	size_t n_out = count(t, TREES_LEFT_OUT) + count(t, TREES_NO_SUCH);
	size_t n_waits = 0;
	mk_str text;

	qsort(t->seats, t->n_seats, sizeof(*t->seats), by_name);
	if (!t->fleet_known || t->no_config || t->n_seats == 0 || count(t, TREES_UNKNOWN) > 0) {
		say_unsure(t);
		return;
	}
	text = arena_printf(t->a,
			    "the total is what %zu of %zu workers of %.*s have, in %zu "
			    "ClusterQueue%s that LocalQueues of the tree lead to",
			    count(t, TREES_COUNTED) + n_lost, t->n_seats - count(t, TREES_TWIN),
			    STR_ARG(whose(t)), t->n_queues, t->n_queues == 1 ? "" : "s");
	text = add_names(t, text, "counted", TREES_COUNTED);
	text = add_names(t, text, "counted as seen last", TREES_LOST);
	text = add_names(t, text, "left out", TREES_LEFT_OUT);
	text = add_names(t, text, "left out", TREES_NO_SUCH);
	text = add_names(t, text, "other names of servers that are counted", TREES_TWIN);
	text = add_strangers(t, add_waits(t, text, &n_waits));
	set(t, "True",
	    n_out > 0     ? "WorkersLeftOut"
	    : n_lost > 0  ? "WorkersLost"
	    : n_waits > 0 ? "ChangeWaits"
			  : "AllWorkers",
	    text);
}

/* --- totals in objects ------------------------------------------------------------------------ */

struct json *trees_capacity_apply(struct arena *a, const struct trees_capacity *c, struct json *o)
{
	struct json *out = json_share(a, o);
	struct json *spec, *one, *several;

	json_own(a, out);
	spec = json_get(out, "spec");
	json_own(a, spec);
	one = json_dup(a, json_get(spec, "resourceGroup"));
	several = json_dup(a, json_get(spec, "resourceGroups"));
	if (one) {
		json_set(a, spec, STR("resourceGroup"), one);
	}
	if (several) {
		json_set(a, spec, STR("resourceGroups"), several);
	}
	api_totals_put(a, spec, c->totals, c->n);
	return arena_failed(a) ? NULL : out;
}
