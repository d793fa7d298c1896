/* SPDX-License-Identifier: Apache-2.0 */
/* The front proxy's certificate and headers; see front_proxy.h. */
#include "core/serve/front_proxy.h"

#include "core/net/http_parse.h"
#include "core/net/tls_client.h"
#include "core/serve/call.h"

enum { CONFIG_MEMORY = 1024 * 1024 };

/* --- the ConfigMap ---------------------------------------------------------------------------- */

/* An array of strings that stands as JSON in a string; missing: none. */
static enum mk_code take_list(struct front_proxy *f, const struct json *data, const char *key,
			      const mk_str **ret, size_t *ret_n, struct mk_err *err)
{
	mk_str text = json_str(json_get(data, key));
	struct json *list = NULL;
	struct json_iter it;
	mk_str *v;

	*ret_n = 0;
	if (text.n == 0) {
		return ERR_OK;
	}
	if (json_parse(&f->arena, text, &list, NULL) != ERR_OK || json_type(list) != JSON_ARR) {
		return err_set(err, ERR_INVALID, "%s: expected a JSON array of strings", key);
	}
	v = arena_array(&f->arena, json_len(list) + 1, sizeof(*v));
	it = json_iter(list);
	while (v && json_next(&it)) {
		if (json_str(it.val).n == 0) {
			return err_set(err, ERR_INVALID,
				       "%s: expected a JSON array of strings, found an element "
				       "that is none, or empty",
				       key);
		}
		v[(*ret_n)++] = json_str(it.val);
	}
	*ret = v;
	return v ? ERR_OK : err_set(err, ERR_NO_MEMORY, "out of memory");
}

static enum mk_code take(struct front_proxy *f, const struct json *data, struct mk_err *err)
{
	mk_str ca = json_str(json_get(data, "requestheader-client-ca-file"));
	const struct {
		const char *key;
		const mk_str **v;
		size_t *n;
	} lists[] = {{"requestheader-allowed-names", &f->names, &f->n_names},
		     {"requestheader-username-headers", &f->users, &f->n_users},
		     {"requestheader-uid-headers", &f->uids, &f->n_uids},
		     {"requestheader-group-headers", &f->groups, &f->n_groups},
		     {"requestheader-extra-headers-prefix", &f->extras, &f->n_extras}};
	enum mk_code code = ERR_OK;

	if (ca.n == 0) {
		return err_set(err, ERR_INVALID,
			       "no requestheader-client-ca-file: the API servers run without an "
			       "aggregation layer (--requestheader-client-ca-file)");
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && code == ERR_OK; i++) {
		code = take_list(f, data, lists[i].key, lists[i].v, lists[i].n, err);
	}
	if (code != ERR_OK) {
		return code;
	}
	if (f->n_users == 0) {
		return err_set(err, ERR_INVALID, "no requestheader-username-headers");
	}
	f->trust = tls_trust_new(ca, err);
	if (!f->trust) {
		err_wrap(err, "requestheader-client-ca-file");
		return err ? err->code : ERR_INVALID;
	}
	return ERR_OK;
}

enum mk_code front_proxy_set(struct front_proxy *f, const struct json *config_map,
			     struct mk_err *err)
{
	struct front_proxy next = {.trust = NULL};
	struct json *data;
	enum mk_code code;

	arena_init(&next.arena, CONFIG_MEMORY);
	data = json_dup(&next.arena, json_get(config_map, "data"));
	code = arena_failed(&next.arena) ? err_set(err, ERR_NO_MEMORY, "out of memory")
					 : take(&next, data, err);
	front_proxy_clear(f);
	*f = next;
	if (code != ERR_OK) {
		front_proxy_clear(f);
	}
	return code;
}

void front_proxy_clear(struct front_proxy *f)
{
	tls_trust_free(f->trust);
	arena_done(&f->arena);
	*f = (struct front_proxy){.trust = NULL};
}

/* --- a request -------------------------------------------------------------------------------- */

/* The user while the headers are read. */
struct reading {
	struct arena *a;
	struct json *groups, *extra;
	mk_str user, uid;
	struct mk_err *err;
};

static enum mk_code malformed(struct reading *r, mk_str name, const char *what)
{
	return err_set(r->err, ERR_DENIED, "header %.*s: %s", STR_ARG(str_cut(name, 100)), what);
}

/* Of several names the first that has a value counts; each may come once. */
static enum mk_code take_single(struct reading *r, mk_str headers, const mk_str *names, size_t n,
				mk_str *ret)
{
	for (size_t i = 0; i < n; i++) {
		mk_str rest = headers, name, value;
		size_t found = 0;

		while (http_next_header(&rest, &name, &value)) {
			if (!http_name_is(name, names[i])) {
				continue;
			}
			if (++found > 1) {
				return malformed(r, name, "expected once, found several times");
			}
			*ret = ret->n > 0 ? *ret : value;
		}
	}
	return str_is_utf8(*ret) ? ERR_OK : malformed(r, names[0], "expected UTF-8");
}

