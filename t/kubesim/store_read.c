/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET of one object and of lists: revisions, pages, selectors, the forms that Accept may ask for.
 */
#include "t/kubesim/store_int.h"

#include <stdlib.h>

/* --- forms ------------------------------------------------------------------------------------ */
static enum ks_form media_form(mk_str media, enum ks_shape shape)
{
	mk_str rest = media, part, type, as = STR("");

	if (!str_split(&rest, ';', &type)) {
		return KS_FORM_NONE;
	}
	type = str_trim(type);
	while (str_split(&rest, ';', &part)) {
		part = str_trim(part);
		if (str_starts(part, STR("as="))) {
			as = str_sub(part, 3, part.n);
		}
	}
	if (!str_is(type, "application/json") && !str_is(type, "*/*") &&
	    !str_is(type, "application/*")) {
		return KS_FORM_NONE;
	}
	if (as.n == 0) {
		return KS_FORM_PLAIN;
	}
	if (str_is(as, "Table")) {
		return KS_FORM_TABLE;
	}
	if (str_is(as, "PartialObjectMetadata")) {
		return shape == KS_LIST ? KS_FORM_NONE : KS_FORM_PARTIAL;
	}
	if (str_is(as, "PartialObjectMetadataList")) {
		return shape == KS_ONE ? KS_FORM_NONE : KS_FORM_PARTIAL;
	}
	return KS_FORM_NONE;
}

enum ks_form ks_form(struct ks_ctx *c, enum ks_shape shape)
{
	mk_str rest = c->r->accept, part;
	enum ks_form form;

	if (rest.n == 0) {
		return KS_FORM_PLAIN;
	}
	while (str_split(&rest, ',', &part)) {
		form = media_form(str_trim(part), shape);
		if (form != KS_FORM_NONE) {
			return form;
		}
	}
	ks_fail(c, 406, "NotAcceptable",
		STR("only the following media types are accepted: application/json"), NULL, NULL);
	return KS_FORM_NONE;
}

/* The text of "metadata" in that of the object, found by its braces. */
static mk_str metadata_text(const struct ks_version *v)
{
	static const char mark[] = ",\"metadata\":";
	const char *start = memmem(v->text.p, v->text.n, mark, sizeof(mark) - 1);
	size_t depth = 0, n = 0;
	bool quoted = false;

	if (!start) {
		return STR("{}");
	}
	start += sizeof(mark) - 1;
	do {
		char c = start[n++];

		if (quoted) {
			n += c == '\\';
			quoted = c != '"';
		} else if (c == '"') {
			quoted = true;
		} else {
			depth += c == '{' || c == '[';
			depth -= c == '}' || c == ']';
		}
	} while (depth > 0);
	return (mk_str){start, n};
}

mk_str ks_partial_text(struct arena *a, const struct ks_version *v)
{
	mk_str meta = metadata_text(v);

	return arena_printf(a,
			    "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
			    "\"metadata\":%.*s}",
			    STR_ARG(meta));
}

void ks_reply_object(struct ks_ctx *c, int code, const struct ks_version *v)
{
	enum ks_form form = ks_form(c, KS_ONE);

	if (form == KS_FORM_PARTIAL) {
		ks_reply(c, code, ks_partial_text(c->a, v));
	} else if (form == KS_FORM_TABLE) {
		ks_reply(c, code, ks_table_text(c->a, c->res, &v, 1, v->rv, STR(""), c->now_ms));
	} else if (form == KS_FORM_PLAIN) {
		ks_reply(c, code, arena_dup(c->a, v->text));
	}
}

void ks_do_get(struct ks_ctx *c)
{
	struct ks_object *o = ks_find(c->res, c->ns, c->name);
	struct ks_versions at;

	if (!ks_read_versions(c, &at)) {
		return;
	}
	if (at.set && at.rv > c->s->rv) {
		ks_too_large_rv(c, at.rv);
	} else if (!o) {
		ks_not_found(c);
	} else {
		ks_reply_object(c, 200, o->v);
	}
}

