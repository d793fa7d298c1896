/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of a simulated store and the return to them, as when etcd is restored; compaction. */
#include "t/kubesim/store_int.h"

struct json *ks_snapshot(const struct ks_store *s, struct arena *a)
{
	struct json *root = json_new_obj(a), *all = json_new_obj(a);

	json_set_int(a, root, "revision", (int64_t)s->rv);
	json_set(a, root, STR("objects"), all);
	for (size_t i = 0; i < s->n_res; i++) {
		struct ks_resource *r = s->res[i];
		struct json *list = json_new_arr(a);

		ks_sort(r);
		for (size_t k = 0; k < r->n_order; k++) {
			json_add(a, list, json_dup(a, r->order[k]->tree));
		}
		json_set(a, all, str_of(r->id), list);
	}
	return arena_failed(a) ? NULL : root;
}

/* Open watches saw a future that no longer exists: a server that was restored has dropped them. */
bool ks_restore(struct ks_store *s, const struct json *snapshot)
{
	uint64_t rv = (uint64_t)json_int(json_get(snapshot, "revision"), 1);
	bool ok = true;

	ks_watch_end_all(s);
	s->rv = rv;
	for (size_t i = 0; i < s->n_res; i++) {
		struct ks_resource *r = s->res[i];
		struct json_iter it =
			json_iter(json_getn(json_get(snapshot, "objects"), str_of(r->id)));

		ks_resource_clear(r);
		r->floor = rv;
		r->used = false;
		while (ok && json_next(&it)) {
			uint64_t at = rv;

			(void)str_u64(json_str_at(it.val, "/metadata/resourceVersion"), &at);
			ok = ks_install(r, it.val, at);
		}
	}
	return ok;
}

void ks_compact(struct ks_store *s)
{
	for (size_t i = 0; i < s->n_res; i++) {
		ks_drop_history(s->res[i]);
		s->res[i]->floor = s->rv;
	}
}
