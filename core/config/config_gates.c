/* SPDX-License-Identifier: Apache-2.0 */
/* The switches from --feature-gates or featureGates, for the gates of the Kueue beside us. */
#include "core/config/config_impl.h"
#include "core/config/gate_table.h"

const char *config_gate_name(enum config_gate gate)
{
	for (int minor = CONFIG_KUEUE_OLDEST; minor <= CONFIG_KUEUE_NEWEST; minor++) {
		const struct gate *g;

		for (size_t pos = 0; (g = gate_each(minor, &pos)) != NULL;) {
			if (g->ours == (int)gate) {
				return g->name;
			}
		}
	}
	return "";
}

/* Go's strconv.ParseBool. */
static bool parse_bool(mk_str s, bool *ret)
{
	static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
	static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (str_is(s, yes[i]) || str_is(s, no[i])) {
			*ret = str_is(s, yes[i]);
			return true;
		}
	}
	return false;
}

/* --feature-gates=A=true,B=false as an object; NULL with the reason in *ret_why. */
static struct json *parse_flag(struct arena *a, mk_str flag, const char **ret_why)
{
	struct json *map = json_new_obj(a);
	mk_str part;

	while (str_split(&flag, ',', &part)) {
		ptrdiff_t at = str_index(part, '=');
		mk_str name = str_trim(at < 0 ? part : str_sub(part, 0, (size_t)at));
		mk_str value = at < 0 ? part : str_trim(str_sub(part, (size_t)at + 1, SIZE_MAX));
		bool on = false;

		if (part.n == 0) {
			continue;
		}
		if (at < 0) {
			*ret_why = arena_printf(a, "missing bool value for %.*s", STR_ARG(name)).p;
			return NULL;
		}
		if (!parse_bool(value, &on)) {
			*ret_why =
				arena_printf(a,
					     "invalid value of %.*s=%.*s, err: strconv.ParseBool: "
					     "parsing %s: invalid syntax",
					     STR_ARG(name), STR_ARG(value), config_quote(a, value))
					.p;
			return NULL;
		}
		json_set(a, map, name, json_new_bool(a, on));
	}
	return map;
}

/* Who sets gates, and by what. */
struct switches {
	struct config_run *r;
	int minor;              /* of the Kueue beside us */
	const struct json *map; /* name to boolean */
	const char *shown;      /* the map or the flag, as Kueue shows it */
	bool in_file;
};

/* A key that sets all gates of a stage. */
static bool is_group(mk_str name)
{
	return str_is(name, "AllAlpha") || str_is(name, "AllBeta");
}

static mk_str place(const struct switches *s, mk_str name)
{
	return s->in_file ? json_pointer_child(s->r->a, STR("/featureGates"), name) : STR("");
}

static void refuse(const struct switches *s, const char *why)
{
	config_error(s->r, STR("/featureGates"), "featureGates: Invalid value: %s: %s", s->shown,
		     why);
}

/* A known name that is one typing error away; NULL pointer: there is none. */
static mk_str near(int minor, mk_str name)
{
	const struct gate *g;

	for (size_t pos = 0; name.n <= STR_NEAR && (g = gate_each(minor, &pos)) != NULL;) {
		if (str_distance(name, str_of(g->name)) == 1) {
			return str_of(g->name);
		}
	}
	return (mk_str){NULL, 0};
}

/*
 * A gate that this Kueue does not have. A file of another Kueue must start us, a typing error must
 * not. False: it is one.
 */
static bool accept_unknown(const struct switches *s, mk_str name)
{
	int other = gate_other_minor(s->minor, name);
	mk_str meant = other == 0 ? near(s->minor, name) : (mk_str){NULL, 0};

	if (meant.p != NULL) {
		refuse(s,
		       arena_printf(s->r->a, "unrecognized feature gate: %.*s", STR_ARG(name)).p);
		config_hint(s->r, "did you mean %.*s?", STR_ARG(meant));
		return false;
	}
	if (other != 0) {
		config_warning(s->r, place(s, name),
			       "featureGates: %.*s is a gate of Kueue 0.%d and has no effect: "
			       "multiKueue.kueueVersion is 0.%d",
			       STR_ARG(name), other, s->minor);
	} else {
		config_warning(s->r, place(s, name),
			       "featureGates: unrecognized feature gate: %.*s; it has no effect",
			       STR_ARG(str_cut(name, STR_NEAR)));
	}
	return true;
}

