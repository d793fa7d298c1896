/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of the manager, and what the daemon says of itself; see doctor.h. */
#include "core/api/names.h"
#include "core/base/file_read.h"
#include "core/base/timefmt.h"
#include "core/base/yaml.h"
#include "core/cli/doctor/doctor.h"

#define KUEUE "/apis/" NAME_API "/"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/%.*s/leases"

static const struct {
	const char *path; /* %s: the namespace of the daemon */
	bool is_list;
	const char *name; /* for notes */
} facts[DOCTOR_N_FACTS] = {
	[FACT_VERSION] = {"/version", false, "the version of the API server"},
	[FACT_IDENTITY] = {"/api/v1/namespaces/kube-system", false, "Namespace kube-system"},
	[FACT_CLUSTERS] = {KUEUE "multikueueclusters", true, "MultiKueueClusters"},
	[FACT_CONFIGS] = {KUEUE "multikueueconfigs", true, "MultiKueueConfigs"},
	[FACT_CHECKS] = {KUEUE "admissionchecks", true, "AdmissionChecks"},
	[FACT_QUEUES] = {KUEUE "clusterqueues", true, "ClusterQueues"},
	[FACT_LOCAL_QUEUES] = {KUEUE "localqueues", true, "LocalQueues"},
	[FACT_WORKLOAD_PRIORITIES] = {KUEUE "workloadpriorityclasses", true,
				      "WorkloadPriorityClasses"},
	[FACT_PRIORITIES] = {"/apis/scheduling.k8s.io/v1/priorityclasses", true, "PriorityClasses"},
	[FACT_LEASE] = {NULL, false, "the daemon's Lease"}, /* by read_lease */
	[FACT_KUEUE_DEPLOYMENT] =
		{"/apis/apps/v1/namespaces/%s/deployments/kueue-controller-manager", false,
		 "Kueue's Deployment"},
	[FACT_KUEUE_CONFIG] = {"/api/v1/namespaces/%s/configmaps/kueue-manager-config", false,
			       "Kueue's ConfigMap"},
	[FACT_DEPLOYMENT] = {"/apis/apps/v1/namespaces/%s/deployments/multikueued", false,
			     "the daemon's Deployment"},
	[FACT_WEBHOOK] = {"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/"
			  "multikueue-mutating-webhook-configuration",
			  false, "the webhook's configuration"},
};

const struct json *doctor_items(const struct doctor *d, enum doctor_fact fact)
{
	return d->m.fact[fact].is_list ? d->m.fact[fact].v : NULL;
}

const struct json *doctor_named(const struct json *list, mk_str name)
{
	struct json_iter it = json_iter(list);

	while (json_next(&it)) {
		if (str_eq(json_str_at(it.val, "/metadata/name"), name)) {
			return it.val;
		}
	}
	return NULL;
}

const struct json *doctor_item(const struct doctor *d, enum doctor_fact fact, mk_str name)
{
	return doctor_named(doctor_items(d, fact), name);
}

bool doctor_is_ours(const struct json *check)
{
	return str_is(json_str_at(check, "/spec/controllerName"), NAME_CONTROLLER);
}

static void nothing(struct doctor_ask *q, void *ctx)
{
	(void)q;
	(void)ctx;
}

static void ask(struct doctor *d, struct doctor_ask *q, mk_str path, bool is_list, mk_str body)
{
	*q = (struct doctor_ask){.d = d,
				 .a = &d->c->a,
				 .to = d->m.server,
				 .path = path,
				 .is_list = is_list,
				 .done = nothing};
	doctor_send(q, body);
}

static bool wait_for_all(struct doctor *d)
{
	return doctor_wait(d, 0) && (!arena_failed(&d->c->a) || cli_no_memory(d->c) == CLI_OK);
}

