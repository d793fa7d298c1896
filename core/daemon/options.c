/* SPDX-License-Identifier: Apache-2.0 */
/* The command line; see options.h. Both `--name value` and `--name=value` are understood. */
#include "core/daemon/options.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/str.h"

static const char help[] =
	"multikueued " MK_VERSION " - the MultiKueue manager for Kubernetes\n"
	"\n"
	"Usage:\n"
	"  multikueued [--config FILE] [--kubeconfig FILE]     run\n"
	"  multikueued --check-config FILE                     validate a configuration and its "
	"plugins\n"
	"  multikueued --print-kueue-config --config FILE      the file without our extensions, "
	"for Kueue\n"
	"  multikueued --list-plugins [--config FILE]          adapters and dispatchers that would "
	"be loaded\n"
	"  multikueued --print-worker-rbac [--config FILE]     what it must be allowed on a "
	"worker, "
	"as manifests\n"
	"\n"
	"Options:\n"
	"  --config FILE            Kueue Configuration (v1beta2 or v1beta1), with a multiKueue "
	"section that may\n"
	"                           hold our extensions; without it, all defaults\n"
	"  --kubeconfig FILE        how to reach the manager cluster; without it, the service "
	"account of the pod\n"
	"  --feature-gates LIST     A=true,B=false; not together with featureGates in the file\n"
	"  --log-level LEVEL        debug, info (default), warn, error or off; or for one module: "
	"link=debug;\n"
	"                           several with commas\n"
	"  --log-format FORMAT      json, text or auto (default): text on a terminal, else JSON\n"
	"  --check-config FILE      print each error as \"path: problem: expected ..., found ...\" "
	"with its line, and\n"
	"                           warn where Kueue itself would refuse the file; exit 1 if there "
	"are errors\n"
	"  --print-kueue-config     print the configuration as Kueue accepts it, and exit\n"
	"  --list-plugins           one line per adapter and dispatcher: id, kind or name, "
	"version, ABI, file\n"
	"  --print-manager-rbac     print the least RBAC for the manager cluster and the loaded "
	"plugins, and exit\n"
	"  --print-worker-rbac      the same for worker clusters\n"
	"  --version                print the version and exit\n"
	"  --help                   print this and exit\n"
	"\n"
	"Examples:\n"
	"  multikueued --config /etc/multikueue/config.yaml\n"
	"  multikueued --config conf/config.yaml --kubeconfig ~/.kube/config --log-level "
	"info,link=debug\n"
	"  multikueued --check-config config.yaml && kubectl rollout restart "
	"deployment/multikueued\n"
	"  multikueued --print-worker-rbac --config config.yaml | kubectl --context worker apply "
	"-f -\n"
	"\n"
	"Exit status: 0 after SIGTERM or when asked for information, 1 on failure or a lost lease, "
	"2 for a\n"
	"wrong command line. Configuration keys: docs/configuration.md.\n";

const char *options_help(void)
{
	return help;
}

struct spec {
	const char *name;
	bool has_value;
	enum options_mode mode; /* OPTIONS_RUN: does not change it */
};

static const struct spec specs[] = {
	{"--config", true, OPTIONS_RUN},
	{"--kubeconfig", true, OPTIONS_RUN},
	{"--feature-gates", true, OPTIONS_RUN},
	{"--log-level", true, OPTIONS_RUN},
	{"--log-format", true, OPTIONS_RUN},
	{"--check-config", true, OPTIONS_CHECK_CONFIG},
	{"--print-kueue-config", false, OPTIONS_PRINT_KUEUE_CONFIG},
	{"--list-plugins", false, OPTIONS_LIST_PLUGINS},
	{"--print-manager-rbac", false, OPTIONS_PRINT_MANAGER_RBAC},
	{"--print-worker-rbac", false, OPTIONS_PRINT_WORKER_RBAC},
	{"--version", false, OPTIONS_VERSION},
	{"--help", false, OPTIONS_HELP},
	{"-h", false, OPTIONS_HELP},
};

/* The option that 'arg' names; *ret_value = what stands behind '=' or NULL. */
static const struct spec *find(const char *arg, const char **ret_value)
{
	mk_str name = str_of(arg);
	ptrdiff_t eq = str_index(name, '=');

	*ret_value = NULL;
	if (eq > 0) {
		*ret_value = arg + eq + 1;
		name.n = (size_t)eq;
	}
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		if (str_is(name, specs[i].name)) {
			return &specs[i];
		}
	}
	return NULL;
}

static enum mk_code unknown(const char *arg, struct mk_err *err)
{
	mk_str rest = str_of(arg), name = rest;
	struct str_guess g;

	(void)str_split(&rest, '=', &name);
	g = (struct str_guess){.word = name};
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		str_guess_try(&g, str_of(specs[i].name));
	}
	return err_set(err, ERR_INVALID,
		       "unknown option %.100s%s%.*s%s; multikueued --help lists all options", arg,
		       g.best.p ? ": did you mean " : "", STR_ARG(g.best), g.best.p ? "?" : "");
}

static enum mk_code check_module(mk_str name, struct mk_err *err)
{
	struct str_guess g = {.word = name};
	char all[256] = "";
	size_t n = 0;

