/* SPDX-License-Identifier: Apache-2.0 */
/* Parser and matcher of label selectors. */
#include "t/kubesim/selector.h"

enum { MAX_TERMS = 64, MAX_VALUES = 256 };

/* What is left to read. */
struct scan {
	mk_str s;
};

static void skip_blank(struct scan *p)
{
	while (p->s.n > 0 && p->s.p[0] == ' ') {
		p->s = str_sub(p->s, 1, p->s.n);
	}
}

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.' || c == '/';
}

/* A key or value; may be empty. */
static mk_str word(struct scan *p)
{
	size_t n = 0;
	mk_str w;

	skip_blank(p);
	while (n < p->s.n && is_word_char(p->s.p[n])) {
		n++;
	}
	w = str_sub(p->s, 0, n);
	p->s = str_sub(p->s, n, p->s.n);
	skip_blank(p);
	return w;
}

static bool eat(struct scan *p, char c)
{
	if (p->s.n == 0 || p->s.p[0] != c) {
		return false;
	}
	p->s = str_sub(p->s, 1, p->s.n);
	return true;
}

static bool parse_set(struct arena *a, struct scan *p, struct selector_term *t)
{
	mk_str values[MAX_VALUES];
	size_t n = 0;

	if (!eat(p, '(')) {
		return false;
	}
	do {
		if (n == MAX_VALUES) {
			return false;
		}
		values[n++] = word(p);
	} while (eat(p, ','));
	if (!eat(p, ')')) {
		return false;
	}
	skip_blank(p);
	t->values = arena_array(a, n, sizeof(*t->values));
	if (!t->values) {
		return false;
	}
	memcpy(t->values, values, n * sizeof(*values));
	t->n_values = n;
	return true;
}

static bool parse_one_value(struct arena *a, struct scan *p, struct selector_term *t)
{
	t->values = arena_array(a, 1, sizeof(*t->values));
	if (!t->values) {
		return false;
	}
	t->values[0] = word(p);
	t->n_values = 1;
	return true;
}

static bool parse_term(struct arena *a, struct scan *p, struct selector_term *t)
{
	mk_str op;

	skip_blank(p);
	if (eat(p, '!')) {
		t->op = SELECTOR_ABSENT;
		t->key = word(p);
		return t->key.n > 0;
	}
	t->key = word(p);
	if (t->key.n == 0) {
		return false;
	}
	if (p->s.n == 0 || p->s.p[0] == ',') {
		t->op = SELECTOR_EXISTS;
		return true;
	}
	if (eat(p, '!')) {
		t->op = SELECTOR_NOT_IN;
		return eat(p, '=') && parse_one_value(a, p, t);
	}
	if (eat(p, '=')) {
		t->op = SELECTOR_IN;
		(void)eat(p, '=');
		return parse_one_value(a, p, t);
	}
	op = word(p);
	if (str_is(op, "in")) {
		t->op = SELECTOR_IN;
		return parse_set(a, p, t);
	}
	if (str_is(op, "notin")) {
		t->op = SELECTOR_NOT_IN;
		return parse_set(a, p, t);
	}
	return false;
}

bool selector_parse(struct arena *a, mk_str text, struct selector *ret)
{
	struct selector_term terms[MAX_TERMS] = {0};
	struct scan p = {arena_dup(a, str_trim(text))};
	struct selector s = {0};

	if (p.s.n == 0) {
		*ret = s;
		return true;
	}
	do {
		if (s.n_terms == MAX_TERMS || !parse_term(a, &p, &terms[s.n_terms])) {
			return false;
		}
		s.n_terms++;
	} while (eat(&p, ','));
	if (p.s.n > 0) {
		return false;
	}
	s.terms = arena_array(a, s.n_terms, sizeof(*s.terms));
	if (!s.terms) {
		return false;
	}
	memcpy(s.terms, terms, s.n_terms * sizeof(*terms));
	*ret = s;
	return true;
}

static bool term_match(const struct selector_term *t, const mk_str *labels, size_t n)
{
	const mk_str *value = NULL;
	bool in = false;

	for (size_t i = 0; i < n; i++) {
		if (str_eq(labels[2 * i], t->key)) {
			value = &labels[2 * i + 1];
		}
	}
	for (size_t i = 0; value != NULL && i < t->n_values; i++) {
		in = in || str_eq(*value, t->values[i]);
	}
	switch (t->op) {
	case SELECTOR_EXISTS:
		return value != NULL;
	case SELECTOR_ABSENT:
		return !value;
	case SELECTOR_IN:
		return in;
	case SELECTOR_NOT_IN:
		return !in;
	}
	return false;
}

bool selector_match(const struct selector *s, const mk_str *labels, size_t n)
{
	for (size_t i = 0; i < s->n_terms; i++) {
		if (!term_match(&s->terms[i], labels, n)) {
			return false;
		}
	}
	return true;
}
