/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Kueue's start adds to a job; see submitted.h. Pod templates are found by their shape and
 * belong to the pod set whose name stands on their path, so that kinds unknown here are served too:
 * "replicatedJobs/[name: a]/template/spec/template", "pytorchReplicaSpecs/Worker/template",
 * "headGroupSpec/template", "workerGroupSpecs/[groupName: a]/template". A kind that describes its
 * pods without a template has all of that in one object, as "driver" of a SparkApplication, which
 * is found by the marks that each start leaves there.
 */
#include "core/engine/rules/submitted.h"

#define NAME_STOPPING NAME_GROUP "/stopping"

enum { DEPTH_MAX = 32 }; /* no kind has templates below so many levels */

/* Labels and annotations that only Kueue's start writes, and its gate for pods with a topology. */
static const char *const marks[] = {
	NAME_GROUP "/podset",   NAME_GROUP "/workload",           NAME_GROUP "/tas",
	NAME_GROUP "/topology", NAME_GROUP "/cluster-queue-name", NAME_GROUP "/local-queue-name",
	NAME_SLICE_NAME,
};

/* What of a pod has marks. */
static const char *const marked[] = {"labels", "annotations"};
enum { N_MARKED = sizeof(marked) / sizeof(*marked) };

/* A step of the path to a template: a member's key, or the name of an array's element. */
struct step {
	const struct step *up;
	mk_str key, name;
	unsigned depth;
};

static bool is_mark(mk_str key)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		if (str_is(key, marks[i])) {
			return true;
		}
	}
	return false;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Does 's' begin with 'name', whatever the case? */
static bool begins(mk_str s, mk_str name)
{
	for (size_t i = 0; i < name.n; i++) {
		if (i >= s.n || lower(s.p[i]) != lower(name.p[i])) {
			return false;
		}
	}
	return name.n > 0;
}

/* How well the path names the pod set: an element's name, a key, a key's first word; 0 not. */
static unsigned names(const struct step *path, mk_str pod_set)
{
	unsigned best = 0;

	for (const struct step *s = path; s; s = s->up) {
		if (s->name.n == pod_set.n && begins(s->name, pod_set)) {
			return 3;
		}
		if (!begins(s->key, pod_set)) {
			continue;
		}
		if (s->key.n == pod_set.n) {
			best = 2;
		} else if (best == 0 && s->key.p[pod_set.n] >= 'A' && s->key.p[pod_set.n] <= 'Z') {
			best = 1;
		}
	}
	return best;
}

/* The template of the pod set that the path leads to; NULL: none, or several are possible. */
static const struct json *pod_set_of(const struct json *pod_sets, const struct step *path)
{
	const struct json *found = NULL;
	struct json_iter it = json_iter(pod_sets);
	unsigned best = 0;

	if (json_len(pod_sets) == 1) {
		return json_get(json_elem(pod_sets, 0), "template");
	}
	while (json_next(&it)) {
		unsigned fit = names(path, json_str(json_get(it.val, "name")));

		if (fit > best) {
			best = fit;
			found = json_get(it.val, "template");
		} else if (fit == best) {
			found = NULL;
		}
	}
	return found;
}

/* Removes marks, and members that 'had' lacks, where the pod set is known. */
static void restore_map(struct arena *a, struct json *in, const char *member,
			const struct json *set, const struct json *had)
{
	struct json *map = json_get(in, member);
	struct json_iter it = json_iter(map);
	bool changed = false;

	while (json_type(map) == JSON_OBJ && json_next(&it)) {
		if (is_mark(it.key) || (set && !json_getn(had, it.key))) {
			json_set(a, map, it.key, NULL);
			changed = true;
		}
	}
	if (changed && json_len(map) == 0) {
		json_set(a, in, str_of(member), NULL);
	}
}

/* Servers and controllers write members that are "" or leave them out. */
static bool is_same(const struct json *x, const struct json *y)
{
	static const char *const words[] = {"name", "key", "operator", "value", "effect"};
	const struct json *xs = json_get(x, "tolerationSeconds");
	const struct json *ys = json_get(y, "tolerationSeconds");

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (!str_eq(json_str(json_get(x, words[i])), json_str(json_get(y, words[i])))) {
			return false;
		}
	}
	return xs && ys ? json_equal(xs, ys) : !xs && !ys;
}

static bool has_same(const struct json *list, const struct json *v)
{
	struct json_iter it = json_iter(list);

	while (json_next(&it)) {
		if (is_same(it.val, v)) {
			return true;
		}
	}
	return false;
}

/* The same for tolerations and scheduling gates. */
static void restore_list(struct arena *a, struct json *in, const char *member,
			 const struct json *set, const struct json *had)
{
	struct json *list = json_get(in, member);
	bool changed = false;

	for (size_t i = json_type(list) == JSON_ARR ? json_len(list) : 0; i-- > 0;) {
		const struct json *v = json_elem(list, i);

		if (set ? !has_same(had, v) : is_mark(json_str(json_get(v, "name")))) {
			json_remove(list, i);
			changed = true;
		}
	}
	if (changed && json_len(list) == 0) {
		json_set(a, in, str_of(member), NULL);
	}
}

