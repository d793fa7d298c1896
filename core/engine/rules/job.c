/* SPDX-License-Identifier: Apache-2.0 */
/* The adapter's work on the job; see job.h. */
#include "core/engine/rules/job.h"

#include "core/base/backoff.h"
#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "core/engine/act/note.h"
#include "core/engine/rules/fault.h"
#include "core/engine/rules/group.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/rules/scale.h"
#include "core/engine/rules/submitted.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/unfit.h"
#include "core/engine/rules/wall.h"
#include "core/engine/store/reduce.h"

enum {
	FORWARD_AT_ONCE = 3,    /* patches that did not stay; from then on they rest, */
	FORWARD_REST_MS = 1000, /* ... first so long, then doubled up to */
	FORWARD_REST_MAX_MS = 5 * 60 * 1000, /* ... this */
	STATUS_EVERY_MS = 1000, /* one status write a second and job, with the latest state */
	STATUS_BYTES_A_MINUTE = 2 * 1024 * 1024, /* of a job; a large one is written less often */
	DEFER_MS = 2000,
};

static const struct plug_adapter *adapter_of(const struct pass *p)
{
	return plug_adapter(p->e->o.plug, p->adapter);
}

static bool is_marked_elastic(const struct json *job)
{
	return str_is(json_str(json_get(json_at(job, "/metadata/annotations"), NAME_ELASTIC)),
		      "true");
}

static const struct json *read_workload(void *ctx)
{
	return pass_workload(ctx);
}

/* The Workload: most hooks never look at it, so its text is parsed for those that do. */
static bool show_workload(struct pass *p, struct plug_view *v)
{
	const struct record *r = p->local;

	if (r && r->kept && !p->wl_json) {
		v->later = (struct plug_later){.read = read_workload,
					       .ctx = p,
					       .ns = r->ns,
					       .name = r->name,
					       .uid = str_of(r->uid)};
		return true;
	}
	v->workload = pass_workload(p);
	return v->workload != NULL;
}

/* Fills the inputs of a hook; false when a text is missing. */
static bool make_view(struct pass *p, const struct record *remote, struct plug_view *v)
{
	const struct cluster *c = remote ? cluster_get(p->e, remote->table->cluster) : NULL;

	*v = (struct plug_view){.local = pass_job(p), .now_wall_ms = p->e->wall};
	bool shown = show_workload(p, v);

	if (c && remote->present) {
		v->cluster = str_of(c->name);
		v->remote = pass_copy(p, remote);
		if (!v->remote) {
			return false;
		}
	}
	v->elastic = p->e->o.gates.elastic_slices && is_marked_elastic(v->local);
	return v->local && shown;
}

/*
 * Calls 'hook' on 'draft'. False: it failed, or the adapter rests after a fault; the pass comes
 * again later.
 */
static bool call(struct pass *p, plug_hook *hook, const struct plug_view *v, struct json *draft,
		 struct plug_result *res)
{
	struct mk_err err = {0};
	enum mk_code code;

	if (fault_resting(p)) {
		return false;
	}
	code = hook(p->e->o.plug, p->adapter, v, draft, p->e->out->arena, res, &err);
	if (code != ERR_OK || res->verdict < 0) {
		fault_tell(p, code, &err, res->verdict, res->said);
		return false;
	}
	return true;
}

/*
 * How long a status without pods waits. What an earlier process made has been so for a while:
 * otherwise one that is killed every second would never write it.
 */
static int64_t quiet_ms(const struct pass *p, const struct record *remote)
{
	const struct wl_cluster *wc = wl_cluster_known(p->w, remote->table->cluster);
	bool is_fresh = p->pace->status_at != INT64_MIN || (wc && wc->bout.made_generation != 0);

	return is_fresh ? STATUS_EVERY_MS : 0;
}

/* When a changed status is to be written. */
static int64_t due_at(struct pass *p, const struct record *remote, int verdict, bool terminal)
{
	struct pace *pace = p->pace;
	int64_t next = pace->status_at == INT64_MIN ? p->e->now : pace->status_at + STATUS_EVERY_MS;
	bool idle = facts_is(remote->facts, F_SUSPENDED) && !facts_is(p->job->facts, F_ACTIVE);

	if (terminal || facts_is(remote->facts, F_ENDED)) {
		/* At once, but no worker may change an end without end. */
		return facts_is(p->job->facts, F_ENDED) ? next : p->e->now;
	}
	if ((verdict & MK_DEFER) || idle) {
		/*
		 * No pod runs: the running state most often follows soon, so this status can wait.
		 */
		if (pace->quiet_at == INT64_MAX) {
			pace->quiet_at = p->e->now + quiet_ms(p, remote);
		}
		return pace->quiet_at > next ? pace->quiet_at : next;
	}
	return next;
}

