/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page at /ui, for a browser: one file with its script and style, made of core/serve/ui when
 * the daemon is built. It asks /status and /v1/ and changes nothing.
 */
#ifndef MK_SERVE_UI_H
#define MK_SERVE_UI_H

#include "core/net/http_server.h"

/* Answers with the page. For http_server_handle; 'ctx' is not used. */
void ui_handle(void *ctx, const struct http_request *rq, struct http_answer *answer);

#endif
