/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: answers of API servers. The first bytes are status, header and kind of request, the
 * rest is the body. Only a 2xx is a success, and texts keep their limit.
 */
#include "core/base/json.h"
#include "core/kube/status.h"
#include "t/fuzz/fuzz.h"

int fuzz_one(const uint8_t *data, size_t size)
{
	struct json *object = NULL;
	struct status_in in;
	struct status st;
	struct arena a;

	if (size < 4 || size > 65536) {
		return 0;
	}
	in = (struct status_in){
		.http = 100 + (data[0] | data[1] << 8) % 500,
		.content_type = data[2] & 1 ? STR("application/json") : STR("text/html"),
		.body = {(const char *)data + 4, size - 4},
		.retry_after_ms = data[3] == 0 ? -1 : data[3] * 1000,
		.is_write = (data[2] & 2) != 0,
		.verb = data[2] & 4 ? "get" : NULL,
		.resource = data[2] & 4 ? "workloads.kueue.x-k8s.io" : NULL,
	};
	arena_init(&a, 0);
	status_read(&a, &in, &st);
	FUZZ_MUST(st.code != ERR_OK || (in.http >= 200 && in.http < 300));
	FUZZ_MUST(st.text.n <= STATUS_TEXT_MAX && st.retry_after_ms >= -1);
	if (json_parse(&a, in.body, &object, NULL) == ERR_OK) {
		status_of_error(&a, object, &st);
		FUZZ_MUST(st.code != ERR_OK && st.text.n <= STATUS_TEXT_MAX);
	}
	arena_done(&a);
	return 0;
}
