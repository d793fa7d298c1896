/* SPDX-License-Identifier: Apache-2.0 */
/* A job whose worker decides its size; see scale.h. */
#include "core/engine/rules/scale.h"

#include "core/engine/clusters/watches.h"
#include "core/engine/rules/fault.h"
#include "core/engine/rules/twin.h"

enum { SIZES_EVERY_MS = 1000 }; /* one write a second and job, with the latest sizes */

static const struct plug_adapter *adapter_of(const struct pass *p)
{
	return plug_adapter(p->e->o.plug, p->adapter);
}

bool scale_applies(const struct pass *p)
{
	const struct engine_gates *g = &p->e->o.gates;

	return g->ray_autoscaling && g->elastic_slices && p->job &&
	       facts_is(p->job->facts, F_SCALED | F_ELASTIC);
}

void scale_strip(struct pass *p, struct json *draft)
{
	const mk_scale *s = adapter_of(p)->d->scale;
	struct json *notes = json_get(json_get(draft, "metadata"), "annotations");

	if (p->e->o.gates.ray_autoscaling && s && json_type(notes) == JSON_OBJ) {
		json_set(p->e->out->arena, notes, str_of(s->sizes), NULL);
		json_set(p->e->out->arena, notes, str_of(s->revision), NULL);
	}
}

/* The kind of the object that has the sizes; 0: the copy has them, or no adapter serves it. */
static uint16_t child_kind(const struct pass *p)
{
	int i = plug_child(p->e->o.plug, adapter_of(p));

	return i < 0 ? 0 : (uint16_t)(KIND_FIRST_JOB + i);
}

/* The object that has the sizes; NULL: there is none, or it is not known yet. */
static struct record *holder_of(struct pass *p, const struct clone *k, struct record *copy)
{
	const mk_scale *s = adapter_of(p)->d->scale;
	uint16_t kind = child_kind(p);
	struct record *r;
	mk_str name;

	if (!s->child) {
		return copy;
	}
	name = json_str_at(pass_copy(p, copy), s->child);
	if (!kind || name.n == 0 || !watches_ready(p->e, k->c, kind)) {
		return NULL;
	}
	r = store_find(k->c->tables[kind], p->w->ns, name);
	return r && r->present && facts_is(r->facts, F_CHILD) &&
			       str_eq(r->facts->s[S_OWNER_UID], str_of(copy->uid))
		       ? r
		       : NULL;
}

/* May the sizes be what an autoscaler has set? Kueue sets those of what it suspends. */
static bool counts(const struct record *r)
{
	return !(r->facts->flags & (F_TERMINATING | F_SUSPENDED | F_ENDED));
}

static void send(struct pass *p, struct json *notes)
{
	struct op op = {.prio = PRIO_COMMIT, .subresource = ""};

	(void)json_put(p->e->out->arena, ops_merge(p->e, p->job, &op), "/metadata/annotations",
		       notes);
	ops_send(p->e, p->job, &op, R_JOB_SIZES);
	if (!p->e->no_memory) {
		p->pace->sizes_at = p->e->now;
	}
}

bool scale_tell(struct pass *p, struct clone *k, struct record *copy)
{
	int64_t last = p->pace->sizes_at;
	struct record *holder;
	const struct json *sizes;
	struct json *notes = NULL;
	struct mk_err err = {0};
	enum mk_code code;

	if (!scale_applies(p) || !facts_is(p->job->facts, F_MANAGED)) {
		return false;
	}
	if (p->job->facts->flags & (F_SUSPENDED | F_TERMINATING | F_ENDED)) {
		return true;
	}
	holder = counts(copy) ? holder_of(p, k, copy) : NULL;
	if (!holder || !counts(holder) || !pass_job(p)) {
		return false;
	}
	sizes = holder == copy ? pass_copy(p, copy) : pass_text(p, holder);
	if (!sizes) {
		return false;
	}
	code = plug_sizes(adapter_of(p), p->job_json, sizes, p->e->out->arena, &notes, &err);
	if (code == ERR_NO_MEMORY) {
		say_no_memory(p->e);
		return true;
	}
	if (code != ERR_OK) {
		fault_tell(p, ERR_OK, NULL, MK_E_INPUT, str_of(err.msg));
	}
	if (!notes) {
		return false;
	}
	if (pass_is_due(p, last == INT64_MIN ? p->e->now : last + SIZES_EVERY_MS) &&
	    pass_ready(p, p->job)) {
		send(p, notes);
	}
	return true;
}

void scale_use(struct pass *p, const struct clone *k, const struct record *copy,
	       struct wl_cluster *wc)
{
	uint16_t kind = scale_applies(p) && copy && copy->present ? child_kind(p) : 0;

	if (kind) {
		wc->child_kind = kind;
	}
	watches_use(p->e, k->c->id, wc->child_kind, &wc->child_uses, kind != 0);
}
