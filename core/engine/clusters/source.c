/* SPDX-License-Identifier: Apache-2.0 */
/* The source of a cluster's kubeconfig, and its link; see source.h. */
#include "core/engine/clusters/source.h"

#include "core/base/alloc.h"
#include "core/engine/act/note.h"
#include "core/engine/act/ops.h"
#include "core/engine/clusters/clusters.h"
#include "core/engine/clusters/profile.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/alias.h"
#include "core/engine/store/touch.h"

void source_disconnect(struct engine *e, struct cluster *c)
{
	struct op op = {
		.type = OP_DISCONNECT, .cluster = c->id, .kind = KIND_CLUSTER, .subresource = ""};

	if (cluster_up(c)) {
		alias_hide(e, c);
	}
	if (c->wanted) {
		op.name = arena_dup(e->out->arena, str_of(c->name));
		ops_plain(e, &op, R_DISCONNECT);
	}
}

/* Does another cluster use the file? */
static bool is_shared(const struct engine *e, const struct cluster *c)
{
	for (WORKERS_EACH(other, e)) {
		if (other != c && str_eq(str_of(other->own.file), str_of(c->own.file))) {
			return true;
		}
	}
	return false;
}

static void file_op(struct engine *e, enum op_type type, mk_str path)
{
	struct op op = {.type = type, .kind = KIND_FILE, .subresource = ""};

	op.name = arena_dup(e->out->arena, path);
	if (!op.name.p) {
		say_no_memory(e);
		return;
	}
	ops_plain(e, &op, type == OP_FILE_WATCH ? R_WATCH : R_UNWATCH);
}

void source_files_again(struct engine *e)
{
	for (WORKERS_EACH(c, e)) {
		if (str_of(c->own.file).n > 0) {
			file_op(e, OP_FILE_WATCH, str_of(c->own.file));
		}
	}
}

void source_file(struct engine *e, struct cluster *c, mk_str path)
{
	mk_str old = str_of(c->own.file);
	struct record *r;

	if (str_eq(old, path)) {
		return;
	}
	if (old.n > 0 && !is_shared(e, c)) {
		file_op(e, OP_FILE_UNWATCH, old);
		r = manager_named(e, KIND_FILE, old);
		if (r && !e->no_memory) {
			record_gone(&e->store, r, r->rv, r->epoch, e->now);
		}
	}
	if (path.n > 0) {
		file_op(e, OP_FILE_WATCH, path);
	}
	if (!e->no_memory && !keep_str(&c->own.file, path)) {
		say_no_memory(e);
	}
}

static void connect_now(struct engine *e, struct cluster *c, const struct source *s)
{
	struct op op = {.type = OP_CONNECT,
			.cluster = c->id,
			.kind = KIND_CLUSTER,
			.ns = e->o.namespace_,
			.name = arena_dup(e->out->arena, str_of(c->name)),
			.secret = arena_dup(e->out->arena, s->key),
			.body = s->body,
			.subresource = ""};
	struct table *workloads = table_of(e, c, KIND_WORKLOAD);

	c->own.moved |= c->own.secret_hash != s->hash;
	if (!workloads || !keep_str(&c->own.secret, s->key) || arena_failed(e->out->arena)) {
		say_no_memory(e);
		return;
	}
	c->own.secret_hash = s->hash;
	c->wanted = true;
	c->own.itself = false;
	ops_plain(e, &op, R_CONNECT);
	if (!workloads->watched) {
		watches_open(e, workloads);
	}
	watches_queues(e, c);
}

void source_down(struct engine *e, struct cluster *c, mk_str reason, mk_str text)
{
	c->link = LINK_DOWN;
	c->decided = true;
	c->failed = true;
	c->http = 0;
	c->tries = 0;
	c->tries_told = 0;
	if (c->own.lost_at == INT64_MAX) {
		c->own.lost_at = e->now;
		c->own.lost_wall_ms = wall_second(e->wall);
	}
	if (!keep_str(&c->reason, reason) || !keep_str(&c->text, text)) {
		say_no_memory(e);
	}
}

struct cluster *source_replace(struct engine *e, struct cluster *c)
{
	struct lasting own = c->own;
	mk_str name = arena_dup(&e->scratch, str_of(c->name));
	struct cluster *made;

