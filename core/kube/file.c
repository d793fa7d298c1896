/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfigs in files: core/daemon reads them and passes them to kube_file; secret.c keeps them.
 */
#include "core/kube/impl.h"

static mk_str key_of(struct kube *k, mk_str path)
{
	return arena_printf(&k->scratch, FILE_KEY "%.*s", STR_ARG(path));
}

/* What leaves core/kube: the path, and a hash or the problem. */
static struct json *reduced(struct arena *a, mk_str path, mk_str hash, mk_str problem)
{
	struct json *out = json_new_obj(a), *meta = json_new_obj(a);

	json_set_str(a, meta, "name", path);
	json_set(a, out, STR("metadata"), meta);
	json_set_str(a, out, "hash", hash);
	if (problem.n > 0) {
		json_set_str(a, out, "problem", problem);
	}
	return arena_failed(a) ? NULL : out;
}

enum mk_code kube_file(struct kube *k, mk_str path, mk_str text, mk_str problem, struct mk_err *err)
{
	const struct link *manager = link_find(k, CLUSTER_MANAGER);
	struct event ev = {.type = EV_OBSERVED,
			   .cluster = CLUSTER_MANAGER,
			   .kind = KIND_FILE,
			   .epoch = manager != NULL ? manager->epoch : 0,
			   .via = VIA_WATCH,
			   .retry_after_ms = -1,
			   .rv = k->file_rv + 1};
	const char *hash = "";
	mk_str key = key_of(k, path);
	bool kept = key.p != NULL;

	if (kept && problem.n > 0) {
		secret_gone(&k->secrets, key);
	} else if (kept) {
		kept = secret_put_file(k, &k->secrets, key, text, &hash);
	}
	ev.name = path;
	ev.obj = kept ? reduced(&k->shown, path, str_of(hash), problem) : NULL;
	if (!ev.obj) {
		kube_clear(k);
		return err_set(err, ERR_NO_MEMORY, "out of memory, or too many kubeconfigs");
	}
	k->file_rv++;
	kube_emit(k, &ev);
	kube_clear(k);
	return ERR_OK;
}

void kube_file_forget(struct kube *k, mk_str path)
{
	mk_str key = key_of(k, path);

	if (key.p != NULL) {
		secret_gone(&k->secrets, key);
	}
	kube_clear(k);
}
