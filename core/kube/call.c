/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests on the transport. A token is a slot number and a generation, so that the call is found
 * at once and a token of an earlier call in the slot finds none.
 */
#include "core/base/alloc.h"
#include "core/kube/impl.h"

struct call {
	struct list_node node; /* in link->calls, or in kube->dead */
	struct link *l;
	uint64_t token;
	call_done_fn *done;
	void (*head)(struct kube *k, void *ctx);
	void (*chunk)(struct kube *k, void *ctx, mk_str bytes);
	void *ctx;
	void (*drop)(void *ctx);
	bool is_watch;
	bool streaming; /* the head was 200: bytes go to 'chunk' */
	int http;
	int64_t retry_after_ms;
	char content_type[64];
	struct buf body;
};

enum { SLOTS_FIRST = 64 };

static bool grow(struct kube *k)
{
	uint32_t size = k->n_slots == 0 ? SLOTS_FIRST : k->n_slots * 2;
	struct call **slots = NULL;
	uint32_t *free_slots = NULL;

	if (k->n_slots >= CALLS_MAX) {
		return false;
	}
	slots = mk_realloc(k->slots, size * sizeof(struct call *));
	if (!slots) {
		return false;
	}
	k->slots = slots;
	free_slots = mk_realloc(k->free_slots, size * sizeof(uint32_t));
	if (!free_slots) {
		return false;
	}
	k->free_slots = free_slots;
	for (uint32_t i = size; i > k->n_slots; i--) {
		k->slots[i - 1] = NULL;
		k->free_slots[k->n_free++] = i - 1;
	}
	k->n_slots = size;
	return true;
}

static struct call *find(const struct kube *k, uint64_t token)
{
	uint32_t i = (uint32_t)token;

	if (i >= k->n_slots || !k->slots[i] || k->slots[i]->token != token) {
		return NULL;
	}
	return k->slots[i];
}

/* Takes the token back; the call itself stays. */
static void release(struct kube *k, struct call *c)
{
	uint32_t i = (uint32_t)c->token;

	list_del(&c->node);
	if (c->token != UINT64_MAX) {
		k->slots[i] = NULL;
		k->free_slots[k->n_free++] = i;
		c->token = UINT64_MAX;
	}
}

static void free_call(struct call *c)
{
	buf_done(&c->body);
	mk_free(c);
}

enum mk_code call_start(struct kube *k, struct link *l, const struct call_spec *s,
			struct call **ret, struct mk_err *err)
{
	struct call *c = NULL;
	uint32_t slot = 0;
	enum mk_code code = ERR_OK;

	if (k->n_free == 0 && !grow(k)) {
		return err_set(err, ERR_NO_MEMORY, "too many requests, or out of memory");
	}
	c = mk_calloc(1, sizeof(*c));
	if (!c) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	slot = k->free_slots[--k->n_free];
	k->generation++;
	c->token = (uint64_t)k->generation << 32 | slot;
	c->l = l;
	c->done = s->done;
	c->head = s->head;
	c->chunk = s->chunk;
	c->ctx = s->ctx;
	c->drop = s->drop;
	c->is_watch = s->req.cls == TRANSPORT_WATCH;
	c->retry_after_ms = -1;
	buf_init(&c->body, BODY_MAX);
	k->slots[slot] = c;
	list_add_tail(&l->calls, &c->node);
	code = k->transport->send(k->transport->ctx, l->id, &s->req, c->token, err);
	if (code != ERR_OK) {
		release(k, c);
		free_call(c);
		return code;
	}
	*ret = c;
	return ERR_OK;
}

void call_cancel(struct kube *k, struct call *c)
{
	if (!c) {
		return;
	}
	if (c->token != UINT64_MAX) {
		k->transport->cancel(k->transport->ctx, c->l->id, c->token);
	}
	release(k, c);
	free_call(c);
}

void call_abandon(struct kube *k, struct link *l)
{
	for (LIST_EACH_SAFE(n, &l->calls)) {
		struct call *c = LIST_ENTRY(n, struct call, node);

		release(k, c);
		if (c->drop != NULL) {
			c->l = NULL;
			list_add_tail(&k->dead, &c->node);
		} else {
			free_call(c);
		}
	}
}

