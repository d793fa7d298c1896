/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to a cluster in worlds and in stories: a controller deletes what it did not make, a
 * kind is not served, the origin changes, the manager is built anew.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/timefmt.h"
#include "t/sim/sim.h"

/* --- what deletes what it did not make -------------------------------------------------------- */

static bool is_old(struct sim *s, const struct json *o, int64_t age_ms, bool finished)
{
	const struct json *at = json_at(o, "/metadata/creationTimestamp");
	struct json_iter it = json_iter(json_at(o, "/status/conditions"));
	int64_t ms;

	while (finished && json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), "Finished")) {
			at = json_get(it.val, "lastTransitionTime");
		}
	}
	return json_str_at(o, ORIGIN).n > 0 && !json_at(o, "/metadata/deletionTimestamp") &&
	       (!finished || has_condition(o, "Finished")) && time_parse(json_str(at), &ms) &&
	       wall_of(s) >= ms + age_ms;
}

void world_delete(struct plane *p, const char *resource, mk_str name)
{
	struct arena *a = &p->sim->arena;
	mk_str key = arena_dup(a, name);
	const char *plural = strrchr(resource, '/');

	say(p->sim, "world", "%s: %.*s is deleted", p->name, STR_ARG(key));
	(void)plane_request(p, "DELETE",
			    arena_printf(a, "/apis/%.*s/namespaces/default%s/%.*s",
					 (int)(plural - resource), resource, plural, STR_ARG(key))
				    .p,
			    NULL, STR("{\"propagationPolicy\":\"Background\"}"));
}

void world_unmake(struct sim *s, mk_str name)
{
	for (size_t k = 1; k <= s->n_workers; k++) {
		if (ks_get(s->plane[k].store, JOBS, STR("default"), name)) {
			world_delete(&s->plane[k], JOBS, name);
		}
		if (ks_get(s->plane[k].store, WORKLOADS, STR("default"), name)) {
			world_delete(&s->plane[k], WORKLOADS, name);
		}
	}
}

size_t world_deletes(struct plane *p, const char *resource, int64_t age_ms, bool finished)
{
	struct sim *s = p->sim;
	size_t pos = 0, n = 0;
	const struct json *o;

	for (o = ks_each(p->store, resource, &pos); o != NULL;
	     o = ks_each(p->store, resource, &pos)) {
		if (is_old(s, o, age_ms, finished)) {
			world_delete(p, resource, json_str_at(o, "/metadata/name"));
			n++;
		}
	}
	return n;
}

/* --- kinds that come and go ------------------------------------------------------------------- */

void world_crd(struct plane *p, bool served)
{
	struct sim *s = p->sim;
	size_t pos = 0;
	const struct json *o;

	for (o = served ? NULL : ks_each(p->store, JOBS, &pos); o != NULL;
	     o = ks_each(p->store, JOBS, &pos)) {
		const char *path = arena_printf(&s->arena, JOB_PATH "%.*s",
						STR_ARG(json_str_at(o, "/metadata/name")))
					   .p;

		/* With the definition of a kind go its objects. */
		(void)plane_request(p, "DELETE", path, NULL,
				    STR("{\"propagationPolicy\":\"Background\"}"));
		(void)plane_merge(p, path, STR("{\"metadata\":{\"finalizers\":null}}"));
	}
	(void)ks_serve(p->store, JOBS, served);
	ks_watch_end_all(p->store);
	plane_watches(p);
}

/* --- another origin, another manager ---------------------------------------------------------- */

void world_restart(struct sim *s, struct site *site, struct rng *r)
{
	for (size_t i = 0; i < s->n_procs; i++) {
		if (s->proc[i].site == site) {
			proc_restart(&s->proc[i], r ? rng_range(r, 10, 3000) : 0);
		}
	}
}

