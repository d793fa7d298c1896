/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of /metrics, written in pieces, so that the metrics of a large fleet do not hold up the
 * loop: the families of core/base/metric and those of requests.h. Each family is whole, and stands
 * where its name belongs.
 */
#ifndef MK_SERVE_SCRAPE_H
#define MK_SERVE_SCRAPE_H

#include "core/serve/requests.h"

struct scrape;

enum { SCRAPE_PIECE = 128 * 1024 }; /* bytes: about a millisecond */

/* 'r' is borrowed while scrape_step is called. NULL: out of memory. */
struct scrape *scrape_new(const struct requests *r);
void scrape_free(struct scrape *s); /* NULL is fine */

/*
 * Appends the next piece: SCRAPE_PIECE bytes, and the rest of one cluster or series. True: the text
 * is complete, or 'out' has failed.
 */
bool scrape_step(struct scrape *s, struct buf *out);

#endif
