/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubeconfigs of the manager's Secrets, and of files. Of each Secret only data.kubeconfig is
 * kept, wiped when it is let go; core/kube emits its name and a hash, so that the engine sees that
 * it changed.
 */
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/hash.h"
#include "core/kube/impl.h"

struct secret {
	char *owned_data; /* NULL: the Secret has no such key */
	size_t n;
	char problem[160]; /* why the data cannot be used, "" = it can */
	char hash[65];
	uint64_t mark;
	bool is_file; /* no list of Secrets names it */
};

void secret_wipe_data(const struct json *obj)
{
	struct json_iter it = json_iter(json_get(obj, "data"));

	while (json_next(&it)) {
		str_wipe(json_str(it.val));
	}
}

static void clear_data(struct secret *s)
{
	if (s->owned_data != NULL) {
		explicit_bzero(s->owned_data, s->n);
		mk_free(s->owned_data);
	}
	s->owned_data = NULL;
	s->n = 0;
	s->problem[0] = '\0';
	s->hash[0] = '\0';
}

static void free_secret(struct secret *s)
{
	if (s != NULL) {
		clear_data(s);
		mk_free(s);
	}
}

void secret_init(struct secret_store *s)
{
	*s = (struct secret_store){.mark = 1};
	map_init(&s->by_name);
}

void secret_done(struct secret_store *s)
{
	size_t pos = 0;
	void *val = NULL;

	while (map_next(&s->by_name, &pos, NULL, &val)) {
		free_secret(val);
	}
	map_done(&s->by_name);
}

void secret_list_begin(struct secret_store *s)
{
	s->mark++;
}

void secret_list_end(struct secret_store *s)
{
	size_t pos = 0;
	mk_str name;
	void *val = NULL;

	while (map_next(&s->by_name, &pos, &name, &val)) {
		struct secret *old = val;

		if (!old->is_file && old->mark != s->mark) {
			map_del(&s->by_name, name);
			free_secret(old);
		}
	}
	s->synced = true;
}

void secret_gone(struct secret_store *s, mk_str name)
{
	free_secret(map_del(&s->by_name, name));
}

/*
 * Marks the arena as failed. Callers check it: after a lack of memory the object is read again, one
 * that cannot be read is passed over.
 */
static bool no_memory(struct kube *k)
{
	k->scratch.failed = true;
	return false;
}

/* 'fresh' becomes what is kept under the name; wiped if not. NULL: out of memory, or too many. */
static struct secret *put(struct kube *k, struct secret_store *s, mk_str name, struct secret *fresh)
{
	struct secret *sec = map_get(&s->by_name, name);

	if (!sec && map_len(&s->by_name) < SECRETS_MAX) {
		sec = mk_calloc(1, sizeof(*sec));
		if (!sec || !map_put(&s->by_name, name, sec)) {
			mk_free(sec);
			sec = NULL;
			no_memory(k);
		}
	}
	if (!sec) {
		clear_data(fresh);
		return NULL;
	}
	clear_data(sec);
	*sec = *fresh;
	return sec;
}

/* Keeps 'data', whose hash is that of 'hashed'. False: out of memory. */
static bool keep_plain(struct kube *k, struct secret *s, mk_str data, mk_str hashed)
{
	mk_str hash = sha256_hex(&k->scratch, hashed);

	s->owned_data = mk_malloc(data.n + 1);
	if (!s->owned_data || hash.n != 64) {
		return no_memory(k);
	}
	if (data.n > 0) {
		memcpy(s->owned_data, data.p, data.n);
	}
	s->n = data.n;
	memcpy(s->hash, hash.p, 64);
	s->hash[64] = '\0';
	return true;
}

/* Decodes data.kubeconfig into 's'. False: out of memory. */
static bool keep_data(struct kube *k, struct secret *s, mk_str encoded)
{
	struct mk_err err = {.code = ERR_OK};
	mk_str data = {NULL, 0};
	enum mk_code code = ERR_OK;
	bool kept;

	if (encoded.n > (size_t)KUBECONFIG_MAX / 3 * 4 + 4) {
		snprintf(s->problem, sizeof(s->problem), "kubeconfig is larger than 1 MiB");
		code = ERR_TOO_BIG;
	} else {
		code = base64_decode(&k->scratch, encoded, &data, &err);
		if (code == ERR_NO_MEMORY) {
			return no_memory(k);
		}
		if (code != ERR_OK) {
			snprintf(s->problem, sizeof(s->problem), "%.150s", err.msg);
		}
	}
	kept = keep_plain(k, s, data, code == ERR_OK ? data : encoded);
	str_wipe(data);
	return kept;
}

static struct json *reduced(struct arena *a, const struct json *obj, const char *hash)
{
	static const char *const kept[] = {"name", "namespace", "uid", "resourceVersion"};
	struct json *out = json_new_obj(a);
	struct json *meta = json_new_obj(a);

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		json_set_str(a, meta, kept[i],
			     json_str(json_get(json_get(obj, "metadata"), kept[i])));
	}
	json_set(a, out, STR("metadata"), meta);
	json_set_str(a, out, "hash", str_of(hash));
	return arena_failed(a) ? NULL : out;
}

struct json *secret_take(struct kube *k, struct secret_store *s, const struct json *obj)
{
	mk_str name = json_str_at(obj, "/metadata/name");
	const struct json *data = json_at(obj, "/data/kubeconfig");
	struct secret fresh = {.mark = s->mark};
	const struct secret *sec = NULL;

	if (json_type(data) == JSON_STR && !keep_data(k, &fresh, json_str(data))) {
		clear_data(&fresh);
		return NULL;
	}
	sec = put(k, s, name, &fresh);
	return sec != NULL ? reduced(&k->shown, obj, sec->hash) : NULL;
}

bool secret_put_file(struct kube *k, struct secret_store *s, mk_str key, mk_str text,
		     const char **ret_hash)
{
	struct secret fresh = {.is_file = true};
	const struct secret *sec = NULL;

	if (!keep_plain(k, &fresh, text, text)) {
		clear_data(&fresh);
		return false;
	}
	sec = put(k, s, key, &fresh);
	if (!sec) {
		return false;
	}
	*ret_hash = sec->hash;
	return true;
}

enum mk_code secret_get(const struct secret_store *s, mk_str name, mk_str *ret,
			const char **ret_hash, struct mk_err *err)
{
	const struct secret *sec = map_get(&s->by_name, name);

	if (!sec) {
		return err_set(err, ERR_NOT_FOUND, "Secret \"%.*s\" not found", STR_ARG(name));
	}
	if (!sec->owned_data) {
		return err_set(err, ERR_INVALID, "key \"kubeconfig\" not found in secret \"%.*s\"",
			       STR_ARG(name));
	}
	if (sec->problem[0] != '\0') {
		return err_set(err, ERR_INVALID, "%s", sec->problem);
	}
	*ret = (mk_str){sec->owned_data, sec->n};
	*ret_hash = sec->hash;
	return ERR_OK;
}
