/* SPDX-License-Identifier: Apache-2.0 */
/* Writes of queue trees; see trees_send.h. */
#include "core/daemon/trees_send.h"

#include <stdio.h>

#include "core/base/log.h"
#include "core/daemon/trees_watch.h"
#include "core/kube/status.h"
#include "core/kube/url.h"

enum { TIMEOUT_MS = 15000 };

static const char *const verbs[] = {
	[TREES_APPLY] = "apply", [TREES_STATUS] = "apply_status", [TREES_DELETE] = "delete"};

void trees_send_init(struct trees_send *s)
{
	s->writes = metric_counter("multikueue_quota_tree_writes_total",
				   "Writes for queue trees, by what the API server answered; code "
				   "0: no answer.",
				   "verb", "kind", "code", NULL);
}

/* --- the request ------------------------------------------------------------------------------ */

static void put_path(struct buf *b, const struct kinds *kinds, const struct trees_write *w)
{
	struct url_target t = {.kind = &kinds->k[trees_watch_kind(w->kind)],
			       .name = w->name,
			       .subresource = w->verb == TREES_STATUS ? "status" : ""};

	url_path(b, &t);
	if (w->verb != TREES_DELETE) {
		url_query(b, "fieldManager",
			  w->verb == TREES_STATUS ? STR(TREES_FIELD_MANAGER_STATUS)
						  : STR(TREES_FIELD_MANAGER));
		/* The status is the daemon's alone. */
		url_query(b, "force",
			  w->force || w->verb == TREES_STATUS ? STR("true") : STR("false"));
	}
}

static void read_answer(struct arena *a, const struct transport_request *r,
			const struct blocking_answer *answer, struct status *ret)
{
	struct status_in in = {.http = answer->head.status,
			       .content_type = answer->head.content_type,
			       .body = answer->body,
			       .retry_after_ms = answer->head.retry_after_ms,
			       .is_write = r->cls == TRANSPORT_WRITE};

	status_read(a, &in, ret);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* A delete is answered with the object while finalizers keep it. */
static void keep(struct trees_send *s, struct arena *a, const struct trees_write *w,
		 const struct json *obj)
{
	uint64_t rv = 0;

	if (obj && url_rv(json_str_at(obj, "/metadata/resourceVersion"), &rv)) {
		mk_str text = json_write(a, obj);

		if (text.n > 0) {
			(void)trees_store_put(s->store, w->kind, STR(""), w->name, rv, text);
		}
	} else if (w->verb == TREES_DELETE) {
		(void)trees_store_drop(s->store, w->kind, STR(""), w->name);
	}
}

static bool is_passing(const struct status *st)
{
	return st->http == 429 || (st->http >= 500 && !st->permanent);
}

static enum trees_sent judge(struct trees_send *s, struct arena *a, const struct trees_write *w,
			     const struct status *st, struct trees_answer *ret)
{
	bool gone = w->verb != TREES_APPLY && st->http == 404;

	ret->reason = st->reason;
	ret->text = st->text;
	ret->retry_after_ms = st->retry_after_ms;
	if (st->code == ERR_OK || gone) {
		ret->generation = json_int(json_at(st->obj, "/metadata/generation"), 0);
		keep(s, a, w, gone ? NULL : st->obj);
		return TREES_DONE;
	}
	/* A delete names the version that the pass saw: the next one sees another. */
	return is_passing(st) || (w->verb == TREES_DELETE && st->http == 409) ? TREES_LATER
									      : TREES_REFUSED;
}

/* --- both ------------------------------------------------------------------------------------- */

/* False: out of memory. */
static bool prepare(struct trees_send *s, struct arena *a, const struct trees_write *w,
		    struct transport_request *ret)
{
	struct buf path;

	*ret = (struct transport_request){.method = w->verb == TREES_DELETE ? "DELETE" : "PATCH",
					  .content_type = w->verb == TREES_DELETE
								  ? "application/json"
								  : "application/apply-patch+yaml",
					  .body = json_write(a, w->body),
					  .cls = TRANSPORT_WRITE,
					  .timeout_ms = TIMEOUT_MS};
	buf_init(&path, URL_MAX);
	put_path(&path, s->kinds, w);
	ret->path = path.failed ? STR("") : arena_dup(a, buf_str(&path));
	buf_done(&path);
	return ret->path.n > 0 && !arena_failed(a);
}

static void note(struct trees_send *s, const struct trees_write *w, int http)
{
	char code[16];

	snprintf(code, sizeof(code), "%d", http);
	metric_add(
		s->writes,
		METRIC_LABELS(str_of(verbs[w->verb]), str_of(api_kind_name(w->kind)), str_of(code)),
		1);
	log_write(LOG_DEBUG, "daemon", "written", LOG_CSTR("verb", verbs[w->verb]),
		  LOG_CSTR("kind", api_kind_name(w->kind)), LOG_STR("name", w->name),
		  LOG_STR("tree", w->tree), LOG_INT("http", http), LOG_END);
}

void trees_send(struct trees_send *s, struct arena *a, const struct trees_write *const *w, size_t n,
		struct trees_answer *ret)
{
	struct transport_request r[TREES_AT_ONCE] = {{.method = ""}};
	struct blocking_answer answers[TREES_AT_ONCE];
	bool good = true;

	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct trees_answer){
			.sent = TREES_LATER, .retry_after_ms = -1, .text = STR("out of memory")};
		good = good && prepare(s, a, w[i], &r[i]);
	}
	if (!good) {
		return;
	}
	blocking_do_all(s->client, r, n, s->stop, answers);
	for (size_t i = 0; i < n; i++) {
		struct status st = {.http = 0};

		if (answers[i].code == ERR_OK) {
			read_answer(a, &r[i], &answers[i], &st);
		}
		note(s, w[i], st.http);
		ret[i].text = arena_dup(a, str_of(answers[i].text));
		if (st.http != 0) {
			ret[i].sent = judge(s, a, w[i], &st, &ret[i]);
		}
	}
}

mk_str trees_send_who_am_i(struct trees_send *s, struct arena *a)
{
	struct transport_request r = {
		.method = "POST",
		.path = STR("/apis/authentication.k8s.io/v1/selfsubjectreviews"),
		.content_type = "application/json",
		.body = STR("{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":"
			    "\"SelfSubjectReview\"}"),
		.cls = TRANSPORT_READ,
		.timeout_ms = TIMEOUT_MS};
	struct blocking_answer answer;
	struct status st = {.http = 0};

	if (blocking_do(s->client, &r, s->stop, &answer) == ERR_OK) {
		read_answer(a, &r, &answer, &st);
	}
	return st.code == ERR_OK ? json_str_at(st.obj, "/status/userInfo/username") : STR("");
}
