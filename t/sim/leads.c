/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which server the name of a MultiKueueCluster leads to. A place is a server (I8): whatever a
 * Workload's clusterName leads to today, its winner is the server that it led to when it won.
 */
#include "core/api/names.h"
#include "core/base/hash.h"
#include "core/kube/transport.h"
#include "t/sim/sim.h"

size_t leads_to(const struct sim *s, size_t name)
{
	return s->leads_to[name] > 0 ? s->leads_to[name] : name;
}

bool leads_any(const struct sim *s, const struct plane *p)
{
	for (size_t i = 1; i <= leads_named(s); i++) {
		if (leads_to(s, i) == p->index) {
			return true;
		}
	}
	return !is_worker(p);
}

bool leads_forgotten(struct sim *s, const struct plane *p, const struct json *copy)
{
	const struct user *u = user_by_uid(s, json_str_at(copy, ORIGIN_UID));

	return !leads_any(s, p) && u != NULL &&
	       !str_eq(json_str_at(workload_of(s, u), "/metadata/uid"),
		       json_str_at(copy, WORKLOAD_UID));
}

static void annotate(struct sim *s, size_t name, mk_str lost)
{
	for (size_t k = 0; k < s->n_sites; k++) {
		(void)plane_merge(&s->plane[s->site[k].home],
				  arena_printf(&s->arena, KUEUE "multikueueclusters/w%zu", name).p,
				  arena_printf(&s->arena,
					       "{\"metadata\":{\"annotations\":{\"" NAME_SERVER_LOST
					       "\":%.*s}}}",
					       STR_ARG(lost)));
	}
}

static void annotate_all(struct sim *s, struct plane *p, bool lost)
{
	const struct json *ns = ks_get(p->store, "v1/namespaces", STR(""), STR("kube-system"));
	mk_str uid = json_str_at(ns, "/metadata/uid");

	say(s, "world", "%s is declared lost%s", p->name, lost ? "" : " no more");
	p->declared_lost = lost;
	for (size_t i = 1; i <= leads_named(s); i++) {
		annotate(s, i,
			 lost ? arena_printf(&s->arena, "\"%.*s\"", STR_ARG(uid)) : STR("null"));
	}
}

void leads_declare_lost(struct sim *s, struct plane *p)
{
	annotate_all(s, p, true);
}

void leads_move(struct sim *s, size_t name, size_t to)
{
	struct plane *before = &s->plane[leads_to(s, name)], *now = &s->plane[to];

	say(s, "world", "w%zu leads to %s, before to %s", name, now->name, before->name);
	s->leads_to[name] = to;
	s->led_at = s->now;
	plane_secret(s, name, false);
	if (now->declared_lost) {
		annotate_all(s, now, false);
	}
	/* Both are out of sight until they are connected again, the former one perhaps for good. */
	excuse_disturbed(before, true);
	excuse_disturbed(now, true);
	faults_calm(s, before);
	faults_calm(s, now);
}

/* The N of "wN"; 0: it is none. */
static size_t name_of(const struct sim *s, mk_str cluster)
{
	uint64_t n;

	return str_starts(cluster, STR("w")) && str_u64(str_sub(cluster, 1, cluster.n), &n) &&
			       n <= leads_named(s)
		       ? (size_t)n
		       : 0;
}

size_t leads_place(struct proc *p, const struct transport_request *r)
{
	static const char path[] = "/workloads/", member[] = "\"clusterName\":\"";
	const char *at = memmem(r->body.p, r->body.n, member, sizeof(member) - 1);
	mk_str rest, cluster;
	struct sent_win *win = &p->wins[hash64(r->body) % 64];
	size_t name;

	if (!at || !memmem(r->path.p, r->path.n, path, sizeof(path) - 1)) {
		return 0;
	}
	if (win->hash == hash64(r->body)) {
		return win->plane; /* decided before, and sent again */
	}
	rest = str_sub(r->body, (size_t)(at - r->body.p) + sizeof(member) - 1, r->body.n);
	str_split(&rest, '"', &cluster);
	name = name_of(p->sim, cluster);
	for (size_t i = 0; name > 0 && i < MAX_PLANES * 4; i++) {
		if (p->conn[i].open && p->conn[i].named == name) {
			*win = (struct sent_win){hash64(r->body), p->conn[i].plane};
			return win->plane;
		}
	}
	return 0;
}

void leads_won(struct sim *s, const struct json *wl)
{
	struct user *u = user_by_workload(s, wl);
	size_t name = name_of(s, json_str_at(wl, "/status/clusterName"));

	if (u != NULL && name > 0) {
		judged_of(s, u)->sent_to[name] = (uint8_t)s->sent_place;
	}
}

bool leads_renamed(struct sim *s, const struct json *wl)
{
	size_t name = name_of(s, json_str_at(wl, "/status/clusterName"));

	return name > 0 && leads_winner(s, wl) != &s->plane[leads_to(s, name)];
}

bool leads_unclear(struct sim *s, const struct json *wl)
{
	mk_str cluster = json_str_at(wl, "/status/clusterName");
	const struct user *u = user_by_workload(s, wl);
	size_t name = name_of(s, cluster);
	size_t sent = u != NULL && name > 0 ? judged_of(s, u)->sent_to[name] : 0;

	return sent > 0 && sent != leads_to(s, name) &&
	       judge_is_marked(s, user_job(u, &s->plane[leads_to(s, name)]));
}

struct plane *leads_winner(struct sim *s, const struct json *wl)
{
	mk_str cluster = json_str_at(wl, "/status/clusterName");
	const struct user *u = user_by_workload(s, wl);
	size_t name = name_of(s, cluster);
	size_t at = u != NULL && name > 0 ? judged_of(s, u)->sent_to[name] : 0;

	return leads_unclear(s, wl) ? NULL : at > 0 ? &s->plane[at] : plane_of_cluster(s, cluster);
}
