/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which writes are judged at all, with which sets of objects, and what is answered; see review.h.
 * A review never locks a cluster: what changes nothing that rules read, what is on its way out, and
 * what has nothing to do with trees passes, and so does what Kueue's own object had wrong before.
 */
#include "core/trees/review.h"

#include "core/api/admission.h"
#include "core/quota/compile_source.h"
#include "core/quota/validate.h"

enum {
	TEXT_MAX = 16 * 1024,
	WARNING_MAX = 250, /* bytes; API servers cut longer ones */
};

enum operation { CREATED, UPDATED, DELETED, OTHER };

struct review {
	struct trees_store *s;
	struct arena *a;
	mk_str account;
	const struct json *request;
	enum api_kind kind;
	enum operation operation;
	mk_str ns, name;
	struct json *object, *old; /* NULL: none */
	/* The answer. */
	struct validate_error *refused; /* for these */
	size_t n_refused;
	struct json *warnings;
};

/* A state of the cluster. */
struct side {
	struct json **v;
	size_t n;
	struct json *subject; /* one of them, or NULL */
	size_t index;         /* of it in the set, or API_NONE */
	struct api_set *set;
};

/* --- what is written -------------------------------------------------------------------------- */

static enum api_kind kind_of(const struct json *request)
{
	static const enum api_kind kinds[] = {API_QUEUE, API_TREE, API_STATUS, API_LQ};
	const struct json *kind = json_get(request, "kind");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (str_is(json_str(json_get(kind, "group")), NAME_GROUP) &&
		    str_is(json_str(json_get(kind, "kind")), api_kind_name(kinds[i]))) {
			return kinds[i];
		}
	}
	return API_OTHER;
}

static enum operation operation_of(const struct json *request)
{
	mk_str word = json_str(json_get(request, "operation"));

	return str_is(word, "CREATE")   ? CREATED
	       : str_is(word, "UPDATE") ? UPDATED
	       : str_is(word, "DELETE") ? DELETED
					: OTHER;
}

/* An object of the request; NULL when there is none. */
static struct json *object_of(const struct json *request, const char *member)
{
	struct json *v = json_get(request, member);

	return json_type(v) == JSON_OBJ ? v : NULL;
}

/* Does the object say that it is of the kind that the request is about? */
static bool is_of_kind(const struct review *r, const struct json *obj)
{
	return str_is(json_str(json_get(obj, "kind")), api_kind_name(r->kind)) &&
	       str_starts(json_str(json_get(obj, "apiVersion")), STR(NAME_GROUP "/")) &&
	       json_str_at(obj, "/metadata/name").n > 0;
}

static enum mk_code read_request(struct review *r, struct mk_err *err)
{
	const struct json *from;

	r->kind = kind_of(r->request);
	r->operation = operation_of(r->request);
	r->object = r->operation != DELETED ? object_of(r->request, "object") : NULL;
	r->old = r->operation != CREATED ? object_of(r->request, "oldObject") : NULL;
	from = r->object ? r->object : r->old;
	r->ns = json_str_at(from, "/metadata/namespace");
	r->name =
		from ? json_str_at(from, "/metadata/name") : json_str(json_get(r->request, "name"));
	if (r->kind != API_OTHER &&
	    ((!r->object && r->operation <= UPDATED) || (r->object && !is_of_kind(r, r->object)) ||
	     (r->old && !is_of_kind(r, r->old)))) {
		return err_set(err, ERR_INVALID, "expected a %s with a name in the request",
			       api_kind_name(r->kind));
	}
	return ERR_OK;
}

/* Every annotation of Kueue's group that 'x' has, 'y' has as well. */
static bool has_notes_of(const struct json *x, const struct json *y)
{
	struct json_iter it = json_iter(json_at(x, "/metadata/annotations"));
	const struct json *others = json_at(y, "/metadata/annotations");

	while (json_next(&it)) {
		if (str_starts(it.key, STR(API_ANNOTATION)) &&
		    !json_equal(it.val, json_getn(others, it.key))) {
			return false;
		}
	}
	return true;
}

/* Of ClusterQueueTrees, which are nothing else, the status counts; of others it does not. */
static bool changes_nothing(const struct review *r)
{
	return r->operation == UPDATED && r->old &&
	       json_equal(json_get(r->object, "spec"), json_get(r->old, "spec")) &&
	       has_notes_of(r->object, r->old) && has_notes_of(r->old, r->object) &&
	       (r->kind != API_STATUS ||
		json_equal(json_get(r->object, "status"), json_get(r->old, "status")));
}

