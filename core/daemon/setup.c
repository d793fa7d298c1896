/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration and plugins, loaded and judged; see setup.h. */
#include "core/daemon/setup.h"

#include <limits.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/file_read.h"
#include "core/base/log.h"
#include "core/daemon/crash.h"
#include "core/daemon/credentials.h"
#include "core/plug/loader.h"

enum { CONFIG_MAX = 1024 * 1024, ARENA_MAX = 64 * 1024 * 1024 };

void setup_init(struct setup *s)
{
	*s = (struct setup){.file = "defaults"};
	arena_init(&s->arena, ARENA_MAX);
}

void setup_done(struct setup *s)
{
	crash_watch(NULL);
	plug_free(s->plug);
	s->plug = NULL;
	arena_done(&s->arena);
}

/*
 * An installed daemon is PREFIX/bin/multikueued: the default is below the same PREFIX. "" for one
 * that stands elsewhere.
 */
static mk_str default_plugins(struct arena *a)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	mk_str program = {path, n > 0 ? (size_t)n : 0};

	while (program.n > 0 && program.p[program.n - 1] != '/') {
		program.n--;
	}
	return str_ends(program, STR("/bin/"))
		       ? arena_printf(a, "%.*s" CONFIG_PLUGINS,
				      STR_ARG(str_sub(program, 0, program.n - strlen("bin/"))))
		       : STR("");
}

enum mk_code setup_config(struct setup *s, const struct options *o, struct mk_err *err)
{
	struct config_input in = {
		.feature_gates = str_of(o->feature_gates),
		.service_namespace = credentials_namespace(&s->arena),
		.plugin_directory = default_plugins(&s->arena),
	};

	if (o->config) {
		enum mk_code code;

		s->file = o->config;
		code = file_read(&s->arena, o->config, CONFIG_MAX, &in.text, err);
		if (code != ERR_OK) {
			return code;
		}
	}
	return config_load(&s->arena, &in, &s->config, &s->problems, err);
}

/* plugins.allow names plugins; the loader wants names of files. */
static enum mk_code allowed_files(struct setup *s, const mk_str **ret, struct mk_err *err)
{
	const struct config_strs *allow = &s->config.multikueue.plugin_allow;
	mk_str *files = arena_array(&s->arena, allow->n + 1, sizeof(*files));

	for (size_t i = 0; files && i < allow->n; i++) {
		bool is_file =
			str_ends(allow->v[i], STR(".so")) || plug_is_description(allow->v[i]);

		files[i] = arena_printf(&s->arena, "%.*s%s", STR_ARG(allow->v[i]),
					is_file ? "" : ".so");
	}
	if (arena_failed(&s->arena)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	*ret = files;
	return ERR_OK;
}

/* The log line is written here, not in the guard, which a simulation calls millions of times. */
static void log_incident(void *data, const struct plug_incident *in)
{
	(void)data;
	log_write(LOG_WARN, "plug",
		  in->is_fault ? "a plugin broke its contract, what it gave is dropped"
			       : "a plugin went over a soft budget",
		  LOG_CSTR("plugin", in->source->id), LOG_CSTR("version", in->source->version),
		  LOG_CSTR("hook", in->hook), LOG_STR("kind", in->item), LOG_STR("ns", in->ns),
		  LOG_STR("name", in->workload), LOG_CSTR("why", in->why), LOG_END);
}

static void set_limits(struct setup *s)
{
	const struct config_budgets *b = &s->config.multikueue.budgets;
	struct plug_limits l = plug_default_limits;

	l.soft_us = b->soft_time_ms * 1000;
	l.hard_us = b->hard_time_ms * 1000;
	l.soft_bytes = (size_t)b->soft_memory;
	l.hard_bytes = (size_t)b->hard_memory;
	l.soft_calls = (uint64_t)b->soft_calls;
	l.hard_calls = (uint64_t)b->hard_calls;
	plug_set_limits(s->plug, &l);
	plug_set_clocks(s->plug, clock_mono_us, clock_cpu_us);
	plug_on_incident(s->plug, log_incident, NULL);
}

static enum mk_code check_dispatcher(struct setup *s, struct mk_err *err)
{
	size_t n = plug_n_dispatchers(s->plug);
	struct config_dispatcher *known = arena_array(&s->arena, n + 1, sizeof(*known));

