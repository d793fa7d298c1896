/* SPDX-License-Identifier: Apache-2.0 */
/* Where a cluster's kubeconfig comes from, and the link that is opened with it. */
#include "core/engine/source.h"

void source_disconnect(struct engine *e, struct cluster *c)
{
	struct op op = {
		.type = OP_DISCONNECT, .cluster = c->id, .kind = KIND_CLUSTER, .subresource = ""};

	if (c->wanted) {
		op.name = arena_dup(e->out->arena, str_of(c->name));
		ops_plain(e, &op, R_DISCONNECT);
	}
}

static void connect_now(struct engine *e, struct cluster *c, const struct record *secret)
{
	struct op op = {.type = OP_CONNECT,
			.cluster = c->id,
			.kind = KIND_CLUSTER,
			.ns = e->o.namespace_,
			.name = arena_dup(e->out->arena, str_of(c->name)),
			.secret = arena_dup(e->out->arena, secret->name),
			.subresource = ""};
	struct table *workloads = table_of(e, c, KIND_WORKLOAD);

	if (!workloads || !keep_str(&c->secret, secret->name) || arena_failed(e->out->arena)) {
		say_no_memory(e);
		return;
	}
	c->secret_hash = secret->facts->hash;
	c->wanted = true;
	ops_plain(e, &op, R_CONNECT);
	if (!workloads->watched) {
		watch_open(e, workloads);
	}
}

/* The link was never tried: why not, in the words of the condition. */
static void set_down(struct engine *e, struct cluster *c, mk_str reason, mk_str text)
{
	c->link = LINK_DOWN;
	c->decided = true;
	c->failed = true;
	if (c->lost_at == INT64_MAX) {
		c->lost_at = e->now;
	}
	if (!keep_str(&c->reason, reason) || !keep_str(&c->text, text)) {
		say_no_memory(e);
	}
}

struct cluster *source_replace(struct engine *e, struct cluster *c)
{
	int64_t lost = c->lost_at;
	mk_str name = arena_dup(&e->scratch, str_of(c->name));
	struct cluster *made;

	if (!name.p) {
		say_no_memory(e);
		return NULL;
	}
	source_disconnect(e, c);
	if (e->no_memory) {
		return NULL;
	}
	cluster_forget(e, c);
	made = cluster_make(e, name);
	if (made) {
		made->lost_at = lost;
	} else {
		/* The list of clusters is read again and finds it. */
		struct table *t = e->clusters[CLUSTER_MANAGER]->tables[KIND_CLUSTER];

		t->broken = true;
		e->any_broken = true;
	}
	return made;
}

struct cluster *source_see(struct engine *e, struct cluster *c, const struct record *r)
{
	mk_str location = r->facts->s[S_LOCATION];
	const struct record *secret;

	if (!facts_is(r->facts, F_SECRET)) {
		c = c->wanted ? source_replace(e, c) : c;
		if (c && location.n > 0) {
			set_down(e, c, STR("BadKubeConfig"),
				 STR("only Secrets can hold a kubeconfig"));
		} else if (c) {
			set_down(e, c, STR("MultiKueueClusterProfileFeatureDisabled"),
				 STR("MultiKueueClusterProfile feature gate is disabled"));
		}
		return c;
	}
	if (!table_known(e, CLUSTER_MANAGER, KIND_SECRET)) {
		return c;
	}
	secret = manager_get(e, KIND_SECRET, e->o.namespace_, location);
	if (!secret) {
		c = c->wanted ? source_replace(e, c) : c;
		if (c) {
			set_down(e, c, STR("BadKubeConfig"),
				 arena_printf(&e->scratch, "secrets \"%.*s\" not found",
					      STR_ARG(location)));
		}
		return c;
	}
	if (!c->wanted) {
		c->decided = false;
		c->link = LINK_CONNECTING;
		connect_now(e, c, secret);
	} else if (c->secret_hash != secret->facts->hash ||
		   !str_eq(str_of(c->secret), secret->name)) {
		connect_now(e, c, secret);
	}
	return c;
}
