/* SPDX-License-Identifier: Apache-2.0 */
/* Frozen: made by t/abi/lock.t --freeze. */
#ifndef MULTIKUEUE_SELECTOR_H
#define MULTIKUEUE_SELECTOR_H
#include <multikueue/json.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef int mk_label_fn(void *ctx, mk_str key, mk_str *value);
typedef struct mk_selector {
	mk_str left;
	const char *error;
} mk_selector;
static inline void mk_selector_skip(mk_selector *s)
{
	while (s->left.n > 0 && (*s->left.p == ' ' || *s->left.p == '\t')) {
		s->left.p++;
		s->left.n--;
	}
}
static inline int mk_selector_char(mk_selector *s, char c)
{
	mk_selector_skip(s);
	if (s->left.n == 0 || *s->left.p != c) {
		return 0;
	}
	s->left.p++;
	s->left.n--;
	return 1;
}
static inline mk_str mk_selector_word(mk_selector *s)
{
	mk_str word = {NULL, 0};
	mk_selector_skip(s);
	word.p = s->left.p;
	while (word.n < s->left.n) {
		char c = s->left.p[word.n];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '-' || c == '_' || c == '.' || c == '/')) {
			break;
		}
		word.n++;
	}
	s->left.p += word.n;
	s->left.n -= word.n;
	return word;
}
static inline int mk_selector_set(mk_selector *s, mk_str value)
{
	int found = 0;
	if (!mk_selector_char(s, '(')) {
		s->error = "\"(\" after in or notin";
		return 0;
	}
	do {
		found |= mk_same(mk_selector_word(s), value);
	} while (mk_selector_char(s, ','));
	if (!mk_selector_char(s, ')')) {
		s->error = "\",\" or \")\"";
	}
	return found;
}
static inline int mk_selector_verb(mk_selector *s, int there, mk_str value)
{
	mk_selector before;
	mk_str verb;
	if (mk_selector_char(s, '!')) {
		if (!mk_selector_char(s, '=')) {
			s->error = "\"=\" after \"!\"";
			return 0;
		}
		return !mk_same(mk_selector_word(s), value) || !there;
	}
	if (mk_selector_char(s, '=')) {
		(void)mk_selector_char(s, '=');
		return mk_same(mk_selector_word(s), value) && there;
	}
	mk_selector_skip(s);
	before = *s;
	verb = mk_selector_word(s);
	if (mk_same(verb, mk_lit("in"))) {
		return mk_selector_set(s, value) && there;
	}
	if (mk_same(verb, mk_lit("notin"))) {
		return !mk_selector_set(s, value) || !there;
	}
	if (verb.n > 0) {
		*s = before;
		s->error = "one of =, ==, !=, in, notin, \",\"";
	}
	return there;
}
static inline int mk_selector_next(mk_selector *s, mk_label_fn *label, void *ctx)
{
	int absent = mk_selector_char(s, '!');
	mk_str key = mk_selector_word(s), value = {NULL, 0};
	int there, met;
	if (key.n == 0) {
		s->error = "the name of a label";
		return 0;
	}
	there = label(ctx, key, &value);
	met = absent ? !there : mk_selector_verb(s, there, value);
	if (!s->error && !mk_selector_char(s, ',')) {
		mk_selector_skip(s);
		if (s->left.n > 0) {
			s->error = "\",\" or the end";
		}
	} else if (!s->error) {
		mk_selector_skip(s);
		if (s->left.n == 0) {
			s->error = "a requirement after \",\"";
		}
	}
	return met && !s->error;
}
static inline int mk_selects(mk_str selector, mk_label_fn *label, void *ctx, const char **error,
			     size_t *at)
{
	mk_selector s = {selector, NULL};
	int met = 1;
	mk_selector_skip(&s);
	while (s.left.n > 0 && !s.error) {
		met &= mk_selector_next(&s, label, ctx);
	}
	if (s.error && error) {
		*error = s.error;
		*at = (size_t)(s.left.p - selector.p);
	}
	return s.error ? -1 : met;
}
#ifdef __cplusplus
}
#endif
#endif
