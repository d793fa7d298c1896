/* SPDX-License-Identifier: Apache-2.0 */
/* The Table form of objects: what kubectl get prints. */
#include "t/kubesim/store_int.h"

enum { MAX_COLUMNS = 8 };

static const struct table {
	const char *kind;
	const char *columns[MAX_COLUMNS];
} tables[] = {
	{"Workload", {"Name", "Queue", "Reserved in", "Admitted", "Finished", "Age"}},
	{"Job", {"Name", "Status", "Completions", "Duration", "Age"}},
	{"MultiKueueCluster", {"Name", "Connected", "Age"}},
	{"ClusterQueue", {"Name", "Strategy", "Pending workloads", "Admitted workloads", "Age"}},
	{"LocalQueue", {"Name", "ClusterQueue", "Pending workloads", "Admitted workloads", "Age"}},
	{"Lease", {"Name", "Holder", "Age"}},
	{"Secret", {"Name", "Type", "Age"}},
	{"Namespace", {"Name", "Status", "Age"}},
	{"Pod", {"Name", "Status", "Age"}},
	{"Event", {"Last Seen", "Type", "Reason", "Object", "Message"}},
	{NULL, {"Name", "Age"}},
};

static const struct table *table_of(const char *kind)
{
	const struct table *t = tables;

	while (t->kind != NULL && strcmp(t->kind, kind) != 0) {
		t++;
	}
	return t;
}

static int64_t two(mk_str s, size_t at)
{
	return (s.p[at] - '0') * 10 + (s.p[at + 1] - '0');
}

/* Milliseconds of an RFC 3339 time in UTC; 0 when it is none. */
static int64_t parse_time(mk_str s)
{
	int64_t year, month, day, era, yoe, doy;

	if (s.n < 20) {
		return 0;
	}
	year = two(s, 0) * 100 + two(s, 2);
	month = two(s, 5);
	day = two(s, 8);
	year -= month <= 2;
	era = year / 400;
	yoe = year - era * 400;
	doy = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	return ((era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468) * 86400 +
		two(s, 11) * 3600 + two(s, 14) * 60 + two(s, 17)) *
	       1000;
}

static mk_str duration(struct arena *a, int64_t ms)
{
	int64_t sec = ms > 0 ? ms / 1000 : 0;

	if (sec < 120) {
		return arena_printf(a, "%llds", (long long)sec);
	}
	if (sec < 600) {
		return arena_printf(a, sec % 60 ? "%lldm%llds" : "%lldm", (long long)(sec / 60),
				    (long long)(sec % 60));
	}
	if (sec < 3 * 3600) {
		return arena_printf(a, "%lldm", (long long)(sec / 60));
	}
	return sec < 48 * 3600 ? arena_printf(a, "%lldh", (long long)(sec / 3600))
			       : arena_printf(a, "%lldd", (long long)(sec / 86400));
}

static mk_str condition(const struct json *o, const char *type)
{
	return json_str(json_get(ks_condition(o, type), "status"));
}

static mk_str job_status(const struct json *o)
{
	static const char *const types[] = {"Complete", "Failed", "Suspended", "FailureTarget"};
	static const char *const words[] = {"Complete", "Failed", "Suspended", "FailureTarget"};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (ks_condition_true(o, types[i])) {
			return str_of(words[i]);
		}
	}
	return json_at(o, "/metadata/deletionTimestamp") ? STR("Terminating") : STR("Running");
}

static mk_str job_duration(struct arena *a, const struct json *o, int64_t now_ms)
{
	mk_str from = json_str_at(o, "/status/startTime"),
	       to = json_str_at(o, "/status/completionTime");

	return from.n ? duration(a, (to.n ? parse_time(to) : now_ms) - parse_time(from)) : STR("");
}

