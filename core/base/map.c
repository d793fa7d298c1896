/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extendible hashing over small tables: a full table of the largest size is split in two by the
 * next bit of the hashes, so that a map of a million entries grows without a second array of that
 * size, and without a put that moves them all. In a table: linear probing; deleted slots are marked
 * and vanish when it is built anew.
 */
#include "core/base/map.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/str.h"

enum {
	FIRST_SLOTS = 16,
	HASH_BITS = 64,
	/*
	 * Tables that there may be for each that is needed, if it were half full: keys that were
	 * chosen to have hashes that begin alike fill one table instead, which grows.
	 */
	SPREAD = 64,
	POS_BITS = 32, /* of a position in an iteration: slot; above them the table */
};

struct map_slot {
	char *key; /* owned; NULL: never used, or deleted (see 'dead') */
	void *val;
	uint64_t hash;
	uint32_t key_len;
	bool dead;
};

void map_init(struct map *m)
{
	*m = (struct map){.n = 0};
}

static size_t n_tables(const struct map *m)
{
	return (size_t)1 << m->bits;
}

/* Places in the list of tables, one after the other, that name this one. */
static size_t places(const struct map *m, const struct map_table *t)
{
	return (size_t)1 << (m->bits - t->bits);
}

static const struct map_table *table_at(const struct map *m, size_t i)
{
	return m->tables ? m->tables[i] : &m->only;
}

/* Where in the list of tables the hash belongs. */
static size_t place(const struct map *m, uint64_t hash)
{
	return m->bits > 0 ? hash >> (HASH_BITS - m->bits) : 0;
}

static struct map_table *table_of(struct map *m, uint64_t hash)
{
	return m->tables ? m->tables[place(m, hash)] : &m->only;
}

static void table_done(struct map_table *t)
{
	for (uint32_t i = 0; t->n > 0 && i < t->n_slots; i++) {
		t->n -= t->slots[i].key != NULL;
		mk_free(t->slots[i].key);
	}
	mk_free(t->slots);
}

void map_done(struct map *m)
{
	if (!m->tables) {
		table_done(&m->only);
	}
	for (size_t i = 0; m->tables && i < n_tables(m);) {
		struct map_table *t = m->tables[i];

		i += places(m, t);
		table_done(t);
		mk_free(t);
	}
	mk_free(m->tables);
	map_init(m);
}

static struct map_slot *find(const struct map_table *t, mk_str key, uint64_t hash)
{
	if (t->n_slots == 0) {
		return NULL;
	}
	for (size_t i = hash & (t->n_slots - 1);; i = (i + 1) & (t->n_slots - 1)) {
		struct map_slot *s = &t->slots[i];

		if (!s->key) {
			if (!s->dead) {
				return NULL;
			}
		} else if (s->hash == hash && str_eq((mk_str){s->key, s->key_len}, key)) {
			return s;
		}
	}
}

void *map_get(const struct map *m, mk_str key)
{
	uint64_t hash = m->n > 0 ? hash64(key) : 0;
	struct map_slot *s = m->n > 0 ? find(table_at(m, place(m, hash)), key, hash) : NULL;

	return s ? s->val : NULL;
}

/* Into the slot where a new key of this hash goes. There is always one free. */
static void settle(struct map_table *t, const struct map_slot *s)
{
	size_t i = s->hash & (t->n_slots - 1);

	while (t->slots[i].key != NULL) {
		i = (i + 1) & (t->n_slots - 1);
	}
	t->n_dead -= t->slots[i].dead;
	t->slots[i] = *s;
	t->slots[i].dead = false;
	t->n++;
}

/* The table anew, with so many slots and without the deleted ones. False: out of memory. */
static bool rebuild(struct map *m, struct map_table *t, uint32_t n_slots)
{
	struct map_table new = {.n_slots = n_slots, .bits = t->bits};

	new.slots = mk_calloc(n_slots, sizeof(*new.slots));
	if (!new.slots) {
		return false;
	}
	for (uint32_t i = 0; i < t->n_slots; i++) {
		if (t->slots[i].key != NULL) {
			settle(&new, &t->slots[i]);
		}
	}
	m->n_slots += n_slots;
	m->n_slots -= t->n_slots;
	mk_free(t->slots);
	*t = new;
	return true;
}

/* Twice as many places for tables. False: out of memory, or too many. */
static bool spread(struct map *m)
{
	size_t n = n_tables(m);
	struct map_table **tables;

	if (n > 1 && n > m->n / (MAP_TABLE_MAX / 2) * SPREAD) {
		return false;
	}
	tables = mk_calloc(2 * n, sizeof(struct map_table *));
	if (!tables) {
		return false;
	}
	for (size_t i = 0; m->tables && i < 2 * n; i++) {
		tables[i] = m->tables[i / 2];
	}
	if (!m->tables) {
		tables[0] = mk_malloc(sizeof(*tables[0]));
		if (!tables[0]) {
			mk_free(tables);
			return false;
		}
		*tables[0] = m->only;
		tables[1] = tables[0];
	}
	mk_free(m->tables);
	m->tables = tables;
	m->bits++;
	return true;
}

