/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control paths of a cluster, for its admin:
 *   GET /kubesim/counts {"clients": requests over the network by user agent and kind, "store": all
 *                               requests by kind (the controllers' too), and totals}
 *   GET  /kubesim/logs          output of local-mode pods
 *   GET  /kubesim/faults        the faults that are set
 *   POST /kubesim/faults        merge: {"refuse","delayMs":[a,b],"unavailable":[n,d],
 *                        "limited":[n,d],"dropReply":[n,d],"dropResets","dataMax","match","http1",
 *                        "flood": who watches gets without end "newlines", "pings", "settings",
 *                        "updates", empty "data", "unknown" frames; over HTTP/1.1 "chunks"; or
 *                        in place of every answer to the daemon "hints" (1xx), "heads" without
 *                        end, one that is a "bomb", "many" or "big", over HTTP/1.1 a "longline" or
 *                        "trailers", or a body of "spaces", "numbers", "items", one "line",
 *                        "bookmarks", "gzip"; or lists of Workloads in "pages" without end, of
 *                        the same objects ("pages-again"), of none ("pages-empty"); or one of the
 *                        odd answers in server_odd.c}
 *   DELETE /kubesim/faults      none any more
 *   POST /kubesim/pause         {"pausedMs": n}: neither reads nor writes for that time
 *   POST /kubesim/restart       {"downMs": n}: closes port and connections for that time
 *   POST /kubesim/crd {"group","version","plural","kind"}: serves one more
 *   resource with a status of its own, namespaced
 *                               unless "noStatus" or "clusterScoped" is true
 *   POST /kubesim/token         {"token": t}: lets t in as the admin, in place of the last one
 *   POST /kubesim/policy        in place of the last one: {"deny": ["VERB GROUP/RESOURCE"], for
 *                        access reviews; "rules": [{"match": part of "<METHOD> <target>", and
 *                        "status", "message" or "body" or "text" with "times": the answer, or
 *                        "merge": into the body}],
 *                        "accounts": {USER: ["VERB GROUP/RESOURCE"]}, all that those may who are
 *                        impersonated (absent: everything); "skewMs": of the header Date;
 *                        "show": [{"kind", "name", "merge"}]: what the daemon sees of such objects}
 *   POST /kubesim/load   {"n", "prefix", "runMs", "perSecond", "delete"}: makes n Jobs in all
 *                        queues, perSecond (0: as fast as it can), and deletes those that finished
 *   GET  /kubesim/load          what became of them, and what is left on the workers
 *   POST /kubesim/roll          {"downMs", "everyMs"}: restarts all workers in turn
 *   POST /kubesim/flood         {"n"}: open watches of Workloads get n made-up objects
 *   POST /kubesim/end-watches, /kubesim/compact, /kubesim/goaway, /kubesim/close
 */
#include <stdio.h>

#include "t/kubesim/server_priv.h"

static void answer_json(struct exchange *ex, const struct json *o)
{
	exchange_answer(ex, 200, "application/json", json_write(&ex->a, o));
}

static void counts(struct exchange *ex)
{
	const struct cluster *c = ex->conn->cluster;
	struct json *o = json_new_obj(&ex->a), *by = json_new_obj(&ex->a);
	const struct ks_count *list;
	size_t n = ks_counts(c->store, &list);
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++) {
		struct json *e = json_new_obj(&ex->a);

		json_set_int(&ex->a, e, "n", (int64_t)list[i].n);
		json_set_int(&ex->a, e, "refused", (int64_t)list[i].refused);
		json_set(&ex->a, by, str_of(list[i].key), e);
		total += list[i].n;
	}
	json_set(&ex->a, o, STR("clients"), counts_json(c, &ex->a));
	json_set(&ex->a, o, STR("store"), by);
	json_set_int(&ex->a, o, "total", (int64_t)total);
	json_set_int(&ex->a, o, "bytesOut", (int64_t)c->bytes_out);
	json_set_int(&ex->a, o, "bytesFlooded", (int64_t)c->bytes_flooded);
	json_set_int(&ex->a, o, "connections", (int64_t)c->n_connections);
	json_set_int(&ex->a, o, "resourceVersion", (int64_t)ks_rv(c->store));
	if (c->actors != NULL) {
		json_set_int(&ex->a, o, "actorWritesRefused",
			     (int64_t)ks_actors_refused(c->actors));
		json_set_str(&ex->a, o, "actorLastError", str_of(ks_actors_last_error(c->actors)));
	}
	answer_json(ex, o);
}

/* --- faults ----------------------------------------------------------------------------------- */

static void get_rate(const struct json *o, const char *key, struct rate *r)
{
	const struct json *v = json_get(o, key);

	if (v != NULL) {
		r->num = (uint64_t)json_int(json_elem(v, 0), 0);
		r->den = (uint64_t)json_int(json_elem(v, 1), 0);
	}
}

static void get_bool(const struct json *o, const char *key, bool *ret)
{
	if (json_get(o, key) != NULL) {
		*ret = json_bool(json_get(o, key));
	}
}

static struct json *put_rate(struct arena *a, const struct rate *r)
{
	struct json *v = json_new_arr(a);

	json_add(a, v, json_new_int(a, (int64_t)r->num));
	json_add(a, v, json_new_int(a, (int64_t)r->den));
	return v;
}

static void show_faults(struct exchange *ex)
{
	const struct faults *f = &ex->conn->cluster->faults;
	struct json *o = json_new_obj(&ex->a), *delay = json_new_arr(&ex->a);

	json_set_bool(&ex->a, o, "paused", f->paused);
	json_set_bool(&ex->a, o, "refuse", f->refuse);
	json_add(&ex->a, delay, json_new_int(&ex->a, f->delay_ms_min));
	json_add(&ex->a, delay, json_new_int(&ex->a, f->delay_ms_max));
	json_set(&ex->a, o, STR("delayMs"), delay);
	json_set(&ex->a, o, STR("unavailable"), put_rate(&ex->a, &f->unavailable));
	json_set(&ex->a, o, STR("limited"), put_rate(&ex->a, &f->limited));
	json_set(&ex->a, o, STR("dropReply"), put_rate(&ex->a, &f->drop_reply));
	json_set_bool(&ex->a, o, "http1", f->http1);
	json_set_bool(&ex->a, o, "dropResets", f->drop_resets);
	json_set_int(&ex->a, o, "dataMax", (int64_t)f->data_max);
	json_set_str(&ex->a, o, "match", str_of(f->match));
	json_set_str(&ex->a, o, "flood", str_of(f->flood));
	answer_json(ex, o);
}

static void set_faults(struct exchange *ex, const struct json *o)
{
	struct cluster *c = ex->conn->cluster;
	struct faults *f = &c->faults;
	const struct json *delay = json_get(o, "delayMs");
	mk_str match = json_str(json_get(o, "match")), flood = json_str(json_get(o, "flood"));

	get_bool(o, "refuse", &f->refuse);
	get_bool(o, "http1", &f->http1);
	get_bool(o, "dropResets", &f->drop_resets);
	get_rate(o, "unavailable", &f->unavailable);
	get_rate(o, "limited", &f->limited);
	get_rate(o, "dropReply", &f->drop_reply);
	if (delay != NULL) {
		f->delay_ms_min = json_int(json_elem(delay, 0), 0);
		f->delay_ms_max = json_int(json_elem(delay, 1), f->delay_ms_min);
	}
	if (json_get(o, "dataMax") != NULL) {
		f->data_max = (size_t)json_int(json_get(o, "dataMax"), 0);
	}
	if (json_get(o, "match") != NULL) {
		snprintf(f->match, sizeof(f->match), "%.*s", STR_ARG(match));
	}
	if (json_get(o, "flood") != NULL && flood_is_known(flood)) {
		snprintf(f->flood, sizeof(f->flood), "%.*s", STR_ARG(flood));
		cluster_kick(c);
	}
	show_faults(ex);
}

/* A paused cluster cannot be asked to go on, so a pause has an end. */
static void on_resume(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	cluster_pause(ctx, false);
}

static void on_pause(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	cluster_pause(ctx, true);
}

static void pause_for(struct exchange *ex, int64_t ms)
{
	struct cluster *c = ex->conn->cluster;
	struct timeval soon = {.tv_usec = 20000};
	struct timeval later = {.tv_sec = (ms + 20) / 1000, .tv_usec = (ms + 20) % 1000 * 1000};

	/* the answer to this request still goes out */
	event_base_once(c->server->base, -1, EV_TIMEOUT, on_pause, c, &soon);
	event_base_once(c->server->base, -1, EV_TIMEOUT, on_resume, c, &later);
}

/* --- actions ---------------------------------------------------------------------------------- */

static void on_restart(evutil_socket_t fd, short what, void *ctx)
{
	struct cluster *c = ctx;

	(void)fd;
	(void)what;
	cluster_restart(c, c->restart_ms);
}

static void on_close_all(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	cluster_close_all(ctx);
}

static void later(struct exchange *ex, event_callback_fn fn)
{
	struct timeval soon = {.tv_usec = 20000};

	event_base_once(ex->conn->cluster->server->base, -1, EV_TIMEOUT, fn, ex->conn->cluster,
			&soon);
}

static void goaway(struct cluster *c)
{
	for (LIST_EACH_SAFE(n, &c->conns)) {
		struct conn *conn = LIST_ENTRY(n, struct conn, node);

		if (conn->h2 != NULL) {
			h2_goaway(conn);
		}
	}
}

/* Text of a member of 'o', NUL-terminated in the exchange's arena. */
static const char *word(struct exchange *ex, const struct json *o, const char *key)
{
	const char *s = arena_dup(&ex->a, json_str(json_get(o, key))).p;

	return s ? s : "";
}

static bool answer_empty(struct exchange *ex)
{
	answer_json(ex, json_new_obj(&ex->a));
	return true;
}

static bool act(struct exchange *ex, mk_str what, const struct json *o)
{
	struct cluster *c = ex->conn->cluster;

	if (str_is(what, "end-watches")) {
		ks_watch_end_all(c->store);
	} else if (str_is(what, "compact")) {
		ks_compact(c->store);
	} else if (str_is(what, "goaway")) {
		goaway(c);
	} else if (str_is(what, "close")) {
		later(ex, on_close_all);
	} else if (str_is(what, "restart")) {
		c->restart_ms = json_int(json_get(o, "downMs"), 0);
		later(ex, on_restart);
	} else if (str_is(what, "token")) {
		snprintf(c->lent_token, sizeof(c->lent_token), "%.*s",
			 STR_ARG(json_str(json_get(o, "token"))));
	} else if (str_is(what, "policy")) {
		return policy_set(c, buf_str(&ex->body)) && answer_empty(ex);
	} else if (str_is(what, "pause")) {
		pause_for(ex, json_int(json_get(o, "pausedMs"), 1000));
	} else if (str_is(what, "load")) {
		return load_begin(c, o) && answer_empty(ex);
	} else if (str_is(what, "roll")) {
		return roll_begin(c->server, o) && answer_empty(ex);
	} else if (str_is(what, "flood")) {
		flood_begin(c, (uint64_t)json_int(json_get(o, "n"), 0));
	} else if (str_is(what, "crd")) {
		if (!ks_register_crd(c->store, word(ex, o, "group"), word(ex, o, "version"),
				     word(ex, o, "plural"), word(ex, o, "kind"),
				     !json_bool(json_get(o, "clusterScoped")),
				     !json_bool(json_get(o, "noStatus")))) {
			return false;
		}
	} else {
		return false;
	}
	return answer_empty(ex);
}

void control_handle(struct exchange *ex, mk_str path)
{
	mk_str what = str_sub(path, sizeof("/kubesim/") - 1, path.n);
	struct json *o = NULL;
	bool get = str_is(ex->method, "GET");

	if (ex->body.n != 0 && json_parse(&ex->a, buf_str(&ex->body), &o, NULL) != ERR_OK) {
		exchange_status(ex, 400, "BadRequest", "the body is no JSON");
		return;
	}
	if (get && str_is(what, "counts")) {
		counts(ex);
	} else if (get && str_is(what, "logs")) {
		answer_json(ex, local_logs(ex->conn->cluster, &ex->a));
	} else if (get && str_is(what, "load")) {
		answer_json(ex, load_json(ex->conn->cluster, &ex->a));
	} else if (get && str_is(what, "faults")) {
		show_faults(ex);
	} else if (str_is(what, "faults") && str_is(ex->method, "DELETE")) {
		ex->conn->cluster->faults = (struct faults){.paused = false};
		show_faults(ex);
	} else if (str_is(what, "faults") && !get) {
		set_faults(ex, o);
	} else if (get || !act(ex, what, o)) {
		exchange_status(ex, 404, "NotFound", "no such control path");
	}
}