/* --- selection -------------------------------------------------------------------------------- */
static bool field_selector(struct ks_ctx *c, mk_str text, mk_str *ret_name, bool *ret_has_name)
{
	mk_str rest = text, term;

	while (str_split(&rest, ',', &term)) {
		mk_str value = term, key;

		if (!str_split(&value, '=', &key) || str_ends(key, STR("!"))) {
			return ks_bad_request(c,
					      "Unable to find \"%.*s\" that match label selector",
					      STR_ARG(text));
		}
		if (value.n > 0 && value.p[0] == '=') {
			value = str_sub(value, 1, value.n);
		}
		if (str_is(key, "metadata.name")) {
			*ret_name = value;
			*ret_has_name = true;
		} else if (str_is(key, "metadata.namespace") && c->res->namespaced) {
			if (c->ns.n > 0 && !str_eq(c->ns, value)) {
				/*
				 * nothing can be in two namespaces:
				 * select by a name that cannot exist
				 */
				*ret_name = STR("/");
				*ret_has_name = true;
			}
			c->ns = value;
		} else {
			return ks_bad_request(c, "field label not supported: %.*s", STR_ARG(key));
		}
	}
	return true;
}

bool ks_selectors(struct ks_ctx *c, struct arena *a, struct selector *ret_sel, mk_str *ret_name,
		  bool *ret_has_name)
{
	mk_str labels = ks_param(c, "labelSelector"), fields = ks_param(c, "fieldSelector");

	*ret_has_name = false;
	*ret_name = STR("");
	if (!selector_parse(a, labels, ret_sel)) {
		return ks_bad_request(c, "unable to parse requirement: %.*s", STR_ARG(labels));
	}
	return field_selector(c, fields, ret_name, ret_has_name);
}

bool ks_matches(const struct ks_version *v, mk_str ns, const struct selector *sel, mk_str name,
		bool has_name)
{
	return (ns.n == 0 || str_eq(ns, v->ns)) && (!has_name || str_eq(name, v->name)) &&
	       selector_match(sel, v->labels, v->n_labels);
}

/* --- revisions -------------------------------------------------------------------------------- */
static bool invalid_options(struct ks_ctx *c, const char *field, const char *message)
{
	struct json *cause = json_new_obj(c->a), *list = json_new_arr(c->a);
	struct json *d = json_new_obj(c->a);

	json_set_str(c->a, cause, "reason", STR("FieldValueForbidden"));
	json_set_str(c->a, cause, "message", arena_printf(c->a, "Forbidden: %s", message));
	json_set_str(c->a, cause, "field", str_of(field));
	json_add(c->a, list, cause);
	json_set_str(c->a, d, "group", STR("meta.k8s.io"));
	json_set_str(c->a, d, "kind", STR("ListOptions"));
	return ks_fail(c, 422, "Invalid",
		       arena_printf(c->a,
				    "ListOptions.meta.k8s.io \"\" is invalid: %s: Forbidden: %s",
				    field, message),
		       d, list);
}

bool ks_read_versions(struct ks_ctx *c, struct ks_versions *ret)
{
	mk_str rv = ks_param(c, "resourceVersion"), match = ks_param(c, "resourceVersionMatch");

	*ret = (struct ks_versions){.set = rv.n > 0};
	if (rv.n > 0 && !str_u64(rv, &ret->rv)) {
		return c->watching
			       ? ks_server_error(c, "Invalid value: \"%.*s\": strconv.ParseUint",
						 STR_ARG(rv))
			       : ks_bad_request(c, "invalid resource version \"%.*s\"",
						STR_ARG(rv));
	}
	if (match.n == 0) {
		return true;
	}
	ret->exact = str_is(match, "Exact");
	ret->not_older = str_is(match, "NotOlderThan");
	if (c->watching) {
		return true;
	}
	if (!ret->exact && !ret->not_older) {
		return invalid_options(c, "resourceVersionMatch",
				       "supported values are Exact, NotOlderThan");
	}
	if (rv.n == 0 && c->name.n == 0) {
		return invalid_options(c, "resourceVersionMatch",
				       "resourceVersionMatch is forbidden unless resourceVersion "
				       "is provided");
	}
	if (ret->exact && ret->rv == 0) {
		return invalid_options(c, "resourceVersionMatch",
				       "resourceVersionMatch \"exact\" is forbidden for "
				       "resourceVersion \"0\"");
	}
	return true;
}

