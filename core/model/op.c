/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of operations and their text form, which golden files compare. */
#include "core/model/op.h"

#include <inttypes.h>

#include "core/model/text.h"

enum { OP_TEXT_MAX = 4 * 1024 * 1024, OP_LIST_FIRST = 16 };

static const char *const type_names[OP_N_TYPES] = {
	[OP_CREATE] = "create",
	[OP_APPLY_STATUS] = "apply_status",
	[OP_MERGE] = "merge",
	[OP_DELETE] = "delete",
	[OP_GET] = "get",
	[OP_WATCH_OPEN] = "watch_open",
	[OP_WATCH_CLOSE] = "watch_close",
	[OP_CONNECT] = "connect",
	[OP_DISCONNECT] = "disconnect",
	[OP_FILE_WATCH] = "file_watch",
	[OP_FILE_UNWATCH] = "file_unwatch",
	[OP_EVENT] = "event",
};

bool op_list_add(struct op_list *l, const struct op *op)
{
	if (l->n == l->size) {
		size_t size = l->size == 0 ? OP_LIST_FIRST : l->size * 2;
		struct op *v = arena_array(l->arena, size, sizeof(*v));

		if (!v) {
			return false;
		}
		if (l->n > 0) {
			memcpy(v, l->v, l->n * sizeof(*v));
		}
		l->v = v;
		l->size = size;
	}
	l->v[l->n++] = *op;
	return true;
}

bool op_is_mutating(enum op_type t)
{
	return t == OP_CREATE || t == OP_APPLY_STATUS || t == OP_MERGE || t == OP_DELETE ||
	       t == OP_EVENT;
}

const char *op_type_name(enum op_type t)
{
	return (size_t)t < OP_N_TYPES ? type_names[(size_t)t] : "?";
}

mk_str op_text(const struct op *op, const struct kinds *ks, struct arena *a)
{
	struct buf b;
	mk_str out = {NULL, 0};
	mk_str body = {NULL, 0};

	if (op->body != NULL) {
		body = json_write(a, op->body);
		if (!body.p) {
			return out;
		}
	}
	buf_init(&b, OP_TEXT_MAX);
	buf_printf(&b, "%s %" PRIu32, op_type_name(op->type), op->cluster);
	if (op->type != OP_CONNECT && op->type != OP_DISCONNECT) {
		buf_add(&b, STR(" "));
		text_kind(&b, ks, op->kind);
	}
	text_key(&b, op->ns, op->name);
	text_word(&b, "sub", str_of(op->subresource));
	text_word(&b, "manager", str_of(op->field_manager));
	text_word(&b, "as", op->as);
	text_word(&b, "uid", op->uid);
	if (op->rv != 0) {
		buf_printf(&b, " rv=%" PRIu64, op->rv);
	}
	text_word(&b, "selector", op->selector);
	if (op->metadata_only) {
		buf_add(&b, STR(" metadata_only"));
	}
	if (op->sought) {
		buf_add(&b, STR(" sought"));
	}
	text_word(&b, "secret", op->secret);
	text_word(&b, "cause", str_of(op->cause));
	if (body.n > 0) {
		buf_add(&b, STR(" "));
		buf_add(&b, body);
	}
	if (!b.failed) {
		out = arena_dup(a, buf_str(&b));
	}
	buf_done(&b);
	return out;
}