	for (size_t i = 0; log_modules[i] != NULL; i++) {
		if (str_is(name, log_modules[i])) {
			return ERR_OK;
		}
		str_guess_try(&g, str_of(log_modules[i]));
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i > 0 ? ", " : "",
				      log_modules[i]);
	}
	return err_set(err, ERR_INVALID,
		       "--log-level: no module \"%.*s\"%s%.*s%s; expected one of: %s",
		       STR_ARG(str_cut(name, STR_NEAR)), g.best.p ? ": did you mean \"" : "",
		       STR_ARG(g.best), g.best.p ? "\"?" : "", all);
}

static enum mk_code take_format(mk_str word, enum log_format *ret, struct mk_err *err)
{
	static const struct {
		const char *word;
		enum log_format format;
	} known[] = {{"auto", LOG_AUTO}, {"json", LOG_JSON}, {"text", LOG_TEXT}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (str_is(word, known[i].word)) {
			*ret = known[i].format;
			return ERR_OK;
		}
	}
	return err_set(err, ERR_INVALID,
		       "--log-format: expected json, text or auto, found \"%.*s\"",
		       STR_ARG(str_cut(word, STR_NEAR)));
}

/* "info", or "info,link=debug": the level for all goes to *ret, the rest stays text and is only
 * checked. */
static enum mk_code take_levels(const char *text, bool apply, enum log_level *ret,
				struct mk_err *err)
{
	mk_str rest = str_of(text);
	mk_str part;

	while (str_split(&rest, ',', &part)) {
		ptrdiff_t eq = str_index(part, '=');
		mk_str word = eq < 0 ? part : str_sub(part, (size_t)eq + 1, part.n);
		enum log_level level = LOG_INFO;
		char module[32] = "";

		if (!log_level_parse(word, &level) || eq == 0 || eq >= (ptrdiff_t)sizeof(module)) {
			return err_set(err, ERR_INVALID,
				       "--log-level: expected debug, info, warn, error or off, or "
				       "module=level; found \"%.*s\"",
				       STR_ARG(part));
		}
		if (eq < 0) {
			*ret = level;
			continue;
		}
		if (check_module(str_sub(part, 0, (size_t)eq), err) != ERR_OK) {
			return ERR_INVALID;
		}
		memcpy(module, part.p, (size_t)eq);
		if (apply && !log_set_level(module, level)) {
			return err_set(err, ERR_INVALID, "--log-level: too many modules");
		}
	}
	return ERR_OK;
}

static enum mk_code take(struct options *o, const struct spec *s, const char *value,
			 struct mk_err *err)
{
	if (s->mode != OPTIONS_RUN) {
		if (o->mode != OPTIONS_RUN && o->mode != s->mode) {
			return err_set(err, ERR_INVALID,
				       "%s cannot be combined with another task: give one of them",
				       s->name);
		}
		o->mode = s->mode;
	}
	if (strcmp(s->name, "--kubeconfig") == 0) {
		o->kubeconfig = value;
	} else if (strcmp(s->name, "--feature-gates") == 0) {
		o->feature_gates = value;
	} else if (strcmp(s->name, "--log-level") == 0) {
		o->log_modules = value;
		return take_levels(value, false, &o->log_level, err);
	} else if (strcmp(s->name, "--log-format") == 0) {
		return take_format(str_of(value), &o->log_format, err);
	} else if (s->has_value) { /* --config, --check-config */
		o->config = value;
	}
	return ERR_OK;
}

enum mk_code options_parse(int argc, char *const argv[], struct options *ret, struct mk_err *err)
{
	struct options o = {.log_level = LOG_INFO, .feature_gates = "", .log_modules = ""};

	for (int i = 1; i < argc; i++) {
		const char *value = NULL;
		const struct spec *s = find(argv[i], &value);
		enum mk_code code;

		if (!s) {
			return unknown(argv[i], err);
		}
		if (s->has_value && !value) {
			value = i + 1 < argc ? argv[++i] : NULL;
		}
		if (s->has_value && (!value || (value[0] == '\0' && s->mode != OPTIONS_RUN))) {
			return err_set(err, ERR_INVALID, "%s needs a value; see --help", s->name);
		}
		if (!s->has_value && value) {
			return err_set(err, ERR_INVALID, "%s takes no value", s->name);
		}
		code = take(&o, s, value, err);
		if (code != ERR_OK) {
			return code;
		}
	}
	if (o.config && o.config[0] == '\0') {
		o.config = NULL; /* as with Kueue, an empty name means the defaults */
	}
	if (o.mode == OPTIONS_PRINT_KUEUE_CONFIG && !o.config) {
		return err_set(
			err, ERR_INVALID,
			"--print-kueue-config needs --config FILE: which file shall be printed?");
	}
	*ret = o;
	return ERR_OK;
}

enum mk_code options_apply_log(const struct options *o, struct mk_err *err)
{
	enum log_level level = o->log_level;

	log_set_output(STDERR_FILENO, o->log_format);
	log_set_level(NULL, level);
	return take_levels(o->log_modules, true, &level, err);
}
