/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vtable that hooks reach through mk_call. Each function enters the call (which counts it and
 * answers no after an error), resolves its handles, checks texts for UTF-8 and pointers for their
 * form, and only then touches a value.
 */
#include "core/plug/host.h"

/* memory of a JSON value besides its text, at most */
enum { NODE_BYTES = 32 };

/* Its length is judged first: what it counts may not be there to be looked at. */
static bool check_text(struct host_call *c, mk_str s, const char *what)
{
	if (!host_has_room(c, s.n)) {
		return false;
	}
	if (!s.p && s.n) {
		host_fail(c, "%s: expected text, found NULL", what);
		return false;
	}
	if (!str_is_utf8(s)) {
		host_fail(c, "%s: expected UTF-8, found other bytes", what);
		return false;
	}
	return true;
}

static int host_type(mk_call *call, mk_val v)
{
	struct host_call *c = host_enter(call);
	struct host_val *hv = c ? host_find(c, v) : NULL;

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

/* A pointer to a member, whose name has no escapes: the name. {NULL, 0}: it is none. */
static mk_str plain_member(const struct host_call *c, const char *pointer)
{
	size_t n = 0;

	if (!pointer || pointer[0] != '/') {
		return STR_NONE;
	}
	while (pointer[n + 1] != '\0' && pointer[n + 1] != '/' && pointer[n + 1] != '~') {
		n++;
	}
	return pointer[n + 1] == '\0' && n < c->plug->limits.pointer_bytes
		       ? (mk_str){pointer + 1, n}
		       : STR_NONE;
}

static mk_val host_get(mk_call *call, mk_val v, const char *pointer)
{
	struct host_call *c = host_enter(call);
	struct host_val *hv = c ? host_find(c, v) : NULL;
	mk_str member = STR_NONE;

	if (!c) {
		return (mk_val){0};
	}
	if (hv && json_type(hv->v) == JSON_OBJ) {
		member = plain_member(c, pointer);
	}
	if (member.p) {
		return host_add(c, json_getn(hv->v, member), hv->depth + 1u,
				hv->flags & HOST_WRITABLE);
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
	return host_add(c, json_at(hv->v, pointer), hv->depth + (size_t)tokens,
			hv->flags & HOST_WRITABLE);
}

static size_t host_len(mk_call *call, mk_val v)
{
	struct host_call *c = host_enter(call);
	struct host_val *hv = c ? host_find(c, v) : NULL;

	return hv ? json_len(hv->v) : 0;
}

/* Walks on from the last element asked for when that is on the way, or is the one. */
static struct json *element(struct host_walk *w, const struct json *arr, size_t i)
{
	if (w->of == arr && w->next > 0 && i == w->next - 1) {
		return w->it.val;
	}
	if (w->of != arr || i < w->next) {
		w->of = arr;
		w->it = json_iter(arr);
		w->next = 0;
	}
	while (json_next(&w->it)) {
		if (w->next++ == i) {
			return w->it.val;
		}
	}
	w->of = NULL;
	return NULL;
}

static mk_val host_at(mk_call *call, mk_val v, size_t i)
{
	struct host_call *c = host_enter(call);
	struct host_val *hv = c ? host_find(c, v) : NULL;

	if (!hv || json_type(hv->v) != JSON_ARR || i >= json_len(hv->v)) {
		return (mk_val){0};
	}
	return host_add(c, element(&c->walks[hv->depth % HOST_WALKS], hv->v, i), hv->depth + 1u,
			hv->flags & HOST_WRITABLE);
}

static int host_str(mk_call *call, mk_val v, mk_str *out)
{
	struct host_call *c = host_enter(call);
	struct host_val *hv = c ? host_find(c, v) : NULL;

	*out = (mk_str){"", 0};
	if (!hv || json_type(hv->v) != JSON_STR) {
		return 0;
	}
	*out = json_str(hv->v);
	return 1;
}

static int host_i64(mk_call *call, mk_val v, int64_t *out)
{
	struct host_call *c = host_enter(call);
	struct host_val *hv = c ? host_find(c, v) : NULL;

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
	struct host_call *c = host_enter(call);
	struct host_val *hv = c ? host_find(c, v) : NULL;

	return hv && json_bool(hv->v);
}

static mk_val made(struct host_call *c, struct json *v)
{
	if (!v) {
		host_no_memory(c);
	}
	return host_add(c, v, 0, HOST_WRITABLE | HOST_ROOT);
}

static mk_val host_text(mk_call *call, mk_str s)
{
	struct host_call *c = host_enter(call);

	if (!c || !check_text(c, s, "text") || !host_has_room(c, s.n + NODE_BYTES)) {
		return (mk_val){0};
	}
	return made(c, json_new_str(c->a, s));
}

static mk_val host_parse(mk_call *call, mk_str text)
{
	struct host_call *c = host_enter(call);
	struct json *v = NULL;
	struct mk_err err;

	/* the shortest element takes two bytes of text and a node of memory */
	if (!c || !check_text(c, text, "parse") || text.n > SIZE_MAX / NODE_BYTES ||
	    !host_has_room(c, text.n * (NODE_BYTES / 2))) {
		return (mk_val){0};
	}
	enum mk_code code = json_parse(c->a, text, &v, &err);

	if (code == ERR_NO_MEMORY) {
		host_no_memory(c);
	} else if (code != ERR_OK) {
		host_fail(c, "parse: expected JSON, found: %.160s", err.msg);
	}
	return c->failed ? (mk_val){0} : made(c, v);
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

			if (!obj || json_put(c->a, root, path, obj) != ERR_OK) {
				return false;
			}
		}
	}
	return true;
}

