/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of a watch that the scan understands: its object is parsed only when it has to be, and
 * without what no rule reads of it.
 */
#include "core/kube/impl.h"

static bool is_ours(const struct kube *k, const struct watch *w, const struct scan *s)
{
	const struct kind *kind = &k->kinds->k[w->kind];
	char api[320];

	if (!str_is(s->type, "ADDED") && !str_is(s->type, "MODIFIED") &&
	    !str_is(s->type, "DELETED")) {
		return false;
	}
	if (!url_is_name(s->name) || (s->ns.n > 0 && !url_is_name(s->ns))) {
		return false;
	}
	if (w->metadata_only) {
		return str_is(s->kind, "PartialObjectMetadata");
	}
	return str_eq(s->kind, kind->kind) && str_eq(s->api_version, kind_api_version(kind, api));
}

bool watch_scan(const struct kube *k, const struct watch *w, mk_str line, struct scan *ret)
{
	return !w->is_secret && scan_line(line, ret) && is_ours(k, w, ret);
}

bool kube_knows(const struct kube *k, const struct event *ev)
{
	return k->sink.knows != NULL && k->sink.knows(k->sink.ctx, ev);
}

enum mk_code kube_parse(struct kube *k, uint16_t kind, const struct scan *s, struct event *ev)
{
	struct scan_text t = scan_strip(&k->shown, s, kind == KIND_WORKLOAD);
	struct json *obj = NULL;
	enum mk_code code;

	if (!t.text.p) {
		return ERR_NO_MEMORY;
	}
	code = json_parse_cut(&k->shown, t.text, &obj, NULL);
	ev->obj = obj;
	ev->raw = t.text;
	ev->raw_spec = t.spec;
	return code;
}

enum mk_code watch_emit_scanned(struct kube *k, const struct watch *w, const struct scan *s)
{
	enum mk_code code = ERR_OK;
	struct event ev = {.type = str_is(s->type, "DELETED") ? EV_GONE : EV_OBSERVED,
			   .cluster = w->l->id,
			   .kind = w->kind,
			   .epoch = w->l->epoch,
			   .ns = s->ns,
			   .name = s->name,
			   .uid = s->uid,
			   .rv = s->rv,
			   .via = w->replaying ? VIA_LIST : VIA_WATCH,
			   .retry_after_ms = -1};

	if (ev.type == EV_OBSERVED && kube_knows(k, &ev)) {
		return ERR_OK;
	}
	if (ev.type == EV_GONE) {
		ev.via = VIA_WATCH;
	} else {
		code = kube_parse(k, w->kind, s, &ev);
	}
	if (code == ERR_OK) {
		kube_emit(k, &ev);
	}
	return code;
}

bool watch_is_kind(const struct kube *k, const struct watch *w, const struct json *obj, bool needed)
{
	const struct kind *kind = &k->kinds->k[w->kind];
	mk_str name = json_str(json_get(obj, "kind"));
	mk_str version = json_str(json_get(obj, "apiVersion"));
	char api[320];

	if (name.n == 0 && version.n == 0 && !needed) {
		return true;
	}
	if (w->metadata_only) {
		return str_is(name, "PartialObjectMetadata");
	}
	return str_eq(name, kind->kind) && str_eq(version, kind_api_version(kind, api));
}

bool watch_is_misnamed(const struct json *obj)
{
	const struct json *meta = json_get(obj, "metadata");
	mk_str name = json_str(json_get(meta, "name"));
	mk_str ns = json_str(json_get(meta, "namespace"));

	return (name.n > 0 && !url_is_name(name)) || (ns.n > 0 && !url_is_name(ns));
}

void watch_emit_failing(struct kube *k, const struct watch *w, mk_str text)
{
	kube_emit(k, &(struct event){.type = EV_FAILING,
				     .cluster = w->l->id,
				     .kind = w->kind,
				     .epoch = w->l->epoch,
				     .text = text,
				     .retry_after_ms = -1});
}