static bool is_going(const struct review *r)
{
	const struct json *obj = r->object ? r->object : r->old;

	return json_str_at(obj, "/metadata/deletionTimestamp").n > 0;
}

static bool is_by_controller(const struct review *r)
{
	mk_str user = json_str_at(r->request, "/userInfo/username");

	return r->account.n > 0 && str_eq(user, r->account);
}

/* Does a ClusterQueue say anything that only trees give a meaning? */
static bool has_words(const struct json *queue)
{
	static const char *const fields[] = {"parent", "children", "policy", "minWeight",
					     "maxWeight"};
	static const char *const notes[] = {
		"children",   "force",  "parent",           "max-resources", "max-weight",
		"min-weight", "policy", "preemption-fence", "quota-managed", "queueing-strategy"};
	const struct json *spec = json_get(queue, "spec");
	struct json_iter it = json_iter(json_at(queue, "/metadata/annotations"));
	size_t prefix = sizeof(API_ANNOTATION) - 1;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (json_get(spec, fields[i])) {
			return true;
		}
	}
	while (json_next(&it)) {
		bool ours = str_starts(it.key, STR(API_ANNOTATION));

		for (size_t i = 0; ours && i < sizeof(notes) / sizeof(notes[0]); i++) {
			if (str_is(str_sub(it.key, prefix, SIZE_MAX), notes[i])) {
				return true;
			}
		}
	}
	return false;
}

/* --- sets ------------------------------------------------------------------------------------- */

/* Takes limits out of resourceGroups: nominal quotas are left. */
static void drop_limits(struct arena *a, struct json *groups)
{
	struct json_iter group = json_iter(groups);

	while (json_next(&group)) {
		struct json_iter flavor = json_iter(json_get(group.val, "flavors"));

		while (json_next(&flavor)) {
			struct json_iter each = json_iter(json_get(flavor.val, "resources"));

			while (json_next(&each)) {
				json_set(a, each.val, STR("borrowingLimit"), NULL);
				json_set(a, each.val, STR("lendingLimit"), NULL);
			}
		}
	}
}

/*
 * A ClusterQueue with a weight has the resourceGroups that its tree was compiled to. They are not
 * its owner's, so compile_source took them; that a user writes them must show, so they come back
 * marked as the controller's.
 */
static void give_back(struct arena *a, struct json *queue, struct json *groups)
{
	if (groups && !json_at(queue, "/spec/resourceGroups")) {
		drop_limits(a, groups);
		(void)json_put(a, queue, "/spec/resourceGroups", groups);
		(void)json_put(a, queue, "/metadata/annotations/kueue.x-k8s.io~1quota-managed",
			       json_new_str(a, STR("true")));
	}
}

/* What owners of trees wrote, connected; 'newest': the subject came last. */
static enum mk_code link_side(struct review *r, struct side *x, bool newest, struct mk_err *err)
{
	struct json *groups = json_dup(r->a, json_at(x->subject, "/spec/resourceGroups"));
	enum mk_code code = compile_source(r->a, x->v, x->n, err);

	give_back(r->a, x->subject, groups);
	x->index = API_NONE;
	x->set = api_set_new(r->a);
	if (code != ERR_OK || !x->set) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	for (size_t i = 0; i < x->n; i++) {
		code = api_set_add(x->set, x->v[i], 0, err);
		if (code == ERR_NO_MEMORY || (code != ERR_OK && x->v[i] == x->subject)) {
			return code;
		}
		if (x->v[i] == x->subject) {
			x->index = x->set->n_objects - 1;
		}
	}
	return api_set_link(x->set, newest ? x->index : API_NONE, err);
}

static bool is_subject(const struct review *r, const struct json *obj)
{
	return str_is(json_str(json_get(obj, "kind")), api_kind_name(r->kind)) &&
	       str_eq(json_str_at(obj, "/metadata/name"), r->name) &&
	       str_eq(json_str_at(obj, "/metadata/namespace"), r->ns);
}

static void put(struct side *x, struct json *obj)
{
	if (obj) {
		x->v[x->n++] = obj;
	}
}

/* Both states: the store's, with the subject as the API server had and will have it. */
static enum mk_code make_sides(struct review *r, const struct trees_snapshot *shot,
			       struct side *before, struct side *now, struct mk_err *err)
{
	struct json **all = NULL;
	size_t n = 0;
	bool there = false;
	enum mk_code code = shot ? trees_snapshot_objects(shot, r->a, &all, &n, err) : ERR_OK;

