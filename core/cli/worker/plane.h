/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster as kubectl reaches it, with a context of the user's kubeconfig. Each request is a
 * kubectl that runs to its end; manifests go to its standard input, so that no secret stands on a
 * command line. What a function returns lives in the arena of the cli; when it fails it has printed
 * why.
 */
#ifndef MK_CLI_WORKER_PLANE_H
#define MK_CLI_WORKER_PLANE_H

#include "core/cli/cli.h"
#include "core/cli/worker/objects.h"

struct plane {
	struct cli *c;
	const char *context;    /* NULL: the current one */
	const char *kubeconfig; /* NULL: kubectl's own choice */
	const char *name;       /* for messages: the context, or "manager" */
	bool force;             /* take over fields of other writers */
	mk_str uid;             /* of its kube-system: which cluster it is */
};

/*
 * Prepares 'p' and asks for its uid. 'context' is borrowed; --kubeconfig and --force-conflicts are
 * taken from 'args'.
 */
bool plane_open(struct plane *p, struct cli *c, const struct cli_args *args, const char *context);

/* Runs kubectl with these words, the last NULL, at most 16; *ret: what it printed. */
bool plane_run(const struct plane *p, mk_str *ret, const char *const *words);

/*
 * What `kubectl get 'what' ['name'] -n 'ns' -o json` prints, without 'name' or with a selector in
 * its place ("--selector=a=b") a list; any other option can stand there, too. One that is not there
 * is an empty object. NULL: it failed.
 */
struct json *plane_get(const struct plane *p, const char *what, const char *name, const char *ns);

/*
 * Server-side apply of the objects in the array 'objects', as OBJECTS_WRITER. Prints a line for
 * each one.
 */
bool plane_apply(const struct plane *p, const struct json *objects);

/* Would plane_apply be refused, say because another writer has a field? Changes nothing. */
bool plane_try(const struct plane *p, const struct json *objects);

/*
 * Deletes 'what' 'name' ("secret", "west"), if it is there, and waits until it is gone. 'ns' NULL:
 * it is in no namespace. Prints a line.
 */
bool plane_delete(const struct plane *p, const char *what, mk_str name, const char *ns);

#endif
