/* SPDX-License-Identifier: Apache-2.0 */
/* The question about /metrics, and its answers as text; see metrics_access.h. */
#include "core/serve/metrics_access.h"

#include "core/base/alloc.h"
#include "core/serve/access.h"

#define METRICS_PATH "/metrics"

enum { ROWS = 64, QUESTION_MAX = 16 * 1024 };

struct metrics_access {
	struct access *access;
	struct arena arena; /* of one question */
};

struct metrics_access *metrics_access_new(struct kube *k)
{
	struct metrics_access *m = mk_calloc(1, sizeof(*m));

	if (m) {
		m->access = access_new(
			&(struct access_options){.kube = k, .module = "metrics", .rows = ROWS});
		arena_init(&m->arena, QUESTION_MAX);
	}
	if (!m || !m->access) {
		mk_free(m);
		return NULL;
	}
	return m;
}

void metrics_access_free(struct metrics_access *m)
{
	if (m) {
		access_free(m->access);
		arena_done(&m->arena);
		mk_free(m);
	}
}

static int ask(struct metrics_access *m, const struct http_request *rq, int64_t mono_ms,
	       mk_str *ret_user)
{
	struct arena *a = &m->arena;
	struct json *about = json_new_obj(a);
	char verb[8] = "";
	int status;

	for (size_t i = 0; rq->method[i] != '\0' && i + 1 < sizeof(verb); i++) {
		verb[i] = (char)(rq->method[i] | 0x20);
	}
	json_set_str(a, about, "path", STR(METRICS_PATH));
	json_set_str(a, about, "verb", str_of(verb));
	*ret_user = STR("");
	status = arena_failed(a) ? 500
				 : access_ask(m->access,
					      &(struct access_question){
						      .token = access_bearer(rq->authorization),
						      .attributes = "nonResourceAttributes",
						      .about = about},
					      mono_ms, ret_user);
	arena_clear(a);
	return status;
}

enum http_verdict metrics_access_ask(struct metrics_access *m, const struct http_request *rq,
				     struct http_answer *a, int64_t mono_ms)
{
	mk_str user = STR("");
	int status = access_bearer(rq->authorization).n > 0 ? ask(m, rq, mono_ms, &user) : 401;

	if (status == 200) {
		return HTTP_GO;
	}
	if (status == ACCESS_WAIT) {
		return HTTP_WAIT;
	}
	a->status = status;
	if (status == 401) {
		buf_add(&a->body, STR("Unauthorized\n"));
	} else if (status == 403) {
		buf_printf(&a->body, "Authorization denied for user %.*s\n", STR_ARG(user));
	} else if (status == 503) {
		buf_add(&a->body, STR("Too many readers are asked about; try again\n"));
	} else if (user.n > 0) {
		buf_printf(&a->body, "Authorization for user %.*s failed\n", STR_ARG(user));
	} else {
		buf_add(&a->body, STR("Authentication failed\n"));
	}
	return HTTP_NO;
}

bool metrics_access_run(struct metrics_access *m, int64_t mono_ms)
{
	return access_run(m->access, mono_ms);
}

int64_t metrics_access_next_ms(const struct metrics_access *m)
{
	return access_next_ms(m->access);
}