void world_change_origin(struct site *site, const char *origin)
{
	size_t n = 0;

	for (size_t i = 0; i < site->n_former_origins; i++) {
		if (!str_is(site->former_origins[i], origin)) {
			site->former_origins[n++] = site->former_origins[i];
		}
	}
	if (n < MAX_ORIGINS && strcmp(site->origin, origin) != 0) {
		site->former_origins[n++] = str_of(site->origin);
	}
	site->n_former_origins = n;
	site->origin = origin;
	say(site->sim, "world", "the origin is %s now", origin);
}

/* Every occurrence of the object's uid becomes another one. */
static void new_uid(char *text, size_t n, mk_str uid)
{
	static const char from[] = "0123456789abcdef", to[] = "89abcdef01234567";
	const char *digit = uid.n > 0 ? strchr(from, uid.p[0]) : NULL;
	char *at = text;

	while (digit && (at = memmem(at, n - (size_t)(at - text), uid.p, uid.n)) != NULL) {
		*at = to[digit - from];
		at += uid.n;
	}
}

static void new_uids(char *text, size_t n, const struct json *objects)
{
	static const char *const resources[] = {WORKLOADS, JOBS, "v1/namespaces"};

	for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++) {
		struct json_iter it = json_iter(json_get(objects, resources[i]));

		while (json_next(&it)) {
			new_uid(text, n, json_str_at(it.val, "/metadata/uid"));
		}
	}
}

void world_know_manager(struct site *site)
{
	const struct plane *p = &site->sim->plane[site->home];
	mk_str uid = json_str_at(ks_get(p->store, "v1/namespaces", STR(""), STR("kube-system")),
				 "/metadata/uid");

	if (str_is(uid, site->manager_id)) {
		return;
	}
	memcpy(site->former_manager, site->manager_id, sizeof(site->former_manager));
	snprintf(site->manager_id, sizeof(site->manager_id), "%.*s", STR_ARG(uid));
}

/*
 * What the backup left out: the status of what is not over, or Workloads, which Kueue makes anew.
 */
static void leave_out(struct arena *a, struct json *objects, bool status, bool workloads)
{
	static const char *const resources[] = {WORKLOADS, JOBS};

	for (size_t i = 0; status && i < 2; i++) {
		struct json_iter it = json_iter(json_get(objects, resources[i]));

		while (json_next(&it)) {
			if (!has_condition(it.val, "Finished") &&
			    !has_condition(it.val, "Complete") &&
			    !has_condition(it.val, "Failed")) {
				json_set(a, it.val, STR("status"), NULL);
			}
		}
	}
	if (workloads) {
		json_set(a, objects, STR(WORKLOADS), json_new_arr(a));
	}
}

/* The uid that the user's job has in the snapshot; that of now where it has none. */
static mk_str uid_in(struct arena *a, const struct json *objects, const struct user *u)
{
	struct json_iter it = json_iter(json_get(objects, user_resource(u)));

	while (json_next(&it)) {
		if (str_is(json_str_at(it.val, "/metadata/name"), u->name)) {
			return json_str_at(it.val, "/metadata/uid");
		}
	}
	return arena_dup(a, str_of(u->uid));
}

void world_rebuild(struct sim *s, struct site *site, const struct json *snapshot, bool status,
		   bool workloads)
{
	mk_str text = json_write(&s->arena, snapshot);
	char *copy = malloc(text.n + 1);
	struct json *changed = NULL;

	if (!copy) {
		abort();
	}
	memcpy(copy, text.p, text.n);
	new_uids(copy, text.n, json_get(snapshot, "objects"));
	if (json_parse(&s->arena, (mk_str){copy, text.n}, &changed, NULL) != ERR_OK) {
		abort();
	}
	free(copy);
	leave_out(&s->arena, json_get(changed, "objects"), !status, !workloads);
	plane_restore(&s->plane[site->home], changed);
	world_know_manager(site);
	for (size_t i = 0; i < s->n_users; i++) {
		struct user *u = &s->user[i];
		mk_str uid = uid_in(&s->arena, json_get(snapshot, "objects"), u);

		if (u->site == site && u->created) {
			user_restored(s, u);
			snprintf(u->former_uid, sizeof(u->former_uid), "%.*s", STR_ARG(uid));
		}
	}
	say(s, "world", "the manager is built anew");
}
