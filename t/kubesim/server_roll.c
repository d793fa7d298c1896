/* SPDX-License-Identifier: Apache-2.0 */
/* Trouble of a whole fleet: all workers restart in turn; one floods its watches with objects. */
#include <stdio.h>

#include "core/base/alloc.h"
#include "t/kubesim/server_priv.h"

struct roll {
	struct server *server;
	struct event *timer;
	size_t next; /* cluster */
	int64_t down_ms, every_ms;
};

static void on_turn(evutil_socket_t fd, short what, void *ctx)
{
	struct roll *r = ctx;
	const struct server *s = r->server;
	struct timeval tv = {.tv_sec = r->every_ms / 1000, .tv_usec = r->every_ms % 1000 * 1000};

	(void)fd;
	(void)what;
	while (r->next < s->n_clusters && s->cluster[r->next]->role != KS_WORKER) {
		r->next++;
	}
	if (r->next < s->n_clusters) {
		cluster_restart(s->cluster[r->next++], r->down_ms);
		event_add(r->timer, &tv);
	}
}

bool roll_begin(struct server *s, const struct json *o)
{
	struct timeval soon = {.tv_usec = 20000}; /* the answer to the request goes out first */
	struct roll *r;

	if (roll_left(s) > 0) {
		return false;
	}
	r = mk_calloc(1, sizeof(*r));
	if (!r) {
		return false;
	}
	r->server = s;
	r->down_ms = json_int(json_get(o, "downMs"), 100);
	r->every_ms = json_int(json_get(o, "everyMs"), 20);
	r->timer = event_new(s->base, -1, 0, on_turn, r);
	if (!r->timer || r->down_ms < 0 || r->every_ms < 0 || event_add(r->timer, &soon) != 0) {
		roll_free(r);
		return false;
	}
	roll_free(s->roll);
	s->roll = r;
	return true;
}

size_t roll_left(const struct server *s)
{
	size_t n = 0;

	for (size_t i = s->roll != NULL ? s->roll->next : s->n_clusters; i < s->n_clusters; i++) {
		n += s->cluster[i]->role == KS_WORKER;
	}
	return n;
}

void roll_free(struct roll *r)
{
	if (r != NULL && r->timer != NULL) {
		event_free(r->timer);
	}
	mk_free(r);
}

/* --- too many objects ------------------------------------------------------------------------- */

void flood_begin(struct cluster *c, uint64_t n)
{
	for (LIST_EACH(i, &c->conns)) {
		const struct conn *conn = LIST_ENTRY(i, struct conn, node);

		for (LIST_EACH(j, &conn->exchanges)) {
			struct exchange *ex = LIST_ENTRY(j, struct exchange, node);

			if (ex->resp.watch != 0 && ex->target.n != 0 &&
			    strstr(ex->target.p, "/workloads?") != NULL) {
				ex->flood = n;
			}
		}
	}
	cluster_kick(c);
}

bool flood_next(struct exchange *ex)
{
	unsigned long long n = --ex->flood;

	ex->frame = arena_printf(
		&ex->frame_a,
		"{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"kueue.x-k8s.io/"
		"v1beta2\",\"kind\":"
		"\"Workload\",\"metadata\":{\"name\":\"flood-%llu\",\"namespace\":\"default\","
		"\"uid\":"
		"\"f100d000-0000-4000-8000-%012llx\",\"resourceVersion\":\"%llu\",\"generation\":1,"
		"\"labels\":{\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"}},\"spec\":{"
		"\"queueName\":\"user-queue\",\"podSets\":[{\"name\":\"main\",\"count\":1,"
		"\"template\":"
		"{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],\"restartPolicy\":"
		"\"Never\"}}}]},\"status\":{}}}\n",
		n, n, (unsigned long long)ks_rv(ex->conn->cluster->store));
	return ex->frame.n != 0;
}
