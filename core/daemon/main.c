/* SPDX-License-Identifier: Apache-2.0 */
/* multikueued: reads the command line, does the small tasks at once, and runs the daemon. */
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/metric.h"
#include "core/daemon/crash.h"
#include "core/daemon/daemon.h"
#include "core/daemon/descriptors.h"
#include "core/daemon/early.h"
#include "core/daemon/rbac.h"
#include "core/net/tls.h"
#include "core/net/wipe.h"
#include "core/serve/cert_files.h"

enum { OUTPUT_MAX = 8 * 1024 * 1024, EXIT_USAGE = 2 };

/* Memory holds credentials of many clusters: no core dumps, no tracing by other processes of this
 * user. */
static void protect_memory(void)
{
	const struct rlimit none = {0, 0};

	if (!CRASH_IS_SANITIZED) {
		setrlimit(RLIMIT_CORE, &none);
		prctl(PR_SET_DUMPABLE, 0);
	}
}

static void print_findings(const struct setup *s, FILE *where)
{
	struct buf b;

	buf_init(&b, OUTPUT_MAX);
	setup_findings(s, &b);
	if (b.n > 0) {
		fprintf(where, "%.*s", STR_ARG(buf_str(&b)));
	}
	buf_done(&b);
}

/* Findings to 'where', and the error itself when no finding says it. 1 when there was an error. */
static int show(const struct setup *s, enum mk_code code, const struct mk_err *err, FILE *where)
{
	print_findings(s, where);
	if (code != ERR_OK && s->problems.n_errors == 0 && s->plugin_problems.n == 0) {
		fprintf(where, "%s: %s\n", s->file, err->msg);
	}
	return code == ERR_OK ? 0 : 1;
}

/* What only the TLS library can say of the section tls. */
static enum mk_code check_tls(const struct config *c, struct mk_err *err)
{
	struct tls_serve *t = cert_tls_new(c, false, err);
	bool good = t != NULL;

	tls_serve_free(t);
	if (!good) {
		err_wrap(err, "tls");
	}
	return good ? ERR_OK : err->code;
}

static int check_config(struct setup *s, const struct options *o)
{
	struct mk_err err = {.code = ERR_OK};
	enum mk_code code;

	s->strict = true;
	code = setup_config(s, o, &err);
	if (code == ERR_OK) {
		code = setup_plugins(s, &err);
	}
	if (code == ERR_OK) {
		code = tls_usable(&err);
	}
	if (code == ERR_OK &&
	    (s->config.webhook_on || config_is_on(s->config.metrics_bind_address))) {
		code = check_tls(&s->config, &err);
	}
	if (show(s, code, &err, stdout) != 0) {
		return 1;
	}
	printf("%s: valid; %zu adapter%s, %zu dispatcher%s\n", s->file, plug_n_adapters(s->plug),
	       plug_n_adapters(s->plug) == 1 ? "" : "s", plug_n_dispatchers(s->plug),
	       plug_n_dispatchers(s->plug) == 1 ? "" : "s");
	return 0;
}

static int print_kueue_config(struct setup *s, const struct options *o)
{
	struct mk_err err = {.code = ERR_OK};
	enum mk_code code = setup_config(s, o, &err);
	mk_str text;

	if (show(s, code, &err, stderr) != 0) {
		return 1;
	}
	text = config_print_kueue(&s->arena, &s->config);
	printf("%.*s", STR_ARG(text));
	return text.p ? 0 : 1;
}

/* What the plugins say of themselves: a list, or the rights that their kinds need. */
static int print_plugins(struct setup *s, const struct options *o)
{
	struct mk_err err = {.code = ERR_OK};
	enum mk_code code = setup_config(s, o, &err);
	struct buf b;

	if (code == ERR_OK) {
		code = setup_plugins(s, &err);
	}
	if (show(s, code, &err, stderr) != 0) {
		return 1;
	}
	buf_init(&b, OUTPUT_MAX);
	if (o->mode == OPTIONS_LIST_PLUGINS) {
		setup_list_plugins(s, &b);
	} else {
		rbac_print(&s->config, s->plug,
			   o->mode == OPTIONS_PRINT_WORKER_RBAC ? RBAC_WORKER : RBAC_MANAGER, &b);
	}
	printf("%.*s", STR_ARG(buf_str(&b)));
	buf_done(&b);
	return 0;
}

/* When running, findings are log records like all else. */
static void log_findings(const struct setup *s)
{
	struct buf b;
	mk_str rest;
	mk_str line;

	buf_init(&b, OUTPUT_MAX);
	setup_findings(s, &b);
	rest = buf_str(&b);
	while (str_split(&rest, '\n', &line)) {
		log_write(LOG_WARN, "config", "finding", LOG_STR("finding", line), LOG_END);
	}
	buf_done(&b);
}

static int run(struct setup *s, const struct options *o)
{
	struct mk_err err = {.code = ERR_OK};
	enum mk_code code = setup_config(s, o, &err);

	if (code != ERR_OK) {
		log_write(LOG_ERROR, "daemon", "Unable to load the configuration",
			  LOG_CSTR("file", s->file), LOG_ERR(&err), LOG_END);
	} else {
		code = setup_plugins(s, &err);
		if (code != ERR_OK) {
			log_write(LOG_ERROR, "daemon", "Unable to load the plugins", LOG_ERR(&err),
				  LOG_END);
		}
	}
	log_findings(s);
	return code == ERR_OK ? daemon_run(s, o) : 1;
}

static int do_task(const struct options *o)
{
	struct setup s;
	int status;

	setup_init(&s);
	switch (o->mode) {
	case OPTIONS_CHECK_CONFIG:
		status = check_config(&s, o);
		break;
	case OPTIONS_PRINT_KUEUE_CONFIG:
		status = print_kueue_config(&s, o);
		break;
	case OPTIONS_LIST_PLUGINS:
	case OPTIONS_PRINT_MANAGER_RBAC:
	case OPTIONS_PRINT_WORKER_RBAC:
		status = print_plugins(&s, o);
		break;
	case OPTIONS_RUN:
	case OPTIONS_HELP:
	case OPTIONS_VERSION:
	default:
		status = run(&s, o);
		break;
	}
	setup_done(&s);
	metric_clear();
	return status;
}

int main(int argc, char **argv)
{
	struct options o;
	struct mk_err err;

	early_begin();
	protect_memory();
	alloc_join_at_once();
	crash_install();
	descriptors_raise();
	if (options_parse(argc, argv, &o, &err) != ERR_OK ||
	    options_apply_log(&o, &err) != ERR_OK) {
		fprintf(stderr, "multikueued: %s\n", err.msg);
		return EXIT_USAGE;
	}
	if (o.mode == OPTIONS_RUN) {
		early_run();
	} else {
		early_task();
	}
	if (o.mode == OPTIONS_HELP) {
		printf("%s", options_help());
		return 0;
	}
	if (o.mode == OPTIONS_VERSION) {
		printf("multikueued %s\n", MK_VERSION);
		return 0;
	}
	if (!wipe_install()) {
		fprintf(stderr,
			"multikueued: OpenSSL and libcurl cannot be prepared: out of memory\n");
		return 1;
	}
	return do_task(&o);
}