/* A table with so many slots, for keys with so many first bits in common; NULL: out of memory. */
static struct map_table *table_new(uint32_t n_slots, uint32_t bits)
{
	struct map_table *t = mk_calloc(1, sizeof(*t));

	if (!t) {
		return NULL;
	}
	t->slots = mk_calloc(n_slots, sizeof(*t->slots));
	if (!t->slots) {
		mk_free(t);
		return NULL;
	}
	t->n_slots = n_slots;
	t->bits = bits;
	return t;
}

/* Two tables in place of the one where the hash belongs. False: this cannot be done. */
static bool split(struct map *m, uint64_t hash)
{
	struct map_table *t = table_of(m, hash), *half[2];
	size_t i, n;

	if (t->bits == m->bits && !spread(m)) {
		return false;
	}
	t = table_of(m, hash);
	n = places(m, t);
	half[0] = table_new(t->n_slots, t->bits + 1);
	half[1] = half[0] ? table_new(t->n_slots, t->bits + 1) : NULL;
	if (!half[1]) {
		if (half[0]) {
			mk_free(half[0]->slots);
		}
		mk_free(half[0]);
		return false;
	}
	for (i = 0; i < t->n_slots; i++) {
		const struct map_slot *s = &t->slots[i];

		if (s->key != NULL) {
			settle(half[s->hash >> (HASH_BITS - 1 - t->bits) & 1], s);
		}
	}
	i = place(m, hash) / n * n;
	for (size_t k = 0; k < n; k++) {
		m->tables[i + k] = half[k >= n / 2];
	}
	m->n_slots += t->n_slots;
	mk_free(t->slots);
	mk_free(t);
	return true;
}

/*
 * Room for a key of that hash: keeps at least a quarter of the slots never used, so that probing
 * ends.
 */
static bool make_room(struct map *m, uint64_t hash)
{
	for (;;) {
		struct map_table *t = table_of(m, hash);
		uint32_t n_slots = t->n_slots > 0 ? t->n_slots : FIRST_SLOTS;

		if (t->n_slots > 0 && t->n + t->n_dead + 1 <= t->n_slots - t->n_slots / 4) {
			return true;
		}
		if (t->n + 1 <= n_slots / 2) {
			return rebuild(m, t, n_slots); /* the deleted ones were in the way */
		}
		if (n_slots < MAP_TABLE_MAX) {
			return rebuild(m, t, 2 * n_slots);
		}
		if (!split(m, hash)) {
			return n_slots <= UINT32_MAX / 2 && rebuild(m, t, 2 * n_slots);
		}
	}
}

bool map_put(struct map *m, mk_str key, void *val)
{
	uint64_t hash = hash64(key);
	struct map_slot *s = find(table_of(m, hash), key, hash);
	char *copy;

	if (s != NULL) {
		s->val = val;
		return true;
	}
	if (key.n > UINT32_MAX || !make_room(m, hash)) {
		return false;
	}
	copy = mk_strndup(key);
	if (!copy) {
		return false;
	}
	settle(table_of(m, hash),
	       &(struct map_slot){
		       .key = copy, .val = val, .hash = hash, .key_len = (uint32_t)key.n});
	m->n++;
	return true;
}

void *map_del(struct map *m, mk_str key)
{
	uint64_t hash = hash64(key);
	struct map_table *t = table_of(m, hash);
	struct map_slot *s = find(t, key, hash);
	void *val;

	if (!s) {
		return NULL;
	}
	val = s->val;
	mk_free(s->key);
	*s = (struct map_slot){.dead = true};
	t->n_dead++;
	t->n--;
	m->n--;
	if (t->n == 0 && t->n_slots >= MAP_TABLE_MAX) {
		m->n_slots -= t->n_slots;
		mk_free(t->slots);
		*t = (struct map_table){.bits = t->bits};
	}
	return val;
}

size_t map_len(const struct map *m)
{
	return m->n;
}

bool map_next(const struct map *m, size_t *pos, mk_str *ret_key, void **ret_val)
{
	size_t i = *pos >> POS_BITS, at = *pos & UINT32_MAX;

	while (i < n_tables(m)) {
		const struct map_table *t = table_at(m, i);

		for (; at < t->n_slots; at++) {
			const struct map_slot *s = &t->slots[at];

			if (!s->key) {
				continue;
			}
			*pos = (i << POS_BITS) + at + 1;
			if (ret_key != NULL) {
				*ret_key = (mk_str){s->key, s->key_len};
			}
			if (ret_val != NULL) {
				*ret_val = s->val;
			}
			return true;
		}
		i += places(m, t);
		at = 0;
	}
	*pos = i << POS_BITS;
	return false;
}