/* Judges each switch; false: the first that is wrong was told. */
static bool judge(const struct switches *s)
{
	struct json_iter it = json_iter(s->map);

	while (json_next(&it)) {
		const struct gate *g = gate_find(s->minor, it.key);
		bool on = json_bool(it.val);

		if (is_group(it.key) || gate_is_library(it.key) || json_type(it.val) != JSON_BOOL) {
			continue;
		}
		if (!g) {
			if (!accept_unknown(s, it.key)) {
				return false;
			}
			continue;
		}
		if (g->locked && g->on != on) {
			refuse(s, arena_printf(s->r->a,
					       "cannot set feature gate %s to %s, feature is "
					       "locked to %s",
					       g->name, on ? "true" : "false",
					       g->on ? "true" : "false")
					  .p);
			return false;
		}
	}
	return true;
}

/* What a gate is set to: by name, else by its stage, else by default. */
static bool is_on(const struct gate *g, const struct json *map)
{
	const struct json *v = json_get(map, g->name);
	const struct json *all = NULL;

	if (g->stage == GATE_ALPHA) {
		all = json_get(map, "AllAlpha");
	} else if (g->stage == GATE_BETA) {
		all = json_get(map, "AllBeta");
	}
	if (json_type(v) == JSON_BOOL) {
		return json_bool(v);
	}
	return json_type(all) == JSON_BOOL ? json_bool(all) : g->on;
}

static bool named_is_on(const struct switches *s, const char *name)
{
	const struct gate *g = gate_find(s->minor, str_of(name));

	return g != NULL && is_on(g, s->map);
}

/* Is the pair one that this Kueue refuses, as the gates are set? */
static bool is_broken(const struct switches *s, const struct gate_need *n)
{
	return n->minor <= s->minor && named_is_on(s, n->gate) && !named_is_on(s, n->needs);
}

/* 0.20 has one finding for each gate, with all that it lacks. */
static void warn_needs(const struct switches *s, size_t first)
{
	const char *gate = gate_needs[first].gate;
	mk_str lacks = STR("");

	for (size_t i = 0; i < gate_n_needs; i++) {
		if (strcmp(gate_needs[i].gate, gate) != 0 || !is_broken(s, &gate_needs[i])) {
			continue;
		}
		if (i < first) {
			return; /* told with that one */
		}
		lacks = arena_printf(s->r->a, "%.*s%s%s", STR_ARG(lacks), lacks.n ? " " : "",
				     gate_needs[i].needs);
	}
	config_warning(s->r, STR("/featureGates"),
		       "featureGates: Invalid value: %s: %s is enabled, but depends on features "
		       "that are disabled: [%.*s]",
		       s->shown, gate, STR_ARG(lacks));
}

/* Gates of Kueue's core that need others: nothing to us, but Kueue would not start. */
static void warn_dependencies(const struct switches *s)
{
	for (size_t i = 0; i < gate_n_needs; i++) {
		const struct gate_need *n = &gate_needs[i];

		if (!is_broken(s, n)) {
			continue;
		}
		if (s->minor >= 20) {
			warn_needs(s, i);
		} else {
			config_warning(s->r, STR("/featureGates"),
				       "featureGates: Invalid value: \"%s\": %s requires %s to be "
				       "enabled",
				       n->gate, n->gate, n->needs);
		}
	}
}

/* Both ways to set gates are used. In 0.20 that is found before anything else, and alone. */
static bool is_twice(const struct switches *s, const struct json *file)
{
	if (s->in_file || json_type(file) != JSON_OBJ) {
		return false;
	}
	config_error(s->r, STR("/featureGates"),
		     "featureGates: Invalid value: %s: feature gates for CLI and configuration "
		     "cannot both specified",
		     config_sorted(s->r->a, file));
	return true;
}

void config_check_gates(struct config_run *r, struct config *c)
{
	const struct json *file = json_get(r->doc, "featureGates");
	mk_str flag = r->in->feature_gates;
	struct switches s = {.r = r,
			     .minor = c->multikueue.kueue_minor,
			     .map = file,
			     .shown = "{}",
			     .in_file = flag.n == 0};
	const struct gate *g;
	const char *why = NULL;

	if (s.minor >= 20 && is_twice(&s, file)) {
		return;
	}
	if (flag.n > 0) {
		s.shown = config_quote(r->a, flag);
		s.map = parse_flag(r->a, flag, &why);
	} else if (json_type(file) == JSON_OBJ) {
		s.shown = config_sorted(r->a, file);
	}
	if (why != NULL) {
		refuse(&s, why);
		return;
	}
	if (!judge(&s) || is_twice(&s, file)) {
		return;
	}
	warn_dependencies(&s);
	for (size_t pos = 0; (g = gate_each(s.minor, &pos)) != NULL;) {
		if (g->ours != GATE_NOT_OURS) {
			c->gates[g->ours] = is_on(g, s.map);
		}
	}
	/* Without its gate the section is checked, but does not count. */
	if (!c->gates[CONFIG_GATE_INCREMENTAL_CONFIG]) {
		c->multikueue.step_size = 3;
	}
}