/* What the caller may not read is no finding, but is said. */
static void note_unread(struct doctor *d, const struct doctor_ask *q, const char *name)
{
	if (q->is_asked && !doctor_has(q) && q->status != 404) {
		doctor_note(d, NULL,
			    doctor_text(d, "%s: %.*s", name,
					STR_ARG(q->text.n > 0 ? q->text : STR("no answer"))));
	}
}

static bool read_facts(struct doctor *d)
{
	struct doctor_ask *version = &d->m.fact[FACT_VERSION];

	for (int i = 0; i < DOCTOR_N_FACTS; i++) {
		mk_str path = facts[i].path ? str_of(facts[i].path) : STR("");
		const char *gap = facts[i].path ? strstr(facts[i].path, "%s") : NULL;

		if (path.n == 0) {
			continue;
		}
		if (gap) {
			size_t n = (size_t)(gap - facts[i].path);

			path = doctor_text(d, "%.*s%.*s%s", (int)n, facts[i].path, STR_ARG(d->ns),
					   gap + 2);
		}
		ask(d, &d->m.fact[i], path, facts[i].is_list, STR(""));
	}
	if (!wait_for_all(d)) {
		return false;
	}
	if (!doctor_has(version)) {
		cli_error(d->c,
			  "the manager does not answer: %.*s; expected kubectl's context to lead "
			  "to it: see --context and --kubeconfig",
			  STR_ARG(version->text));
		return false;
	}
	for (int i = 0; i < DOCTOR_N_FACTS; i++) {
		note_unread(d, &d->m.fact[i], facts[i].name);
	}
	d->m.uid = json_str_at(d->m.fact[FACT_IDENTITY].v, "/metadata/uid");
	if (doctor_has(&d->m.fact[FACT_CLUSTERS])) {
		return true;
	}
	cli_error(d->c,
		  "MultiKueueClusters cannot be listed: %.*s; expected Kueue on the manager, and "
		  "rights for you to read its objects",
		  STR_ARG(d->m.fact[FACT_CLUSTERS].text));
	return false;
}

/* --- the daemon ------------------------------------------------------------------------------- */

static struct json *get(struct daemon *daemon, const char *path)
{
	int status;
	struct json *v = daemon_get(daemon, str_of(path), &status);

	return status == 200 ? v : NULL;
}

/* Without one the rest is looked at all the same: what it would have said is a finding. */
static void read_daemon(struct doctor *d)
{
	size_t err = d->c->err.n;
	struct daemon daemon;

	if (!cli_get(d->args, "server") && !doctor_has(&d->m.fact[FACT_DEPLOYMENT])) {
		return;
	}
	if (daemon_open(&daemon, d->c, d->args)) {
		d->m.status = get(&daemon, "/status");
		d->m.settings = d->m.status ? get(&daemon, "/v1/settings") : NULL;
		d->m.plugins = d->m.settings ? get(&daemon, "/v1/plugins") : NULL;
	}
	daemon_close(&daemon);
	d->c->err.n = err;
}

/* The name of the Lease that was renewed last; "": there is none. */
static mk_str newest(const struct json *leases)
{
	struct json_iter it = json_iter(leases);
	mk_str name = STR("");
	int64_t last = INT64_MIN;

	while (json_next(&it)) {
		int64_t renewed = INT64_MIN;

		(void)time_parse(json_str_at(it.val, "/spec/renewTime"), &renewed);
		if (name.n == 0 || renewed > last) {
			name = json_str_at(it.val, "/metadata/name");
			last = renewed;
		}
	}
	return name;
}

/*
 * The daemon says which Lease is its own. When it does not answer, the label tells that it gives to
 * its Lease; one that a leaseName of before left is renewed no more. Else it is the default.
 */
