/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of the heap, overwritten as a whole; see wipe.h. */
#include "core/net/wipe.h"

#include <curl/curl.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <openssl/ssl3.h>
#include <string.h>

#include "core/base/alloc.h"

void wipe_free(void *p)
{
	if (p) {
		explicit_bzero(p, malloc_usable_size(p));
		mk_free(p);
	}
}

void *wipe_realloc(void *p, size_t size)
{
	size_t had = p ? malloc_usable_size(p) : 0;
	void *moved;

	if (p && size <= had) {
		return p;
	}
	moved = mk_malloc(size);
	if (moved && p) {
		memcpy(moved, p, had);
		wipe_free(p);
	}
	return moved;
}

/* OpenSSL also says who asks. */
static void *ssl_malloc(size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return mk_malloc(size);
}

static void *ssl_realloc(void *p, size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return wipe_realloc(p, size);
}

/*
 * Buffers of TLS records come and go with each one: OpenSSL overwrites in them what has to be
 * (SSL_OP_CLEANSE_PLAINTEXT), and a second time would cost a fifth of all that the daemon does.
 */
static void ssl_free(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	if (p && malloc_usable_size(p) >= SSL3_RT_MAX_PLAIN_LENGTH) {
		mk_free(p);
	} else {
		wipe_free(p);
	}
}

bool wipe_install(void)
{
	return CRYPTO_set_mem_functions(ssl_malloc, ssl_realloc, ssl_free) == 1 &&
	       curl_global_init_mem(CURL_GLOBAL_DEFAULT, mk_malloc, wipe_free, wipe_realloc,
				    mk_strdup, mk_calloc) == CURLE_OK;
}