static void put(struct host_call *c, struct host_val *dst, const char *pointer, struct json *copy)
{
	if (!open_nulls(c, dst->v, pointer)) {
		host_no_memory(c);
		return;
	}
	enum mk_code code = json_put(c->a, dst->v, pointer, copy);

	if (code == ERR_NO_MEMORY) {
		host_no_memory(c);
	} else if (code != ERR_OK) {
		host_fail(c, "set: expected a pointer through objects and arrays, found %.160s",
			  pointer);
	}
}

static void host_set(mk_call *call, mk_val draft, const char *pointer, mk_val v)
{
	struct host_call *c = host_enter(call);
	struct host_val *dst = c ? host_find(c, draft) : NULL;
	struct host_val *src = c ? host_find(c, v) : NULL;
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
	if (!check_text(c, (mk_str){pointer, strlen(pointer)}, "set")) {
		return; /* it may become the name of a member */
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
	memset(c->walks, 0, sizeof(c->walks));
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
	if (!host_has_room(c, size.nodes * NODE_BYTES + size.bytes)) {
		return;
	}
	copy = json_dup(c->a, src->v);
	if (!copy) {
		host_no_memory(c);
	} else if (tokens == 0) {
		dst->v = copy;
	} else {
		put(c, dst, pointer, copy);
	}
}

static mk_str host_workload_name(mk_call *call, mk_str owner, mk_str uid, mk_str extra)
{
	struct host_call *c = host_enter(call);
	mk_str none = {"", 0};

	if (!c) {
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
	if (!check_text(c, owner, "workload_name") || !check_text(c, uid, "workload_name") ||
	    !check_text(c, extra, "workload_name")) {
		return none;
	}
	if (!host_has_room(c, 8192)) {
		return none;
	}
	mk_str name = plug_workload_name(c->a, c->kind, c->group, owner, uid, extra);

	if (!name.p) {
		host_no_memory(c);
		return none;
	}
	return name;
}

static void host_say(mk_call *call, mk_str s)
{
	struct host_call *c = host_enter(call);

	if (c && s.n > c->plug->limits.say_bytes) {
		host_fail(c, "say: expected at most %zu bytes, found %zu",
			  c->plug->limits.say_bytes, s.n);
		return;
	}
	if (!c || !check_text(c, s, "say")) {
		return;
	}
	if (!host_has_room(c, s.n + 1)) {
		return;
	}
	c->said = arena_dup(c->a, s);
	if (!c->said.p) {
		host_no_memory(c);
	}
}

const mk_host host_vtable = {
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
