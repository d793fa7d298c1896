/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the bytes of an object; see scan.h. */
#include "core/kube/scan.h"

#include <stddef.h>

#include "core/api/names.h"
#include "core/kube/scan_block.h"
#include "core/kube/url.h"

struct cursor {
	const char *p;
	size_t i, n;
};

/* --- values ---------------------------------------------------------------------------------- */

static bool take(struct cursor *c, char ch)
{
	if (c->i >= c->n || c->p[c->i] != ch) {
		return false;
	}
	c->i++;
	return true;
}

/* A string that stands for itself: printable ASCII without escapes. */
static bool take_plain(struct cursor *c, mk_str *ret)
{
	size_t from = c->i + 1;

	if (!take(c, '"')) {
		return false;
	}
	for (; c->i < c->n; c->i++) {
		unsigned char ch;

		c->i += c->n - c->i >= PLAIN_BYTES ? block_plain_prefix(c->p + c->i) : 0;
		if (c->i == c->n) {
			return false;
		}
		ch = (unsigned char)c->p[c->i];
		if (ch == '"') {
			*ret = (mk_str){c->p + from, c->i - from};
			c->i++;
			return true;
		}
		if (ch < 0x20 || ch > 0x7e || ch == '\\') {
			return false;
		}
	}
	return false;
}

/* At the opening quote of any string. */
static bool skip_string(struct cursor *c)
{
	size_t from = ++c->i;

	while (c->i < c->n) {
		const char *q = memchr(c->p + c->i, '"', c->n - c->i);
		size_t slashes = 0;

		if (!q) {
			return false;
		}
		c->i = (size_t)(q - c->p);
		while (c->i - slashes > from && c->p[c->i - slashes - 1] == '\\') {
			slashes++;
		}
		c->i++;
		if (slashes % 2 == 0) {
			return true;
		}
	}
	return false;
}

/* The bits behind backslashes that are not behind one themselves. 'carry': over the block's end. */
static uint64_t escaped(uint64_t slash, bool *carry)
{
	uint64_t behind = *carry;

	slash &= ~behind;
	*carry = false;
	while (slash != 0) {
		uint64_t bit = slash & -slash;

		*carry = bit >> 63 != 0;
		behind |= bit << 1;
		slash &= ~(bit | bit << 1);
	}
	return behind;
}

/* The bits of strings, opening quotes included. 'in': does a string reach over the end? */
static uint64_t in_strings(uint64_t quote, bool *in)
{
	uint64_t s = quote ^ quote << 1;

	s ^= s << 2;
	s ^= s << 4;
	s ^= s << 8;
	s ^= s << 16;
	s ^= s << 32;
	s = *in ? ~s : s;
	*in = s >> 63 != 0;
	return s;
}

/* Follows the brackets of a block. The bit behind which depth is 0, or BLOCK_BYTES. */
static unsigned find_end(uint64_t open, uint64_t close, size_t *depth)
{
	for (uint64_t all = open | close; all != 0; all &= all - 1) {
		uint64_t bit = all & -all;

		*depth = (open & bit) != 0 ? *depth + 1 : *depth - 1;
		if (*depth == 0) {
			return (unsigned)__builtin_ctzll(bit);
		}
	}
	return BLOCK_BYTES;
}

/*
 * How many bits are set. The compiler's own is a call where the processor may lack it; with AVX2 it
 * has it.
 */
static inline unsigned count(uint64_t x, bool avx2)
{
	if (avx2) {
		return (unsigned)__builtin_popcountll(x);
	}
	x -= x >> 1 & 0x5555555555555555;
	x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return (unsigned)(x * 0x0101010101010101 >> 56);
}

/* Where a container is left that is gone over block by block. */
struct nest {
	size_t depth;
	bool in_string, behind_slash;
};

/* One block of a container: the bit of its closing bracket, or BLOCK_BYTES. */
__attribute__((always_inline)) static inline unsigned skip_block(struct nest *n, struct block b,
								 bool avx2)
{
	uint64_t behind = (b.slash | n->behind_slash) != 0 ? escaped(b.slash, &n->behind_slash) : 0;
	uint64_t strings = in_strings(b.quote & ~behind, &n->in_string);
	unsigned ends;

	b.open &= ~strings;
	b.close &= ~strings;
	ends = count(b.close, avx2);
	if (n->depth <= ends) {
		return find_end(b.open, b.close, &n->depth);
	}
	n->depth += count(b.open, avx2) - (size_t)ends;
	return BLOCK_BYTES;
}

typedef struct block block_fn(const char *p);

/*
 * At the opening bracket of a container. Brackets of both kinds count alike: a text that mixes them
 * up is none that the parser reads.
 */
__attribute__((always_inline)) static inline bool skip_blocks(struct cursor *c, block_fn *look,
							      bool avx2)
{
	struct nest nest = {.depth = 0};
	char tail[BLOCK_BYTES] = {0};

	for (const char *p = c->p + c->i, *end = c->p + c->n; p < end; p += BLOCK_BYTES) {
		const char *block = p;
		unsigned at;

		if (end - p < BLOCK_BYTES) {
			memcpy(tail, p, (size_t)(end - p));
			block = tail;
		}
		at = skip_block(&nest, look(block), avx2);
		if (at < BLOCK_BYTES) {
			c->i = (size_t)(p - c->p) + at + 1;
			return true;
		}
	}
	return false;
}