/* 'n': bytes of the status that the job has afterwards. */
static void send_status(struct pass *p, struct json *diff, size_t n, enum rule rule)
{
	int64_t rest_ms = (int64_t)n * 60 * 1000 / STATUS_BYTES_A_MINUTE - STATUS_EVERY_MS;
	struct op op = {.prio = PRIO_STATUS, .subresource = "status"};

	json_set(p->e->out->arena, ops_merge(p->e, p->job, &op), STR("status"), diff);
	ops_send(p->e, p->job, &op, rule);
	if (!p->e->no_memory) {
		p->pace->status_at = p->e->now + (rest_ms > 0 ? rest_ms : 0);
		p->pace->quiet_at = INT64_MAX;
	}
}

/* The hook's changes to the local status; NULL: none, or out of memory. */
static struct json *status_diff(struct pass *p, const struct plug_view *v,
				const struct plug_result *res)
{
	struct arena *a = p->e->out->arena;
	const struct json *old = json_get(v->local, "status");
	struct json *diff = NULL;

	if (res->verdict & MK_SET) {
		diff = json_diff(a, old ? old : json_new_obj(a), res->draft);
	}
	if (arena_failed(a)) {
		say_no_memory(p->e);
		return NULL;
	}
	return diff;
}

/* The status as the adapter wants it, in 'res'. SYNC_SAME: it is there. */
static enum sync draw_status(struct pass *p, const struct plug_view *v, struct plug_result *res)
{
	struct json *draft =
		plug_status_draft(adapter_of(p), v->local, v->remote, p->e->out->arena);

	if (!draft) {
		say_no_memory(p->e);
		return SYNC_WAIT;
	}
	return call(p, plug_status, v, draft, res) ? SYNC_SAME : SYNC_FAULT;
}

/* The status does not fit. How the job ended is written with what is short, and no more. */
static enum sync write_end(struct pass *p, struct record *remote, const struct plug_view *v,
			   enum rule rule)
{
	struct plug_result res = {0};
	struct plug_view cut = *v;
	struct json *diff;
	enum sync done;

	if (!facts_is(remote->facts, F_ENDED) || facts_is(p->job->facts, F_ENDED)) {
		return facts_is(remote->facts, F_ENDED) ? SYNC_SAME : SYNC_WAIT;
	}
	cut.remote = reduce_object(p->e->out->arena, v->remote);
	if (!cut.remote) {
		say_no_memory(p->e);
		return SYNC_WAIT;
	}
	done = draw_status(p, &cut, &res);
	diff = done == SYNC_SAME ? status_diff(p, v, &res) : NULL;
	if (!diff) {
		return p->e->no_memory ? SYNC_WAIT : done;
	}
	if (!unfit_size(p, remote, reduce_bytes(res.draft)) && pass_ready(p, p->job)) {
		send_status(p, diff, reduce_bytes(res.draft), rule);
	}
	return SYNC_WAIT;
}

static enum sync write_status(struct pass *p, struct record *remote, const struct plug_view *v,
			      const struct plug_result *res, enum rule rule, bool terminal)
{
	struct json *diff = status_diff(p, v, res);
	size_t n;

	if (!diff) {
		p->pace->quiet_at = INT64_MAX;
		unfit_ends(p);
		return p->e->no_memory ? SYNC_WAIT : SYNC_SAME;
	}
	n = reduce_bytes(res->draft);
	if (unfit_size(p, remote, n)) {
		return write_end(p, remote, v, rule);
	}
	if (pass_is_due(p, due_at(p, remote, res->verdict, terminal)) && pass_ready(p, p->job)) {
		send_status(p, diff, n, rule);
	}
	unfit_ends(p);
	return SYNC_WAIT;
}

/*
 * Is the local job gone, so that no status needs to be written? 'terminal': a get must confirm it.
 */
static bool is_gone(struct pass *p, bool terminal)
{
	struct table *jobs = manager_table(p->e, p->kind);

	return manager_knows(p->e, p->kind) && (!terminal || store_get(jobs, p->w->ns, p->object) ||
						twin_surely_absent(p, jobs, p->w->ns, p->object));
}

