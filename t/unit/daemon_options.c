/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: what is understood, what is refused, and whether the refusal helps. */
#include "t/lib/tap.h"

#include "core/daemon/options.h"

static struct options o;
static struct mk_err err;

static enum mk_code parse(char *a, char *b, char *c)
{
	char name[] = "multikueued";
	char *argv[] = {name, a, b, c, NULL};
	int argc = 1;

	while (argv[argc]) {
		argc++;
	}
	memset(&err, 0, sizeof(err));
	return options_parse(argc, argv, &o, &err);
}

/* Writable copies, as main gets them. */
#define ARG(name, text) char name[] = text

static void test_understood(void)
{
	ARG(config_eq, "--config=a.yaml");
	ARG(config_empty, "--config=");
	ARG(file, "b.yaml");
	ARG(check, "--check-config");
	ARG(list, "--list-plugins");
	ARG(print, "--print-kueue-config");
	ARG(version, "--version");
	ARG(help, "--help");
	ARG(gates, "--feature-gates=A=true,B=false");
	ARG(kube, "--kubeconfig");
	ARG(level, "--log-level");
	ARG(debug, "debug");
	ARG(levels, "info,link=debug");
	ARG(format, "--log-format=json");

	is_int(parse(NULL, NULL, NULL), ERR_OK, "nothing at all");
	ok(o.mode == OPTIONS_RUN && !o.config && !o.kubeconfig && o.log_level == LOG_INFO,
	   "runs with defaults");
	parse(config_eq, kube, file);
	is_str(o.config, "a.yaml", "--config=FILE");
	is_str(o.kubeconfig, "b.yaml", "--kubeconfig FILE");
	parse(config_empty, NULL, NULL);
	ok(!o.config, "an empty name means the defaults, as with Kueue");
	parse(check, file, NULL);
	is_int(o.mode, OPTIONS_CHECK_CONFIG, "--check-config");
	is_str(o.config, "b.yaml", "takes the file");
	parse(gates, NULL, NULL);
	is_str(o.feature_gates, "A=true,B=false", "--feature-gates");
	parse(level, debug, NULL);
	is_int(o.log_level, LOG_DEBUG, "--log-level");
	parse(level, levels, NULL);
	is_int(o.log_level, LOG_INFO, "with modules");
	is_int(options_apply_log(&o, &err), ERR_OK, "can be applied");
	ok(log_enabled(LOG_DEBUG, "link") && !log_enabled(LOG_DEBUG, "tls"),
	   "to that module alone");
	parse(format, NULL, NULL);
	is_int(o.log_format, LOG_JSON, "--log-format");
	parse(config_eq, print, NULL);
	is_int(o.mode, OPTIONS_PRINT_KUEUE_CONFIG, "--print-kueue-config");
	parse(list, NULL, NULL);
	is_int(o.mode, OPTIONS_LIST_PLUGINS, "--list-plugins");
	parse(version, NULL, NULL);
	is_int(o.mode, OPTIONS_VERSION, "--version");
	parse(help, NULL, NULL);
	is_int(o.mode, OPTIONS_HELP, "--help");
}

static void test_refused(void)
{
	ARG(config, "--config");
	ARG(check_empty, "--check-config=");
	ARG(list, "--list-plugins");
	ARG(list_value, "--list-plugins=yes");
	ARG(print, "--print-kueue-config");
	ARG(version, "--version");
	ARG(level, "--log-level");
	ARG(bad_level, "loud");
	ARG(bad_module, "=debug");
	ARG(no_module, "nonet=debug");
	ARG(near_module, "info,webhok=debug");
	ARG(format, "--log-format");
	ARG(xml, "xml");
	ARG(unknown, "--once");
	ARG(word, "word");
	ARG(near, "--confg=a.yaml");

	is_int(parse(unknown, NULL, NULL), ERR_INVALID, "an unknown option");
	ok(strstr(err.msg, "--once") && strstr(err.msg, "--help"), "is named, and where to look");
	is_int(parse(near, NULL, NULL), ERR_INVALID, "one with a slip");
	ok(strstr(err.msg, "did you mean --config?"), "is told what was meant");
	is_int(parse(word, NULL, NULL), ERR_INVALID, "a word of no option");
	is_int(parse(config, NULL, NULL), ERR_INVALID, "a missing value");
	is_int(parse(check_empty, NULL, NULL), ERR_INVALID, "an empty file to check");
	is_int(parse(list_value, NULL, NULL), ERR_INVALID, "a value where none belongs");
	is_int(parse(list, version, NULL), ERR_INVALID, "two tasks");
	is_int(parse(print, NULL, NULL), ERR_INVALID, "printing without a file");
	is_int(parse(level, bad_level, NULL), ERR_INVALID, "an unknown level");
	ok(strstr(err.msg, "debug, info, warn, error"), "names the known ones");
	is_int(parse(level, bad_module, NULL), ERR_INVALID, "a level of no module");
	is_int(parse(level, no_module, NULL), ERR_INVALID, "a module that there is not");
	ok(strstr(err.msg, "no module \"nonet\"; expected one of: config, daemon, "),
	   "is told, with all that there are");
	is_int(parse(level, near_module, NULL), ERR_INVALID, "one with a slip");
	ok(strstr(err.msg, "did you mean \"webhook\"?"), "is told what was meant");
	is_int(parse(format, xml, NULL), ERR_INVALID, "an unknown format");
	ok(strstr(err.msg, "expected json, text or auto, found \"xml\""), "names the known ones");
	ok(strstr(options_help(), "Examples:"), "the help has examples");
}

int main(void)
{
	test_understood();
	test_refused();
	return done_testing();
}