	*before = (struct side){.v = arena_array(r->a, n + 1, sizeof(*all)), .subject = r->old};
	*now = (struct side){.v = arena_array(r->a, n + 1, sizeof(*all)), .subject = r->object};
	if (code != ERR_OK || !before->v || !now->v) {
		return code != ERR_OK ? code : err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	for (size_t i = 0; i < n; i++) {
		bool subject = is_subject(r, all[i]);

		there = there || subject;
		put(before, subject ? r->old : all[i]);
		/* A deletion is judged by what was there. */
		put(now, r->operation == DELETED ? NULL : subject ? r->object : all[i]);
	}
	if (!there) {
		put(before, r->old);
		put(now, r->object);
	}
	return ERR_OK;
}

/* --- judgement -------------------------------------------------------------------------------- */

static void warn(struct review *r, const struct api_fault *fault)
{
	if (json_len(r->warnings) < VALIDATE_SHOWN) {
		json_add(r->a, r->warnings,
			 json_new_str(r->a, str_cut(validate_line(r->a, fault), WARNING_MAX)));
	}
}

/* Words that are taken, and mean nothing yet. */
static void warn_of_idle(struct review *r, const struct api_set *now)
{
	const struct api_tree *tree = api_set_tree(now, r->name);

	for (size_t i = 0; tree && i < tree->idle.n; i++) {
		/* The controller acts on the others. */
		if (str_is(tree->idle.p[i].path, "spec.overLimitPolicy")) {
			warn(r, &tree->idle.p[i]);
		}
	}
}

static bool is_among(const struct validate_errors *errors, const struct api_fault *f)
{
	for (size_t i = 0; i < errors->n; i++) {
		if (errors->v[i].fault.rule == f->rule &&
		    str_eq(errors->v[i].fault.path, f->path)) {
			return true;
		}
	}
	return false;
}

/*
 * A ClusterQuotaTree is mended by one write. A tree of ClusterQueues takes one for each of them:
 * what was wrong with this one before is no reason to refuse its next form.
 */
static enum mk_code split(struct review *r, const struct side *before,
			  const struct validate_errors *found, struct mk_err *err)
{
	const struct validate_input old = {.now = before->set,
					   .before = before->set,
					   .subject = before->index,
					   .deleted = API_NONE};
	struct validate_errors known = {.n = 0};
	enum mk_code code = ERR_OK;

	if ((r->kind == API_QUEUE || r->kind == API_LQ) && r->operation == UPDATED &&
	    found->n > 0 && before->index != API_NONE) {
		code = validate(r->a, &old, &known, err);
	}
	r->refused = arena_array(r->a, found->n, sizeof(*r->refused));
	if (code != ERR_OK || !r->refused) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	for (size_t i = 0; i < found->n; i++) {
		if (is_among(&known, &found->v[i].fault)) {
			warn(r, &found->v[i].fault);
		} else {
			r->refused[r->n_refused++] = found->v[i];
		}
	}
	return ERR_OK;
}

/* With what a snapshot has; NULL: the object alone. */
static enum mk_code judge_with(struct review *r, const struct trees_snapshot *shot,
			       struct mk_err *err)
{
	struct side before, now;
	struct validate_input in = {.deleted = API_NONE};
	struct validate_errors found = {.n = 0};
	enum mk_code code = make_sides(r, shot, &before, &now, err);

	code = code == ERR_OK ? link_side(r, &before, false, err) : code;
	/* Its values are those of the side before, from which no more is taken that is read. */
	code = code == ERR_OK ? link_side(r, &now, true, err) : code;
	if (code != ERR_OK) {
		return code;
	}
	in.now = now.set;
	in.before = before.set;
	in.subject = now.index;
	if (r->operation == DELETED) {
		in.deleted = before.index;
		if (before.index == API_NONE) {
			return ERR_OK;
		}
	}
	code = validate(r->a, &in, &found, err);
	if (code == ERR_OK && r->kind == API_TREE) {
		warn_of_idle(r, now.set);
	}
	return code == ERR_OK ? split(r, &before, &found, err) : code;
}

static enum mk_code judge_all(struct review *r, struct mk_err *err)
{
	struct trees_snapshot *shot = trees_store_snapshot(r->s);
	enum mk_code code =
		shot ? judge_with(r, shot, err) : err_set(err, ERR_NO_MEMORY, "out of memory");

