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
		if (leads_to(s, i) == p->index && !s->off[i]) {
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

/* Both are out of sight until they are connected again, the former one perhaps for good. */
static void changed(struct sim *s, struct plane *before, struct plane *now)
{
	excuse_disturbed(before, true);
	excuse_disturbed(now, true);
	now->named_at = s->now;
	faults_calm(s, before);
	faults_calm(s, now);
}

void leads_move(struct sim *s, size_t name, size_t to)
{
	struct plane *before = &s->plane[leads_to(s, name)], *now = &s->plane[to];

	say(s, "world", "w%zu leads to %s, before to %s", name, now->name, before->name);
	s->has_moved[name] |= before != now;
	s->leads_to[name] = to;
	s->led_at = s->now;
	plane_secret(s, name, false);
	if (now->declared_lost) {
		annotate_all(s, now, false);
	}
	changed(s, before, now);
}

void leads_off(struct sim *s, size_t name, bool off)
{
	struct plane *p = &s->plane[leads_to(s, name)];

	if (s->off[name] == off) {
		return;
	}
	say(s, "world", "w%zu leads %s%s", name, off ? "nowhere, before to " : "again to ",
	    p->name);
	s->off[name] = off;
	s->off_since[name] = s->now;
	changed(s, p, p);
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

static struct sent_win *win_of(struct proc *p, mk_str workload)
{
	return &p->wins[hash64(workload) % (sizeof(p->wins) / sizeof(p->wins[0]))];
}

void leads_decided(struct proc *p, const struct op *op)
{
	mk_str cluster = json_str_at(op->body, "/status/clusterName");
	size_t name = op->cluster == 0 ? name_of(p->sim, cluster) : 0;

	for (size_t i = 0; name > 0 && i < MAX_PLANES * 4; i++) {
		if (p->conn[i].open && p->conn[i].named == name) {
			*win_of(p, op->name) =
				(struct sent_win){hash64(op->name), p->conn[i].plane};
		}
	}
}

size_t leads_place(struct proc *p, const struct transport_request *r)
{
	static const char path[] = "/workloads/", member[] = "\"clusterName\":\"";
	const char *at = memmem(r->path.p, r->path.n, path, sizeof(path) - 1);
	const struct sent_win *win;
	mk_str rest, workload;

	if (!at || !memmem(r->body.p, r->body.n, member, sizeof(member) - 1)) {
		return 0;
	}
	rest = str_sub(r->path, (size_t)(at - r->path.p) + sizeof(path) - 1, r->path.n);
	str_split(&rest, '/', &workload);
	win = win_of(p, workload);
	return win->hash == hash64(workload) ? win->plane : 0;
}

static uint64_t key_of(const struct json *wl)
{
	const struct json *check = json_find(json_at(wl, "/status/admissionChecks"), "name", "mk");

	return hash64(json_str_at(wl, "/status/clusterName")) ^
	       hash64(json_str_at(check, "/lastTransitionTime"));
}

void leads_won(struct sim *s, const struct json *wl)
{
	struct user *u = user_of_workload(s, wl);
	struct judged *j = u != NULL ? judged_of(s, u) : NULL;
	size_t name = name_of(s, json_str_at(wl, "/status/clusterName"));

	if (j != NULL && name > 0) {
		j->sent[j->n_sent++ % 8] =
			(struct sent){.key = key_of(wl), .name = name, .plane = s->sent_place};
	}
}

void leads_keep(struct judged *to, const struct judged *from)
{
	memcpy(to->sent, from->sent, sizeof(to->sent));
	to->n_sent = from->n_sent;
}

/* The one with this date, since a manager may be restored, else the last one of that name. */
static size_t sent_to(struct sim *s, const struct json *wl)
{
	const struct user *u = user_of_workload(s, wl);
	const struct judged *j = u != NULL ? judged_of(s, u) : NULL;
	size_t name = name_of(s, json_str_at(wl, "/status/clusterName")), to = 0;

	for (unsigned i = 0; j != NULL && i < j->n_sent && i < 8; i++) {
		const struct sent *sent = &j->sent[(j->n_sent - 1 - i) % 8];

		if (sent->key == key_of(wl)) {
			return sent->plane;
		}
		to = to == 0 && sent->name == name ? sent->plane : to;
	}
	return name > 0 ? to : 0;
}

bool leads_renamed(struct sim *s, const struct json *wl)
{
	size_t name = name_of(s, json_str_at(wl, "/status/clusterName"));

	return name > 0 && leads_winner(s, wl) != &s->plane[leads_to(s, name)];
}

int64_t leads_winner_off_since(const struct sim *s, const struct json *wl)
{
	size_t name = name_of(s, json_str_at(wl, "/status/clusterName"));

	return name > 0 && s->off[name] ? s->off_since[name] : INT64_MAX;
}

bool leads_won_by(const struct sim *s, const struct user *u, mk_str cluster)
{
	const struct judged *j = judged_of(s, u);

	return j->n_sent > 0 && name_of(s, cluster) > 0 &&
	       j->sent[(j->n_sent - 1) % 8].name == name_of(s, cluster);
}

struct plane *leads_winner(struct sim *s, const struct json *wl)
{
	mk_str cluster = json_str_at(wl, "/status/clusterName");
	size_t at = sent_to(s, wl);

	return at > 0 ? &s->plane[at] : plane_of_cluster(s, cluster);
}
