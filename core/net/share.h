/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one worker may cost the others, over HTTP/2 and HTTP/1.1 alike.
 *
 * Time: what it brings has a quarter of the loop's time at most, however much that is: then it
 * stays in the socket for the rest of a tenth of a second, or for three times what it took, and
 * others are served as if the machine were a little slower.
 *
 * Bytes: what comes in is paid for by what it brings. A byte of a body pays for itself and for
 * another one of heads, frames and records; each request and each connection pays for those that
 * belong to it. What nothing pays for (PING, SETTINGS, empty DATA, interim answers, extensions of
 * chunks, records without content) is barren, whatever it is called; how much of that a link may
 * bring is core/kube's to say.
 */
#ifndef MK_NET_SHARE_H
#define MK_NET_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SHARE_US = 25 * 1000,
	SHARE_OF_US = 100 * 1000,
	SHARE_REST_US = 1000 * 1000, /* at most, however long one piece took */

	SHARE_REQUEST = 8 * 1024,
	SHARE_CONNECTION = 64 * 1024, /* its handshake, and a record that is not whole yet */
	SHARE_MOST = 8 * 1024 * 1024, /* that is paid ahead */
};

/* Zero is valid. */
struct share {
	int64_t since_us, spent_us;
	int64_t paid;      /* bytes, ahead */
	int64_t rested_us; /* all rests that began, until share_take_rest */
	bool rests;
};

/* The loop's time between these two was the worker's. */
void share_charge(struct share *s, int64_t from_us, int64_t to_us);

/* How long the worker was to rest since the last call. */
int64_t share_take_rest(struct share *s);

/* 0, or when the worker is to be heard again. */
int64_t share_rests_until_us(const struct share *s);

/* Something of ours will bring up to 'n' bytes beside bodies. */
void share_pay(struct share *s, size_t n);

/* So many bytes came in, 'body' of them bodies. How many of them are barren. */
size_t share_take(struct share *s, size_t n, size_t body);

#endif