	if (!known) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	for (size_t i = 0; i < n; i++) {
		const struct plug_dispatcher *d = plug_dispatcher(s->plug, i);

		known[i] = (struct config_dispatcher){d->name, d->schema};
	}
	return config_check_dispatcher(&s->arena, &s->config, known, n, s->strict, &s->problems,
				       err);
}

static bool is_served(const struct setup *s, const struct config_gvk *g)
{
	for (size_t i = 0; i < plug_n_adapters(s->plug); i++) {
		const struct plug_adapter *ad = plug_adapter(s->plug, i);

		if (str_eq(ad->group, g->group) && str_eq(ad->version, g->version) &&
		    str_eq(ad->kind, g->kind)) {
			return true;
		}
	}
	return false;
}

/*
 * Frameworks of a Kueue file may have no plugin here: a warning says so, since their jobs would be
 * rejected.
 */
static void note_unserved(struct setup *s)
{
	const struct config_strs *names = &s->config.frameworks;
	struct buf out;
	struct config_gvk g;

	buf_init(&out, 64 * 1024);
	buf_add(&out, s->plugin_problems);
	for (size_t i = 0; i < names->n; i++) {
		if (config_framework_kind(names->v[i], &g) && !is_served(s, &g)) {
			buf_printf(
				&out,
				"warning: integrations.frameworks[%zu]: no plugin serves %.*s: "
				"expected "
				"an adapter in %s, found none; MultiKueue checks of its jobs are "
				"Rejected\n",
				i, STR_ARG(names->v[i]), s->config.multikueue.plugin_directory.p);
		}
	}
	s->plugin_problems = arena_dup(&s->arena, buf_str(&out));
	buf_done(&out);
}

/* Sizes that stand in another kind need its adapter: without it they would not come home. */
static void note_sizes(struct setup *s)
{
	struct buf out;

	buf_init(&out, 64 * 1024);
	buf_add(&out, s->plugin_problems);
	for (size_t i = 0;
	     s->config.gates[CONFIG_GATE_RAY_AUTOSCALING] && i < plug_n_adapters(s->plug); i++) {
		const struct plug_adapter *ad = plug_adapter(s->plug, i);
		const mk_scale *scale = ad->d->scale;

		if (scale && scale->child && plug_child(s->plug, ad) < 0) {
			buf_printf(&out,
				   "warning: featureGates: MultiKueueRayInTreeAutoscaling: the "
				   "sizes of %.*s stand in %s/%s, Kind=%s: expected an adapter of "
				   "it, loaded and enabled, found none; they are not followed\n",
				   STR_ARG(ad->gvk), scale->group, scale->version, scale->kind);
		}
	}
	s->plugin_problems = arena_dup(&s->arena, buf_str(&out));
	buf_done(&out);
}

/*
 * As in Kueue, a framework that is not enabled has no adapter: no watch, no rights, and
 * externalFrameworks may name it.
 */
static void leave_out_disabled(struct setup *s)
{
	for (size_t i = plug_n_adapters(s->plug); i-- > 0;) {
		const struct plug_adapter *ad = plug_adapter(s->plug, i);
		struct config_gvk g = {
			.group = ad->group, .version = ad->version, .kind = ad->kind};

		if (!config_enables(&s->config, &g)) {
			plug_remove_adapter(s->plug, i);
		}
	}
}

/* multiKueue.externalFrameworks: each gets an adapter from the loaded template. */
static enum mk_code serve_external(struct setup *s, struct mk_err *err)
{
	const struct config_gvks *g = &s->config.multikueue.external_frameworks;