/*
 * The key of an extra: in lower case, since headers have none, but for what stands as %XX, which is
 * what it says. {NULL, 0}: malformed.
 */
static mk_str extra_key(struct arena *a, mk_str s)
{
	char *p = arena_alloc_raw(a, s.n + 1);
	mk_str key = STR("");

	for (size_t i = 0; p && i < s.n; i++) {
		p[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] | 0x20 : s.p[i]);
	}
	/* The digits of a %XX are the same number in lower case. */
	if (!p || !call_decode(a, (mk_str){p, s.n}, &key)) {
		return STR_NONE;
	}
	return key.n > 0 && str_is_utf8(key) ? key : STR_NONE;
}

static enum mk_code take_extra(struct reading *r, mk_str name, mk_str key, mk_str value)
{
	struct json *list;

	key = extra_key(r->a, key);
	if (key.n == 0) {
		return arena_failed(r->a) ? err_set(r->err, ERR_NO_MEMORY, "out of memory")
					  : malformed(r, name, "expected a key in URL encoding");
	}
	list = json_getn(r->extra, key);
	if (!list) {
		list = json_new_arr(r->a);
		json_set(r->a, r->extra, key, list);
	}
	json_add(r->a, list, json_new_str(r->a, value));
	return ERR_OK;
}

/* A header that may come several times: a group, or a value of an extra. */
static enum mk_code take_several(struct reading *r, const struct front_proxy *f, mk_str name,
				 mk_str value)
{
	bool is_group = false;
	mk_str key = STR_NONE;

	for (size_t i = 0; i < f->n_groups; i++) {
		is_group = is_group || http_name_is(name, f->groups[i]);
	}
	for (size_t i = 0; i < f->n_extras && key.n == 0; i++) {
		size_t n = f->extras[i].n;

		if (name.n > n && http_name_is(str_sub(name, 0, n), f->extras[i])) {
			key = str_sub(name, n, name.n);
		}
	}
	if ((is_group || key.n > 0) && !str_is_utf8(value)) {
		return malformed(r, name, "expected UTF-8");
	}
	if (is_group && value.n > 0) {
		json_add(r->a, r->groups, json_new_str(r->a, value));
	}
	return key.n > 0 ? take_extra(r, name, key, value) : ERR_OK;
}

static struct json *user_of(struct reading *r)
{
	struct json *o = json_new_obj(r->a);

	json_set_str(r->a, o, "username", r->user);
	if (r->uid.n > 0) {
		json_set_str(r->a, o, "uid", r->uid);
	}
	json_set(r->a, o, STR("groups"), r->groups);
	if (json_len(r->extra) > 0) {
		json_set(r->a, o, STR("extra"), r->extra);
	}
	return o;
}

enum mk_code front_proxy_headers(const struct front_proxy *f, mk_str headers, struct arena *a,
				 struct json **ret, struct mk_err *err)
{
	struct reading r = {.a = a,
			    .groups = json_new_arr(a),
			    .extra = json_new_obj(a),
			    .user = STR(""),
			    .uid = STR(""),
			    .err = err};
	mk_str rest = headers, name, value;
	enum mk_code code = take_single(&r, headers, f->users, f->n_users, &r.user);

	if (code == ERR_OK && f->n_uids > 0) {
		code = take_single(&r, headers, f->uids, f->n_uids, &r.uid);
	}
	if (code == ERR_OK && r.user.n == 0) {
		return err_set(err, ERR_DENIED, "expected a user in header %.*s, found none",
			       STR_ARG(f->users[0]));
	}
	while (code == ERR_OK && http_next_header(&rest, &name, &value)) {
		code = take_several(&r, f, name, value);
	}
	if (code != ERR_OK) {
		return code;
	}
	*ret = user_of(&r);
	return arena_failed(a) ? err_set(err, ERR_NO_MEMORY, "out of memory") : ERR_OK;
}

enum mk_code front_proxy_user(const struct front_proxy *f, const struct http_request *rq,
			      int64_t wall_ms, struct arena *a, struct json **ret,
			      struct mk_err *err)
{
	mk_str name = STR("");
	enum mk_code code;

	if (!f->trust) {
		return err_set(err, ERR_DENIED,
			       "whom to believe is not known yet, see the log: ConfigMap %s/%s",
			       FRONT_PROXY_NAMESPACE, FRONT_PROXY_CONFIG_MAP);
	}
	code = tls_client_name(f->trust, rq->tls, wall_ms, a, &name, err);
	if (code != ERR_OK) {
		return code;
	}
	if (f->n_names > 0 && !str_in(name, f->names, f->n_names)) {
		return err_set(err, ERR_DENIED,
			       "the client certificate is \"%.*s\"'s, which is not in "
			       "requestheader-allowed-names",
			       STR_ARG(name));
	}
	return front_proxy_headers(f, rq->headers, a, ret, err);
}