/*
 * The copy's status cannot be read, but for an end that is kept. An Event says so, or the job would
 * seem to run for ever; a change of the copy brings the next pass.
 */
static bool is_unusable(struct pass *p, const struct record *remote)
{
	return unfit_text(p, remote) && !(remote->kept && facts_is(remote->facts, F_ENDED));
}

/* Both say when they began or ended, and not the same. */
static bool is_of_another_run(const struct json *local, const struct json *copy)
{
	static const char *const times[] = {"/status/startTime", "/status/completionTime"};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		mk_str ours = json_str_at(local, times[i]), its = json_str_at(copy, times[i]);

		if (ours.n > 0 && its.n > 0 && !str_eq(ours, its)) {
			return true;
		}
	}
	return false;
}

bool job_ended_elsewhere(struct pass *p, const struct record *remote)
{
	return p->job && facts_is(p->job->facts, F_ENDED) &&
	       (!facts_is(remote->facts, F_ENDED) ||
		is_of_another_run(pass_job(p), pass_copy(p, remote)));
}

bool job_began_after(struct pass *p, const struct record *copy)
{
	int64_t here, there;

	return time_parse(json_str_at(pass_job(p), "/status/startTime"), &here) &&
	       time_parse(json_str_at(pass_copy(p, copy), "/status/startTime"), &there) &&
	       here > there;
}

enum sync job_status(struct pass *p, struct record *remote, enum rule rule, bool terminal)
{
	uint32_t flags = adapter_of(p)->d->flags;
	struct plug_result res = {0};
	struct plug_view v;
	const struct json *status;
	enum sync done;

	p->status_unfit = false;
	if (flags & MK_STATUS_NONE) {
		return SYNC_SAME;
	}
	if (!p->job) {
		return is_gone(p, terminal) ? SYNC_SAME : SYNC_WAIT;
	}
	if (!facts_is(p->job->facts, F_MANAGED)) {
		/* Another controller manages the job now: its status is not ours to write. */
		return facts_is(p->job->facts, F_UNUSABLE) ? SYNC_WAIT : SYNC_SAME;
	}
	if (p->job->inflight) {
		return SYNC_WAIT;
	}
	if (members_is_told(p, remote) || job_ended_elsewhere(p, remote)) {
		return SYNC_SAME;
	}
	if (is_unusable(p, remote) || !members_may_look(p)) {
		return SYNC_WAIT;
	}
	if (p->status_unfit && facts_is(p->job->facts, F_ENDED)) {
		return SYNC_SAME; /* the end was taken, the rest cannot be */
	}
	if (!make_view(p, remote, &v)) {
		if (!v.remote && !p->e->no_memory) {
			(void)pass_text(p, remote);
		}
		return SYNC_WAIT;
	}
	status = json_get(v.remote, "status");
	if ((flags & MK_STATUS_IF_PRESENT) && json_type(status) != JSON_OBJ) {
		return SYNC_SAME;
	}
	done = draw_status(p, &v, &res);
	if (done != SYNC_SAME) {
		return done;
	}
	if (res.verdict & MK_DEFER) {
		pass_again(p, p->e->now + DEFER_MS);
	}
	done = write_status(p, remote, &v, &res, rule, terminal);
	if (done == SYNC_SAME && !(res.verdict & MK_DEFER)) {
		members_told(p, remote);
	}
	return done;
}

/*
 * Writes the status of a job without a copy; SYNC_SAME: it is up to date, or there is none to
 * write.
 */
static enum sync say_without_copy(struct pass *p, const struct plug_finish *how, enum rule rule)
{
	struct arena *a = p->e->out->arena;
	struct plug_result res = {0};
	struct plug_view v;
	struct json *draft, *diff;

	if (p->job->inflight || !members_may_look(p) || !make_view(p, NULL, &v)) {
		return SYNC_WAIT;
	}
	draft = how ? plug_status_ended(adapter_of(p), v.local, how, a)
		    : plug_status_without(adapter_of(p), v.local, a);
	if (draft && !call(p, plug_status, &v, draft, &res)) {
		return SYNC_FAULT;
	}
	diff = status_diff(p, &v, &res);
	if (diff && pass_ready(p, p->job)) {
		send_status(p, diff, reduce_bytes(res.draft), rule);
	}
	return diff || p->e->no_memory ? SYNC_WAIT : SYNC_SAME;
}

