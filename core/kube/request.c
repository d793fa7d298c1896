/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single requests for core/apply: one line of HTTP out, one outcome back. No request is repeated
 * here.
 */
#include "core/base/alloc.h"
#include "core/kube/impl.h"

struct request {
	uint64_t id;
	kube_reply_fn *fn;
	void *ctx;
	uint16_t kind;
	bool is_write;
	bool is_status; /* it goes to the subresource */
	bool is_echo;   /* the answer shows what the watch shows, too: nothing else is read of it */
	cluster_id cluster;
};

struct verb {
	const char *method, *content_type, *word;
};

static const struct verb verbs[] = {
	[KUBE_GET] = {"GET", NULL, "get"},
	[KUBE_CREATE] = {"POST", "application/json", "post"},
	[KUBE_APPLY] = {"PATCH", "application/apply-patch+yaml", "patch"},
	[KUBE_MERGE] = {"PATCH", "application/merge-patch+json", "patch"},
	[KUBE_DELETE] = {"DELETE", "application/json", "delete"},
	[KUBE_REVIEW] = {"POST", "application/json", "post"},
};

/* No complete answer came. */
static struct kube_reply lost_reply(const struct request *r, const struct answer *an)
{
	struct kube_reply reply = {.outcome = OUTCOME_REFUSED,
				   .code = an->code,
				   .http = an->http,
				   .retry_after_ms = -1,
				   .text = an->text};

	if (an->end == TRANSPORT_LOST && r->is_write) {
		reply.outcome = OUTCOME_UNKNOWN;
		reply.code = ERR_UNKNOWN;
	} else if (an->code == ERR_OK || an->code == ERR_DENIED) {
		/*
		 * A refused certificate or address concerns the link: the server did not judge the
		 * request.
		 */
		reply.code = ERR_UNAVAILABLE;
	}
	return reply;
}

/* The answer was over our limit, so the server is reachable. */
static bool is_cut_by_us(const struct answer *an)
{
	return an->code == ERR_TOO_BIG || an->code == ERR_NO_MEMORY;
}

/*
 * An answer with an object that the scan understands: it is parsed without what no rule reads.
 * False: read it whole.
 */
static bool read_object(struct kube *k, const struct request *r, const struct answer *an,
			struct kube_reply *reply)
{
	struct event ev = {.type = EV_OP_DONE, .cluster = r->cluster, .kind = r->kind};
	const struct link *l = link_find(k, r->cluster);
	struct scan s;

	if ((an->http != 200 && an->http != 201) ||
	    (r->kind != KIND_WORKLOAD && r->kind < KIND_FIRST_JOB) || !scan_object(an->body, &s)) {
		return false;
	}
	*reply = (struct kube_reply){.outcome = OUTCOME_APPLIED,
				     .code = ERR_OK,
				     .http = an->http,
				     .retry_after_ms = an->retry_after_ms};
	ev.ns = s.ns;
	ev.name = s.name;
	ev.uid = s.uid;
	ev.rv = s.rv;
	ev.epoch = l != NULL ? l->epoch : 0;
	ev.via = VIA_REPLY;
	if (r->is_echo && l != NULL && s.deletion.n == 0 && kube_knows(k, &ev)) {
		reply->rv = s.rv;
		return true;
	}
	if (kube_parse(k, r->kind, &s, &ev) != ERR_OK) {
		return false;
	}
	reply->obj = ev.obj;
	reply->raw = ev.raw;
	reply->raw_spec = ev.raw_spec;
	return true;
}

static void on_done(struct kube *k, void *ctx, const struct answer *an)
{
	struct request *r = ctx;
	struct link *l = link_find(k, r->cluster);
	struct kube_reply reply = {.outcome = OUTCOME_REFUSED};
	struct status st;

	if (an->end != TRANSPORT_OK || an->http == 0) {
		reply = lost_reply(r, an);
		if (l != NULL && an->end == TRANSPORT_LOST && !is_cut_by_us(an)) {
			link_suspect(k, l);
		}
	} else {
		if (read_object(k, r, an, &reply)) {
			r->fn(r->ctx, r->id, &reply);
			mk_free(r);
			return;
		}
		status_read(&k->shown,
			    &(struct status_in){.http = an->http,
						.content_type = an->content_type,
						.body = an->body,
						.retry_after_ms = an->retry_after_ms,
						.is_write = r->is_write},
			    &st);
		reply = (struct kube_reply){.outcome = st.outcome,
					    .code = st.code,
					    .http = st.http,
					    .retry_after_ms = st.retry_after_ms,
					    .text = st.text,
					    .reason = st.reason,
					    .obj = st.obj};
		if (st.http == 401 && l != NULL && access_is_pending(l)) {
			/* Not a refusal: a program is fetching new credentials. */
			reply.code = ERR_UNAVAILABLE;
		}
		if (st.http == 404 && r->is_status && l != NULL) {
			/* Is the object gone, the kind, or its status a part of it by now? */
			discovery_ask(k, l, r->kind);
		} else if (st.not_served && l != NULL && l->phase == PHASE_UP &&
			   !discovery_is_fixed(r->kind)) {
			discovery_set(k, l, r->kind, SERVED_NO, ERR_NOT_FOUND,
				      discovery_no_match(&k->kinds->k[r->kind], &k->scratch));
		}
	}
	r->fn(r->ctx, r->id, &reply);
	mk_free(r);
}