#ifdef __x86_64__
__attribute__((target("avx2,popcnt"))) static bool skip_by_avx2(struct cursor *c)
{
	return skip_blocks(c, block_avx2, true);
}
#endif

/* With what the compiler may use anyway. */
__attribute__((noinline)) static bool skip_plainly(struct cursor *c)
{
	return skip_blocks(c, block_of, false);
}

static bool skip_container(struct cursor *c)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) {
		return skip_by_avx2(c);
	}
#endif
	return skip_plainly(c);
}

static bool is_scalar(char ch)
{
	return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || ch == '-' || ch == '+' ||
	       ch == '.' || ch == 'E';
}

static bool skip_value(struct cursor *c)
{
	size_t from = c->i;

	if (c->i >= c->n) {
		return false;
	}
	if (c->p[c->i] == '"') {
		return skip_string(c);
	}
	if (c->p[c->i] == '{' || c->p[c->i] == '[') {
		return skip_container(c);
	}
	while (c->i < c->n && is_scalar(c->p[c->i])) {
		c->i++;
	}
	return c->i > from;
}

/* --- objects --------------------------------------------------------------------------------- */

enum want_type { WANT_STRING, WANT_VALUE, WANT_METADATA, WANT_ENTRIES };

/* A member that is looked for, and its place in struct scan. */
struct want {
	mk_str key;
	size_t at;
	enum want_type type;
};

static const struct want in_object[] = {
	{{"apiVersion", 10}, offsetof(struct scan, api_version), WANT_STRING},
	{{"kind", 4}, offsetof(struct scan, kind), WANT_STRING},
	{{"metadata", 8}, offsetof(struct scan, metadata), WANT_METADATA},
	{{"spec", 4}, offsetof(struct scan, spec), WANT_VALUE},
	{{NULL, 0}, 0, WANT_VALUE},
};

static const struct want in_metadata[] = {
	{{"name", 4}, offsetof(struct scan, name), WANT_STRING},
	{{"namespace", 9}, offsetof(struct scan, ns), WANT_STRING},
	{{"uid", 3}, offsetof(struct scan, uid), WANT_STRING},
	{{"resourceVersion", 15}, offsetof(struct scan, version), WANT_STRING},
	{{"deletionTimestamp", 17}, offsetof(struct scan, deletion), WANT_STRING},
	{{"managedFields", 13}, offsetof(struct scan, managed_fields), WANT_ENTRIES},
	{{NULL, 0}, 0, WANT_VALUE},
};

static const struct want in_entry[] = {
	{{"manager", 7}, offsetof(struct scan_entry, manager), WANT_STRING},
	{{"fieldsV1", 8}, offsetof(struct scan_entry, fields), WANT_VALUE},
	{{NULL, 0}, 0, WANT_VALUE},
};

static const struct want *find_want(const struct want *w, mk_str key)
{
	for (; w->key.p != NULL; w++) {
		if (w->key.n == key.n && memcmp(w->key.p, key.p, key.n) == 0) {
			return w;
		}
	}
	return NULL;
}

static bool take_members(struct cursor *c, const struct want *wants, void *to);

/* The value of managedFields. */
static bool take_entries(struct cursor *c, struct scan *s)
{
	struct cursor all = *c;

	if (!take(c, '[')) {
		return skip_value(c);
	}
	do {
		struct scan_entry *e = &s->entries[s->n_entries];
		size_t from = c->i;

		if (s->n_entries == SCAN_ENTRIES || !take_members(c, in_entry, e)) {
			s->has_odd_entries = true;
			*c = all;
			return skip_value(c);
		}
		e->text = (mk_str){c->p + from, c->i - from};
		s->n_entries++;
	} while (take(c, ','));
	return take(c, ']');
}

static bool take_value(struct cursor *c, const struct want *want, void *to)
{
	mk_str *place = (mk_str *)(void *)((char *)to + want->at);
	size_t from = c->i;
	bool good;

	if (place->p != NULL) {
		return false; /* the key is there twice */
	}
	if (want->type == WANT_STRING) {
		return take_plain(c, place);
	}
	if (want->type == WANT_METADATA) {
		good = take_members(c, in_metadata, to);
	} else {
		good = want->type == WANT_ENTRIES ? take_entries(c, to) : skip_value(c);
	}
	*place = (mk_str){c->p + from, c->i - from};
	return good;
}

/* An object with at least one member, up to its closing bracket. */
static bool take_members(struct cursor *c, const struct want *wants, void *to)
{
	mk_str key;

	if (!take(c, '{')) {
		return false;
	}
	do {
		const struct want *want;

		if (!take_plain(c, &key) || !take(c, ':')) {
			return false;
		}
		want = find_want(wants, key);
		if (want ? !take_value(c, want, to) : !skip_value(c)) {
			return false;
		}
	} while (take(c, ','));
	return take(c, '}');
}

