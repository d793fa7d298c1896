/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vtable that hooks reach through mk_call. The plugin is not trusted: every handle is checked against the call's
 * table, every text for UTF-8, every pointer for its form, and each step against the budgets. The first failure sticks.
 */
#include <stdarg.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/plug/host.h"

enum { FIRST_TABLE = 256, KEEP_TABLE = 64 * 1024, CLOCK_EVERY = 64, NODE_BYTES = 32 };

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
}

static void out_of_memory(struct host_call *c)
{
	c->no_memory = true;
	host_fail(c, "out of memory");
}

static void check_time(struct host_call *c)
{
	if (!c->plug->now_us) {
		return;
	}
	int64_t spent = c->plug->now_us() - c->start_us;

	if (spent > c->plug->limits.hard_us) {
		host_fail(c, "wall time: expected at most %lld us, found %lld",
			  (long long)c->plug->limits.hard_us, (long long)spent);
	}
}

/* The host's object of a call, or NULL when the function must answer absent. */
static struct host_call *enter(mk_call *call)
{
	struct host_call *c = (struct host_call *)(void *)call;

	if (c->failed) {
		return NULL;
	}
	c->calls++;
	if (c->calls > c->plug->limits.hard_calls) {
		host_fail(c, "host calls: expected at most %llu, found more",
			  (unsigned long long)c->plug->limits.hard_calls);
	}
	if (c->calls % CLOCK_EVERY == 0) {
		check_time(c);
	}
	return c->failed ? NULL : c;
}

/* Would 'more' bytes still be within the memory budget? */
static bool has_room(struct host_call *c, size_t more)
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
		out_of_memory(c);
		return false;
	}
	c->vals = vals;
	c->size = size;
	return true;
}

static mk_val add(struct host_call *c, struct json *v, size_t depth, unsigned flags)
{
	if (!v || (c->n == c->size && !grow(c))) {
		return (mk_val){0};
	}
	c->vals[c->n++] = (struct host_val){v, (uint16_t)depth, (uint16_t)flags};
	return (mk_val){(uint64_t)c->generation << 32 | c->n};
}

/* The entry of a handle; NULL for absent, and for a handle that is none of this call (which fails the call). */
static struct host_val *find(struct host_call *c, mk_val v)
{
	uint64_t index = v.h & UINT32_MAX;

	if (v.h == 0) {
		return NULL;
	}
	if (v.h >> 32 != c->generation || index == 0 || index > c->n) {
		host_fail(c, "value: expected one of this call, found another");
		return NULL;
	}
	return &c->vals[index - 1];
}

static bool is_utf8(mk_str s)
{
	const unsigned char *p = (const unsigned char *)s.p;

	for (size_t i = 0; i < s.n;) {
		unsigned char b = p[i];
		size_t more = b < 0x80       ? 0
			      : b >> 5 == 6  ? 1
			      : b >> 4 == 14 ? 2
			      : b >> 3 == 30 ? 3
					     : 9;
		uint32_t cp = more == 0 ? b : b & (0x3fu >> more);

		if (more > 3 || more >= s.n - i) {
			return false;
		}
		for (size_t k = 1; k <= more; k++) {
			if (p[i + k] >> 6 != 2) {
				return false;
			}
			cp = cp << 6 | (p[i + k] & 0x3fu);
		}
		if ((more == 1 && cp < 0x80) || (more == 2 && cp < 0x800) ||
		    (more == 3 && cp < 0x10000) || cp > 0x10ffff ||
		    (cp >= 0xd800 && cp <= 0xdfff)) {
			return false;
		}
		i += more + 1;
	}
	return true;
}

static bool check_text(struct host_call *c, mk_str s, const char *what)
{
	if (!s.p && s.n) {
		host_fail(c, "%s: expected text, found NULL", what);
		return false;
	}
	if (!is_utf8(s)) {
		host_fail(c, "%s: expected UTF-8, found other bytes", what);
		return false;
	}
	return true;
}