	if (!s->config.gates[CONFIG_GATE_ADAPTERS_FOR_CUSTOM_JOBS]) {
		return ERR_OK;
	}
	for (size_t i = 0; i < g->n; i++) {
		mk_str name = arena_printf(&s->arena, "%.*s.%.*s.%.*s", STR_ARG(g->v[i].kind),
					   STR_ARG(g->v[i].version), STR_ARG(g->v[i].group));
		enum mk_code code = plug_add_framework(s->plug, name, err);

		if (code != ERR_OK) {
			err_wrap(err, "multiKueue.externalFrameworks[%zu].name", i);
			return code;
		}
	}
	return ERR_OK;
}

/* The directory cannot be used: the first problem gets the line of the key that names it. */
static enum mk_code blame_directory(struct setup *s, struct mk_err *err)
{
	mk_str rest = s->plugin_problems, first = STR("");

	(void)str_split(&rest, '\n', &first);
	s->plugin_problems = rest;
	return config_blame(
		&s->arena, &s->config, "/multiKueue/plugins/directory",
		arena_printf(&s->arena, "multiKueue.plugins.directory: %.*s", STR_ARG(first)).p,
		&s->problems, err);
}

enum mk_code setup_plugins(struct setup *s, struct mk_err *err)
{
	const struct config_multikueue *mk = &s->config.multikueue;
	const mk_str *files = NULL;
	enum mk_code code = allowed_files(s, &files, err);

	if (code != ERR_OK) {
		return code;
	}
	s->plug = plug_new(err);
	if (!s->plug) {
		return ERR_NO_MEMORY;
	}
	crash_watch(s->plug);
	set_limits(s);
	code = plug_load_dir(s->plug, mk->plugin_directory.p, files, mk->plugin_allow.n, &s->arena,
			     &s->plugin_problems, err);
	if (code == ERR_NOT_FOUND) {
		return blame_directory(s, err);
	}
	if (code != ERR_OK) {
		err_wrap(err, "plugins");
		return code;
	}
	leave_out_disabled(s);
	code = serve_external(s, err);
	if (code != ERR_OK) {
		return code;
	}
	note_unserved(s);
	note_sizes(s);
	return check_dispatcher(s, err);
}

void setup_findings(const struct setup *s, struct buf *out)
{
	for (const struct config_problem *p = s->problems.first; p; p = p->next) {
		buf_printf(out, "%s:", s->file);
		if (p->line > 0) {
			buf_printf(out, "%d:", p->line);
		}
		buf_printf(out, " %s%.*s", p->warning ? "warning: " : "", STR_ARG(p->text));
		if (p->hint.n > 0) {
			buf_printf(out, ": %.*s", STR_ARG(p->hint));
		}
		buf_add(out, STR("\n"));
	}
	if (s->plugin_problems.n > 0) {
		buf_add(out, s->plugin_problems);
		if (s->plugin_problems.p[s->plugin_problems.n - 1] != '\n') {
			buf_add(out, STR("\n"));
		}
	}
	for (size_t i = 0; s->plug && plug_warning(s->plug, i); i++) {
		buf_printf(out, "warning: %s\n", plug_warning(s->plug, i));
	}
}

static void list_one(struct buf *out, const struct plug_source *src, const char *what, mk_str name)
{
	buf_printf(out, "%-24s %-10s %-52.*s %-10s ABI %u.%u  %s\n", src->id, what, STR_ARG(name),
		   src->version, src->abi_major, src->abi_minor,
		   src->file[0] ? src->file : "(linked in)");
}

void setup_list_plugins(const struct setup *s, struct buf *out)
{
	for (size_t i = 0; i < plug_n_adapters(s->plug); i++) {
		const struct plug_adapter *ad = plug_adapter(s->plug, i);

		list_one(out, &ad->source, "adapter", ad->gvk);
	}
	for (size_t i = 0; i < plug_n_dispatchers(s->plug); i++) {
		const struct plug_dispatcher *d = plug_dispatcher(s->plug, i);

		list_one(out, &d->source, "dispatcher", d->name);
	}
}
