/* SPDX-License-Identifier: Apache-2.0 */
/* Places of connections; see http_room.h. */
#include "core/net/http_room.h"

#include <event2/listener.h>

#include "core/base/clock.h"

/* The first one there, when it has been there for that long. */
static struct connection *first(const struct http_room *r, enum http_place place, int64_t ms)
{
	const struct list_node *head = &r->places[place];
	struct connection *c;

	if (list_empty(head)) {
		return NULL;
	}
	c = LIST_ENTRY(head->next, struct connection, node);
	return clock_mono_ms() - c->since_ms >= ms ? c : NULL;
}

/* One that has its answer, or a piece of it, and does not take that. */
static struct connection *not_taking(const struct http_room *r)
{
	const struct list_node *head = &r->places[HTTP_BUSY];
	int64_t now = clock_mono_ms();

	for (struct list_node *n = head->next; n != head; n = n->next) {
		struct connection *c = LIST_ENTRY(n, struct connection, node);

		if (c->writing && (!c->waiting || c->part.more) &&
		    now - c->since_ms >= HTTP_ROOM_SLOW_MS) {
			return c;
		}
	}
	return NULL;
}

/* NULL: none gives way now. */
static struct connection *victim(const struct http_room *r)
{
	struct connection *c = first(r, HTTP_FRESH, HTTP_ROOM_SLOW_MS);

	c = c ? c : first(r, HTTP_IDLE, 0);
	c = c ? c : first(r, HTTP_FRESH, HTTP_ROOM_YOUNG_MS);
	return c ? c : not_taking(r);
}

/* Keeps one place free, or stops to accept until there is one. */
static void keep(struct http_room *r)
{
	struct connection *c = r->n < r->max ? NULL : victim(r);

	if (c) {
		r->drop(c);
	} else if (r->n >= r->max) {
		r->paused = true;
		evconnlistener_disable(r->listener);
		loop_timer_set(r->again, HTTP_ROOM_YOUNG_MS);
	}
}

static void look_again(void *ctx)
{
	struct http_room *r = ctx;

	if (r->n < r->max) {
		evconnlistener_enable(r->listener);
	} else {
		keep(r);
	}
}

bool http_room_init(struct http_room *r, struct loop *l, unsigned max,
		    void (*drop)(struct connection *c))
{
	*r = (struct http_room){.max = max, .drop = drop};
	for (size_t i = 0; i < HTTP_PLACES; i++) {
		list_init(&r->places[i]);
	}
	r->again = loop_timer_new(l, look_again, r);
	return r->again != NULL;
}

void http_room_done(struct http_room *r)
{
	if (r->listener) {
		evconnlistener_free(r->listener);
		r->listener = NULL;
	}
	loop_timer_free(r->again);
	for (size_t i = 0; i < HTTP_PLACES; i++) {
		while (!list_empty(&r->places[i])) {
			r->drop(LIST_ENTRY(r->places[i].next, struct connection, node));
		}
	}
}

void http_room_enter(struct http_room *r, struct connection *c)
{
	c->place = HTTP_FRESH;
	c->since_ms = clock_mono_ms();
	list_add_tail(&r->places[HTTP_FRESH], &c->node);
	r->n++;
	keep(r);
}

void http_room_move(struct http_room *r, struct connection *c, enum http_place place)
{
	r->n_busy += place == HTTP_BUSY;
	r->n_busy -= c->place == HTTP_BUSY;
	if (c->place != place) {
		c->since_ms = clock_mono_ms();
	}
	c->place = place;
	list_del(&c->node);
	list_add_tail(&r->places[place], &c->node);
}

void http_room_leave(struct http_room *r, struct connection *c)
{
	list_del(&c->node);
	r->n--;
	r->n_busy -= c->place == HTTP_BUSY;
	if (r->listener && r->paused && r->n < r->max) {
		r->paused = false;
		evconnlistener_enable(r->listener);
	}
}

void http_room_wait(struct http_room *r)
{
	evconnlistener_disable(r->listener);
	loop_timer_set(r->again, HTTP_ACCEPT_AGAIN_MS);
}
