/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing; deleted slots are marked and vanish at the next rebuild. */
#include "core/base/map.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/str.h"

enum { FIRST_SLOTS = 16 };

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

void map_done(struct map *m)
{
	for (size_t i = 0; i < m->n_slots; i++) {
		mk_free(m->slots[i].key);
	}
	mk_free(m->slots);
	map_init(m);
}

static struct map_slot *find(const struct map *m, mk_str key, uint64_t hash)
{
	if (m->n_slots == 0) {
		return NULL;
	}
	for (size_t i = hash & (m->n_slots - 1);; i = (i + 1) & (m->n_slots - 1)) {
		struct map_slot *s = &m->slots[i];

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

/* Keeps at least a quarter of the slots never used, so that probing ends. */
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
	for (size_t i = 0; i < m->n_slots; i++) {
		if (m->slots[i].key != NULL) {
			*vacancy(slots, n_slots, m->slots[i].hash) = m->slots[i];
		}
	}
	mk_free(m->slots);
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
	s = vacancy(m->slots, m->n_slots, hash);
	if (s->dead) {
		m->n_dead--;
	}
	*s = (struct map_slot){.key = copy, .key_len = key.n, .val = val, .hash = hash};
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
	*s = (struct map_slot){.dead = true};
	m->n--;
	m->n_dead++;
	return val;
}

size_t map_len(const struct map *m)
{
	return m->n;
}

bool map_next(const struct map *m, size_t *pos, mk_str *ret_key, void **ret_val)
{
	while (*pos < m->n_slots) {
		const struct map_slot *s = &m->slots[(*pos)++];

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
