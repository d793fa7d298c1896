/* SPDX-License-Identifier: Apache-2.0 */
/* Certificate files, and the rules of TLS; see cert_files.h. */
#include "core/serve/cert_files.h"

#include <stdio.h>

#include "core/base/file_read.h"
#include "core/serve/serving_certs.h"

enum { PEM_MAX = 256 * 1024, PATH_SIZE = 4096, LOOKS_REFUSED = 30 };

/* Through all links: a mounted Secret changes by a link to another directory. */
static struct cert_stamp stamp_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0) {
		return (struct cert_stamp){.size = -1};
	}
	return (struct cert_stamp){
		.dev = st.st_dev, .ino = st.st_ino, .size = st.st_size, .changed = st.st_mtim};
}

static bool same_stamp(const struct cert_stamp *x, const struct cert_stamp *y)
{
	return x->dev == y->dev && x->ino == y->ino && x->size == y->size &&
	       x->changed.tv_sec == y->changed.tv_sec && x->changed.tv_nsec == y->changed.tv_nsec;
}

static bool same_stamps(const struct cert_stamp x[2], const struct cert_stamp y[2])
{
	return same_stamp(&x[0], &y[0]) && same_stamp(&x[1], &y[1]);
}

/* Looks come every few seconds; the same fault is reported once. */
static void tell(struct cert_files *f, const struct cert_stamp now[2], const struct mk_err *why,
		 struct mk_err *err)
{
	if (why->code != f->told || !same_stamps(now, f->tried)) {
		*err = *why;
	}
	f->told = why->code;
	memcpy(f->tried, now, sizeof(f->tried));
}

/* A pair that changes while it is read is read once more: its stamps are older. */
bool cert_files_look(struct cert_files *f, struct arena *a, struct cert_pair *ret,
		     struct mk_err *err)
{
	static const char *const files[2] = {SERVING_CERT, SERVING_KEY};
	char path[2][PATH_SIZE];
	struct cert_stamp now[2];
	struct mk_err why = {.code = ERR_OK};
	mk_str text[2];

	for (size_t i = 0; i < 2; i++) {
		snprintf(path[i], PATH_SIZE, "%.*s/%s", STR_ARG(f->directory), files[i]);
		now[i] = stamp_of(path[i]);
	}
	if (same_stamps(now, f->stamps) && f->looks_left != 1) {
		f->looks_left -= f->looks_left > 0 ? 1 : 0;
		return false;
	}
	for (size_t i = 0; i < 2; i++) {
		if (file_read(a, path[i], PEM_MAX, &text[i], &why) != ERR_OK) {
			tell(f, now, &why, err);
			return false;
		}
	}
	f->told = ERR_OK;
	f->looks_left = 0;
	memcpy(f->stamps, now, sizeof(now));
	*ret = (struct cert_pair){.cert = text[0], .key = text[1]};
	return true;
}

void cert_files_refused(struct cert_files *f)
{
	f->looks_left = LOOKS_REFUSED;
}

struct tls_serve *cert_tls_new(const struct config *c, bool asks_client, struct mk_err *err)
{
	struct tls_serve_options o = {.tls13 = false};

	if (c->gates[CONFIG_GATE_TLS_OPTIONS]) {
		o = (struct tls_serve_options){.tls13 = c->tls.tls13,
					       .ciphers = c->tls.ciphers.v,
					       .n_ciphers = c->tls.ciphers.n,
					       .curves = c->tls.curves,
					       .n_curves = c->tls.n_curves};
	}
	o.asks_client = asks_client;
	return tls_serve_new(&o, err);
}
