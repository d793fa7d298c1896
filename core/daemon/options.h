/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: what was asked for, and the answers that need nothing else (--help, --version).
 * No I/O. */
#ifndef MK_DAEMON_OPTIONS_H
#define MK_DAEMON_OPTIONS_H

#include "core/base/err.h"
#include "core/base/log.h"

enum options_mode {
	OPTIONS_RUN,                /* the daemon */
	OPTIONS_HELP,               /* --help */
	OPTIONS_VERSION,            /* --version */
	OPTIONS_CHECK_CONFIG,       /* --check-config FILE */
	OPTIONS_PRINT_KUEUE_CONFIG, /* --print-kueue-config */
	OPTIONS_LIST_PLUGINS,       /* --list-plugins */
	OPTIONS_PRINT_MANAGER_RBAC, /* --print-manager-rbac */
	OPTIONS_PRINT_WORKER_RBAC,  /* --print-worker-rbac */
};

struct options {
	enum options_mode mode;
	const char *config;        /* file, or NULL: all defaults */
	const char *kubeconfig;    /* file, or NULL: in-cluster */
	const char *feature_gates; /* "A=true,B=false" or "" */
	enum log_level log_level;
	enum log_format log_format;
	const char *log_modules; /* "net=debug,lease=warn" or "": levels of single modules */
};

/*
 * Reads the arguments; strings are borrowed from 'argv'. ERR_INVALID: an unknown option, a missing
 * or unexpected value, or two modes at once; the message says what to do next.
 */
enum mk_code options_parse(int argc, char *const argv[], struct options *ret, struct mk_err *err);

/* Sets the format and the levels that were asked for. ERR_INVALID: log_modules is malformed. */
enum mk_code options_apply_log(const struct options *o, struct mk_err *err);

/* The text of --help. */
const char *options_help(void);

#endif
