/* SPDX-License-Identifier: Apache-2.0 */
/* Columns and cells; see api_table.h. */
#include "core/serve/api_table.h"

/* A column: a value of the object, at a pointer, or made by 'cell'. */
struct column {
	const char *name, *type, *text; /* its heading, "string" or ..., what it says */
	bool wide;
	const char *pointer;
	struct json *(*cell)(struct arena *a, const struct json *object);
};

enum { COLUMNS_MAX = 8 };

/* "Job/train" of {"kind": "batch/v1, Kind=Job", "name": "train"}. */
static struct json *job_cell(struct arena *a, const struct json *object)
{
	mk_str kind = json_str_at(object, "/job/kind"), name = json_str_at(object, "/job/name");
	int64_t at = str_index(kind, '=');

	if (name.n == 0) {
		return json_new_str(a, STR(""));
	}
	kind = at < 0 ? kind : str_sub(kind, (size_t)at + 1, kind.n);
	return json_new_str(a, arena_printf(a, "%.*s/%.*s", STR_ARG(kind), STR_ARG(name)));
}

/* What an event is about: a Workload, or an object that a cluster refused. */
static struct json *about_cell(struct arena *a, const struct json *object)
{
	const struct json *o = json_get(object, "object");
	mk_str name = json_str_at(object, "/workload/name");

	if (o) {
		name = arena_printf(a, "%.*s/%.*s", STR_ARG(json_str(json_get(o, "kind"))),
				    STR_ARG(json_str(json_get(o, "name"))));
	}
	return json_new_str(a, name);
}

/* The check's message says all of a decision; of a refused write it is the cluster's. */
static struct json *words_cell(struct arena *a, const struct json *object)
{
	mk_str what = json_str_at(object, "/what"), message = json_str_at(object, "/message");

	if (message.n == 0) {
		return json_new_str(a, what);
	}
	return json_new_str(
		a, json_get(object, "before")
			   ? message
			   : arena_printf(a, "%.*s: %.*s", STR_ARG(what), STR_ARG(message)));
}

#define NAME_COLUMN                                                     \
	{                                                               \
		"Name", "string", "name", false, "/metadata/name", NULL \
	}

static const struct {
	const char *plural;
	struct column columns[COLUMNS_MAX];
} tables[] = {
	{"workloads",
	 {NAME_COLUMN,
	  {"Job", "string", "the Workload's owner", false, NULL, job_cell},
	  {"Phase", "string", "where it stands", false, "/phase", NULL},
	  {"Worker", "string", "the worker that was chosen", false, "/cluster", NULL},
	  {"Queue", "string", "its ClusterQueue on the manager", false, "/clusterQueue", NULL},
	  {"Priority", "integer", "its priority", true, "/priority", NULL},
	  {"Message", "string", "why it stands there", true, "/message", NULL}}},
	{"events",
	 {NAME_COLUMN,
	  {"Time", "string", "when it was decided", false, "/time", NULL},
	  {"Workload", "string", "what it is about", false, NULL, about_cell},
	  {"Worker", "string", "the worker that it is about", false, "/cluster", NULL},
	  {"Rule", "string", "the rule that decided", false, "/rule", NULL},
	  {"Message", "string", "what was decided", false, NULL, words_cell}}},
	{"clusters",
	 {NAME_COLUMN,
	  {"State", "string", "is it connected?", false, "/state", NULL},
	  {"Since", "string", "since when", false, "/since", NULL},
	  {"Clones", "integer", "Workloads of ours there", false, "/clones", NULL},
	  {"Waiting", "integer", "of these without quota", false, "/waiting", NULL},
	  {"Bytes", "integer", "memory that what is known of it takes", true, "/bytes", NULL},
	  {"Message", "string", "why it is not connected", false, "/message", NULL}}},
	{"queues",
	 {NAME_COLUMN,
	  {"Cluster", "string", "where it is", false, "/cluster", NULL},
	  {"Active", "boolean", "does it admit?", false, "/active", NULL},
	  {"Pending", "integer", "Workloads that wait there", false, "/pending", NULL}}},
	{"daemons",
	 {NAME_COLUMN,
	  {"Version", "string", "of multikueued", false, "/version", NULL},
	  {"Leads", "boolean", "or is a standby", false, "/leader", NULL},
	  {"Workloads", "integer", "that it knows", false, "/workloads", NULL},
	  {"Pending", "integer", "operations under way", false, "/pending", NULL}}},
};

static const struct column *columns_of(const struct api_resource *r)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (strcmp(tables[i].plural, r->plural) == 0) {
			return tables[i].columns;
		}
	}
	return NULL;
}

static struct json *definitions(struct arena *a, const struct column *columns)
{
	struct json *list = json_new_arr(a);

	for (size_t i = 0; i < COLUMNS_MAX && columns[i].name; i++) {
		struct json *o = json_new_obj(a);

		json_set_str(a, o, "name", str_of(columns[i].name));
		json_set_str(a, o, "type", str_of(columns[i].type));
		json_set_str(a, o, "format", i == 0 ? STR("name") : STR(""));
		json_set_str(a, o, "description", str_of(columns[i].text));
		json_set_int(a, o, "priority", columns[i].wide ? 1 : 0);
		json_add(a, list, o);
	}
	return list;
}

/* A value that is missing is an empty text. */
static struct json *cell_of(struct arena *a, const struct column *c, const struct json *object)
{
	const struct json *v = c->pointer ? json_at(object, c->pointer) : NULL;

	if (c->cell) {
		return c->cell(a, object);
	}
	return v ? json_share(a, v) : json_new_str(a, STR(""));
}

static struct json *partial(struct arena *a, const struct json *object)
{
	struct json *o = json_new_obj(a);

	json_set_str(a, o, "kind", STR("PartialObjectMetadata"));
	json_set_str(a, o, "apiVersion", STR("meta.k8s.io/v1"));
	json_set(a, o, STR("metadata"), json_share(a, json_get(object, "metadata")));
	return o;
}

static struct json *row_of(struct arena *a, const struct column *columns, const struct json *object,
			   enum api_include include)
{
	struct json *o = json_new_obj(a), *cells = json_new_arr(a);

	for (size_t i = 0; i < COLUMNS_MAX && columns[i].name; i++) {
		json_add(a, cells, cell_of(a, &columns[i], object));
	}
	json_set(a, o, STR("cells"), cells);
	if (include != API_NONE) {
		json_set(a, o, STR("object"),
			 include == API_OBJECT ? json_share(a, object) : partial(a, object));
	}
	return o;
}

struct json *api_table(struct arena *a, const struct api_resource *r, const struct json *objects,
		       const struct json *metadata, enum api_include include)
{
	const struct column *columns = columns_of(r);
	struct json *o = json_new_obj(a), *rows = json_new_arr(a);
	struct json_iter it = json_iter(objects);

	json_set_str(a, o, "kind", STR("Table"));
	json_set_str(a, o, "apiVersion", STR("meta.k8s.io/v1"));
	json_set(a, o, STR("metadata"), json_dup(a, metadata));
	json_set(a, o, STR("columnDefinitions"), definitions(a, columns));
	while (json_next(&it)) {
		json_add(a, rows, row_of(a, columns, it.val, include));
	}
	json_set(a, o, STR("rows"), rows);
	return o;
}
