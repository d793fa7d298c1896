/* SPDX-License-Identifier: Apache-2.0 */
/* The page at /ui; see ui.h. */
#include "core/serve/ui.h"

static const unsigned char page[] = {
#include "core/serve/ui/page.inc"
};

void ui_handle(void *ctx, const struct http_request *rq, struct http_answer *answer)
{
	(void)ctx;
	if (strcmp(rq->method, "POST") == 0) {
		answer->status = 405;
		buf_add(&answer->body, STR("expected GET\n"));
		return;
	}
	answer->content_type = "text/html; charset=utf-8";
	buf_add(&answer->body, (mk_str){(const char *)page, sizeof(page)});
}
