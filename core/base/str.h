/* SPDX-License-Identifier: Apache-2.0 */
/* String views (mk_str of the SDK) and a growing buffer with a cap. */
#ifndef MK_BASE_STR_H
#define MK_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <multikueue/types.h>

/* A view of a string literal. */
#define STR(literal) ((mk_str){(literal), sizeof(literal) - 1})
/* No string: a NULL pointer and no length. */
#define STR_NONE ((mk_str){NULL, 0})
/* What printf may be given for a view: never NULL. */
static inline const char *str_chars(mk_str s)
{
	return s.n ? s.p : "";
}

/* For printf("%.*s", STR_ARG(s)). */
#define STR_ARG(s) (int)(s).n, str_chars(s)

/* View of a C string; NULL gives the empty view. Borrowed. */
static inline mk_str str_of(const char *s)
{
	return s ? (mk_str){s, strlen(s)} : (mk_str){NULL, 0};
}

static inline bool str_eq(mk_str a, mk_str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is(mk_str a, const char *literal)
{
	return str_eq(a, str_of(literal));
}

/* Bytewise order, shorter first on a common prefix: <0, 0, >0. */
int str_cmp(mk_str a, mk_str b);

/* Does 's' begin or end with the other string? True for the empty one. */
bool str_starts(mk_str s, mk_str prefix);
bool str_ends(mk_str s, mk_str suffix);

/* Index of the first 'c' in 's' or -1. */
ptrdiff_t str_index(mk_str s, char c);
/* Is it one of the n? */
bool str_in(mk_str s, const mk_str *list, size_t n);

/* The part from 'from' (clamped) of at most 'n' bytes. Borrowed from 's'. */
mk_str str_sub(mk_str s, size_t from, size_t n);

/*
 * Takes the part before the first 'sep' off *rest, which becomes what follows (empty at the end).
 * False when *rest was empty.
 */
bool str_split(mk_str *rest, char sep, mk_str *ret_part);

/* 's' without ASCII white space at both ends. Borrowed. */
mk_str str_trim(mk_str s);

/* Decimal digits only, the whole of 's', no overflow. False leaves *ret untouched. */
bool str_u64(mk_str s, uint64_t *ret);
bool str_i64(mk_str s, int64_t *ret);

/*
 * How many letters must change to make 'a' of 'b', whatever their case: for "did you mean". Of a
 * text longer than STR_NEAR bytes all that is behind them counts as one more change.
 */
size_t str_distance(mk_str a, mk_str b);
enum { STR_NEAR = 63 };

/*
 * The known word that an unknown one is a misspelling of, if there is one: set 'word', try each
 * known word, and read 'best' (NULL pointer: none is near). Near is one letter, or a quarter of
 * the known word's.
 */
struct str_guess {
	mk_str word;
	mk_str best; /* borrowed from str_guess_try */
	size_t least;
};
void str_guess_try(struct str_guess *g, mk_str known);

/* 's' cut to at most 'max' bytes without splitting a UTF-8 sequence. Borrowed. */
mk_str str_cut(mk_str s, size_t max);

/* Length of the valid UTF-8 sequence at the front of 's': 1 to 4, or 0 when there is none. */
size_t str_utf8(mk_str s);
/* Whether the whole of 's' is valid UTF-8; the empty string is. */
bool str_is_utf8(mk_str s);
/*
 * Takes the first character off '*rest', which must not be empty: its UTF-8 sequence, borrowed, or
 * a static U+FFFD for one byte that begins no valid sequence.
 */
mk_str str_take_utf8(mk_str *rest);

/* Overwrites a secret; 's' must be a view of memory that is the caller's to write. */
void str_wipe(mk_str s);

/* A heap buffer that grows up to 'cap'. All zero but cap is a valid empty buffer. */
struct buf {
	char *p;
	size_t n;
	size_t size;
	size_t cap;  /* most bytes of content; must be set */
	bool failed; /* out of memory or over the cap; the content is then incomplete */
};

/* An empty buffer for at most 'cap' bytes; allocates nothing yet. */
void buf_init(struct buf *b, size_t cap);
/* Frees the content; usable again, with the same cap. */
void buf_done(struct buf *b);
/* Empties it and clears 'failed'; keeps the memory. */
void buf_clear(struct buf *b);
/*
 * Appends; false (and b->failed) when over the cap or out of memory. The content stays
 * NUL-terminated past n.
 */
bool buf_add(struct buf *b, mk_str s);
bool buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* View of the content; borrowed until the next change. */
static inline mk_str buf_str(const struct buf *b)
{
	return (mk_str){b->p, b->n};
}

#endif