void job_abandoned_status(struct pass *p)
{
	if (!(adapter_of(p)->d->flags & MK_STATUS_NONE) && !members_is_told(p, NULL) &&
	    say_without_copy(p, NULL, R_ABANDONED) == SYNC_SAME) {
		members_told(p, NULL);
	}
}

enum sync job_ended_status(struct pass *p, const struct facts *f)
{
	struct plug_finish how = {.failed = str_is(f->s[S_FINISHED_REASON], "Failed"),
				  .reason = f->s[S_FINISHED_REASON],
				  .message = f->s[S_FINISHED_MESSAGE],
				  .now = time_rfc3339(p->e->out->arena, p->e->wall)};

	if (!p->job || !facts_is(p->job->facts, F_MANAGED) || facts_is(p->job->facts, F_ENDED) ||
	    (adapter_of(p)->d->flags & MK_STATUS_NONE) ||
	    (!how.failed && !str_is(how.reason, "Succeeded"))) {
		return SYNC_SAME;
	}
	return say_without_copy(p, &how, R_LAST_STATUS);
}

void job_stamp(struct pass *p, struct json *draft)
{
	struct arena *a = p->e->out->arena;
	struct json *meta = json_get(draft, "metadata");
	struct json *labels = json_get(meta, "labels"), *notes = json_get(meta, "annotations");
	bool by_annotation = p->e->o.gates.identifier_annotations || p->w->name.n > 63;

	if (json_type(labels) != JSON_OBJ) {
		labels = json_new_obj(a);
		json_set(a, meta, STR("labels"), labels);
	}
	if (json_type(notes) != JSON_OBJ) {
		notes = json_new_obj(a);
		json_set(a, meta, STR("annotations"), notes);
	}
	json_set_str(a, labels, NAME_ORIGIN, p->e->o.origin);
	json_set_str(a, notes, NAME_ORIGIN_UID, str_of(p->job->uid));
	json_set_str(a, notes, NAME_MANAGER_ID, str_of(p->e->manager_id));
	if (group_has_replicas(p)) {
		/* It belongs to no single Workload; this name leads to it when all of them are gone. */
		json_set_str(a, notes, NAME_MADE_FOR, p->w->name);
		return;
	}
	json_set_str(a, notes, NAME_WORKLOAD_UID, str_of(p->local->uid));
	json_set(a, notes, STR(NAME_PREBUILT), by_annotation ? json_new_str(a, p->w->name) : NULL);
	json_set(a, labels, STR(NAME_PREBUILT),
		 p->w->name.n <= 63 ? json_new_str(a, p->w->name) : NULL);
}

/*
 * A controller on the worker may put its own value back, and we would write again at once, for
 * ever. A patch that was applied and undone comes again at growing rests.
 */
static bool may_forward(struct pass *p, const struct clone *k, struct record *remote,
			const struct json *diff)
{
	struct arena *a = &p->e->scratch;
	mk_str text =
		arena_printf(a, "%s %lld %.*s", remote->uid, (long long)p->job->facts->generation,
			     STR_ARG(json_write(a, diff)));
	uint32_t hash = (uint32_t)hash64(text);

	if (arena_failed(a)) {
		say_no_memory(p->e);
		return false;
	}
	if (remote->forward != hash) {
		remote->forward = hash;
		remote->forward_tries = 0;
	}
	if (remote->forward_tries < FORWARD_AT_ONCE) {
		return true;
	}
	if (!pass_is_due(p, remote->forward_at +
				    backoff_ms(FORWARD_REST_MS,
					       remote->forward_tries - (unsigned)FORWARD_AT_ONCE,
					       FORWARD_REST_MAX_MS))) {
		return false;
	}
	if (remote->forward_tries == FORWARD_AT_ONCE) {
		note_warn(p->e, p->local, NULL,
			  "A change of the job is undone on worker cluster \"%s\" each time; it is "
			  "sent there again",
			  k->c->name);
	}
	return true;
}

/*
 * The copy as the adapter wants it; NULL: the hook failed. Where the worker decides the sizes, the
 * copy only learns which Workload is its own now.
 */
static struct json *wanted_copy(struct pass *p, const struct plug_view *v)
{
	struct arena *a = p->e->out->arena;
	struct json *draft = json_dup(a, v->remote);
	struct plug_result res = {.verdict = MK_SET, .draft = draft};

	if (!scale_applies(p) && !call(p, plug_remote, v, draft, &res)) {
		return NULL;
	}
	if (!(res.verdict & MK_SET)) {
		return json_dup(a, v->remote);
	}
	job_stamp(p, res.draft);
	return res.draft;
}