static bool take_object(struct cursor *c, struct scan *s)
{
	size_t from = c->i;

	if (!take_members(c, in_object, s)) {
		return false;
	}
	s->object = (mk_str){c->p + from, c->i - from};
	return s->api_version.n > 0 && s->kind.n > 0 && s->name.n > 0 && url_rv(s->version, &s->rv);
}

bool scan_object(mk_str text, struct scan *ret)
{
	struct cursor c = {.p = text.p, .n = text.n};

	*ret = (struct scan){.rv = 0};
	return take_object(&c, ret) && c.i == c.n;
}

static bool take_text(struct cursor *c, mk_str s)
{
	if (c->n - c->i < s.n || memcmp(c->p + c->i, s.p, s.n) != 0) {
		return false;
	}
	c->i += s.n;
	return true;
}

bool scan_line(mk_str line, struct scan *ret)
{
	struct cursor c = {.p = line.p, .n = line.n};

	*ret = (struct scan){.rv = 0};
	return take_text(&c, STR("{\"type\":")) && take_plain(&c, &ret->type) &&
	       take_text(&c, STR(",\"object\":")) && take_object(&c, ret) && take(&c, '}') &&
	       c.i == c.n;
}

/* --- managedFields --------------------------------------------------------------------------- */

/* Is 'part' in 's'? It is looked for by its character 'rare', which such texts seldom have. */
static bool contains(mk_str s, mk_str part, size_t rare)
{
	const char *at, *end;

	if (s.n < part.n) {
		return false;
	}
	at = s.p + rare;
	end = s.p + s.n - (part.n - 1 - rare);
	while (at < end && (at = memchr(at, part.p[rare], (size_t)(end - at))) != NULL) {
		if (memcmp(at - rare, part.p, part.n) == 0) {
			return true;
		}
		at++;
	}
	return false;
}

/* Does a rule need it? Also one that may be spelt oddly. */
static bool is_needed(const struct scan_entry *e)
{
	return str_is(e->manager, NAME_ADMISSION) ||
	       contains(e->fields, STR("\"f:nominatedClusterNames\""), STR("\"f:nominated").n) ||
	       contains(e->fields, STR("\\u"), 0);
}

static size_t add(char *to, size_t n, const char *from, const char *end)
{
	memcpy(to + n, from, (size_t)(end - from));
	return n + (size_t)(end - from);
}

/* Adds the entries that a rule needs to 'to'; its new length. 'n': what is there already. */
static size_t add_entries(char *to, size_t n, const struct scan *s)
{
	size_t begin = n;

	for (size_t i = 0; i < s->n_entries; i++) {
		const struct scan_entry *e = &s->entries[i];

		if (is_needed(e)) {
			if (n > begin) {
				to[n++] = ',';
			}
			n = add(to, n, e->text.p, e->text.p + e->text.n);
		}
	}
	return n;
}

/* The member whose value is 'value' and whose key is 'key_n' long, with a comma beside it. */
static mk_str member_of(mk_str value, size_t key_n)
{
	const char *from = value.p - key_n - 3; /* quotes and colon */
	const char *end = value.p + value.n;

	if (*end == ',') {
		end++;
	} else if (from[-1] == ',') {
		from--;
	}
	return (mk_str){from, (size_t)(end - from)};
}

/* The object without the entries that no rule needs, or without the whole list. */
static size_t add_object(char *to, const struct scan *s, bool owners)
{
	const char *end = s->object.p + s->object.n;
	mk_str list = s->managed_fields;
	mk_str member = list;
	size_t n, begin, all;

	if (list.n == 0 || (owners && s->has_odd_entries)) {
		return add(to, 0, s->object.p, end);
	}
	member = member_of(list, STR("managedFields").n);
	n = add(to, 0, s->object.p, member.p);
	begin = add(to, n, member.p, list.p);
	to[begin++] = '[';
	all = owners ? add_entries(to, begin, s) : begin;
	if (all > begin) {
		to[all++] = ']';
		n = add(to, all, list.p + list.n, member.p + member.n);
	}
	return add(to, n, member.p + member.n, end);
}

struct scan_text scan_strip(struct arena *a, const struct scan *s, bool owners)
{
	/* Nothing grows, but a list that is none may: one byte of it becomes two. */
	char *to = arena_alloc_raw(a, s->object.n + 8);
	struct scan_text t = {.text = {to, 0}};
	mk_str spec = s->spec;

	if (!to) {
		return t;
	}
	t.text.n = add_object(to, s, owners);
	to[t.text.n] = '\0';
	if (spec.n > 0 && spec.p < s->managed_fields.p) {
		spec.p = to + (spec.p - s->object.p);
	} else if (spec.n > 0) {
		spec.p = to + t.text.n - (s->object.p + s->object.n - spec.p);
	}
	if (spec.n > 0) {
		t.spec = member_of(spec, STR("spec").n);
	}
	return t;
}
