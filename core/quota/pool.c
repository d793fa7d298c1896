/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of workloads and leaves: chunks of 64 KiB in blocks that grow to the size of a huge page,
 * so that a million objects cost no more than their bytes, a reference is 32 bits and a walk over
 * all of them is one over memory.
 */
#include "core/quota/quota_impl.h"

enum { UNITS = QUOTA_CHUNK / 8, MAX_CHUNKS = 1 << 19, BLOCK_CHUNKS = 32 };

/* A block of as many chunks as there are, to a limit. */
static bool add_block(struct quota_pool *p)
{
	size_t n = p->n_chunks == 0 ? 1 : p->n_chunks;
	char *block;

	n = n > BLOCK_CHUNKS ? BLOCK_CHUNKS : n;
	if (p->n_chunks + n > MAX_CHUNKS ||
	    !quota_room((void **)(void *)&p->blocks, &p->size_blocks, p->n_blocks,
			sizeof(void *))) {
		return false;
	}
	while (p->size_chunks < p->n_spare + n) {
		if (!quota_room((void **)(void *)&p->chunks, &p->size_chunks, p->size_chunks,
				sizeof(char *))) {
			return false;
		}
	}
	block = mk_calloc_big(n * QUOTA_CHUNK);
	if (!block) {
		return false;
	}
	p->blocks[p->n_blocks++] = block;
	for (size_t i = 0; i < n; i++) {
		p->chunks[p->n_spare++] = block + i * QUOTA_CHUNK;
	}
	return true;
}

void *quota_pool_take(struct quota_pool *p, size_t size, uint32_t *ret_ref)
{
	size_t units = (size + 7) / 8;
	uint32_t ref = p->free[units];
	uint64_t *chunk;

	if (ref != 0) {
		void *at = quota_pool_at(p, ref);

		memcpy(&p->free[units], at, sizeof(uint32_t));
		*ret_ref = ref;
		return at;
	}
	chunk = p->n_chunks == 0 ? NULL : (void *)p->chunks[p->n_chunks - 1];
	if (!chunk || chunk[0] + units > UNITS) {
		if (p->n_chunks == p->n_spare && !add_block(p)) {
			return NULL;
		}
		chunk = (void *)p->chunks[p->n_chunks++];
		chunk[0] = 1;
	}
	*ret_ref = (uint32_t)((p->n_chunks - 1) * UNITS + chunk[0]);
	chunk[0] += units;
	return &chunk[chunk[0] - units];
}

void quota_pool_give(struct quota_pool *p, uint32_t ref, size_t size)
{
	size_t units = (size + 7) / 8;

	memcpy(quota_pool_at(p, ref), &p->free[units], sizeof(uint32_t));
	p->free[units] = ref;
}

void quota_pool_done(struct quota_pool *p)
{
	for (size_t i = 0; i < p->n_blocks; i++) {
		mk_free(p->blocks[i]);
	}
	mk_free(p->blocks);
	mk_free(p->chunks);
}