/* A change that a wall keeps here is not sent. An Event tells of it, once for each change. */
static bool is_walled(struct pass *p, struct record *remote)
{
	uint32_t hash;
	mk_str why;

	if (!wall_stops_job(p, &why)) {
		return false;
	}
	hash = (uint32_t)hash64(why) ^ (uint32_t)p->job->facts->generation;
	if (why.n > 0 && remote->forward != hash && p->e->may_write) {
		remote->forward = hash;
		rule_hit(p->e, R_REJECTED_WALL);
		note_warn(p->e, p->local, NULL, "A change of the job is not sent to its copy: %.*s",
			  STR_ARG(why));
	}
	return true;
}

void job_forward(struct pass *p, struct clone *k, struct record *remote)
{
	struct arena *a = p->e->out->arena;
	const mk_adapter *d = adapter_of(p)->d;
	struct op op = {.type = OP_MERGE, .prio = PRIO_COMMIT, .subresource = ""};
	struct plug_view v;
	struct json *draft, *diff;

	const char *const *forward = p->e->o.gates.remote_spec_sync ? d->forward : NULL;

	if ((!d->remote && !forward && !scale_applies(p)) || !p->job ||
	    !facts_is(p->job->facts, F_MANAGED) || facts_is(p->job->facts, F_TERMINATING) ||
	    facts_is(remote->facts, F_TERMINATING) || facts_is(remote->facts, F_UNUSABLE) ||
	    clone_is(k, F_FINISHED) || !make_view(p, remote, &v)) {
		return;
	}
	draft = wanted_copy(p, &v);
	if (!draft) {
		if (arena_failed(a)) {
			say_no_memory(p->e);
		}
		return;
	}
	if (forward && plug_forward(adapter_of(p), v.local, draft, a) == ERR_NO_MEMORY) {
		say_no_memory(p->e);
		return;
	}
	diff = json_diff(a, v.remote, draft);
	if (arena_failed(a)) {
		say_no_memory(p->e);
		return;
	}
	if (!diff) {
		refusal_moot(remote, R_JOB_FORWARD);
	}
	if (!diff || !pass_ready(p, remote) || is_walled(p, remote) ||
	    !may_forward(p, k, remote, diff)) {
		return;
	}
	/* Not by json_merge: that would apply the removals that the patch is to request. */
	(void)json_put(a, diff, "/metadata/resourceVersion",
		       json_new_str(a, arena_printf(a, "%llu", (unsigned long long)remote->rv)));
	op.body = diff;
	op.uid = str_of(remote->uid);
	op.rv = remote->rv;
	op.as = wall_author(p);
	ops_send(p->e, remote, &op, R_JOB_FORWARD);
}

/* The round ends as if the worker had refused the job; the next one begins with the wall. */
static void keep_here(struct pass *p, const struct clone *k, mk_str why)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);

	if (why.n > 0 && wc && keep_str(&wc->why, why)) {
		wc->bout.refused = true;
		rule_hit(p->e, R_REJECTED_WALL);
		pass_again(p, p->e->now + 1);
	}
}

void job_create(struct pass *p, struct clone *k, struct record *remote)
{
	struct arena *a = p->e->out->arena;
	struct op op = {.type = OP_CREATE, .prio = PRIO_START, .subresource = ""};
	struct plug_result res = {0};
	struct plug_view v;
	struct json *draft;
	mk_str why;

	if (!pass_ready(p, remote) || !members_may_look(p) || !make_view(p, NULL, &v)) {
		return;
	}
	v.cluster = str_of(k->c->name);
	draft = plug_skeleton(adapter_of(p), v.local, a);
	if (!draft) {
		say_no_memory(p->e);
		return;
	}
	if (!submitted_restore(p, draft) || !call(p, plug_remote, &v, draft, &res)) {
		return;
	}
	if (!(res.verdict & MK_SET)) {
		return;
	}
	job_stamp(p, res.draft);
	scale_strip(p, res.draft);
	if (wall_stops(p, res.draft, true, &why)) {
		keep_here(p, k, why);
		return;
	}
	/* A worker that deletes a finished job early would hide its end from us. */
	(void)json_put(a, res.draft, "/spec/ttlSecondsAfterFinished", NULL);
	op.body = res.draft;
	op.as = wall_author(p);
	ops_send(p->e, remote, &op, R_JOB_CREATE);
}