static int by_version_key(const void *x, const void *y)
{
	const struct ks_version *a = *(const struct ks_version *const *)x;
	const struct ks_version *b = *(const struct ks_version *const *)y;
	int d = str_cmp(a->ns, b->ns);

	d = d ? d : str_cmp(a->name, b->name);
	return d ? d : (a->rv > b->rv) - (a->rv < b->rv);
}

/* What existed at revision 'rv', in key order, without filters. NULL: out of memory. */
static const struct ks_version **state_at(struct ks_ctx *c, uint64_t rv, size_t *ret_n)
{
	struct ks_resource *r = c->res;
	uint64_t first = r->next_seq;
	const struct ks_version **v;
	size_t n = 0, kept = 0;

	ks_sort(r);
	while (first > r->first_seq && r->ring[(first - 1) % r->ring_size].rv > rv) {
		first--;
	}
	v = arena_array(c->a, r->n_order + (size_t)(r->next_seq - first) + 1, sizeof(*v));
	if (!v) {
		return NULL;
	}
	for (size_t i = 0; i < r->n_order; i++) {
		if (r->order[i]->v->rv <= rv) {
			v[n++] = r->order[i]->v;
		}
	}
	if (first == r->next_seq) {
		*ret_n = n;
		return v;
	}
	/* what was replaced or deleted since: only the state that was current at 'rv' */
	for (uint64_t i = first; i < r->next_seq; i++) {
		const struct ks_version *old = r->ring[i % r->ring_size].old;

		if (old != NULL && old->rv <= rv) {
			v[n++] = old;
		}
	}
	qsort(v, n, sizeof(*v), by_version_key);
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || v[kept - 1] != v[i]) {
			v[kept++] = v[i];
		}
	}
	*ret_n = kept;
	return v;
}

/* --- the answer ------------------------------------------------------------------------------- */
struct page {
	const struct ks_version **v;
	size_t n;
	uint64_t rv;
	size_t remaining; /* after the page */
	mk_str cont;
	bool count_remaining;
};

static void reply_list(struct ks_ctx *c, const struct page *p, enum ks_form form)
{
	bool partial = form == KS_FORM_PARTIAL;
	size_t skip, bytes = 512 + p->cont.n;
	struct ks_resource *r = c->res;
	struct buf b;

	if (form == KS_FORM_TABLE) {
		ks_reply(c, 200, ks_table_text(c->a, r, p->v, p->n, p->rv, p->cont, c->now_ms));
		return;
	}
	for (size_t i = 0; i < p->n; i++) {
		bytes += p->v[i]->text.n + 128;
	}
	buf_init(&b, bytes);
	buf_printf(&b,
		   "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":"
		   "\"%llu\"",
		   partial ? "PartialObjectMetadata" : r->kind,
		   partial ? "meta.k8s.io/v1" : r->api_version, (unsigned long long)p->rv);
	if (p->cont.n > 0) {
		buf_printf(&b, ",\"continue\":\"%.*s\"", STR_ARG(p->cont));
		if (p->count_remaining) {
			buf_printf(&b, ",\"remainingItemCount\":%zu", p->remaining);
		}
	}
	buf_add(&b, STR("},\"items\":["));
	/* items of typed lists do not repeat apiVersion and kind */
	skip = r->builtin ? sizeof("{\"apiVersion\":\"\",\"kind\":\"\",") - 1 +
				    strlen(r->api_version) + strlen(r->kind)
			  : 0;
	for (size_t i = 0; i < p->n; i++) {
		buf_add(&b, i ? STR(",") : STR(""));
		if (partial) {
			buf_add(&b, ks_partial_text(c->a, p->v[i]));
		} else {
			buf_add(&b, skip ? STR("{") : STR(""));
			buf_add(&b, str_sub(p->v[i]->text, skip, p->v[i]->text.n));
		}
	}
	buf_add(&b, STR("]}"));
	ks_reply(c, 200, b.failed ? (mk_str){NULL, 0} : arena_dup(c->a, buf_str(&b)));
	c->done = !b.failed;
	buf_done(&b);
}