static bool read_lease(struct doctor *d)
{
	struct doctor_ask list;

	d->m.lease_ns = row_text(d->m.settings, "leaseNamespace");
	d->m.lease_name = row_text(d->m.settings, "leaseName");
	if (!d->m.settings) {
		ask(d, &list,
		    doctor_text(d, LEASES "?labelSelector=" NAME_MANAGED_BY "%%3D" NAME_DAEMON,
				STR_ARG(d->ns)),
		    true, STR(""));
		if (!wait_for_all(d)) {
			return false;
		}
		d->m.lease_ns = d->ns;
		d->m.lease_name = newest(list.v);
		if (d->m.lease_name.n == 0) {
			d->m.lease_name = STR(NAME_DAEMON); /* the default */
		}
	}
	if (d->m.lease_name.n == 0) {
		return true; /* no leader is elected */
	}
	ask(d, &d->m.fact[FACT_LEASE],
	    doctor_text(d, LEASES "/%.*s", STR_ARG(d->m.lease_ns), STR_ARG(d->m.lease_name)), false,
	    STR(""));
	if (!wait_for_all(d)) {
		return false;
	}
	note_unread(d, &d->m.fact[FACT_LEASE], facts[FACT_LEASE].name);
	return true;
}

/* --- kinds ------------------------------------------------------------------------------------ */

static void add_kind(struct doctor *d, mk_str api_version, mk_str kind)
{
	for (size_t i = 0; i < d->m.n_kinds; i++) {
		if (str_eq(d->m.kinds[i].api_version, api_version) &&
		    str_eq(d->m.kinds[i].kind, kind)) {
			return;
		}
	}
	d->m.kinds[d->m.n_kinds++] =
		(struct doctor_kind){.api_version = api_version, .kind = kind, .plural = STR("")};
}

static bool read_kinds(struct doctor *d)
{
	const struct json *items = json_get(d->m.plugins, "items");
	struct json_iter it = json_iter(items);

	d->m.kinds = arena_array(&d->c->a, json_len(items) + 2, sizeof(*d->m.kinds));
	d->m.versions = arena_array(&d->c->a, json_len(items) + 2, sizeof(*d->m.versions));
	if (!d->m.kinds || !d->m.versions) {
		return cli_no_memory(d->c) == CLI_OK;
	}
	add_kind(d, STR(NAME_API), STR("Workload"));
	while (json_next(&it)) {
		if (str_is(row_text(it.val, "type"), "adapter")) {
			add_kind(d, row_text(it.val, "apiVersion"), row_text(it.val, "kind"));
		}
	}
	if (!d->m.plugins) {
		add_kind(d, STR("batch/v1"), STR("Job"));
	}
	for (size_t i = 0; i < d->m.n_kinds; i++) {
		mk_str version = d->m.kinds[i].api_version;
		size_t k = 0;

		while (k < i && !str_eq(d->m.kinds[k].api_version, version)) {
			k++;
		}
		d->m.kinds[i].version = k < i ? d->m.kinds[k].version : d->m.n_versions;
		if (k == i) {
			ask(d, &d->m.versions[d->m.n_versions++],
			    doctor_text(d, "/%s/%.*s", str_index(version, '/') < 0 ? "api" : "apis",
					STR_ARG(version)),
			    false, STR(""));
		}
	}
	return wait_for_all(d);
}

/* The name that the server has for resources of the kind; "" when it does not serve it. */
static mk_str plural_of(const struct json *discovery, mk_str kind)
{
	struct json_iter it = json_iter(json_get(discovery, "resources"));

	while (json_next(&it)) {
		mk_str name = row_text(it.val, "name");

		if (str_eq(row_text(it.val, "kind"), kind) && str_index(name, '/') < 0) {
			return name;
		}
	}
	return STR("");
}

static void name_kinds(struct doctor *d)
{
	for (size_t i = 0; i < d->m.n_kinds; i++) {
		struct doctor_kind *k = &d->m.kinds[i];

		k->plural = plural_of(d->m.versions[k->version].v, k->kind);
	}
}

/* --- routes ----------------------------------------------------------------------------------- */