	if (!name.p) {
		say_no_memory(e);
	} else {
		source_disconnect(e, c);
	}
	if (e->no_memory) {
		queue_add(&e->queue, &c->item); /* 'c' stays and needs another pass */
		return NULL;
	}
	cluster_touch(e, c);
	c->own = (struct lasting){0};
	cluster_forget(e, c);
	made = cluster_make(e, name);
	if (made) {
		made->own = own;
	} else {
		/* The clusters are listed anew, which makes it again. */
		table_break(e, manager_table(e, KIND_CLUSTER));
		lasting_done(&own);
	}
	return made;
}

struct cluster *source_refuse(struct engine *e, struct cluster *c, const char *reason, mk_str text)
{
	c = c->wanted ? source_replace(e, c) : c;
	if (c) {
		source_down(e, c, str_of(reason), text);
	}
	return c;
}

struct cluster *source_follow(struct engine *e, struct cluster *c, const struct source *s)
{
	bool same = c->own.secret_hash == s->hash && str_eq(str_of(c->own.secret), s->key);

	if (c->own.itself && same) {
		mk_str text = arena_dup(&e->scratch, str_of(c->text));

		return c->wanted ? source_refuse(e, c, "BadKubeConfig", text) : c;
	}
	if (!c->wanted && same && e->now < c->own.rest_until) {
		cluster_say_over(e, c);
		queue_add_at(&e->queue, &c->item, c->own.rest_until);
		return c;
	}
	if (!c->wanted) {
		c->decided = false;
		c->link = LINK_CONNECTING;
		connect_now(e, c, s);
	} else if (!same) {
		connect_now(e, c, s);
	}
	return c;
}

void source_touch(struct engine *e, uint32_t type, mk_str name)
{
	for (WORKERS_EACH(c, e)) {
		const struct record *r = cluster_record(e, c);

		if (r && facts_is(r->facts, type) &&
		    (name.n == 0 || str_eq(r->facts->s[S_LOCATION], name))) {
			queue_add(&e->queue, &c->item);
		}
	}
}

/* Sends one Event for each generation of the MultiKueueCluster. */
static void warn_of_path(struct engine *e, struct cluster *c, const struct record *r)
{
	if (e->o.gates.path_validation || !e->may_write ||
	    c->own.path_said == r->facts->generation) {
		return;
	}
	c->own.path_said = r->facts->generation;
	note_warn(
		e, r, "DeprecatedPathUsage",
		"Using locationType=Path without MultiKueueKubeConfigPathValidation feature gate "
		"is "
		"deprecated and will be removed in a future release. Enable the "
		"MultiKueueKubeConfigPathValidation feature gate and place kubeconfig files under "
		"/etc/multikueue/kubeconfigs/.");
}

static struct cluster *see_file(struct engine *e, struct cluster *c, const struct record *r)
{
	mk_str path = r->facts->s[S_LOCATION];
	const struct record *file = manager_named(e, KIND_FILE, path);

	warn_of_path(e, c, r);
	if (path.n == 0) {
		return source_refuse(e, c, "BadKubeConfig",
				     STR("kubeconfig path must not be empty"));
	}
	if (!file) {
		return c; /* not read yet */
	}
	if (file->facts->s[S_PROBLEM].n > 0) {
		return source_refuse(e, c, "BadKubeConfig", file->facts->s[S_PROBLEM]);
	}
	return source_follow(
		e, c,
		&(struct source){.key = arena_printf(&e->scratch, FILE_KEY "%.*s", STR_ARG(path)),
				 .hash = file->facts->hash});
}

struct cluster *source_see(struct engine *e, struct cluster *c, const struct record *r)
{
	mk_str location = r->facts->s[S_LOCATION];
	bool is_file = facts_is(r->facts, F_PATH);
	const struct record *secret;

	source_file(e, c, is_file ? location : STR_NONE);
	watches_use(e, CLUSTER_MANAGER, KIND_PROFILE, &c->by_profile,
		    e->o.gates.cluster_profile && !is_file && !facts_is(r->facts, F_SECRET));
	if (is_file) {
		return see_file(e, c, r);
	}
	if (!facts_is(r->facts, F_SECRET)) {
		return profile_see(e, c, r);
	}
	if (!manager_knows(e, KIND_SECRET)) {
		return c;
	}
	secret = manager_get(e, KIND_SECRET, e->o.namespace_, location);
	if (!secret) {
		return source_refuse(
			e, c, "BadKubeConfig",
			arena_printf(&e->scratch, "Secret \"%.*s\" not found", STR_ARG(location)));
	}
	return source_follow(e, c,
			     &(struct source){.key = secret->name, .hash = secret->facts->hash});
}
