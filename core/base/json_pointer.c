/* SPDX-License-Identifier: Apache-2.0 */
/* JSON pointers (RFC 6901): looking along them, and setting what they name. */
#include "core/base/json.h"

#include <string.h>

#include "core/base/json_impl.h"

/* Cuts the first token off a pointer that begins with '/'. False at its end. */
static bool next_token(mk_str *pointer, mk_str *ret_token)
{
	ptrdiff_t end;

	if (pointer->n == 0) {
		return false;
	}
	*pointer = str_sub(*pointer, 1, SIZE_MAX);
	end = str_index(*pointer, '/');
	if (end < 0) {
		*ret_token = *pointer;
		*pointer = (mk_str){NULL, 0};
	} else {
		*ret_token = str_sub(*pointer, 0, (size_t)end);
		*pointer = str_sub(*pointer, (size_t)end, SIZE_MAX);
	}
	return true;
}

mk_str json_pointer_child(struct arena *a, mk_str pointer, mk_str key)
{
	size_t n = pointer.n + 1;
	char *to, *text;

	for (size_t i = 0; i < key.n; i++) {
		n += key.p[i] == '~' || key.p[i] == '/' ? 2 : 1;
	}
	text = arena_alloc(a, n + 1);
	if (!text) {
		return (mk_str){NULL, 0};
	}
	if (pointer.n > 0) {
		memcpy(text, pointer.p, pointer.n);
	}
	to = text + pointer.n;
	*to++ = '/';
	for (size_t i = 0; i < key.n; i++) {
		char c = key.p[i];

		if (c == '~' || c == '/') {
			*to++ = '~';
			c = c == '~' ? '0' : '1';
		}
		*to++ = c;
	}
	*to = '\0';
	return (mk_str){text, n};
}

/* "" or "/..." with every '~' followed by 0 or 1. */
static bool well_formed(mk_str pointer)
{
	if (pointer.n > 0 && pointer.p[0] != '/') {
		return false;
	}
	for (size_t i = 0; i < pointer.n; i++) {
		if (pointer.p[i] == '~' &&
		    (i + 1 == pointer.n || (pointer.p[i + 1] != '0' && pointer.p[i + 1] != '1'))) {
			return false;
		}
	}
	return true;
}

/* Does the escaped 'token' spell 'key'? */
static bool token_is(mk_str token, mk_str key)
{
	size_t k = 0;

	for (size_t i = 0; i < token.n; i++, k++) {
		char c = token.p[i];

		if (c == '~') {
			c = token.p[++i] == '0' ? '~' : '/';
		}
		if (k >= key.n || key.p[k] != c) {
			return false;
		}
	}
	return k == key.n;
}

static bool token_index(mk_str token, size_t *ret)
{
	uint64_t i;

	if (!str_u64(token, &i) || i > SIZE_MAX || (token.n > 1 && token.p[0] == '0')) {
		return false;
	}
	*ret = (size_t)i;
	return true;
}

static struct json *child(const struct json *v, mk_str token)
{
	size_t i;

	if (json_type(v) == JSON_ARR) {
		return token_index(token, &i) ? json_elem(v, i) : NULL;
	}
	if (str_index(token, '~') < 0) {
		return json_getn(v, token);
	}
	if (json_type(v) == JSON_OBJ) {
		struct json_iter it = json_iter(v);

		while (json_next(&it)) {
			if (token_is(token, it.key)) {
				return it.val;
			}
		}
	}
	return NULL;
}

/* json_at for a pointer without escapes, which is nearly every one: one pass over it. */
static struct json *plain_at(const struct json *v, const char *p)
{
	while (v != NULL && *p == '/') {
		size_t n = 0, i;

		p++;
		while (p[n] != '\0' && p[n] != '/') {
			n++;
		}
		if (json_type(v) == JSON_ARR) {
			v = token_index((mk_str){p, n}, &i) ? json_elem(v, i) : NULL;
		} else {
			v = json_getn(v, (mk_str){p, n});
		}
		p += n;
	}
	return *p == '\0' || !v ? json_of(val_of(v)) : NULL;
}

struct json *json_at(const struct json *v, const char *pointer)
{
	mk_str rest;
	mk_str token;

	if (!strchr(pointer, '~')) {
		return plain_at(v, pointer);
	}
	rest = str_of(pointer);
	if (!well_formed(rest)) {
		return NULL;
	}
	while (v != NULL && next_token(&rest, &token)) {
		v = child(v, token);
	}
	return json_of(val_of(v));
}