static int host_type(mk_call *call, mk_val v)
{
	struct host_call *c = enter(call);
	struct host_val *hv = c ? find(c, v) : NULL;

	if (!hv) {
		return MK_ABSENT;
	}
	switch (json_type(hv->v)) {
	case JSON_NULL:
		return MK_NULL;
	case JSON_BOOL:
		return MK_BOOL;
	case JSON_INT:
		return MK_INT;
	case JSON_REAL:
		return MK_REAL;
	case JSON_STR:
		return MK_STR;
	case JSON_ARR:
		return MK_ARR;
	case JSON_OBJ:
		return MK_OBJ;
	case JSON_ABSENT:
		break;
	}
	return MK_ABSENT;
}

static mk_val host_get(mk_call *call, mk_val v, const char *pointer)
{
	struct host_call *c = enter(call);
	struct host_val *hv = c ? find(c, v) : NULL;

	if (!c) {
		return (mk_val){0};
	}
	int tokens = pointer_tokens(pointer, c->plug->limits.pointer_bytes);

	if (tokens < 0) {
		host_fail(c, "get: expected a JSON pointer, found %.64s",
			  pointer ? pointer : "NULL");
		return (mk_val){0};
	}
	if (!hv || tokens == 0) {
		return c->failed || !hv ? (mk_val){0} : v;
	}
	return add(c, json_at(hv->v, pointer), hv->depth + (size_t)tokens,
		   hv->flags & HOST_WRITABLE);
}

static size_t host_len(mk_call *call, mk_val v)
{
	struct host_call *c = enter(call);
	struct host_val *hv = c ? find(c, v) : NULL;

	return hv ? json_len(hv->v) : 0;
}

/* Walks on from the last element asked for when that is on the way. */
static struct json *element(struct host_call *c, const struct json *arr, size_t i)
{
	if (c->walk_of != arr || i < c->walk_next) {
		c->walk_of = arr;
		c->walk = json_iter(arr);
		c->walk_next = 0;
	}
	while (json_next(&c->walk)) {
		if (c->walk_next++ == i) {
			return c->walk.val;
		}
	}
	c->walk_of = NULL;
	return NULL;
}

static mk_val host_at(mk_call *call, mk_val v, size_t i)
{
	struct host_call *c = enter(call);
	struct host_val *hv = c ? find(c, v) : NULL;

	if (!hv || json_type(hv->v) != JSON_ARR || i >= json_len(hv->v)) {
		return (mk_val){0};
	}
	return add(c, element(c, hv->v, i), hv->depth + 1u, hv->flags & HOST_WRITABLE);
}

static int host_str(mk_call *call, mk_val v, mk_str *out)
{
	struct host_call *c = enter(call);
	struct host_val *hv = c ? find(c, v) : NULL;

	*out = (mk_str){"", 0};
	if (!hv || json_type(hv->v) != JSON_STR) {
		return 0;
	}
	*out = json_str(hv->v);
	return 1;
}

static int host_i64(mk_call *call, mk_val v, int64_t *out)
{
	struct host_call *c = enter(call);
	struct host_val *hv = c ? find(c, v) : NULL;

	if (!hv || json_type(hv->v) != JSON_INT) {
		return 0;
	}
	int64_t i = json_int(hv->v, 0);

	/* past the signed range both answers are the substitute */
	if (i == 0 && json_int(hv->v, 1) == 1) {
		return 0;
	}
	*out = i;
	return 1;
}

static int host_boolean(mk_call *call, mk_val v)
{
	struct host_call *c = enter(call);
	struct host_val *hv = c ? find(c, v) : NULL;

	return hv && json_bool(hv->v);
}

static mk_val made(struct host_call *c, struct json *v)
{
	if (!v) {
		out_of_memory(c);
	}
	return add(c, v, 0, HOST_WRITABLE | HOST_ROOT);
}

