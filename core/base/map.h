/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from strings to pointers. Keys are copied and owned by the map, values are borrowed.
 * The hash has a fixed key, so that runs can be repeated; the owners of maps bound the number of
 * entries. The order of iteration must never reach output.
 */
#ifndef MK_BASE_MAP_H
#define MK_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <multikueue/types.h>

struct map_slot;

/* Slots of a table at most: what one map_put has to move. */
enum { MAP_TABLE_MAX = 1024 };

/* Open addressing, a power of two of slots; of all keys, or of those whose hashes begin alike. */
struct map_table {
	struct map_slot *slots;
	uint32_t n_slots;
	uint32_t n;      /* live entries */
	uint32_t n_dead; /* deleted, still in the way of probing */
	uint32_t bits;   /* of the hashes, which all its keys have in common */
};

struct map {
	struct map_table only;     /* while it is enough */
	struct map_table **tables; /* by the first 'bits' bits of a hash, else; NULL none */
	uint32_t bits;
	size_t n;       /* live entries */
	size_t n_slots; /* of all tables */
};

/* An empty map; allocates nothing yet. All zero is valid too. */
void map_init(struct map *m);

/* Frees keys and table; the values are the caller's. */
void map_done(struct map *m);

/* The value of 'key', NULL when absent. */
void *map_get(const struct map *m, mk_str key);

/*
 * Sets or replaces. 'val' must not be NULL. False: out of memory, the map is unchanged. The cost
 * does not grow with the map, nor does the memory that it needs for a while: a map grows by one
 * table after the other.
 */
bool map_put(struct map *m, mk_str key, void *val);

/* Removes; returns the old value or NULL. */
void *map_del(struct map *m, mk_str key);

/* The number of entries. */
size_t map_len(const struct map *m);

/*
 * Iteration: `size_t pos = 0; while (map_next(m, &pos, &key, &val))`, in no particular order. The
 * element just returned may be deleted; nothing may be put meanwhile. 'ret_key' and 'ret_val' may
 * be NULL; the key is borrowed.
 */
bool map_next(const struct map *m, size_t *pos, mk_str *ret_key, void **ret_val);

#endif