void call_run_dead(struct kube *k)
{
	while (!list_empty(&k->dead)) {
		struct call *c = LIST_ENTRY(k->dead.next, struct call, node);
		struct answer an = {.end = TRANSPORT_LOST,
				    .code = ERR_UNAVAILABLE,
				    .text = STR("the connection was closed"),
				    .retry_after_ms = -1};

		list_del(&c->node);
		c->done(k, c->ctx, &an);
		free_call(c);
		if (slice_spent(k->slice)) {
			return;
		}
	}
}

static void drop_call(struct call *c)
{
	if (c->drop != NULL) {
		c->drop(c->ctx);
	}
	list_del(&c->node);
	free_call(c);
}

void call_free_all(struct kube *k)
{
	for (uint32_t i = 0; i < k->n_slots; i++) {
		if (k->slots[i] != NULL) {
			drop_call(k->slots[i]);
		}
	}
	while (!list_empty(&k->dead)) {
		drop_call(LIST_ENTRY(k->dead.next, struct call, node));
	}
	mk_free(k->slots);
	mk_free(k->free_slots);
}

static void finish(struct kube *k, struct call *c, enum transport_end end, enum mk_code code,
		   mk_str text)
{
	struct answer an = {.end = end,
			    .code = code,
			    .text = text,
			    .http = c->http,
			    .content_type = str_of(c->content_type),
			    .retry_after_ms = c->retry_after_ms,
			    .body = buf_str(&c->body)};

	if (c->http == 401) {
		access_denied(k, c->l);
	}
	release(k, c);
	c->done(k, c->ctx, &an);
	free_call(c);
	kube_clear(k);
}

static void on_head(void *ctx, uint64_t token, const struct transport_head *head)
{
	struct kube *k = ctx;
	struct call *c = find(k, token);
	mk_str type = str_cut(head->content_type, sizeof(c->content_type) - 1);

	if (!c) {
		return;
	}
	c->http = head->status;
	c->retry_after_ms = head->retry_after_ms;
	if (type.n > 0) {
		memcpy(c->content_type, type.p, type.n);
	}
	c->content_type[type.n] = '\0';
	if (c->is_watch) {
		c->l->last_byte_ms = k->mono_ms;
	}
	if (c->chunk != NULL && head->status == 200) {
		c->streaming = true;
		c->head(k, c->ctx);
		kube_clear(k);
	}
}

static void on_chunk(void *ctx, uint64_t token, mk_str bytes)
{
	struct kube *k = ctx;
	struct call *c = find(k, token);

	if (!c) {
		return;
	}
	if (c->is_watch) {
		c->l->last_byte_ms = k->mono_ms;
	}
	if (c->streaming) {
		c->chunk(k, c->ctx, bytes);
		kube_clear(k);
		return;
	}
	if (!buf_add(&c->body, bytes)) {
		bool too_long = bytes.n > BODY_MAX - c->body.n;

		k->transport->cancel(k->transport->ctx, c->l->id, token);
		finish(k, c, TRANSPORT_LOST, too_long ? ERR_TOO_BIG : ERR_NO_MEMORY,
		       too_long ? STR("the answer is too long") : STR("out of memory"));
	}
}

static void on_end(void *ctx, uint64_t token, enum transport_end end, enum mk_code code,
		   mk_str text)
{
	struct kube *k = ctx;
	struct call *c = find(k, token);

	if (c != NULL) {
		if (c->is_watch && end == TRANSPORT_OK) {
			c->l->last_byte_ms = k->mono_ms;
		}
		finish(k, c, end, code, text);
	}
}

static void on_barren(void *ctx, uint32_t cluster, size_t n, mk_str what)
{
	struct kube *k = ctx;
	struct link *l = link_find(k, cluster);

	if (l != NULL && l->phase > PHASE_WAIT && !link_affords(k, l, n)) {
		link_floods(k, l, STR("the server"), what);
	}
	kube_clear(k);
}

const struct transport_sink call_sink = {
	.on_head = on_head, .on_chunk = on_chunk, .on_end = on_end, .on_barren = on_barren};
