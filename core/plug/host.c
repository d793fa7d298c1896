/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call of a hook: its table of handles, its budgets, its error. The functions that the hook
 * calls are in host_calls.c. The plugin is not trusted: a handle is looked up, never followed, and
 * the first failure sticks.
 */
#include <stdarg.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/plug/host.h"

enum { FIRST_TABLE = 256, KEEP_TABLE = 64 * 1024 };

/*
 * Leaves out what is no UTF-8: a plugin's bytes, or a letter that was cut in two. It goes into logs
 * and to API servers.
 */
static void clean(char *text)
{
	mk_str rest = str_of(text);
	size_t n = 0;

	while (rest.n > 0) {
		size_t k = str_utf8(rest);

		memmove(text + n, rest.p, k);
		n += k;
		rest = str_sub(rest, k > 0 ? k : 1, SIZE_MAX);
	}
	text[n] = '\0';
}

void host_fail(struct host_call *c, const char *fmt, ...)
{
	va_list ap;

	if (c->failed) {
		return;
	}
	c->failed = true;
	va_start(ap, fmt);
	(void)vsnprintf(c->why, sizeof(c->why), fmt, ap);
	va_end(ap);
	clean(c->why);
}

void host_no_memory(struct host_call *c)
{
	c->no_memory = true;
	host_fail(c, "out of memory");
}

static void check_time(struct host_call *c)
{
	const struct plug *p = c->plug;
	int64_t soft =
		p->limits.soft_us < p->limits.hard_us ? p->limits.soft_us : p->limits.hard_us;
	int64_t spent;

	/* No more CPU time than time has passed: most often that is answer enough. */
	if (!p->cpu_us || p->mono_us() - c->start_us <= soft) {
		return;
	}
	spent = p->cpu_us() - c->start_cpu_us;
	if (spent > p->limits.soft_us) {
		c->over |= HOST_OVER_TIME;
	}
	if (spent > p->limits.hard_us) {
		host_fail(c, "CPU time: expected at most %lld us, found %lld",
			  (long long)p->limits.hard_us, (long long)spent);
	}
}

struct host_call *host_enter_checked(struct host_call *c)
{
	if (c->calls > c->plug->limits.hard_calls) {
		host_fail(c, "host calls: expected at most %llu, found more",
			  (unsigned long long)c->plug->limits.hard_calls);
	}
	if (c->calls % HOST_CLOCK_EVERY == 0) {
		check_time(c);
	}
	return c->failed ? NULL : c;
}

/* Would 'more' bytes still be within the memory budget? */
bool host_has_room(struct host_call *c, size_t more)
{
	size_t spent = c->a->used - c->used;
	size_t hard = c->plug->limits.hard_bytes;

	if (spent > hard || more > hard - spent) {
		host_fail(c, "memory: expected at most %zu bytes, found more", hard);
		return false;
	}
	return true;
}

static bool grow(struct host_call *c)
{
	size_t size = c->size ? 2 * c->size : FIRST_TABLE;
	struct host_val *vals = mk_realloc(c->vals, size * sizeof(*vals));

	if (!vals) {
		host_no_memory(c);
		return false;
	}
	c->vals = vals;
	c->size = size;
	return true;
}

mk_val host_add(struct host_call *c, struct json *v, size_t depth, unsigned flags)
{
	if (!v || (c->n == c->size && !grow(c))) {
		return (mk_val){0};
	}
	return host_push(c, v, depth, flags);
}

struct host_val *host_stranger(struct host_call *c)
{
	host_fail(c, "value: expected one of this call, found another");
	return NULL;
}

struct host_val *host_read_later(struct host_call *c, struct host_val *hv)
{
	hv->v = json_at(c->later->read(c->later->ctx), "");
	if (!hv->v) {
		host_no_memory(c);
		return NULL;
	}
	hv->flags = 0;
	return hv;
}

struct host_size host_measure(const struct json *v)
{
	struct host_size s = {0, 8, 1};
	enum json_type t = json_type(v);

	if (t == JSON_STR) {
		s.bytes = json_str(v).n + 3;
	}
	if (t != JSON_ARR && t != JSON_OBJ) {
		return s;
	}
	struct json_iter it = json_iter(v);

	s.bytes = 2;
	while (json_next(&it)) {
		/* bounded: no value of a call is deeper than JSON_MAX_DEPTH */
		struct host_size part = host_measure(it.val);

		s.bytes += part.bytes + it.key.n + 4;
		s.nodes += part.nodes + 1;
		s.depth = part.depth + 1 > s.depth ? part.depth + 1 : s.depth;
	}
	return s;
}

void host_begin(struct host_call *c, struct plug *p, struct arena *a, mk_str kind, mk_str group)
{
	*c = (struct host_call){
		.base = {&host_vtable}, .plug = p, .a = a, .kind = kind, .group = group};
	c->vals = p->vals;
	c->size = p->vals_size;
	p->vals = NULL;
	p->vals_size = 0;
	/*
	 * 0 would make the first handle of a wrapped counter look like a small number that a
	 * plugin made up
	 */
	p->generation = p->generation == UINT32_MAX ? 1 : p->generation + 1;
	c->generation = p->generation;
	c->said = (mk_str){"", 0};
}

mk_val host_input(struct host_call *c, const struct json *v)
{
	return host_add(c, json_at(v, ""), 0, 0);
}

mk_val host_later(struct host_call *c, const struct plug_later *l)
{
	if (c->n == c->size && !grow(c)) {
		return (mk_val){0};
	}
	c->later = l;
	return host_push(c, NULL, 0, HOST_LATER);
}

mk_val host_draft(struct host_call *c, struct json *v)
{
	return host_add(c, v, 0, HOST_WRITABLE | HOST_ROOT);
}

void host_arm(struct host_call *c)
{
	struct plug *p = c->plug;

	c->used = c->a->used;
	if (!p->cpu_us) {
		return;
	}
	c->start_us = p->mono_us();
	if (c->start_us - p->cpu_read_us > p->limits.soft_us / 4) {
		p->cpu_read_us = c->start_us;
		p->cpu_at_us = p->cpu_us();
	}
	c->start_cpu_us = p->cpu_at_us;
}

struct json *host_value(const struct host_call *c, mk_val v)
{
	return v.h ? c->vals[(v.h & UINT32_MAX) - 1].v : NULL;
}

void host_end(struct host_call *c)
{
	struct plug *p = c->plug;

	check_time(c);
	if (c->a->used - c->used > p->limits.soft_bytes) {
		c->over |= HOST_OVER_BYTES;
	}
	if (c->calls > p->limits.soft_calls) {
		c->over |= HOST_OVER_CALLS;
	}
	if (c->size > KEEP_TABLE) {
		mk_free(c->vals);
		return;
	}
	p->vals = c->vals;
	p->vals_size = c->size;
	c->vals = NULL;
}
