/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values: parse, look, build, change, compare, write. One value type; every value lives in the
 * arena that made it and dies with it. Integers keep 64 bits, reals keep their text, arrays and
 * members keep their order. All lookups accept NULL (= absent) and give NULL back, so that paths
 * need no checks on the way. Functions that create return NULL when the arena is exhausted
 * (arena_failed tells). A value has at most one parent: json_set and json_add take values that have
 * none (json_dup makes one).
 */
#ifndef MK_BASE_JSON_H
#define MK_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"

struct json;

enum json_type {
	JSON_ABSENT,
	JSON_NULL,
	JSON_BOOL,
	JSON_INT,
	JSON_REAL,
	JSON_STR,
	JSON_ARR,
	JSON_OBJ
};

enum {
	JSON_MAX_DEPTH = 128,            /* deeper input is refused */
	JSON_MAX_SIZE = 8 * 1024 * 1024, /* longer input is refused */
};

/*
 * Parses one UTF-8 document (RFC 8259, nothing after it but white space). Refused with ERR_INVALID:
 * syntax errors, duplicate keys, lone surrogates, depth over JSON_MAX_DEPTH; with ERR_TOO_BIG: more
 * than JSON_MAX_SIZE bytes; ERR_NO_MEMORY. The value does not borrow from 'text'.
 */
enum mk_code json_parse(struct arena *a, mk_str text, struct json **ret, struct mk_err *err);
/*
 * The same for text that must be read however deep it nests: a container below JSON_MAX_DEPTH is
 * read as an empty one, and it and all containers around it are marked (json_is_cut).
 */
enum mk_code json_parse_cut(struct arena *a, mk_str text, struct json **ret, struct mk_err *err);
/* Was something too deep left out of 'v' or of a value in it? Copies and shares keep the mark. */
bool json_is_cut(const struct json *v);

/* JSON_INT: a whole number of 64 bits, signed or not; every other number is JSON_REAL. */
enum json_type json_type(const struct json *v);
/*
 * The type in the words of Go's decoder: "null" (absent, too), "bool", "number", "string", "array",
 * "object".
 */
const char *json_type_word(const struct json *v);

/* Member 'key' of object 'v'; NULL when absent or 'v' is no object. */
struct json *json_get(const struct json *v, const char *key);
struct json *json_getn(const struct json *v, mk_str key);

/* RFC 6901 pointer; "" is the value itself. NULL when absent or the pointer is malformed. */
struct json *json_at(const struct json *v, const char *pointer);

/* Elements of an array, members of an object, else 0. */
size_t json_len(const struct json *v);

/* The i-th element of an array, else NULL. Cost grows with i: iterate instead of counting. */
struct json *json_elem(const struct json *v, size_t i);

/* The element of 'list' whose member 'key' is the string 'value'; NULL when none. */
struct json *json_find(const struct json *list, const char *key, const char *value);

/*
 * Iteration: `struct json_iter it = json_iter(v); while (json_next(&it)) use(it.key, it.val);` over
 * array or object. The current element may be removed during iteration; what is added is not
 * visited.
 */
struct json_iter {
	const struct json *container;
	struct json *cur; /* internal */
	size_t left;      /* internal */
	mk_str key;       /* of a member; empty for elements */
	struct json *val;
};
struct json_iter json_iter(const struct json *v);
bool json_next(struct json_iter *it);

/* The string, or the empty view when it is none. NUL-terminated; borrowed from the value. */
mk_str json_str(const struct json *v);
/* The integer, or 'otherwise' when it is none or does not fit. */
int64_t json_int(const struct json *v, int64_t otherwise);
/* True only for true. */
bool json_bool(const struct json *v);
/* json_str(json_at(v, pointer)). */
mk_str json_str_at(const struct json *v, const char *pointer);
/*
 * 'pointer' + "/" + 'key', whose '~' and '/' are escaped as RFC 6901 says; in 'a'; {NULL, 0} when
 * out of memory.
 */
mk_str json_pointer_child(struct arena *a, mk_str pointer, mk_str key);