static mk_val host_text(mk_call *call, mk_str s)
{
	struct host_call *c = enter(call);

	if (!c || !check_text(c, s, "text") || !has_room(c, s.n + NODE_BYTES)) {
		return (mk_val){0};
	}
	return made(c, json_new_str(c->a, s));
}

static mk_val host_parse(mk_call *call, mk_str text)
{
	struct host_call *c = enter(call);
	struct json *v = NULL;
	struct mk_err err;

	/* the shortest element takes two bytes of text and a node of memory */
	if (!c || !check_text(c, text, "parse") || text.n > SIZE_MAX / NODE_BYTES ||
	    !has_room(c, text.n * (NODE_BYTES / 2))) {
		return (mk_val){0};
	}
	enum mk_code code = json_parse(c->a, text, &v, &err);

	if (code == MK_NO_MEMORY) {
		out_of_memory(c);
	} else if (code != MK_OK) {
		host_fail(c, "parse: expected JSON, found: %.160s", err.msg);
	}
	return c->failed ? (mk_val){0} : made(c, v);
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

/* A null on the way counts as missing: it becomes an object, as if it were not there. */
static bool open_nulls(struct host_call *c, struct json *root, const char *pointer)
{
	char buf[64];
	size_t n = strlen(pointer);
	char *path = n < sizeof(buf) ? buf : arena_alloc(c->a, n + 1);

	if (!path) {
		return false;
	}
	for (size_t i = 1; i < n; i++) {
		if (pointer[i] != '/') {
			continue;
		}
		memcpy(path, pointer, i);
		path[i] = '\0';
		if (json_type(json_at(root, path)) == JSON_NULL) {
			struct json *obj = json_new_obj(c->a);

			if (!obj || json_put(c->a, root, path, obj) != MK_OK) {
				return false;
			}
		}
	}
	return true;
}

static void put(struct host_call *c, struct host_val *dst, const char *pointer, struct json *copy)
{
	if (!open_nulls(c, dst->v, pointer)) {
		out_of_memory(c);
		return;
	}
	enum mk_code code = json_put(c->a, dst->v, pointer, copy);

	if (code == MK_NO_MEMORY) {
		out_of_memory(c);
	} else if (code != MK_OK) {
		host_fail(c, "set: expected a pointer through objects and arrays, found %.160s",
			  pointer);
	}
}

static void host_set(mk_call *call, mk_val draft, const char *pointer, mk_val v)
{
	struct host_call *c = enter(call);
	struct host_val *dst = c ? find(c, draft) : NULL;
	struct host_val *src = c ? find(c, v) : NULL;
	struct json *copy = NULL;

	if (!c || c->failed) {
		return;
	}
	int tokens = pointer_tokens(pointer, c->plug->limits.pointer_bytes);

	if (tokens < 0) {
		host_fail(c, "set: expected a JSON pointer, found %.64s",
			  pointer ? pointer : "NULL");
		return;
	}
	if (!dst || !(dst->flags & HOST_WRITABLE)) {
		host_fail(c, "set %.64s: expected the draft or a value of text or parse, found %s",
			  pointer, dst ? "an input" : "an absent value");
		return;
	}
	if (tokens == 0 && (!src || !(dst->flags & HOST_ROOT))) {
		host_fail(c, "set: expected a whole value to replace, found %s",
			  src ? "a part of one" : "an absent value");
		return;
	}
	c->walk_of = NULL;
	if (!src) {
		if (json_at(dst->v, pointer)) {
			put(c, dst, pointer, NULL);
		}
		return;
	}
	struct host_size size = host_measure(src->v);

	if (dst->depth + (size_t)tokens + size.depth > JSON_MAX_DEPTH) {
		host_fail(c, "set: depth: expected at most %d, found more", JSON_MAX_DEPTH);
		return;
	}
	if (!has_room(c, size.nodes * NODE_BYTES + size.bytes)) {
		return;
	}
	copy = json_dup(c->a, src->v);
	if (!copy) {
		out_of_memory(c);
	} else if (tokens == 0) {
		dst->v = copy;
	} else {
		put(c, dst, pointer, copy);
	}
}

static mk_str host_workload_name(mk_call *call, mk_str owner, mk_str uid, mk_str extra)
{
	struct host_call *c = enter(call);
	mk_str none = {"", 0};

	if (!c || !check_text(c, owner, "workload_name") || !check_text(c, uid, "workload_name") ||
	    !check_text(c, extra, "workload_name")) {
		return none;
	}
	if (!c->kind.n) {
		host_fail(c, "workload_name: expected a call about a job, found a dispatcher");
		return none;
	}
	if (owner.n > 1024 || uid.n > 1024 || extra.n > 1024) {
		host_fail(c, "workload_name: expected at most 1024 bytes, found more");
		return none;
	}
	if (!has_room(c, 8192)) {
		return none;
	}
	mk_str name = plug_workload_name(c->a, c->kind, c->group, owner, uid, extra);

	if (!name.p) {
		out_of_memory(c);
		return none;
	}
	return name;
}

static void host_say(mk_call *call, mk_str s)
{
	struct host_call *c = enter(call);

	if (!c || !check_text(c, s, "say")) {
		return;
	}
	if (s.n > c->plug->limits.say_bytes) {
		host_fail(c, "say: expected at most %zu bytes, found %zu",
			  c->plug->limits.say_bytes, s.n);
		return;
	}
	if (!has_room(c, s.n + 1)) {
		return;
	}
	c->said = arena_dup(c->a, s);
	if (!c->said.p) {
		out_of_memory(c);
	}
}

static const mk_host vtable = {
	.struct_size = sizeof(mk_host),
	.abi_major = MK_ABI_MAJOR,
	.abi_minor = MK_ABI_MINOR,
	.type = host_type,
	.get = host_get,
	.len = host_len,
	.at = host_at,
	.str = host_str,
	.i64 = host_i64,
	.boolean = host_boolean,
	.text = host_text,
	.parse = host_parse,
	.set = host_set,
	.workload_name = host_workload_name,
	.say = host_say,
};

void host_begin(struct host_call *c, struct plug *p, struct arena *a, mk_str kind, mk_str group)
{
	*c = (struct host_call){.base = {&vtable}, .plug = p, .a = a, .kind = kind, .group = group};
	c->vals = p->vals;
	c->size = p->vals_size;
	p->vals = NULL;
	p->vals_size = 0;
	/* 0 would make the first handle of a wrapped counter look like a small number somebody made up */
	p->generation = p->generation == UINT32_MAX ? 1 : p->generation + 1;
	c->generation = p->generation;
	c->said = (mk_str){"", 0};
}

mk_val host_input(struct host_call *c, const struct json *v)
{
	return add(c, json_at(v, ""), 0, 0);
}

mk_val host_draft(struct host_call *c, struct json *v)
{
	return add(c, v, 0, HOST_WRITABLE | HOST_ROOT);
}

void host_arm(struct host_call *c)
{
	c->used = c->a->used;
	c->start_us = c->plug->now_us ? c->plug->now_us() : 0;
}

struct json *host_value(const struct host_call *c, mk_val v)
{
	return v.h ? c->vals[(v.h & UINT32_MAX) - 1].v : NULL;
}

void host_end(struct host_call *c)
{
	struct plug *p = c->plug;

	check_time(c);
	if (p->now_us && p->now_us() - c->start_us > p->limits.soft_us) {
		p->stats.soft_time++;
	}
	if (c->a->used - c->used > p->limits.soft_bytes) {
		p->stats.soft_bytes++;
	}
	if (c->calls > p->limits.soft_calls) {
		p->stats.soft_calls++;
	}
	if (c->size > KEEP_TABLE) {
		mk_free(c->vals);
		return;
	}
	p->vals = c->vals;
	p->vals_size = c->size;
	c->vals = NULL;
}
