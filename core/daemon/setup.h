/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the command line to a checked configuration with its plugins loaded: what running,
 * --check-config,
 * --print-kueue-config and --list-plugins have in common. Findings are collected, so that all are
 * shown at once.
 */
#ifndef MK_DAEMON_SETUP_H
#define MK_DAEMON_SETUP_H

#include "core/config/config.h"
#include "core/daemon/options.h"
#include "core/plug/plug.h"

struct setup {
	struct arena arena; /* holds all that follows */
	struct config config;
	struct config_problems problems;
	struct plug *plug;      /* NULL until setup_plugins */
	mk_str plugin_problems; /* one per line, or "" */
	const char *file;       /* of the configuration, or "defaults" */
	bool strict;            /* --check-config: what only may be a mistake is an error, too */
};

/* Prepares 's' in place. */
void setup_init(struct setup *s);
void setup_done(struct setup *s);

/* Reads and judges the configuration. ERR_NOT_FOUND, ERR_DENIED, ERR_TOO_BIG (file), ERR_INVALID,
 * ERR_NO_MEMORY. */
enum mk_code setup_config(struct setup *s, const struct options *o, struct mk_err *err);

/*
 * Loads the plugins that it names and checks the dispatcher against them. ERR_INVALID,
 * ERR_NO_MEMORY.
 */
enum mk_code setup_plugins(struct setup *s, struct mk_err *err);

/* Appends every finding as a line `file:line: path: problem: expected …, found …`, warnings marked.
 */
void setup_findings(const struct setup *s, struct buf *out);

/* Appends one line per adapter and dispatcher: id, kind or name, version, ABI, file. */
void setup_list_plugins(const struct setup *s, struct buf *out);

#endif
