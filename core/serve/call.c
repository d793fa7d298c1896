/* SPDX-License-Identifier: Apache-2.0 */
/* A request of the visibility API while it is answered; see call.h. */
#include "core/serve/call.h"

/* --- answers ---------------------------------------------------------------------------------- */

void call_put(struct call *c, const struct json *v)
{
	mk_str text = json_write(&c->a, v);

	if (!text.p || !buf_add(&c->answer->body, text)) {
		buf_clear(&c->answer->body);
		c->answer->status = 500;
		return;
	}
	buf_add(&c->answer->body, STR("\n"));
}

void call_refuse(struct call *c, int code, const char *reason, mk_str message)
{
	struct json *o = json_new_obj(&c->a);

	c->answer->status = code;
	json_set_str(&c->a, o, "kind", STR("Status"));
	json_set_str(&c->a, o, "apiVersion", STR("v1"));
	json_set_str(&c->a, o, "status", STR("Failure"));
	json_set_str(&c->a, o, "reason", str_of(reason));
	json_set_str(&c->a, o, "message", message);
	json_set_int(&c->a, o, "code", code);
	call_put(c, o);
}

/* --- what is asked for ------------------------------------------------------------------------ */

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

bool call_decode(struct arena *a, mk_str s, mk_str *ret)
{
	char *p = arena_alloc_raw(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; p && i < s.n; i++) {
		if (s.p[i] != '%') {
			p[n++] = s.p[i];
			continue;
		}
		if (s.n - i < 3 || hex(s.p[i + 1]) < 0 || hex(s.p[i + 2]) < 0) {
			return false;
		}
		p[n++] = (char)(hex(s.p[i + 1]) * 16 + hex(s.p[i + 2]));
		i += 2;
	}
	if (!p) {
		return false;
	}
	p[n] = '\0';
	*ret = (mk_str){p, n};
	return true;
}

/* Ended by a NULL name. */
static void refuse_unknown(struct call *c, const struct call_param *params, mk_str name)
{
	mk_str names = STR("");

	for (size_t i = 0; params[i].name; i++) {
		const char *comma = i == 0 ? "" : !params[i + 1].name ? " or " : ", ";

		names = arena_printf(&c->a, "%.*s%s%s", STR_ARG(names), comma, params[i].name);
	}
	call_refuse(c, 400, "BadRequest",
		    arena_printf(&c->a, "unknown parameter \"%.*s\": expected %.*s", STR_ARG(name),
				 STR_ARG(names)));
}

static bool take_number(struct call *c, const struct call_param *p, mk_str value)
{
	uint64_t n;

	if (str_u64(value, &n) && n >= p->least) {
		*p->number = n < p->most ? n : p->most;
		return true;
	}
	call_refuse(
		c, 400, "BadRequest",
		p->most == UINT64_MAX
			? arena_printf(&c->a, "%s=%.*s: expected a number", p->name, STR_ARG(value))
			: arena_printf(&c->a, "%s=%.*s: expected a number from %llu to %llu",
				       p->name, STR_ARG(value), (unsigned long long)p->least,
				       (unsigned long long)p->most));
	return false;
}

/* One "name=value". False: 400 was answered. */
static bool take(struct call *c, const struct call_param *params, mk_str name, mk_str value)
{
	const struct call_param *p = params;
	mk_str text;

	if (!call_decode(&c->a, value, &text)) {
		call_refuse(c, 400, "BadRequest",
			    arena_printf(&c->a, "%.*s=%.*s: expected a value in URL encoding",
					 STR_ARG(name), STR_ARG(value)));
		return false;
	}
	while (p->name && !str_is(name, p->name)) {
		p++;
	}
	if (!p->name) {
		refuse_unknown(c, params, name);
		return false;
	}
	if (!p->text) {
		return take_number(c, p, text);
	}
	*p->text = text;
	return true;
}

bool call_query(struct call *c, const struct call_param *params)
{
	mk_str left = c->rq->query;

	while (left.n > 0) {
		int64_t end = str_index(left, '&');
		mk_str one = end < 0 ? left : str_sub(left, 0, (size_t)end);
		int64_t is = str_index(one, '=');
		mk_str name = is < 0 ? one : str_sub(one, 0, (size_t)is);

		left = end < 0 ? STR("") : str_sub(left, (size_t)end + 1, left.n);
		if (one.n > 0 && !take(c, params, name,
				       is < 0 ? STR("") : str_sub(one, (size_t)is + 1, one.n))) {
			return false;
		}
	}
	return true;
}
