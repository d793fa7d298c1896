/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text form of events. Bodies are left out: the name and version of the object identify them.
 */
#include "core/model/event.h"

#include <inttypes.h>

#include "core/model/text.h"

enum { EVENT_TEXT_MAX = 64 * 1024 };

static const char *const type_names[EV_N_TYPES] = {
	[EV_OBSERVED] = "observed", [EV_GONE] = "gone",       [EV_LIST_BEGIN] = "list_begin",
	[EV_LIST_END] = "list_end", [EV_BEHIND] = "behind",   [EV_STALE] = "stale",
	[EV_FRESH] = "fresh",       [EV_FAILING] = "failing", [EV_SERVED] = "served",
	[EV_UNSERVED] = "unserved", [EV_LINK] = "link",       [EV_OP_DONE] = "op_done",
	[EV_LEADER] = "leader",
};

static const char *const via_names[] = {
	[VIA_LIST] = "list", [VIA_WATCH] = "watch", [VIA_REPLY] = "reply"};
static const char *const link_names[] = {
	[LINK_CONNECTING] = "connecting", [LINK_UP] = "up", [LINK_DOWN] = "down"};
static const char *const outcome_names[] = {[OUTCOME_APPLIED] = "applied",
					    [OUTCOME_REFUSED] = "refused",
					    [OUTCOME_UNKNOWN] = "unknown"};

#define NAME_OF(table, i) \
	((size_t)(i) < sizeof(table) / sizeof((table)[0]) ? (table)[(size_t)(i)] : "?")

static void text_object(struct buf *b, const struct event *ev, const struct kinds *ks)
{
	buf_printf(b, " %" PRIu32 " ", ev->cluster);
	text_kind(b, ks, ev->kind);
	text_key(b, ev->ns, ev->name);
	text_word(b, "uid", ev->uid);
	if (ev->rv != 0) {
		buf_printf(b, " rv=%" PRIu64, ev->rv);
	}
	if (ev->epoch != 0) {
		buf_printf(b, " epoch=%" PRIu32, ev->epoch);
	}
}

static void text_code(struct buf *b, const struct event *ev)
{
	if (ev->code != ERR_OK) {
		buf_printf(b, " code=%s", err_code_name(ev->code));
	}
	text_word(b, "reason", ev->reason);
	text_word(b, "text", ev->text);
}

static void text_link(struct buf *b, const struct event *ev)
{
	buf_printf(b, " %" PRIu32 " %s", ev->cluster, NAME_OF(link_names, ev->link));
	text_word(b, "identity", ev->name);
	text_code(b, ev);
	if (ev->at_wall_ms != 0) {
		buf_printf(b, " at=%" PRId64, ev->at_wall_ms);
	}
	if (ev->epoch != 0) {
		buf_printf(b, " epoch=%" PRIu32, ev->epoch);
	}
}

static void text_done(struct buf *b, const struct event *ev)
{
	buf_printf(b, " %" PRIu64 " %s", ev->op_id, NAME_OF(outcome_names, ev->outcome));
	if (ev->http != 0) {
		buf_printf(b, " http=%d", ev->http);
	}
	text_code(b, ev);
	if (ev->retry_after_ms > 0) {
		buf_printf(b, " retry_after_ms=%" PRId64, ev->retry_after_ms);
	}
	if (ev->obj != NULL) {
		text_word(b, "rv", json_str_at(ev->obj, "/metadata/resourceVersion"));
	}
}

mk_str event_text(const struct event *ev, const struct kinds *ks, struct arena *a)
{
	struct buf b;
	mk_str out = {NULL, 0};

	buf_init(&b, EVENT_TEXT_MAX);
	buf_add(&b, str_of(NAME_OF(type_names, ev->type)));
	switch (ev->type) {
	case EV_OBSERVED:
		text_object(&b, ev, ks);
		buf_printf(&b, " via=%s", NAME_OF(via_names, ev->via));
		break;
	case EV_GONE:
	case EV_LIST_BEGIN:
	case EV_LIST_END:
	case EV_BEHIND:
	case EV_STALE:
	case EV_FRESH:
		text_object(&b, ev, ks);
		break;
	case EV_FAILING:
	case EV_SERVED:
	case EV_UNSERVED:
		text_object(&b, ev, ks);
		text_code(&b, ev);
		break;
	case EV_LINK:
		text_link(&b, ev);
		break;
	case EV_OP_DONE:
		text_done(&b, ev);
		break;
	case EV_LEADER:
		buf_printf(&b, " may_write=%s", ev->may_write ? "true" : "false");
		break;
	case EV_N_TYPES:
	default:
		break;
	}
	if (!b.failed || b.n > 0) {
		out = arena_dup(a, buf_str(&b));
	}
	buf_done(&b);
	return out;
}