/* An empty object. */
struct json *json_new_obj(struct arena *a);
/* An empty array. */
struct json *json_new_arr(struct arena *a);
/* Copies s; bytes that are no UTF-8 become U+FFFD. */
struct json *json_new_str(struct arena *a, mk_str s);
struct json *json_new_int(struct arena *a, int64_t i);
/*
 * The number that 'text' spells in JSON's grammar (a real keeps this text); NULL also when it
 * spells none.
 */
struct json *json_new_num(struct arena *a, mk_str text);
struct json *json_new_bool(struct arena *a, bool b);
struct json *json_new_null(struct arena *a);

/* Deep copy into 'a'. NULL gives NULL. */
struct json *json_dup(struct arena *a, const struct json *v);

/*
 * A value that shares everything below itself with 'v': one node, whatever the size. Neither may be
 * changed after, unless json_own gave it elements of its own. Lives no longer than v's arena. NULL
 * gives NULL.
 */
struct json *json_share(struct arena *a, const struct json *v);
/*
 * Gives container 'v' its own elements, which share everything below them with those they replace:
 * from then on members and elements of 'v' itself may be set, added and removed, and json_own makes
 * each of them changeable in turn. No effect on scalars and NULL.
 */
void json_own(struct arena *a, struct json *v);
/*
 * A deep copy in 'a', except for values that 'v' shares with 'old' at the same place: these are
 * shared again, not copied. 'old' (may be NULL)
 * lives as long as 'a'. NULL gives NULL.
 */
struct json *json_dup_beside(struct arena *a, const struct json *v, const struct json *old);

/*
 * Sets member 'key' of object 'obj', in place when it is there, else at the end. 'v' NULL removes
 * it. No effect when 'obj' is NULL or no object. 'key' is copied. A 'v' that has a parent already
 * is copied, so that no mistake makes a cycle. NULL also stands for a creation that failed:
 * `json_set(a, o, k, json_new_…())` removes then, and arena_failed tells.
 */
void json_set(struct arena *a, struct json *obj, mk_str key, struct json *v);
/*
 * Adds a member whose key is known to be new: json_set without the search. 'v' has no parent; NULL
 * adds nothing.
 */
void json_append(struct arena *a, struct json *obj, mk_str key, struct json *v);
/* The same for a key that lives as long as 'a', such as a literal: it is not copied. */
void json_append_lit(struct arena *a, struct json *obj, mk_str key, struct json *v);
void json_set_str(struct arena *a, struct json *obj, const char *key, mk_str s);
void json_set_int(struct arena *a, struct json *obj, const char *key, int64_t i);
void json_set_bool(struct arena *a, struct json *obj, const char *key, bool b);

/*
 * Sets the value at an RFC 6901 pointer below 'root': missing parents become objects, the last
 * token "-" appends to an array, NULL 'v' removes (later elements move down). ERR_INVALID when the
 * pointer is malformed, "" , or passes through a scalar; ERR_NO_MEMORY.
 */
enum mk_code json_put(struct arena *a, struct json *root, const char *pointer, struct json *v);

/* Appends 'v' to array 'arr'. */
void json_add(struct arena *a, struct json *arr, struct json *v);
/* Removes the i-th element; no effect when out of range. */
void json_remove(struct json *arr, size_t i);

/*
 * Deep equality: member order does not count, element order does; 1 equals 1.0 only if both are the
 * same type.
 */
bool json_equal(const struct json *x, const struct json *y);

/* Compact text, members in their order, NUL-terminated. {NULL, 0} when out of memory. */
mk_str json_write(struct arena *a, const struct json *v);
/* The same, indented by two blanks, for a terminal. */
mk_str json_write_pretty(struct arena *a, const struct json *v);

/*
 * RFC 7386 merge patch that turns 'from' into 'to' (both objects): NULL when they are equal. Lists
 * are replaced whole. Values in the result are copies.
 */
struct json *json_diff(struct arena *a, const struct json *from, const struct json *to);
/*
 * Applies merge patch 'patch' to 'target' (changed in place where it is an object); returns the
 * result.
 */
struct json *json_merge(struct arena *a, struct json *target, const struct json *patch);

#endif