mk_str json_str_at(const struct json *v, const char *pointer)
{
	return json_str(json_at(v, pointer));
}

/* 'token' without escapes, in 'a'. */
static mk_str unescape(struct arena *a, mk_str token)
{
	char *p;
	size_t n = 0;

	if (str_index(token, '~') < 0) {
		return token;
	}
	p = arena_alloc(a, token.n);
	if (!p) {
		return (mk_str){NULL, 0};
	}
	for (size_t i = 0; i < token.n; i++) {
		char c = token.p[i];

		if (c == '~') {
			c = token.p[++i] == '0' ? '~' : '/';
		}
		p[n++] = c;
	}
	return (mk_str){p, n};
}

/* 'v' wrapped in one object per token of 'rest', the last token innermost. */
static struct json *wrap(struct arena *a, mk_str rest, struct json *v)
{
	struct json *outer = NULL;
	struct json *inner = NULL;
	mk_str key = {NULL, 0};
	mk_str token;

	while (next_token(&rest, &token)) {
		struct json *o = json_new_obj(a);

		if (!inner) {
			outer = o;
		} else {
			json_set(a, inner, key, o);
		}
		inner = o;
		key = unescape(a, token);
	}
	if (!inner) {
		return v;
	}
	json_set(a, inner, key, v);
	return arena_failed(a) ? NULL : outer;
}

/* Puts 'v' in the place of the i-th element, i < length. */
static void replace_elem(yyjson_mut_val *arr, size_t i, yyjson_mut_val *v)
{
	yyjson_mut_val *prev = val_last(arr);
	yyjson_mut_val *old;

	for (size_t k = 0; k < i; k++) {
		prev = prev->next;
	}
	old = prev->next;
	v->next = v;
	if (prev != old) {
		v->next = old->next;
		prev->next = v;
	}
	if (val_last(arr) == old) {
		arr->uni.ptr = v;
	}
	old->next = NULL;
}

/*
 * The last steps of json_put, in an array: 'token' selects the element, 'rest' lies below it and is
 * not there yet.
 */
static enum mk_code put_in_array(struct arena *a, struct json *arr, mk_str token, mk_str rest,
				 struct json *v)
{
	struct json *whole;
	size_t i = 0;

	if (str_is(token, "-")) {
		json_add(a, arr, v ? wrap(a, rest, v) : NULL);
		return ERR_OK;
	}
	if (!token_index(token, &i) || i >= json_len(arr)) {
		return v ? ERR_INVALID : ERR_OK;
	}
	if (!v) {
		if (rest.n == 0) {
			json_remove(arr, i);
		}
		return ERR_OK;
	}
	whole = wrap(a, rest, v);
	if (whole == json_elem(arr, i)) {
		return ERR_OK;
	}
	if (whole != NULL && val_of(whole)->next != NULL) {
		whole = json_dup(a, whole);
	}
	if (whole != NULL) {
		replace_elem(val_of(arr), i, val_of(whole));
	}
	return ERR_OK;
}

enum mk_code json_put(struct arena *a, struct json *root, const char *pointer, struct json *v)
{
	mk_str rest = str_of(pointer);
	struct json *cur = root;
	enum mk_code code = ERR_INVALID;
	mk_str token;

	if (rest.n == 0 || !well_formed(rest)) {
		return ERR_INVALID;
	}
	while (next_token(&rest, &token)) {
		struct json *below = child(cur, token);
		enum json_type type = json_type(below);

		if (rest.n > 0 && (type == JSON_OBJ || type == JSON_ARR)) {
			cur = below;
			continue;
		}
		if (rest.n > 0 && type != JSON_ABSENT && type != JSON_NULL) {
			return ERR_INVALID;
		}
		if (json_type(cur) == JSON_ARR) {
			code = put_in_array(a, cur, token, rest, v);
		} else if (json_type(cur) == JSON_OBJ) {
			code = ERR_OK;
			if (v != NULL) {
				struct json *whole = wrap(a, rest, v);

				if (whole != NULL) {
					json_set(a, cur, unescape(a, token), whole);
				}
			} else if (rest.n == 0) {
				json_set(a, cur, unescape(a, token), NULL);
			}
		}
		break;
	}
	return code == ERR_OK && arena_failed(a) ? ERR_NO_MEMORY : code;
}
