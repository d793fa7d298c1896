/* SPDX-License-Identifier: Apache-2.0 */
/* Frozen: made by t/abi/lock.t --freeze. */
#ifndef MULTIKUEUE_JSON_H
#define MULTIKUEUE_JSON_H
#include <string.h>
#include <multikueue/host.h>
#ifdef __cplusplus
extern "C" {
#endif
static inline mk_str mk_lit(const char *s)
{
	mk_str r = {s, s ? strlen(s) : 0};
	return r;
}
static inline int mk_same(mk_str a, mk_str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline mk_str mk_str_at(mk_call *c, mk_val v, const char *pointer)
{
	mk_str s = {NULL, 0};
	(void)c->host->str(c, c->host->get(c, v, pointer), &s);
	return s;
}
static inline int64_t mk_i64_at(mk_call *c, mk_val v, const char *pointer, int64_t otherwise)
{
	int64_t i = otherwise;
	(void)c->host->i64(c, c->host->get(c, v, pointer), &i);
	return i;
}
static inline int mk_is(mk_call *c, mk_val v, const char *literal)
{
	mk_str s = {NULL, 0};
	return c->host->str(c, v, &s) && mk_same(s, mk_lit(literal));
}
static inline ptrdiff_t mk_find(mk_call *c, mk_val arr, const char *key, mk_str value)
{
	size_t n = c->host->type(c, arr) == MK_ARR ? c->host->len(c, arr) : 0;
	size_t i;
	for (i = 0; i < n; i++) {
		mk_str s = {NULL, 0};
		if (c->host->str(c, c->host->get(c, c->host->at(c, arr, i), key), &s) &&
		    mk_same(s, value)) {
			return (ptrdiff_t)i;
		}
	}
	return -1;
}
static inline const char *mk_decimal(char out[24], int64_t i)
{
	uint64_t left = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
	char *p = out + 23;
	*p = '\0';
	do {
		*--p = (char)('0' + (int)(left % 10));
		left /= 10;
	} while (left > 0);
	if (i < 0) {
		*--p = '-';
	}
	return p;
}
static inline const char *mk_index(char out[24], size_t i)
{
	char *p = out + (mk_decimal(out, (int64_t)i) - out) - 1;
	*p = '/';
	return p;
}
static inline void mk_put(mk_call *c, mk_val draft, const char *pointer, const char *key,
			  mk_val elem)
{
	char buf[24];
	ptrdiff_t i;
	if (c->host->type(c, c->host->get(c, draft, pointer)) != MK_ARR) {
		c->host->set(c, draft, pointer, c->host->parse(c, mk_lit("[]")));
	}
	i = mk_find(c, c->host->get(c, draft, pointer), key, mk_str_at(c, elem, key));
	c->host->set(c, c->host->get(c, draft, pointer), i < 0 ? "/-" : mk_index(buf, (size_t)i),
		     elem);
}
static inline void mk_drop(mk_call *c, mk_val draft, const char *pointer, const char *key,
			   mk_str value)
{
	const mk_val absent = {0};
	mk_val arr = c->host->get(c, draft, pointer);
	size_t i = c->host->type(c, arr) == MK_ARR ? c->host->len(c, arr) : 0;
	char buf[24];
	while (i-- > 0) {
		mk_str s = {NULL, 0};
		if (c->host->str(c, c->host->get(c, c->host->at(c, arr, i), key), &s) &&
		    mk_same(s, value)) {
			c->host->set(c, arr, mk_index(buf, i), absent);
		}
	}
}
#ifdef __cplusplus
}
#endif
#endif
