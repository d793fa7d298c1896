/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to API servers; see doctor.h. */
#include "core/cli/doctor/doctor.h"

enum { PAGE = 500, PAGES_MAX = 1000, WORDS_MAX = 400, TURN_MS = 100 };

/* The message of a Status, or the beginning of the text. */
static mk_str words_of(struct arena *a, mk_str body)
{
	struct json *v = NULL;
	mk_str message = STR("");

	if (json_parse(a, body, &v, NULL) == ERR_OK) {
		message = json_str(json_get(v, "message"));
	}
	return arena_dup(a, str_cut(message.n > 0 ? message : str_trim(body), WORDS_MAX));
}

static void page_or_end(struct doctor_ask *q, struct json *page);

static void take(struct doctor_ask *q, const struct asker_answer *answer)
{
	struct json *v = NULL;
	struct mk_err err;

	q->status = answer->status;
	q->code = answer->code;
	q->no_name = answer->no_name;
	q->date_ms = answer->date_ms;
	q->asked_ms = answer->asked_ms;
	q->took_ms = answer->took_ms;
	q->cert_pem = arena_dup(q->a, answer->cert_pem);
	if (answer->code != ERR_OK) {
		q->text = arena_dup(q->a, answer->text);
	} else if (answer->status / 100 != 2) {
		q->text = words_of(q->a, answer->body);
	} else if (json_parse(q->a, answer->body, &v, &err) != ERR_OK) {
		q->code = err.code;
		q->text = arena_printf(q->a, "expected JSON: %s", err.msg);
	} else {
		page_or_end(q, v);
		return;
	}
	q->v = NULL;
	q->done(q, q->ctx);
}

static void on_answer(void *ctx, const struct asker_answer *answer)
{
	take(ctx, answer);
}

/* 'after': where the page begins. */
static void send(struct doctor_ask *q, mk_str body, mk_str after)
{
	struct asker_answer none = {.code = ERR_NO_MEMORY, .date_ms = -1};
	mk_str path = q->path;
	struct mk_err err;

	if (q->is_list) {
		path = arena_printf(q->a, "%.*s%climit=%d%s%.*s", STR_ARG(path),
				    str_index(path, '?') < 0 ? '?' : '&', PAGE,
				    after.n > 0 ? "&continue=" : "",
				    STR_ARG(daemon_encode(q->d->c, after)));
	}
	const struct asker_request r = {.method = body.n > 0 ? "POST" : "GET",
					.path = path,
					.body = body,
					.as = q->as,
					.timeout_ms = q->d->timeout_ms,
					.fn = on_answer,
					.ctx = q};

	none.code = path.p ? asker_send(q->d->asker, q->to, &r, &err) : ERR_NO_MEMORY;
	if (none.code != ERR_OK) {
		none.text = path.p ? str_of(err.msg) : STR("out of memory");
		take(q, &none);
	}
}

static void page_or_end(struct doctor_ask *q, struct json *page)
{
	struct json_iter it = json_iter(json_get(page, "items"));
	mk_str after = json_str_at(page, "/metadata/continue");

	if (!q->is_list) {
		q->v = page;
		q->done(q, q->ctx);
		return;
	}
	q->v = q->v ? q->v : json_new_arr(q->a);
	while (json_next(&it)) {
		json_add(q->a, q->v, json_share(q->a, it.val));
	}
	if (after.n > 0 && q->pages++ < PAGES_MAX && !arena_failed(q->a)) {
		send(q, STR(""), after);
		return;
	}
	q->done(q, q->ctx);
}

void doctor_send(struct doctor_ask *q, mk_str body)
{
	q->is_asked = true;
	q->body = body;
	q->date_ms = -1;
	send(q, body, STR(""));
}

bool doctor_wait(struct doctor *d, int64_t ms)
{
	enum mk_code code = ERR_TIMEOUT;
	struct mk_err err;

	while (code == ERR_TIMEOUT) {
		code = asker_run(d->asker, ms > 0 ? ms : TURN_MS, &err);
		if (d->c->host && !d->c->host->wait(0)) {
			cli_error(d->c, "interrupted");
			return false;
		}
		if (ms > 0) {
			break;
		}
	}
	if (code != ERR_OK && code != ERR_TIMEOUT) {
		cli_error(d->c, "%s", err.msg);
		return false;
	}
	return true;
}
