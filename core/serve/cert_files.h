/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What our TLS servers share: rules of the configuration, and a certificate in files that is read
 * anew when it changes.
 */
#ifndef MK_SERVE_CERT_FILES_H
#define MK_SERVE_CERT_FILES_H

#include <sys/stat.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/config/config.h"
#include "core/net/tls_serve.h"

/* What tells one version of a file from the next. */
struct cert_stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
};

/* All zero but for the directory: nothing was read yet. */
struct cert_files {
	mk_str directory;            /* borrowed */
	struct cert_stamp stamps[2]; /* of the files that are in use, or were refused */
	struct cert_stamp tried[2];  /* of those that could not be read */
	enum mk_code told;           /* and why; ERR_OK: the last ones could be */
	unsigned looks_left; /* until a pair that was refused is read again; 0: it was not */
};

/* PEM texts. */
struct cert_pair {
	mk_str cert, key;
};

/*
 * Reads tls.crt and tls.key when one of them changed since the last call that returned true. False:
 * they are the same ('err' is untouched), or they cannot be read. They are tried again at the next
 * call, and 'err' says why once, until the files or the reason change: ERR_NOT_FOUND, ERR_DENIED,
 * ERR_TOO_BIG, ERR_NO_MEMORY. Texts are in 'a'; str_wipe the key before 'a' is cleared.
 */
bool cert_files_look(struct cert_files *f, struct arena *a, struct cert_pair *ret,
		     struct mk_err *err);

/*
 * The pair that was read last could not be used, perhaps for lack of memory only: it is read once
 * more after some looks (about a minute), unless the files change before.
 */
void cert_files_refused(struct cert_files *f);

/*
 * The TLS side of a server, by the section tls of the configuration; 'asks_client' as in
 * tls_serve.h. ERR_INVALID, ERR_NO_MEMORY: NULL.
 */
struct tls_serve *cert_tls_new(const struct config *c, bool asks_client, struct mk_err *err);

#endif