/* The number of the config that the queue's check leads to. */
static bool config_of(const struct doctor *d, const struct json *queue, size_t *ret)
{
	struct json_iter it =
		json_iter(json_at(queue, "/spec/admissionChecksStrategy/admissionChecks"));

	while (json_next(&it)) {
		const struct json *check = doctor_item(d, FACT_CHECKS, row_text(it.val, "name"));
		struct json_iter configs = json_iter(doctor_items(d, FACT_CONFIGS));

		for (*ret = 0; doctor_is_ours(check) && json_next(&configs); ++*ret) {
			if (str_eq(json_str_at(configs.val, "/metadata/name"),
				   json_str_at(check, "/spec/parameters/name"))) {
				return true;
			}
		}
	}
	return false;
}

static bool find_routes(struct doctor *d)
{
	const struct json *locals = doctor_items(d, FACT_LOCAL_QUEUES);
	struct json_iter it = json_iter(locals);

	d->m.routes = arena_array(&d->c->a, json_len(locals) + 1, sizeof(*d->m.routes));
	if (!d->m.routes) {
		return cli_no_memory(d->c) == CLI_OK;
	}
	while (json_next(&it)) {
		struct doctor_route r = {
			.local = it.val,
			.queue = doctor_item(d, FACT_QUEUES,
					     json_str_at(it.val, "/spec/clusterQueue"))};

		if (r.queue && config_of(d, r.queue, &r.config)) {
			d->m.routes[d->m.n_routes++] = r;
		}
	}
	return true;
}

mk_str doctor_author(struct doctor *d, const struct doctor_route *r)
{
	const struct json *accounts = json_get(d->m.settings, "accounts");
	const struct json *config = json_elem(doctor_items(d, FACT_CONFIGS), r->config);
	const struct json *account = json_getn(accounts, json_str_at(config, "/metadata/name"));
	mk_str name = json_str(account ? account : json_get(accounts, "*"));

	return name.n == 0 ? STR("")
			   : doctor_text(d, NAME_ACCOUNT "%.*s:%.*s",
					 STR_ARG(json_str_at(r->local, "/metadata/namespace")),
					 STR_ARG(name));
}

/* --- rights ----------------------------------------------------------------------------------- */

mk_str doctor_review(struct arena *a, const struct doctor_right *r, mk_str user)
{
	struct json *o = json_new_obj(a), *spec = json_new_obj(a), *what = json_new_obj(a);

	json_set_str(a, what, "verb", r->verb);
	json_set_str(a, what, "group", r->group);
	json_set_str(a, what, "resource", r->resource);
	json_set_str(a, what, "subresource", r->subresource);
	json_set_str(a, what, "name", r->name);
	json_set_str(a, what, "namespace", r->ns);
	json_set(a, spec, STR("resourceAttributes"), what);
	if (user.n > 0) {
		json_set_str(a, spec, "user", user);
	}
	json_set_str(a, o, "apiVersion", STR("authorization.k8s.io/v1"));
	json_set_str(a, o, "kind",
		     user.n > 0 ? STR("SubjectAccessReview") : STR("SelfSubjectAccessReview"));
	json_set(a, o, STR("spec"), spec);
	return json_write(a, o);
}

static size_t count_rights(const struct json *documents)
{
	struct json_iter docs = json_iter(documents);
	size_t n = 0;

	while (json_next(&docs)) {
		struct json_iter rules = json_iter(json_get(docs.val, "rules"));

		while (json_next(&rules)) {
			n += json_len(json_get(rules.val, "verbs")) *
			     json_len(json_get(rules.val, "resources"));
		}
	}
	return n;
}

/* Each verb on each resource of a rule. */
static void add_rights(const struct json *rule, mk_str ns, struct doctor_right *all, size_t *n)
{
	struct json_iter resources = json_iter(json_get(rule, "resources"));

	while (json_next(&resources)) {
		struct json_iter verbs = json_iter(json_get(rule, "verbs"));
		mk_str sub = json_str(resources.val), resource = STR("");

		str_split(&sub, '/', &resource);
		while (json_next(&verbs)) {
			all[(*n)++] =
				(struct doctor_right){.verb = json_str(verbs.val),
						      .group = json_str_at(rule, "/apiGroups/0"),
						      .resource = resource,
						      .subresource = sub.n > 0 ? sub : STR(""),
						      .name = json_str_at(rule, "/resourceNames/0"),
						      .ns = ns};
		}
	}
}

