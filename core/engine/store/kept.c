/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that differ little; see kept.h. */
#include "core/engine/store/kept.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/delta.h"

enum {
	POOR = 3,            /* more than 1/POOR of texts is left: the model does not suit them */
	PATIENCE_FIRST = 4,  /* a model is judged after so many texts, ... */
	PATIENCE_MAX = 4096, /* ... the next one after twice as many, up to here */
};

struct model {
	size_t users; /* texts, and the struct models whose newest one it is */
	size_t n;
	char text[];
};

struct models {
	struct model *now; /* NULL: none yet */
	struct delta_index index;
	unsigned patience, texts; /* since 'now' is the model, the older ones count for less: */
	size_t left, whole;       /* bytes of what was left of them, and of them */
};

struct kept {
	struct model *model; /* NULL: 'data' is the text */
	uint32_t n;          /* bytes of 'data', but for a NUL behind them */
	uint32_t whole;      /* bytes of the text */
	char data[];
};

struct models *models_new(void)
{
	struct models *m = mk_calloc(1, sizeof(*m));

	if (m) {
		m->patience = PATIENCE_FIRST;
	}
	return m;
}

static void leave(struct model *m)
{
	if (m && --m->users == 0) {
		mk_free(m);
	}
}

void models_free(struct models *m)
{
	if (!m) {
		return;
	}
	delta_index_done(&m->index);
	leave(m->now);
	mk_free(m);
}

/* Makes 'text' the model of those to come. What was kept by the last one keeps it. */
static void renew(struct models *m, mk_str text)
{
	struct model *next = text.n <= DELTA_MODEL_MAX ? mk_malloc(sizeof(*next) + text.n) : NULL;
	struct delta_index index;

	if (!next) {
		return;
	}
	*next = (struct model){.users = 1, .n = text.n};
	memcpy(next->text, text.p, text.n);
	if (!delta_index_make(&index, (mk_str){next->text, next->n})) {
		mk_free(next);
		return;
	}
	delta_index_done(&m->index);
	leave(m->now);
	m->now = next;
	m->index = index;
}

/* 'n' bytes were left of 'text'. Is it time for another model? */
static void judge(struct models *m, mk_str text, size_t n)
{
	m->texts++;
	m->left += n;
	m->whole += text.n;
	if (m->texts < m->patience) {
		return;
	}
	if (m->left > m->whole / POOR && n > text.n / POOR) {
		m->patience = m->patience < PATIENCE_MAX ? m->patience * 2 : PATIENCE_MAX;
		m->texts = 0;
		m->left = m->whole = 0;
		renew(m, text);
	} else if (m->texts >= 2 * m->patience) {
		m->texts /= 2;
		m->left /= 2;
		m->whole /= 2;
	}
}

static struct kept *make(struct model *model, mk_str data, size_t whole)
{
	struct kept *k = mk_malloc(sizeof(*k) + data.n + 1);

	if (!k) {
		return NULL;
	}
	*k = (struct kept){.model = model, .n = (uint32_t)data.n, .whole = (uint32_t)whole};
	memcpy(k->data, data.p, data.n);
	k->data[data.n] = '\0';
	if (model) {
		model->users++;
	}
	return k;
}

struct kept *kept_new(struct models *m, mk_str text, struct arena *scratch)
{
	char *room;
	struct kept *k;
	size_t n;

	if (!m->now) {
		renew(m, text);
	}
	room = arena_alloc_raw(scratch, text.n);
	n = room ? delta_write(&m->index, text, room, text.n) : 0;
	k = n > 0 ? make(m->now, (mk_str){room, n}, text.n) : make(NULL, text, text.n);
	if (k) {
		judge(m, text, n > 0 ? n : text.n);
	}
	return k;
}

void kept_free(struct kept *k)
{
	if (k) {
		leave(k->model);
		mk_free(k);
	}
}

size_t kept_size(const struct kept *k)
{
	return k ? sizeof(*k) + k->n + 1 : 0;
}

mk_str kept_text(const struct kept *k, struct arena *a)
{
	char *to;

	if (!k->model) {
		return (mk_str){k->data, k->n};
	}
	to = arena_alloc_raw(a, (size_t)k->whole + 1);
	if (!to || !delta_read((mk_str){k->model->text, k->model->n}, (mk_str){k->data, k->n}, to,
			       k->whole)) {
		return (mk_str){NULL, 0};
	}
	to[k->whole] = '\0';
	return (mk_str){to, k->whole};
}
