/* SPDX-License-Identifier: Apache-2.0 */
/* gzip over zlib; see inflater.h. */
#include "core/net/inflater.h"

#include <zlib.h>

#include "core/base/alloc.h"
#include "core/net/wipe.h"

enum { PIECE = 64 * 1024, GZIP_ONLY = 16 };

struct inflater {
	z_stream z;
	bool done;
	unsigned char piece[PIECE];
};

static void *z_alloc(void *ctx, unsigned n, unsigned size)
{
	(void)ctx;
	return mk_calloc(n, size);
}

static void z_free(void *ctx, void *p)
{
	(void)ctx;
	wipe_free(p);
}

struct inflater *inflater_new(void)
{
	struct inflater *z = mk_malloc(sizeof(*z));

	if (!z) {
		return NULL;
	}
	z->z = (z_stream){.zalloc = z_alloc, .zfree = z_free};
	z->done = false;
	if (inflateInit2(&z->z, GZIP_ONLY + MAX_WBITS) != Z_OK) {
		mk_free(z);
		return NULL;
	}
	return z;
}

void inflater_free(struct inflater *z)
{
	if (z) {
		inflateEnd(&z->z);
		wipe_free(z); /* its last piece may be of a Secret */
	}
}

enum mk_code inflater_run(struct inflater *z, mk_str in, bool (*out)(void *ctx, mk_str bytes),
			  void *ctx)
{
	z->z.next_in = (unsigned char *)(uintptr_t)in.p;
	z->z.avail_in = (unsigned)in.n;
	while (!z->done) { /* what follows the end is not looked at */
		size_t n;
		int rc;

		z->z.next_out = z->piece;
		z->z.avail_out = PIECE;
		rc = inflate(&z->z, Z_NO_FLUSH);
		n = PIECE - z->z.avail_out;
		z->done = rc == Z_STREAM_END;
		if (n > 0 && !out(ctx, (mk_str){(const char *)z->piece, n})) {
			return ERR_OK; /* it may have been freed */
		}
		if (rc == Z_MEM_ERROR) {
			return ERR_NO_MEMORY;
		}
		if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) {
			return ERR_INVALID;
		}
		if (z->z.avail_out > 0) {
			break; /* all of 'in' was used */
		}
	}
	return ERR_OK;
}

bool inflater_is_done(const struct inflater *z)
{
	return z->done;
}
