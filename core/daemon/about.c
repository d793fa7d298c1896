/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon was started with; see about.h. */
#include "core/daemon/about.h"

#include "core/daemon/rbac.h"

enum { RIGHTS_MAX = 1024 * 1024 };

static struct json *plugin_row(struct arena *a, const struct plug_source *s, const char *type)
{
	struct json *o = json_new_obj(a);

	json_set_str(a, o, "plugin", str_of(s->id));
	json_set_str(a, o, "type", str_of(type));
	json_set_str(a, o, "version", str_of(s->version));
	json_set_str(a, o, "abi", arena_printf(a, "%u.%u", s->abi_major, s->abi_minor));
	if (s->file[0] != '\0') {
		json_set_str(a, o, "file", str_of(s->file));
	}
	return o;
}

struct json *about_plugins(struct arena *a, const struct plug *p)
{
	struct json *o = json_new_obj(a), *items = json_new_arr(a);

	for (size_t i = 0; i < plug_n_adapters(p); i++) {
		const struct plug_adapter *ad = plug_adapter(p, i);
		struct json *row = plugin_row(a, &ad->source, "adapter");

		json_set_str(a, row, "name", ad->gvk);
		json_set_str(a, row, "apiVersion",
			     arena_printf(a, "%.*s%s%.*s", STR_ARG(ad->group),
					  ad->group.n > 0 ? "/" : "", STR_ARG(ad->version)));
		json_set_str(a, row, "kind", ad->kind);
		json_add(a, items, row);
	}
	for (size_t i = 0; i < plug_n_dispatchers(p); i++) {
		const struct plug_dispatcher *d = plug_dispatcher(p, i);
		struct json *row = plugin_row(a, &d->source, "dispatcher");

		json_set_str(a, row, "name", d->name);
		json_add(a, items, row);
	}
	json_set(a, o, STR("items"), items);
	return arena_failed(a) ? NULL : o;
}

static struct json *names(struct arena *a, const struct config_strs *list)
{
	struct json *v = json_new_arr(a);

	for (size_t i = 0; i < list->n; i++) {
		json_add(a, v, json_new_str(a, list->v[i]));
	}
	return v;
}

static struct json *rights(struct arena *a, const struct config *c, const struct plug *p)
{
	static const char *const keys[] = {"manager", "worker"};
	struct json *o = json_new_obj(a);

	for (int side = RBAC_MANAGER; side <= RBAC_WORKER; side++) {
		struct buf text;

		buf_init(&text, RIGHTS_MAX);
		rbac_print(c, p, (enum rbac_side)side, &text);
		json_set_str(a, o, keys[side], buf_str(&text));
		if (text.failed) {
			o = NULL;
		}
		buf_done(&text);
	}
	return o;
}

/* For each wall the account that its config's jobs are written as; "" the daemon's own. */
static struct json *accounts(struct arena *a, const struct json *walls)
{
	struct json *o = json_new_obj(a);
	struct json_iter it = json_iter(walls);

	while (json_next(&it)) {
		json_set(a, o, json_str(json_get(it.val, "config")),
			 json_new_str(a, json_str_at(it.val, "/impersonate/serviceAccount")));
	}
	return o;
}

struct json *about_settings(struct arena *a, const struct config *c, const struct plug *p)
{
	const struct config_leader_election *le = &c->leader_election;
	struct json *o = json_new_obj(a), *gates = json_new_obj(a), *allowed = rights(a, c, p);

	json_set_str(a, o, "namespace", c->namespace_);
	json_set_str(a, o, "origin", c->multikueue.origin);
	if (c->multikueue.manager_id.n > 0) {
		json_set_str(a, o, "managerId", c->multikueue.manager_id);
	}
	json_set(a, o, STR("formerManagers"), names(a, &c->multikueue.former_managers));
	json_set_str(a, o, "dispatcherName", c->multikueue.dispatcher);
	json_set_bool(a, o, "allowLoopback", c->multikueue.allow_loopback);
	json_set_bool(a, o, "allowLinkLocal", c->multikueue.allow_link_local);
	json_set_bool(a, o, "webhook", c->webhook_on);
	if (le->elect) {
		json_set_str(a, o, "leaseNamespace",
			     le->resource_namespace.n > 0 ? le->resource_namespace : c->namespace_);
		json_set_str(a, o, "leaseName", le->resource_name);
	}
	for (int i = 0; i < CONFIG_N_GATES; i++) {
		json_set_bool(a, gates, config_gate_name((enum config_gate)i), c->gates[i]);
	}
	json_set(a, o, STR("featureGates"), gates);
	json_set(a, o, STR("accounts"), accounts(a, c->multikueue.walls));
	json_set(a, o, STR("rights"), allowed);
	return arena_failed(a) || !allowed ? NULL : o;
}