/* The rights that the roles of a text as rbac_print writes it give. False: printed. */
static bool rights_of(struct doctor *d, mk_str yaml, struct doctor_right **ret, size_t *ret_n)
{
	struct json *documents = NULL;
	struct json_iter docs;
	struct mk_err err;

	if (yaml_documents(&d->c->a, yaml, NULL, &documents, &err) != ERR_OK) {
		cli_error(d->c, "the rights: %s; expected what --print-worker-rbac prints",
			  err.msg);
		return false;
	}
	*ret = arena_array(&d->c->a, count_rights(documents) + 1, sizeof(**ret));
	*ret_n = 0;
	docs = json_iter(documents);
	while (*ret && json_next(&docs)) {
		struct json_iter rules = json_iter(json_get(docs.val, "rules"));

		/* The role for readers of metrics is not the daemon's. */
		while (!str_ends(json_str_at(docs.val, "/metadata/name"), STR("-reader")) &&
		       json_next(&rules)) {
			add_rights(rules.val, json_str_at(docs.val, "/metadata/namespace"), *ret,
				   ret_n);
		}
	}
	return *ret || cli_no_memory(d->c) == CLI_OK;
}

/* --worker-rbac counts, else what the daemon says. */
static bool read_rights(struct doctor *d)
{
	const struct json *said = json_get(d->m.settings, "rights");
	const char *file = cli_get(d->args, "worker-rbac");
	mk_str text = row_text(said, "worker");
	struct mk_err err;

	if (file && file_read(&d->c->a, file, YAML_MAX_SIZE, &text, &err) != ERR_OK) {
		cli_error(d->c, "--worker-rbac %s: %s", file, err.msg);
		return false;
	}
	if (text.n == 0) {
		doctor_note(d, NULL,
			    STR("rights on workers: the daemon did not say which it needs; see "
				"--server and --worker-rbac"));
	}
	return rights_of(d, text, &d->m.rights, &d->m.n_rights) &&
	       rights_of(d, row_text(said, "manager"), &d->m.own_rights, &d->m.n_own_rights);
}

static bool review_own_rights(struct doctor *d)
{
	mk_str user = doctor_text(d, "system:serviceaccount:%.*s:multikueued", STR_ARG(d->ns));

	/* A daemon that runs elsewhere has another account. */
	if (!doctor_wants_group(d, "daemon") || !doctor_has(&d->m.fact[FACT_DEPLOYMENT])) {
		d->m.n_own_rights = 0;
	}
	d->m.own_reviews = arena_array(&d->c->a, d->m.n_own_rights + 1, sizeof(*d->m.own_reviews));
	for (size_t i = 0; d->m.own_reviews && i < d->m.n_own_rights; i++) {
		ask(d, &d->m.own_reviews[i],
		    STR("/apis/authorization.k8s.io/v1/subjectaccessreviews"), false,
		    doctor_review(&d->c->a, &d->m.own_rights[i], user));
	}
	return d->m.own_reviews ? wait_for_all(d) : cli_no_memory(d->c) == CLI_OK;
}

bool doctor_read_manager(struct doctor *d)
{
	mk_str origin;

	if (!read_facts(d)) {
		return false;
	}
	read_daemon(d);
	origin = row_text(d->m.settings, "origin");
	d->m.origin = origin.n > 0 ? origin : STR("multikueue");
	if (!read_lease(d) || !read_kinds(d) || !find_routes(d) || !read_rights(d) ||
	    !review_own_rights(d)) {
		return false;
	}
	name_kinds(d);
	return true;
}