/* 'meta' has a pod's labels, 'spec' what schedules it: the same object where no template is. */
static void restore_pod(struct arena *a, struct json *meta, struct json *spec,
			const struct json *set)
{
	static const char *const lists[] = {"tolerations", "schedulingGates"};
	const struct json *had = json_get(set, "metadata");

	for (size_t i = 0; i < N_MARKED; i++) {
		restore_map(a, meta, marked[i], set, json_get(had, marked[i]));
	}
	had = json_get(set, "spec");
	restore_map(a, spec, "nodeSelector", set, json_get(had, "nodeSelector"));
	for (size_t i = 0; i < 2; i++) {
		restore_list(a, spec, lists[i], set, json_get(had, lists[i]));
	}
}

static void restore_template(struct arena *a, struct json *template, const struct json *set)
{
	struct json *meta = json_get(template, "metadata");

	restore_pod(a, meta, json_get(template, "spec"), set);
	if (json_type(meta) == JSON_OBJ && json_len(meta) == 0) {
		json_set(a, template, STR("metadata"), NULL);
	}
}

static bool is_template(const struct json *v)
{
	return json_type(json_at(v, "/spec/containers")) == JSON_ARR;
}

static bool is_marked(const struct json *v)
{
	for (size_t i = 0; i < N_MARKED; i++) {
		struct json_iter it = json_iter(json_get(v, marked[i]));

		while (json_next(&it)) {
			if (is_mark(it.key)) {
				return true;
			}
		}
	}
	return false;
}

/* A template that names a container and says nothing of it: a start makes it, for the gates. */
static bool is_bare(const struct json *template)
{
	const struct json *spec = json_get(template, "spec"), *list = json_get(spec, "containers");
	const struct json *container = json_elem(list, 0);
	const struct json *resources = json_get(container, "resources");

	return !json_get(template, "metadata") && json_len(spec) == 1 && json_len(list) == 1 &&
	       json_len(resources) == 0 && json_get(container, "name") &&
	       json_len(container) == (resources ? 2u : 1u);
}

/*
 * The pods of 'set' are described by 'v' itself. Its template has more of them, which the pod set
 * does not tell; a start writes nothing there but the gate for a topology.
 */
static void restore_flat(struct arena *a, struct json *v, const struct json *set)
{
	struct json *template = json_get(v, "template");

	restore_pod(a, v, v, set);
	if (is_template(template)) {
		restore_template(a, template, NULL);
		if (is_bare(template)) {
			json_set(a, v, STR("template"), NULL);
		}
	}
}

static mk_str name_of(const struct json *v)
{
	mk_str name = json_str(json_get(v, "name"));

	return name.n > 0 ? name : json_str(json_get(v, "groupName"));
}

static void restore_below(struct arena *a, struct json *v, const struct json *pod_sets,
			  const struct step *path)
{
	struct json_iter it = json_iter(v);
	bool in_array = json_type(v) == JSON_ARR;
	struct step at = {.up = path, .depth = path ? path->depth + 1 : 0};

	if (at.depth > DEPTH_MAX || (!in_array && json_type(v) != JSON_OBJ)) {
		return;
	}
	if (is_template(v)) {
		restore_template(a, v, pod_set_of(pod_sets, path));
		return;
	}
	if (is_marked(v)) {
		restore_flat(a, v, pod_set_of(pod_sets, path));
		return;
	}
	while (json_next(&it)) {
		at.key = it.key;
		at.name = in_array ? name_of(it.val) : (mk_str){0};
		restore_below(a, it.val, pod_sets, &at);
	}
}

/* A job that Kueue is about to stop is suspended first and restored later. */
static bool is_started(struct pass *p)
{
	const struct json *notes;

	if (!facts_is(p->job->facts, F_SUSPENDED)) {
		return true;
	}
	notes = json_at(pass_job(p), "/metadata/annotations");
	return str_is(json_str(json_get(notes, NAME_STOPPING)), "true");
}

/*
 * Kueue starts a job by its own fields, except where it starts the pods that a controller makes of
 * it. When the Workload of a started job was deleted, Kueue does not restore the job, and makes the
 * next Workload of it as it is: the marks go even if the job is suspended and its pod sets have
 * them.
 */
bool submitted_restore(struct pass *p, struct json *draft)
{
	struct arena *a = p->e->out->arena;
	const struct plug_adapter *ad = plug_adapter(p->e->o.plug, p->adapter);
	const struct json *workload = NULL;
	bool started;

	if (ad->d->group_key || ad->d->replicas || (ad->d->flags & MK_STATUS_NONE)) {
		return true;
	}
	started = is_started(p);
	workload = started ? pass_workload(p) : NULL;
	if (started && !workload) {
		return false;
	}
	restore_below(a, json_get(draft, "spec"), json_at(workload, "/spec/podSets"), NULL);
	if (started) {
		(void)json_put(a, draft, "/metadata/annotations/kueue.x-k8s.io~1stopping", NULL);
		plug_suspend(ad, draft, a);
	}
	if (arena_failed(a)) {
		say_no_memory(p->e);
		return false;
	}
	return true;
}
