/* SPDX-License-Identifier: Apache-2.0 */
/* The link to a cluster; see link.h. */
#include "core/engine/clusters/link.h"

#include <stdio.h>

#include "core/base/alloc.h"
#include "core/engine/clusters/autoquota.h"
#include "core/engine/clusters/clusters.h"
#include "core/engine/clusters/server.h"
#include "core/engine/rules/alias.h"
#include "core/engine/store/touch.h"

enum { START_MS = 60 * 1000 };

static void manager_up(struct engine *e, mk_str identity)
{
	mk_str id = e->o.manager_id.n > 0 ? e->o.manager_id : identity;
	bool is_news = !str_is(id, e->manager_id);

	snprintf(e->manager_uid, sizeof(e->manager_uid), "%.*s", STR_ARG(identity));
	snprintf(e->manager_id, sizeof(e->manager_id), "%.*s", STR_ARG(id));
	for (WORKERS_EACH(c, e)) {
		cluster_know(e, c, str_of(c->own.identity));
		if (is_news) {
			cluster_look_for_others(e, c);
		}
	}
}

/*
 * Counts the failures in a row. The condition tells of the first, the second, the fourth and so on:
 * each text is a write.
 */
static void count_try(struct engine *e, struct cluster *c, const struct event *ev)
{
	if (ev->link != LINK_DOWN || ev->retry_after_ms < 0) {
		c->tries = 0;
		c->tries_told = 0;
		return;
	}
	c->tries++;
	if ((c->tries & (c->tries - 1)) == 0) {
		c->tries_told = c->tries;
		c->next_told = e->wall + ev->retry_after_ms;
	}
}

void link_event(struct engine *e, struct cluster *c, const struct event *ev)
{
	enum link_state before = c->link;
	/* It was lost, or is new: at the start of a process all come up. */
	bool back = ev->link == LINK_UP && before != LINK_UP && c->id != CLUSTER_MANAGER &&
		    (c->failed || e->now - e->start_ms > START_MS);

	if (before == LINK_UP && ev->link != LINK_UP) {
		alias_hide(e, c);
	}
	c->link = ev->link;
	count_try(e, c, ev);
	if (ev->link == LINK_UP) {
		c->glance |= before != LINK_UP && c->id != CLUSTER_MANAGER;
		c->decided = true;
		c->failed = false;
		c->own.lost_at = INT64_MAX;
		c->up_at = before == LINK_UP ? c->up_at : e->now;
		c->was_up = true;
		if (c->id == CLUSTER_MANAGER && ev->name.n > 0) {
			manager_up(e, ev->name);
		} else if (c->id != CLUSTER_MANAGER) {
			if (c->own.moved && ev->name.n == 0) {
				alias_know(e, c, STR(""));
			}
			c->own.moved = false;
			cluster_know(e, c, ev->name);
			if (cluster_record(e, c)) {
				server_see(e, c, cluster_record(e, c));
			}
		}
	} else if (ev->link == LINK_DOWN) {
		int64_t ago = ev->at_wall_ms > 0 && ev->at_wall_ms < e->wall
				      ? e->wall - ev->at_wall_ms
				      : 0;

		c->decided = true;
		c->failed = true;
		c->code = ev->code;
		c->http = ev->http;
		/* Without memory the text of the last loss stays; only the state matters. */
		(void)keep_str(&c->text, ev->text);
		(void)keep_str(&c->reason, ev->reason);
		if (c->own.lost_at == INT64_MAX) {
			c->own.lost_at = e->now - ago;
			c->own.lost_wall_ms = wall_second(e->wall - ago);
		}
	}
	queue_add(&e->queue, &c->item);
	if (back) {
		c->own.grew_at = e->wall;
	}
	if (before != c->link) {
		touch_view(e, c);
		autoquota_later(e);
	}
	if (before != c->link && c->id == CLUSTER_MANAGER) {
		touch_clusters(e); /* conditions may have changed while they could not be written */
	}
}
