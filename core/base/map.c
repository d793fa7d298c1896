/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing; deleted slots are marked and vanish at the next rebuild. A
 * rebuild makes a second table, and each put moves a few slots of the old one: moving a million
 * entries at once would take a tenth of a second.
 */
#include "core/base/map.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/str.h"

enum {
	FIRST_SLOTS = 16,
	/* With each put. The old table is empty long before the new one is full: see make_room. */
	MOVES = 16,
};

struct map_slot {
	char *key; /* owned; NULL: never used, or deleted (see 'dead') */
	size_t key_len;
	void *val;
	uint64_t hash;
	bool dead;
};

void map_init(struct map *m)
{
	*m = (struct map){.slots = NULL};
}

static void free_keys(const struct map_slot *slots, size_t n_slots, size_t n)
{
	for (size_t i = 0; n > 0 && i < n_slots; i++) {
		n -= slots[i].key != NULL;
		mk_free(slots[i].key);
	}
}

void map_done(struct map *m)
{
	free_keys(m->slots, m->n_slots, m->n);
	free_keys(m->old, m->n_old, m->n);
	mk_free(m->slots);
	mk_free(m->old);
	map_init(m);
}

static struct map_slot *find_in(struct map_slot *slots, size_t n_slots, mk_str key, uint64_t hash)
{
	if (n_slots == 0) {
		return NULL;
	}
	for (size_t i = hash & (n_slots - 1);; i = (i + 1) & (n_slots - 1)) {
		struct map_slot *s = &slots[i];

		if (!s->key) {
			if (!s->dead) {
				return NULL;
			}
		} else if (s->hash == hash && str_eq((mk_str){s->key, s->key_len}, key)) {
			return s;
		}
	}
}

static struct map_slot *find(const struct map *m, mk_str key, uint64_t hash)
{
	struct map_slot *s = find_in(m->slots, m->n_slots, key, hash);

	return s || !m->old ? s : find_in(m->old, m->n_old, key, hash);
}

void *map_get(const struct map *m, mk_str key)
{
	struct map_slot *s = m->n > 0 ? find(m, key, hash64(key)) : NULL;

	return s ? s->val : NULL;
}

/* The slot where a new key of this hash goes. There is always one free. */
static struct map_slot *vacancy(struct map_slot *slots, size_t n_slots, uint64_t hash)
{
	size_t i = hash & (n_slots - 1);

	while (slots[i].key != NULL) {
		i = (i + 1) & (n_slots - 1);
	}
	return &slots[i];
}

static void settle(struct map *m, const struct map_slot *s)
{
	struct map_slot *to = vacancy(m->slots, m->n_slots, s->hash);

	m->n_dead -= to->dead;
	*to = *s;
	to->dead = false;
}

/* Moves what is in the next 'n' slots of the old table; at its end the table is freed. */
static void move(struct map *m, size_t n)
{
	for (; m->old && n > 0; n--) {
		struct map_slot *s = &m->old[m->n_moved++];

		if (s->key != NULL) {
			settle(m, s);
			*s = (struct map_slot){.dead = true};
		}
		if (m->n_moved == m->n_old) {
			mk_free(m->old);
			m->old = NULL;
			m->n_old = m->n_moved = 0;
		}
	}
}

/*
 * Keeps at least a quarter of the slots never used, so that probing ends. A new table is at most
 * half full with all of the old one, which has no more slots than it, so a quarter of its slots is
 * taken by puts before the next rebuild: the puts move four times as many slots as the old one has.
 */
static bool make_room(struct map *m)
{
	size_t n_slots = m->n_slots ? m->n_slots : FIRST_SLOTS;
	struct map_slot *slots;

	if (m->n_slots > 0 && m->n + m->n_dead + 1 <= m->n_slots - m->n_slots / 4) {
		return true;
	}
	/*
	 * Grows only when the live entries need it; otherwise the rebuild drops the deleted ones.
	 */
	while (m->n + 1 > n_slots / 2) {
		if (n_slots > SIZE_MAX / 2) {
			return false;
		}
		n_slots *= 2;
	}
	slots = mk_calloc(n_slots, sizeof(*slots));
	if (!slots) {
		return false;
	}
	move(m, SIZE_MAX); /* nothing is left, see above */
	m->old = m->slots;
	m->n_old = m->n_slots;
	m->slots = slots;
	m->n_slots = n_slots;
	m->n_dead = 0;
	return true;
}

bool map_put(struct map *m, mk_str key, void *val)
{
	uint64_t hash = hash64(key);
	struct map_slot *s = find(m, key, hash);
	char *copy;

	if (s != NULL) {
		s->val = val;
		return true;
	}
	if (!make_room(m)) {
		return false;
	}
	copy = mk_strndup(key);
	if (!copy) {
		return false;
	}
	move(m, MOVES);
	settle(m, &(struct map_slot){.key = copy, .key_len = key.n, .val = val, .hash = hash});
	m->n++;
	return true;
}

void *map_del(struct map *m, mk_str key)
{
	struct map_slot *s = find(m, key, hash64(key));
	void *val;

	if (!s) {
		return NULL;
	}
	val = s->val;
	mk_free(s->key);
	m->n_dead += s >= m->slots && s < m->slots + m->n_slots;
	*s = (struct map_slot){.dead = true};
	m->n--;
	return val;
}

size_t map_len(const struct map *m)
{
	return m->n;
}

bool map_next(const struct map *m, size_t *pos, mk_str *ret_key, void **ret_val)
{
	while (*pos < m->n_slots + m->n_old) {
		size_t i = (*pos)++;
		const struct map_slot *s = i < m->n_slots ? &m->slots[i] : &m->old[i - m->n_slots];

		if (s->key != NULL) {
			if (ret_key != NULL) {
				*ret_key = (mk_str){s->key, s->key_len};
			}
			if (ret_val != NULL) {
				*ret_val = s->val;
			}
			return true;
		}
	}
	return false;
}
