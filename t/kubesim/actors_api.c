/* SPDX-License-Identifier: Apache-2.0 */
/* How the controllers read objects and write through ks_handle, as any client does. */
#include <stdio.h>

#include "core/base/timefmt.h"
#include "t/kubesim/actors_priv.h"

enum { RETRY_FIRST_MS = 100, RETRY_CAP_MS = 60000, MAX_DOUBLINGS = 10 };

static void note_refused(struct ks_actors *k, struct item *it, const struct ks_request *r,
			 const struct ks_response *resp)
{
	int64_t wait = RETRY_FIRST_MS << (it->fails < MAX_DOUBLINGS ? it->fails : MAX_DOUBLINGS);

	k->refused++;
	it->fails++;
	snprintf(k->last_error, sizeof(k->last_error), "%.*s %.*s: %d %.*s", STR_ARG(r->method),
		 STR_ARG(r->target), resp->status, (int)(resp->body.n < 300 ? resp->body.n : 300),
		 resp->body.n != 0 ? resp->body.p : "");
	item_at(k, it, k->now_ms + (wait < RETRY_CAP_MS ? wait : RETRY_CAP_MS));
}

static bool send(struct ks_actors *k, struct item *it, const char *method, mk_str target,
		 const char *content_type, const struct json *body, const char *manager)
{
	bool kueue = str_starts(str_of(manager), STR("kueue"));
	struct ks_request r = {
		.method = str_of(method),
		.target = arena_printf(&k->a, "%.*s?fieldManager=%s%s", STR_ARG(target), manager,
				       str_is(str_of(content_type), "application/apply-patch+yaml")
					       ? "&force=true"
					       : ""),
		.accept = STR("application/json"),
		.content_type = str_of(content_type),
		.body = body != NULL ? json_write(&k->a, body) : (mk_str){NULL, 0},
		.user = kueue ? STR("system:kueue") : STR("system:kube-controller-manager"),
		.user_agent = kueue ? STR("kueue") : STR("kube-controller-manager"),
	};
	struct ks_response resp = {.retry_after_ms = -1};

	if (arena_failed(&k->a)) {
		k->stale = true;
		return false;
	}
	k->writes++;
	ks_handle(k->store, &r, k->now_ms, &k->a, &resp);
	if (resp.status >= 200 && resp.status < 300) {
		it->fails = 0;
		return true;
	}
	note_refused(k, it, &r, &resp);
	return false;
}

bool api_create(struct ks_actors *k, struct item *it, mk_str collection, const struct json *body,
		const char *manager)
{
	return send(k, it, "POST", collection, "application/json", body, manager);
}

bool api_merge(struct ks_actors *k, struct item *it, mk_str target, const struct json *patch,
	       const char *manager)
{
	return send(k, it, "PATCH", target, "application/merge-patch+json", patch, manager);
}

bool api_apply(struct ks_actors *k, struct item *it, mk_str target, const struct json *body,
	       const char *manager)
{
	return send(k, it, "PATCH", target, "application/apply-patch+yaml", body, manager);
}

bool api_delete(struct ks_actors *k, struct item *it, mk_str target, mk_str uid)
{
	struct json *body = json_new_obj(&k->a);

	json_set_str(&k->a, body, "apiVersion", STR("v1"));
	json_set_str(&k->a, body, "kind", STR("DeleteOptions"));
	json_set_str(&k->a, body, "propagationPolicy", STR("Background"));
	json_put(&k->a, body, "/preconditions/uid", json_new_str(&k->a, uid));
	return send(k, it, "DELETE", target, "application/json", body, "kube-controller-manager");
}

mk_str obj_path(struct arena *a, mk_str resource, mk_str ns, mk_str name)
{
	ptrdiff_t slash = str_index(resource, '/');
	size_t last = resource.n;
	bool core;
	mk_str gv, plural;

	while (last > 0 && resource.p[last - 1] != '/') {
		last--;
	}
	core = slash >= 0 && (size_t)slash + 1 == last;
	gv = str_sub(resource, 0, last > 0 ? last - 1 : 0);
	plural = str_sub(resource, last, resource.n);
	return arena_printf(a, "/%s/%.*s%s%.*s/%.*s%s%.*s", core ? "api" : "apis", STR_ARG(gv),
			    ns.n != 0 ? "/namespaces/" : "", STR_ARG(ns), STR_ARG(plural),
			    name.n != 0 ? "/" : "", STR_ARG(name));
}

const struct json *obj_condition(const struct json *obj, const char *type)
{
	struct json_iter it = json_iter(json_at(obj, "/status/conditions"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), type)) {
			return it.val;
		}
	}
	return NULL;
}

bool obj_is_true(const struct json *obj, const char *type)
{
	return str_is(json_str(json_get(obj_condition(obj, type), "status")), "True");
}

mk_str obj_meta(const struct json *obj, const char *field)
{
	return json_str(json_get(json_get(obj, "metadata"), field));
}

mk_str obj_label(const struct json *obj, const char *key)
{
	return json_str(json_get(json_at(obj, "/metadata/labels"), key));
}

mk_str obj_annotation(const struct json *obj, const char *key)
{
	return json_str(json_get(json_at(obj, "/metadata/annotations"), key));
}

const struct json *obj_controller(const struct json *obj)
{
	struct json_iter it = json_iter(json_at(obj, "/metadata/ownerReferences"));

	while (json_next(&it)) {
		if (json_bool(json_get(it.val, "controller"))) {
			return it.val;
		}
	}
	return NULL;
}

bool obj_has_finalizer(const struct json *obj, const char *finalizer)
{
	struct json_iter it = json_iter(json_at(obj, "/metadata/finalizers"));

	while (json_next(&it)) {
		if (str_is(json_str(it.val), finalizer)) {
			return true;
		}
	}
	return false;
}

mk_str job_prebuilt(const struct json *job)
{
	mk_str name = obj_annotation(job, KEY_PREBUILT);

	return name.n != 0 ? name : obj_label(job, KEY_PREBUILT);
}

bool job_is_suspended(const struct json *job)
{
	return json_bool(json_at(job, "/spec/suspend"));
}

bool job_is_finished(const struct json *job)
{
	return obj_is_true(job, "Complete") || obj_is_true(job, "Failed");
}

mk_str now_text(struct ks_actors *k)
{
	return time_rfc3339(&k->a, k->now_ms);
}