const char *kube_subresource(const struct kube *k, cluster_id cluster, uint16_t kind,
			     const char *subresource)
{
	const struct link *l = link_find(k, cluster);
	bool is_status = subresource && strcmp(subresource, "status") == 0;

	return is_status && l && l->kinds[kind].no_status ? "" : subresource;
}

static bool has_subresource(const struct kube *k, const struct kube_request *r)
{
	const char *sub = kube_subresource(k, r->cluster, r->kind, r->subresource);

	return sub && *sub;
}

/* Requests whose path has no name of an object. */
static bool is_nameless(enum kube_verb verb)
{
	return verb == KUBE_CREATE || verb == KUBE_REVIEW;
}

static void build_path(struct kube *k, struct buf *b, const struct kube_request *r, mk_str plural)
{
	const struct kind *kind = &k->kinds->k[r->kind];
	struct url_target t = {.kind = kind,
			       .plural = plural,
			       .ns = r->ns,
			       .name = is_nameless(r->verb) ? (mk_str){NULL, 0} : r->name,
			       .subresource =
				       kube_subresource(k, r->cluster, r->kind, r->subresource)};

	url_path(b, &t);
	if (r->field_manager != NULL && r->field_manager[0] != '\0' && r->verb != KUBE_GET &&
	    r->verb != KUBE_DELETE) {
		url_query(b, "fieldManager", str_of(r->field_manager));
	}
	if (r->verb == KUBE_APPLY) {
		url_query(b, "force", STR("true"));
	}
}

/* Names that the server can have at all: longer ones, and dots, never come from it. */
static bool can_be_path(mk_str s)
{
	return s.n <= 1024 && !str_is(s, ".") && !str_is(s, "..");
}

static enum mk_code start(struct kube *k, struct link *l, const struct kube_request *r,
			  mk_str plural, struct request *req, struct mk_err *err)
{
	const struct verb *v = &verbs[r->verb];
	struct call_spec s = {.done = on_done, .ctx = req, .drop = mk_free};
	struct call *call = NULL;
	struct buf path;
	enum mk_code code = ERR_OK;

	buf_init(&path, URL_MAX);
	build_path(k, &path, r, plural);
	if (path.failed && can_be_path(r->ns) && can_be_path(r->name)) {
		buf_done(&path);
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (path.failed) {
		buf_done(&path);
		return err_set(err, ERR_INVALID, "the object's name cannot be part of a path");
	}
	s.req = (struct transport_request){.method = v->method,
					   .path = buf_str(&path),
					   .content_type = r->body.n > 0 ? v->content_type : NULL,
					   .body = r->body,
					   .as = r->as,
					   .cls = req->is_write ? TRANSPORT_WRITE : TRANSPORT_READ,
					   .timeout_ms = r->timeout_ms,
					   .is_plain = r->kind == KIND_WORKLOAD ||
						       r->kind >= KIND_FIRST_JOB};
	code = call_start(k, l, &s, &call, err);
	buf_done(&path);
	return code;
}

enum mk_code kube_send(struct kube *k, const struct kube_request *r, uint64_t id, kube_reply_fn *fn,
		       void *ctx, struct mk_err *err)
{
	struct link *l = link_find(k, r->cluster);
	struct request *req = NULL;
	mk_str plural;
	enum mk_code code = ERR_OK;

	if (r->kind >= k->kinds->n || (size_t)r->verb >= sizeof(verbs) / sizeof(verbs[0]) ||
	    (!is_nameless(r->verb) && r->name.n == 0)) {
		return err_set(err, ERR_BUG, "request without a kind, verb or name");
	}
	if (!l || l->phase != PHASE_UP) {
		return err_set(err, ERR_UNAVAILABLE, "the cluster is not connected");
	}
	plural = discovery_plural(l, r->kind);
	if (plural.n == 0) {
		/*
		 * A group whose discovery failed may have the kind. Of an object that is named, it
		 * must not say "not found": the object may be there again together with its kind.
		 */
		bool unclear = l->kinds[r->kind].code == ERR_UNAVAILABLE || !is_nameless(r->verb);

		code = unclear ? ERR_UNAVAILABLE : ERR_NOT_FOUND;
		return err_set(err, code, "the cluster does not serve the kind");
	}
	req = mk_calloc(1, sizeof(*req));
	if (!req) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	*req = (struct request){.id = id,
				.fn = fn,
				.ctx = ctx,
				.kind = r->kind,
				.is_write = r->verb != KUBE_GET && r->verb != KUBE_REVIEW,
				.is_status = has_subresource(k, r),
				.is_echo = r->verb == KUBE_CREATE || r->verb == KUBE_APPLY ||
					   r->verb == KUBE_MERGE,
				.cluster = r->cluster};
	code = start(k, l, r, plural, req, err);
	if (code != ERR_OK) {
		mk_free(req);
	}
	return code;
}