/*
 * A token names the revision of the first page (0: gone, take what is
 * there) and the last key given.
 */
static mk_str token_make(struct ks_ctx *c, uint64_t rv, const struct ks_version *last)
{
	return arena_printf(c->a, "%llu.%.*s~%.*s", (unsigned long long)rv, STR_ARG(last->ns),
			    STR_ARG(last->name));
}

static bool token_read(mk_str token, uint64_t *ret_rv, mk_str *ret_ns, mk_str *ret_name)
{
	mk_str rest = token, rv, ns;

	if (!str_split(&rest, '.', &rv) || !str_u64(rv, ret_rv) || rest.n == 0) {
		return false;
	}
	if (!str_split(&rest, '~', &ns)) {
		return false;
	}
	*ret_ns = ns;
	*ret_name = rest;
	return rest.n > 0;
}

struct list_query {
	struct selector sel;
	mk_str name;
	bool has_name, filtered;
	uint64_t limit;
	uint64_t rv; /* the state to show */
	bool has_after;
	mk_str after_ns, after_name;
};

/* Reads limit and continue; decides on the revision. False: answered. */
static bool read_paging(struct ks_ctx *c, const struct ks_versions *at, struct list_query *q)
{
	mk_str limit = ks_param(c, "limit"), cont = ks_param(c, "continue");

	q->rv = at->exact ? at->rv : c->s->rv;
	if (limit.n > 0 && !str_u64(limit, &q->limit)) {
		return ks_bad_request(c, "invalid limit \"%.*s\"", STR_ARG(limit));
	}
	if (at->set && at->rv == 0) {
		q->limit = 0;
	}
	if (cont.n > 0) {
		q->has_after = true;
		if (!token_read(cont, &q->rv, &q->after_ns, &q->after_name)) {
			return ks_bad_request(c, "continue key is not valid");
		}
		if (q->rv != 0 && q->rv < c->res->floor) {
			return ks_expired(c, arena_printf(c->a, "0.%.*s~%.*s", STR_ARG(q->after_ns),
							  STR_ARG(q->after_name)));
		}
		q->rv = q->rv ? q->rv : c->s->rv;
		return true;
	}
	if (at->set && at->rv > c->s->rv) {
		return ks_too_large_rv(c, at->rv);
	}
	if (at->exact && at->rv < c->res->floor) {
		return ks_expired(c, STR(""));
	}
	return true;
}

void ks_do_list(struct ks_ctx *c)
{
	enum ks_form form = ks_form(c, KS_LIST);
	struct list_query q = {0};
	struct page p = {0};
	struct ks_versions at;
	const struct ks_version **all;
	size_t n;

	if (form == KS_FORM_NONE || !ks_read_versions(c, &at) ||
	    !ks_selectors(c, c->a, &q.sel, &q.name, &q.has_name) || !read_paging(c, &at, &q)) {
		return;
	}
	all = state_at(c, q.rv, &n);
	if (!all) {
		return;
	}
	p = (struct page){
		.v = all, .rv = q.rv, .count_remaining = q.sel.n_terms == 0 && !q.has_name};
	for (size_t i = 0; i < n; i++) {
		const struct ks_version *v = all[i];
		int d = q.has_after ? str_cmp(v->ns, q.after_ns) : 1;

		d = d ? d : str_cmp(v->name, q.after_name);
		if (d <= 0 || !ks_matches(v, c->ns, &q.sel, q.name, q.has_name)) {
			continue;
		}
		if (q.limit > 0 && p.n == q.limit) {
			p.remaining++;
		} else {
			p.v[p.n++] = v;
		}
	}
	if (p.remaining > 0) {
		p.cont = token_make(c, q.rv, p.v[p.n - 1]);
	}
	reply_list(c, &p, form);
}
