/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the configuration says of dispatchers, judged once the plugins are loaded: the name in use,
 * and the sections.
 */
#include "core/api/names.h"
#include "core/config/config_impl.h"
#include "core/plug/plug.h"
#include "core/plug/schema.h"

#define INVALID "multiKueue.dispatcherName: Invalid value: "

/* Is 's' one insertion, deletion, change or swap of neighbours away from 't' (and not equal)? */
static bool one_typo_apart(mk_str s, mk_str t)
{
	size_t head = 0;
	size_t tail = 0;
	size_t shorter = s.n < t.n ? s.n : t.n;
	size_t ds;
	size_t dt;

	while (head < shorter && s.p[head] == t.p[head]) {
		head++;
	}
	while (tail < shorter - head && s.p[s.n - 1 - tail] == t.p[t.n - 1 - tail]) {
		tail++;
	}
	/* What differs in the middle. */
	ds = s.n - head - tail;
	dt = t.n - head - tail;
	if (ds == 2 && dt == 2) {
		return s.p[head] == t.p[head + 1] && s.p[head + 1] == t.p[head];
	}
	return ds <= 1 && dt <= 1 && ds + dt > 0;
}

static bool is_declared(const struct config_multikueue *m, mk_str name)
{
	for (size_t i = 0; i < m->external_dispatchers.n; i++) {
		if (str_eq(m->external_dispatchers.v[i], name)) {
			return true;
		}
	}
	return false;
}

static const struct config_dispatcher *find(const struct config_dispatcher *known, size_t n,
					    mk_str name)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(known[i].name, name)) {
			return &known[i];
		}
	}
	return NULL;
}

/* For an unknown name: the one that was meant, and all that are loaded. */
static void suggest(struct config_run *r, const struct config_dispatcher *known, size_t n,
		    mk_str name)
{
	struct str_guess g = {.word = name};
	mk_str all = STR("");

	for (size_t i = 0; i < n; i++) {
		if (str_is(known[i].name, PLUG_EXTERNAL)) {
			continue;
		}
		str_guess_try(&g, known[i].name);
		all = arena_printf(r->a, "%.*s%s%.*s", STR_ARG(all), all.n ? ", " : "",
				   STR_ARG(known[i].name));
	}
	config_hint(r, "%s%.*s%sloaded: %.*s", g.best.p ? "did you mean " : "", STR_ARG(g.best),
		    g.best.p ? "? Dispatchers " : "dispatchers ",
		    STR_ARG(all.n ? all : STR("none")));
}

/* No loaded dispatcher has the name: it is another controller's, or a mistake. */
static void judge_name(struct config_run *r, const struct config_multikueue *m,
		       const struct config_dispatcher *known, size_t n)
{
	const mk_str at = STR("/multiKueue/dispatcherName");
	mk_str name = m->dispatcher, typo = {NULL, 0};
	const char *shown = config_quote(r->a, name);
	bool declared = is_declared(m, name);

	for (size_t i = 0; i < n; i++) {
		typo = one_typo_apart(name, known[i].name) ? known[i].name : typo;
	}
	if (name.n > 0 && !config_is_domain_path(name)) {
		config_error(r, at,
			     INVALID "%s: must be a domain-prefixed path "
				     "(such as \"acme.io/foo\") of at most 63 bytes",
			     shown);
	} else if (!declared && str_starts(name, STR(NAME_GROUP "/"))) {
		config_error(r, at, INVALID "%s: no such dispatcher in " NAME_GROUP, shown);
		suggest(r, known, n, name);
	} else if (!declared && str_starts(name, STR(NAME_OUR_GROUP "/"))) {
		config_error(r, at,
			     INVALID "%s: no plugin in %.*s has it: put its .so there (and into "
				     "plugins.allow)",
			     shown, STR_ARG(m->plugin_directory));
		suggest(r, known, n, name);
	} else if (!declared && typo.p != NULL) {
		config_error(r, at, INVALID "%s: no such dispatcher; did you mean %s?", shown,
			     config_quote(r->a, typo));
	} else if (!find(known, n, STR(PLUG_EXTERNAL))) {
		config_error(r, at, INVALID "%s: %s", shown, PLUG_NO_EXTERNAL);
		suggest(r, known, n, name);
	} else if (!declared && r->strict && name.n > 0) {
		config_error(r, at,
			     INVALID "%s: no plugin in %.*s has it: put its .so there (and into "
				     "plugins.allow); or, if another controller nominates, name it "
				     "in multiKueue.externalDispatchers",
			     shown, STR_ARG(m->plugin_directory));
		suggest(r, known, n, name);
	} else if (!declared) {
		config_warning(r, at,
			       "multiKueue.dispatcherName: %s is no dispatcher of ours: something "
			       "outside "
			       "has to nominate clusters",
			       shown);
		suggest(r, known, n, name);
	}
}

static void fault(void *ctx, mk_str pointer, mk_str text)
{
	struct config_run *r = ctx;

	config_error(r, pointer, "%.*s: %.*s", STR_ARG(config_path(r->a, r->doc, pointer)),
		     STR_ARG(text));
}

static void judge_sections(struct config_run *r, const struct config_multikueue *m,
			   const struct config_dispatcher *known, size_t n)
{
	struct json_iter it = json_iter(m->dispatchers);

	while (json_next(&it)) {
		mk_str at = json_pointer_child(r->a, STR("/multiKueue/dispatchers"), it.key);
		const struct config_dispatcher *d = find(known, n, it.key);

		if (!d) {
			config_warning(r, at,
				       "multiKueue.dispatchers: no dispatcher is named %s: nobody "
				       "reads this section",
				       config_quote(r->a, it.key));
			suggest(r, known, n, it.key);
		} else if (d->schema) {
			(void)schema_check(r->a, d->schema, it.val, at, fault, r);
		}
	}
}

enum mk_code config_check_dispatcher(struct arena *a, const struct config *c,
				     const struct config_dispatcher *known, size_t n, bool strict,
				     struct config_problems *problems, struct mk_err *err)
{
	struct config_input no_input = {.text = {NULL, 0}};
	struct config_run r = {.a = a,
			       .in = &no_input,
			       .doc = c->document,
			       .lines = c->lines,
			       .strict = strict,
			       .problems = problems};

	if (str_is(c->multikueue.dispatcher, PLUG_EXTERNAL) ||
	    !find(known, n, c->multikueue.dispatcher)) {
		judge_name(&r, &c->multikueue, known, n);
	}
	judge_sections(&r, &c->multikueue, known, n);
	if (arena_failed(a)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	for (const struct config_problem *p = problems->first; p != NULL; p = p->next) {
		if (!p->warning) {
			return err_set(err, ERR_INVALID, "%s", p->text.p);
		}
	}
	return ERR_OK;
}

enum mk_code config_blame(struct arena *a, const struct config *c, const char *pointer,
			  const char *text, struct config_problems *problems, struct mk_err *err)
{
	struct config_input no_input = {.text = {NULL, 0}};
	struct config_run r = {.a = a,
			       .in = &no_input,
			       .doc = c->document,
			       .lines = c->lines,
			       .problems = problems};

	config_error(&r, str_of(pointer), "%s", text);
	return arena_failed(a) ? err_set(err, ERR_NO_MEMORY, "out of memory")
			       : err_set(err, ERR_INVALID, "%s", text);
}
