/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of tests; see admit_tell.h. */
#include "t/lib/admit_tell.h"

void admit_tell(struct admit_queues *q, enum event_type type, uint16_t kind, const char *ns,
		const char *name, const char *text)
{
	struct arena a;
	struct json *obj = NULL;
	struct event ev = {.type = type, .kind = kind, .ns = str_of(ns), .name = str_of(name)};

	arena_init(&a, 0);
	json_parse(&a, str_of(text), &obj, NULL);
	ev.obj = obj;
	admit_queues_event(q, &ev);
	arena_done(&a);
}