static mk_str cell(struct arena *a, const char *kind, const char *column, const struct json *o,
		   int64_t now_ms)
{
	static const struct {
		const char *column, *pointer;
	} plain[] = {
		{"Name", "/metadata/name"},
		{"Queue", "/spec/queueName"},
		{"Reserved in", "/status/admission/clusterQueue"},
		{"Strategy", "/spec/queueingStrategy"},
		{"ClusterQueue", "/spec/clusterQueue"},
		{"Holder", "/spec/holderIdentity"},
		{"Type", "/type"},
		{"Reason", "/reason"},
		{"Message", "/note"},
	};
	bool job = strcmp(kind, "Job") == 0;

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		if (strcmp(plain[i].column, column) == 0) {
			return json_str_at(o, plain[i].pointer);
		}
	}
	if (strcmp(column, "Object") == 0) {
		return arena_printf(a, "%.*s/%.*s", STR_ARG(json_str_at(o, "/regarding/kind")),
				    STR_ARG(json_str_at(o, "/regarding/name")));
	}
	if (strcmp(column, "Age") == 0 || strcmp(column, "Last Seen") == 0) {
		return duration(a,
				now_ms - parse_time(json_str_at(o, "/metadata/creationTimestamp")));
	}
	if (strcmp(column, "Status") == 0) {
		return job ? job_status(o) : json_str_at(o, "/status/phase");
	}
	if (strcmp(column, "Completions") == 0) {
		return arena_printf(a, "%lld/%lld",
				    (long long)json_int(json_at(o, "/status/succeeded"), 0),
				    (long long)json_int(json_at(o, "/spec/completions"), 1));
	}
	if (strcmp(column, "Duration") == 0) {
		return job_duration(a, o, now_ms);
	}
	if (strcmp(column, "Connected") == 0) {
		return condition(o, "Active");
	}
	if (strcmp(column, "Pending workloads") == 0 || strcmp(column, "Admitted workloads") == 0) {
		return arena_printf(
			a, "%lld",
			(long long)json_int(json_at(o, column[0] == 'P'
							       ? "/status/pendingWorkloads"
							       : "/status/admittedWorkloads"),
					    0));
	}
	return condition(o, column);
}

static struct json *columns(struct arena *a, const struct table *t)
{
	struct json *list = json_new_arr(a);

	for (size_t i = 0; i < MAX_COLUMNS && t->columns[i] != NULL; i++) {
		struct json *c = json_new_obj(a);

		json_set_str(a, c, "name", str_of(t->columns[i]));
		json_set_str(a, c, "type", STR("string"));
		json_set_str(a, c, "format", i == 0 ? STR("name") : STR(""));
		json_set_str(a, c, "description", STR(""));
		json_set_int(a, c, "priority", 0);
		json_add(a, list, c);
	}
	return list;
}

/* The cells of one row as JSON text; "[]" when the object cannot be read. */
static mk_str cells(struct arena *a, const struct table *t, const char *kind,
		    const struct ks_version *v, int64_t now_ms)
{
	struct json *list = json_new_arr(a), *o = NULL;

	if (json_parse(a, v->text, &o, NULL) != ERR_OK) {
		return STR("[]");
	}
	for (size_t i = 0; i < MAX_COLUMNS && t->columns[i] != NULL; i++) {
		json_add(a, list, json_new_str(a, cell(a, kind, t->columns[i], o, now_ms)));
	}
	return json_write(a, list);
}

mk_str ks_table_text(struct arena *a, const struct ks_resource *r,
		     const struct ks_version *const *v, size_t n, uint64_t rv, mk_str cont,
		     int64_t now_ms)
{
	const struct table *t = table_of(r->kind);
	mk_str text;
	struct buf b;

	buf_init(&b, KS_ARENA_CAP);
	buf_printf(&b,
		   "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":"
		   "{\"resourceVersion\":\"%llu\"",
		   (unsigned long long)rv);
	if (cont.n > 0) {
		buf_printf(&b, ",\"continue\":\"%.*s\"", STR_ARG(cont));
	}
	buf_printf(&b, "},\"columnDefinitions\":%s,\"rows\":[", json_write(a, columns(a, t)).p);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&b, "%s{\"cells\":%s,\"object\":%s}", i ? "," : "",
			   cells(a, t, r->kind, v[i], now_ms).p, ks_partial_text(a, v[i]).p);
	}
	buf_add(&b, STR("]}"));
	text = b.failed ? (mk_str){NULL, 0} : arena_dup(a, buf_str(&b));
	buf_done(&b);
	return text;
}
