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
