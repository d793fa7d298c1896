/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of the one-line text form: stable, unambiguous, safe for a terminal. */
#include "core/model/text.h"

#include <inttypes.h>

void text_kind(struct buf *b, const struct kinds *ks, uint16_t kind)
{
	if (kind >= ks->n) {
		buf_printf(b, "kind%u", (unsigned)kind);
		return;
	}
	buf_add(b, ks->k[kind].kind);
	if (kind >= KIND_FIRST_JOB && ks->k[kind].group.n > 0) {
		buf_printf(b, ".%.*s", STR_ARG(ks->k[kind].group));
	}
}

void text_key(struct buf *b, mk_str ns, mk_str name)
{
	if (ns.n == 0 && name.n == 0) {
		return;
	}
	buf_add(b, STR(" "));
	if (ns.n > 0) {
		buf_add(b, ns);
		buf_add(b, STR("/"));
	}
	buf_add(b, name);
}

static bool is_plain(mk_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c <= ' ' || c == '"' || c == '\\' || c == 0x7f) {
			return false;
		}
	}
	return true;
}

void text_word(struct buf *b, const char *key, mk_str s)
{
	if (s.n == 0) {
		return;
	}
	buf_printf(b, " %s=", key);
	if (is_plain(s)) {
		buf_add(b, s);
		return;
	}
	buf_add(b, STR("\""));
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '"' || c == '\\') {
			buf_printf(b, "\\%c", c);
		} else if (c == '\n') {
			buf_add(b, STR("\\n"));
		} else if (c < ' ' || c == 0x7f) {
			buf_printf(b, "\\x%02x", c);
		} else {
			buf_add(b, (mk_str){s.p + i, 1});
		}
	}
	buf_add(b, STR("\""));
}
