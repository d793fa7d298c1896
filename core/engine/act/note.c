/* SPDX-License-Identifier: Apache-2.0 */
/* Events; see note.h. */
#include "core/engine/act/note.h"

#include <inttypes.h>
#include <stdarg.h>

#include "core/base/hash.h"
#include "core/base/timefmt.h"

enum { NOTE_MAX = 1024 };

static mk_str cut_note(struct engine *e, mk_str note)
{
	mk_str head;

	if (note.n <= NOTE_MAX) {
		return note;
	}
	head = str_cut(note, NOTE_MAX - 4);
	return arena_printf(&e->scratch, "%.*s ...", STR_ARG(head));
}

static struct json *regarding(struct engine *e, const struct record *r)
{
	struct arena *a = e->out->arena;
	const struct kind *k = &e->o.kinds->k[r->table->kind];
	struct json *o = json_new_obj(a);
	char api[320];

	json_set_str(a, o, "apiVersion", kind_api_version(k, api));
	json_set_str(a, o, "kind", k->kind);
	if (r->ns.n) {
		json_set_str(a, o, "namespace", r->ns);
	}
	json_set_str(a, o, "name", r->name);
	if (r->uid) {
		json_set_str(a, o, "uid", str_of(r->uid));
	}
	return o;
}

/* The reportingController: the name that Kueue's controller for this kind uses. */
static const char *controller_of(const struct record *r)
{
	return r->table->kind == KIND_CLUSTER ? "multikueue-cluster"
	       : r->table->kind == KIND_CHECK || r->table->kind == KIND_CONFIG
		       ? "multikueue-admissioncheck"
	       : r->table->kind == KIND_CLUSTER_QUEUE ? "multikueue-clusterqueue"
						      : "kueue-workload-controller";
}

void note_warn(struct engine *e, const struct record *r, const char *reason, const char *fmt, ...)
{
	struct note n = {.type = "Warning", .reason = str_of(reason)};
	va_list ap;

	va_start(ap, fmt);
	n.text = arena_vprintf(&e->scratch, fmt, ap);
	va_end(ap);
	note_send(e, r, &n);
}

void note_once(struct engine *e, const struct record *r, const char *reason, int64_t since_wall_ms,
	       mk_str text)
{
	note_send(e, r,
		  &(struct note){.type = "Warning",
				 .reason = str_of(reason),
				 .text = text,
				 .since_wall_ms = since_wall_ms});
}

/* What the Event's name is made of. */
static mk_str seed_of(struct engine *e, const struct record *r, const struct note *n)
{
	struct arena *a = e->out->arena;

	if (n->since_wall_ms != 0) {
		return arena_printf(a, "%.*s/%.*s/%.*s/%" PRId64, STR_ARG(r->key),
				    STR_ARG(str_of(r->uid)), STR_ARG(n->reason), n->since_wall_ms);
	}
	return arena_printf(a, "%.*s/%" PRIu64 "/%" PRId64 "/%.*s", STR_ARG(r->key), e->op_seq,
			    e->wall, STR_ARG(n->text));
}

void note_send(struct engine *e, const struct record *r, const struct note *n)
{
	struct arena *a = e->out->arena;
	struct json *body = json_new_obj(a), *meta = json_new_obj(a);
	mk_str ns = r->ns.n ? r->ns : STR("default");
	mk_str reason = n->reason.n ? n->reason : STR("MultiKueue");
	mk_str name = arena_printf(a, "%.*s.%016" PRIx64, STR_ARG(str_sub(r->name, 0, 200)),
				   hash64(seed_of(e, r, n)));
	struct op op = {.type = OP_EVENT,
			.cluster = CLUSTER_MANAGER,
			.kind = KIND_EVENT,
			.ns = ns,
			.name = name,
			.cause = "event",
			.prio = PRIO_EVENT,
			.subresource = "",
			.body = body};

	if (!e->may_write) {
		return;
	}
	json_set_str(a, meta, "namespace", ns);
	json_set_str(a, meta, "name", name);
	json_set_str(a, body, "apiVersion", STR("events.k8s.io/v1"));
	json_set_str(a, body, "kind", STR("Event"));
	json_set(a, body, STR("metadata"), meta);
	json_set_str(a, body, "eventTime", time_rfc3339_micro(a, e->wall));
	json_set_str(a, body, "reportingController", str_of(controller_of(r)));
	json_set_str(a, body, "reportingInstance", STR(NAME_DAEMON));
	json_set_str(a, body, "action", reason);
	json_set_str(a, body, "reason", reason);
	json_set_str(a, body, "type", str_of(n->type));
	json_set(a, body, STR("regarding"), regarding(e, r));
	json_set_str(a, body, "note", cut_note(e, n->text));
	/* An Event that is lost for lack of memory is no reason to repeat the step. */
	op.ns = arena_dup(a, ns);
	if (!arena_failed(a)) {
		(void)op_list_add(e->out, &op);
	}
}