	trees_snapshot_free(shot);
	return code;
}

/* Outside of trees nothing is refused; what looks like one of their words is told. */
static enum mk_code judge_outside(struct review *r, struct mk_err *err)
{
	enum mk_code code = r->operation == DELETED ? ERR_OK : judge_with(r, NULL, err);

	for (size_t i = 0; i < r->n_refused; i++) {
		warn(r, &r->refused[i].fault);
	}
	r->n_refused = 0;
	return code;
}

static enum mk_code judge_queue(struct review *r, struct mk_err *err)
{
	bool outside = trees_store_place(r->s, r->name) == TREES_OUTSIDE && !has_words(r->object) &&
		       !has_words(r->old);

	return outside ? judge_outside(r, err) : judge_all(r, err);
}

static enum mk_code judge_lq(struct review *r, struct mk_err *err)
{
	mk_str queue = json_str_at(r->object, "/spec/clusterQueue");

	switch (trees_store_place(r->s, queue)) {
	case TREES_OUTSIDE:
		return judge_outside(r, err);
	case TREES_LEAF:
		return judge_with(r, NULL, err);
	case TREES_INNER:
		break;
	}
	return judge_all(r, err);
}

static enum mk_code judge(struct review *r, struct mk_err *err)
{
	mk_str part = json_str(json_get(r->request, "subResource"));
	enum api_kind missing = API_OTHER;

	if (r->kind == API_OTHER || r->operation == OTHER ||
	    (part.n > 0 && r->kind != API_STATUS) || changes_nothing(r) || is_going(r) ||
	    is_by_controller(r) || (r->operation == DELETED && r->kind != API_QUEUE)) {
		return ERR_OK;
	}
	if (r->kind == API_STATUS) {
		return judge_with(r, NULL, err);
	}
	if (!trees_store_whole(r->s, &missing)) {
		return err_set(err, ERR_UNAVAILABLE, "the %ss of the cluster are not known yet",
			       api_kind_name(missing));
	}
	if (r->kind == API_TREE) {
		return judge_all(r, err);
	}
	return r->kind == API_LQ ? judge_lq(r, err) : judge_queue(r, err);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Is it all about who writes? */
static bool is_about_user(const struct review *r, bool with_cohort)
{
	for (size_t i = 0; i < r->n_refused; i++) {
		int rule = r->refused[i].fault.rule;

		if (rule != 20 && rule != 24 && (rule != 4 || !with_cohort)) {
			return false;
		}
	}
	return r->n_refused > 0;
}

static mk_str answer_of(struct review *r, mk_str text)
{
	struct json *response = admission_response(r->a, r->request, r->n_refused == 0);
	struct json *status = json_new_obj(r->a);
	bool forbidden = is_about_user(r, false);

	if (r->n_refused > 0) {
		json_set_int(r->a, status, "code", forbidden ? 403 : 422);
		json_set_str(r->a, status, "reason", forbidden ? STR("Forbidden") : STR("Invalid"));
		json_set_str(r->a, status, "message", text);
		json_set(r->a, response, STR("status"), status);
	}
	if (json_len(r->warnings) > 0) {
		json_set(r->a, response, STR("warnings"), r->warnings);
	}
	return admission_write(r->a, response);
}

enum mk_code trees_review(struct trees_store *s, mk_str account, mk_str text, struct arena *a,
			  mk_str *ret_answer, struct trees_review *ret, struct mk_err *err)
{
	struct review r = {.s = s, .a = a, .account = account, .warnings = json_new_arr(a)};
	struct json *request = NULL;
	mk_str words, answer;
	enum mk_code code = admission_read(a, text, &request, err);

	r.request = request;
	code = code == ERR_OK ? read_request(&r, err) : code;
	code = code == ERR_OK ? judge(&r, err) : code;
	if (code == ERR_OK && account.n == 0 && is_about_user(&r, true)) {
		code = err_set(err, ERR_UNAVAILABLE, "the daemon does not know its own name yet");
	}
	if (code != ERR_OK) {
		return code;
	}
	words = str_cut(validate_text(a, r.refused, r.n_refused), TEXT_MAX);
	answer = answer_of(&r, words);
	if (arena_failed(a)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	*ret_answer = answer;
	*ret = (struct trees_review){.allowed = r.n_refused == 0,
				     .text = words,
				     .kind = str_of(api_kind_name(r.kind)),
				     .name = r.name};
	return ERR_OK;
}
