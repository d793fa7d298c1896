/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label selectors in kubectl's syntax, "region in (eu, us), gpu=h100, !spot, tier != dev": all
 * requirements that commas join must be met. Inline helpers that compile into the plugin and are no
 * part of the ABI. Source: Kubernetes API concepts, labels.Parse of k8s.io/apimachinery.
 */
#ifndef MULTIKUEUE_SELECTOR_H
#define MULTIKUEUE_SELECTOR_H

#include <multikueue/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Where the labels are: 1 and *value, or 0 when there is no label 'key'. 'ctx' is the caller's.
 * Since abi 1.3
 */
typedef int mk_label_fn(void *ctx, mk_str key, mk_str *value);

/* How a selector is read: what is left of it, and the first mistake. Since abi 1.3 */
typedef struct mk_selector {
	mk_str left;
	const char *error; /* NULL, or what was expected where 'left' begins */
} mk_selector;

static inline void mk_selector_skip(mk_selector *s)
{
	while (s->left.n > 0 && (*s->left.p == ' ' || *s->left.p == '\t')) {
		s->left.p++;
		s->left.n--;
	}
}

/* Takes 'c' if it comes next. */
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

/* Takes a key or value; empty when none comes next. */
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

/* "(a, b)": is 'value' among them? */
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

/* What follows the key: does the label meet it? */
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

/*
 * Reads one requirement and a comma behind it: 1 the labels meet it, 0 they do not or s->error is
 * set. To be called until s->left is empty or s->error is set. Since abi 1.3
 */
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

/*
 * Do the labels meet all of 'selector'? 1 yes, 0 no; -1 it has a mistake: *error, unless NULL, is
 * what was expected, *at the offset where. The empty selector is met. Since abi 1.3
 */
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
