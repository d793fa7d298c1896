/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From YAML to a descriptor; see describe.h. What is well formed is left to the schema, what makes
 * sense to check.c.
 */
#include "core/plug/describe.h"

#include "core/base/yaml.h"
#include "core/plug/internal.h"
#include "core/plug/schema.h"

#define POINTER "\"type\": \"string\""
#define STRINGS "\"type\": \"array\", \"items\": {\"type\": \"string\"}"

/* In pieces: a compiler need not take strings of more than 4,095 bytes. */
static const char schema_begins[] =
	"{\n"
	"  \"title\": \"Adapter of multikueued\",\n"
	"  \"description\": \"What a kind of job is; paths are JSON pointers such as "
	"/spec/managedBy\",\n"
	"  \"type\": \"object\",\n"
	"  \"additionalProperties\": false,\n"
	"  \"required\": [\"apiVersion\", \"kind\", \"job\"],\n"
	"  \"properties\": {\n"
	"    \"apiVersion\": {\"type\": \"string\", \"enum\": [\"multikueued.io/v1alpha1\"]},\n"
	"    \"kind\": {\"type\": \"string\", \"enum\": [\"Adapter\"]},\n"
	"    \"job\": {\n"
	"      \"description\": \"the kind that this is an adapter of\",\n"
	"      \"type\": \"object\",\n"
	"      \"additionalProperties\": false,\n"
	"      \"required\": [\"apiVersion\", \"kind\"],\n"
	"      \"properties\": {\n"
	"        \"apiVersion\": {\"type\": \"string\"},\n"
	"        \"kind\": {\"type\": \"string\"}\n"
	"      }\n"
	"    },\n"
	"    \"sync\": {\n"
	"      \"description\": \"Workload: another controller makes the copy and keeps its "
	"status; only the "
	"Workload is dispatched\",\n"
	"      \"type\": \"string\",\n"
	"      \"enum\": [\"Job\", \"Workload\"],\n"
	"      \"default\": \"Job\"\n"
	"    },\n"
	"    \"managedBy\": {\n"
	"      \"description\": \"the field that says that MultiKueue manages the job; a copy does "
	"not get "
	"it. Without it every job of the kind is managed\",\n"
	"      " POINTER "\n"
	"    },\n"
	"    \"suspend\": {\n"
	"      \"description\": \"the boolean that holds a job back; else /spec/suspend or "
	"/spec/runPolicy/suspend\",\n"
	"      " POINTER "\n"
	"    },\n"
	"    \"strip\": {\"description\": \"fields that a copy does not get\", " STRINGS "},\n"
	"    \"forward\": {\n"
	"      \"description\": \"fields of a running copy that follow the original\",\n"
	"      " STRINGS "\n"
	"    },\n"
	"    \"groupKey\": {\n"
	"      \"description\": \"annotation or label whose value makes several objects one "
	"Workload\",\n"
	"      \"type\": \"string\"\n"
	"    },\n"
	"    \"replicas\": {\n"
	"      \"description\": \"number of Workloads that one object has\",\n"
	"      " POINTER "\n"
	"    },\n"
	"    \"status\": {\n"
	"      \"type\": \"object\",\n"
	"      \"additionalProperties\": false,\n"
	"      \"properties\": {\n"
	"        \"copy\": {\n"
	"          \"description\": \"IfPresent leaves the local status alone while the copy has "
	"none\",\n"
	"          \"type\": \"string\",\n"
	"          \"enum\": [\"Always\", \"IfPresent\", \"Never\"],\n"
	"          \"default\": \"IfPresent\"\n"
	"        },\n"
	"        \"subresource\": {\n"
	"          \"description\": \"false: the kind's CRD declares none\",\n"
	"          \"type\": \"boolean\",\n"
	"          \"default\": true\n"
	"        },\n";

static const char schema_active[] =
	"        \"active\": {\n"
	"          \"description\": \"what of it says that pods run, any of these, so that Kueue "
	"holds "
	"the quota; taken back when no copy is left. Else all that comes home\",\n";

static const char schema_of_run[] =
	"        \"ofRun\": {\n"
	"          \"description\": \"what else of it is of one run, and is taken back then\",\n";

static const char schema_signs[] =
	"          \"type\": \"array\",\n"
	"          \"items\": {\n"
	"            \"type\": \"object\",\n"
	"            \"additionalProperties\": false,\n"
	"            \"properties\": {\n"
	"              \"condition\": {\"description\": \"its type\", \"type\": \"string\"},\n"
	"              \"path\": {\"description\": \"below /status; * is each element or "
	"member\", " POINTER "},\n"
	"              \"values\": {\n"
	"                \"description\": \"else: True of a condition; what is not 0, false or "
	"empty\",\n"
	"                " STRINGS "\n"
	"              },\n"
	"              \"except\": {\"description\": \"of a string: not these\", " STRINGS "},\n"
	"              \"without\": {\"description\": \"what becomes of the value; else it "
	"goes\"}\n"
	"            }\n"
	"          }\n"
	"        },\n";

static const char schema_ends[] =
	"        \"map\": {\n"
	"          \"description\": \"only these values come home; both paths are below "
	"/status\",\n"
	"          \"type\": \"array\",\n"
	"          \"items\": {\n"
	"            \"type\": \"object\",\n"
	"            \"additionalProperties\": false,\n"
	"            \"required\": [\"from\", \"to\"],\n"
	"            \"properties\": {\n"
	"              \"from\": {\n"
	"                \"description\": \"in the status of the copy\",\n"
	"                " POINTER "\n"
	"              },\n"
	"              \"to\": {\n"
	"                \"description\": \"in the status of the original\",\n"
	"                " POINTER "\n"
	"              }\n"
	"            }\n"
	"          }\n"
	"        }\n"
	"      }\n"
	"    },\n"
	"    \"ends\": {\n"
	"      \"description\": \"how an end shows, any of these; else one of the conditions "
	"Complete, "
	"Completed, Succeeded, Finished, Failed is True\",\n"
	"      \"type\": \"array\",\n"
	"      \"items\": {\n"
	"        \"type\": \"object\",\n"
	"        \"additionalProperties\": false,\n"
	"        \"properties\": {\n"
	"          \"condition\": {\"description\": \"its type\", \"type\": \"string\"},\n"
	"          \"path\": {\"description\": \"of a string\", " POINTER "},\n"
	"          \"values\": {\n"
	"            \"description\": \"else: True of a condition, anything at a path\",\n"
	"            " STRINGS "\n"
	"          }\n"
	"        }\n"
	"      }\n"
	"    }\n"
	"  }\n"
	"}\n";

mk_str describe_schema(struct arena *a)
{
	return arena_printf(a, "%s%s%s%s%s%s", schema_begins, schema_active, schema_signs,
			    schema_of_run, schema_signs, schema_ends);
}

/* One file on its way. */
struct reading {
	struct plug *p;
	struct arena *a; /* scratch; what stays is in the registry's arena */
	struct yaml_lines lines;
	struct findings f;
};

static void tell(void *ctx, mk_str pointer, mk_str text)
{
	struct reading *r = ctx;

	findings_add(&r->f, "line %d: %.*s%s%.*s", yaml_line(&r->lines, pointer), STR_ARG(pointer),
		     pointer.n ? ": " : "", STR_ARG(text));
}

static const char *keep(struct reading *r, const struct json *v)
{
	return v ? arena_dup(&r->p->arena, json_str(v)).p : NULL;
}

/*
 * Room for what 'list' has, in elements of 'size', and a zero behind them; NULL without 'list' or
 * memory.
 */
static void *room(struct reading *r, const struct json *list, size_t size)
{
	return list ? arena_array(&r->p->arena, json_len(list) + 1, size) : NULL;
}

static const char *const *keep_all(struct reading *r, const struct json *list)
{
	const char **out = room(r, list, sizeof(*out));

	for (size_t i = 0; out && i < json_len(list); i++) {
		out[i] = keep(r, json_elem(list, i));
	}
	return out;
}

static const mk_end *keep_ends(struct reading *r, const struct json *list)
{
	mk_end *out = room(r, list, sizeof(*out));

	for (size_t i = 0; out && i < json_len(list); i++) {
		const struct json *v = json_elem(list, i);

		if (!json_get(v, "condition") == !json_get(v, "path")) {
			findings_add(&r->f, "/ends/%zu: expected a condition or a path", i);
		}
		out[i] = (mk_end){.condition = keep(r, json_get(v, "condition")),
				  .pointer = keep(r, json_get(v, "path")),
				  .values = keep_all(r, json_get(v, "values"))};
	}
	return out;
}

static const mk_move *keep_moves(struct reading *r, const struct json *list)
{
	mk_move *out = room(r, list, sizeof(*out));

	for (size_t i = 0; out && i < json_len(list); i++) {
		const struct json *v = json_elem(list, i);

		out[i] = (mk_move){.from = keep(r, json_get(v, "from")),
				   .to = keep(r, json_get(v, "to"))};
	}
	return out;
}

static const mk_sign *keep_signs(struct reading *r, const struct json *list, const char *field)
{
	mk_sign *out = room(r, list, sizeof(*out));

	for (size_t i = 0; out && i < json_len(list); i++) {
		const struct json *v = json_elem(list, i), *without = json_get(v, "without");

		if (!json_get(v, "condition") == !json_get(v, "path")) {
			findings_add(&r->f, "/status/%s/%zu: expected a condition or a path", field,
				     i);
		}
		out[i] = (mk_sign){.condition = keep(r, json_get(v, "condition")),
				   .pointer = keep(r, json_get(v, "path")),
				   .values = keep_all(r, json_get(v, "values")),
				   .except = keep_all(r, json_get(v, "except"))};
		if (without) {
			out[i].without = json_write(&r->p->arena, without).p;
		}
	}
	return out;
}

/*
 * Without 'active' we do not know what Kueue's integration reads: all that was copied goes with the
 * copy.
 */
static const mk_sign *sign_all(struct reading *r, const struct json *moves,
			       const mk_sign *otherwise)
{
	mk_sign *out = room(r, moves, sizeof(*out));

	for (size_t i = 0; out && i < json_len(moves); i++) {
		mk_str to = json_str(json_get(json_elem(moves, i), "to"));

		out[i].pointer = arena_printf(&r->p->arena, "/status%.*s", STR_ARG(to)).p;
	}
	return moves ? out : otherwise;
}

static uint32_t status_flags(const struct json *doc)
{
	mk_str copy = json_str_at(doc, "/status/copy");

	return str_is(copy, "Never")    ? MK_STATUS_NONE
	       : str_is(copy, "Always") ? 0
					: MK_STATUS_IF_PRESENT;
}

/* sync: Workload. A hook of the host's own: the copy is made by others. */
static int leave_to_others(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)c;
	(void)v;
	(void)draft;
	return MK_KEEP;
}

/* The template's hooks with the file's data. */
static void describe(struct reading *r, const struct json *doc, mk_adapter *d)
{
	mk_str api = json_str_at(doc, "/job/apiVersion"), group = STR(""), version = api;

	if (str_index(api, '/') >= 0) {
		(void)str_split(&version, '/', &group);
	}
	*d = *r->p->template_->pub.d;
	d->struct_size = sizeof(*d);
	d->flags = status_flags(doc);
	d->group = arena_dup(&r->p->arena, group).p;
	d->version = arena_dup(&r->p->arena, version).p;
	d->kind = keep(r, json_at(doc, "/job/kind"));
	d->managed_by = keep(r, json_get(doc, "managedBy"));
	d->suspend = keep(r, json_get(doc, "suspend"));
	d->strip = keep_all(r, json_get(doc, "strip"));
	d->forward = keep_all(r, json_get(doc, "forward"));
	d->group_key = keep(r, json_get(doc, "groupKey"));
	d->replicas = keep(r, json_get(doc, "replicas"));
	d->status_map = keep_moves(r, json_at(doc, "/status/map"));
	d->ends = keep_ends(r, json_get(doc, "ends"));
	d->active = json_at(doc, "/status/active")
			    ? keep_signs(r, json_at(doc, "/status/active"), "active")
			    : sign_all(r, json_at(doc, "/status/map"), d->active);
	d->of_run = keep_signs(r, json_at(doc, "/status/ofRun"), "ofRun");
	if (str_is(json_str(json_get(doc, "sync")), "Workload")) {
		d->remote = leave_to_others;
		d->flags = MK_STATUS_NONE;
		d->forward = NULL;
	}
}

static void read_document(struct reading *r, const struct json *doc, const char *file)
{
	const struct json *schema = NULL, *own;
	struct mk_err err = {0};
	struct plug_source src;
	mk_adapter d;

	if (schema_read(r->a, describe_schema(r->a), &schema, &err) != ERR_OK) {
		findings_add(&r->f, "%s", err.msg);
		return;
	}
	if (schema_check(r->a, schema, doc, STR(""), tell, r) > 0) {
		return;
	}
	if (!r->p->template_) {
		findings_add(&r->f, "expected a plugin with a template adapter (generic.so), found "
				    "none");
		return;
	}
	describe(r, doc, &d);
	src = r->p->template_->pub.source;
	src.file = arena_dup(&r->p->arena, str_of(file)).p;
	if (!arena_failed(&r->p->arena) && check_adapter(r->p, &d, "job", &r->f) && r->f.n == 0 &&
	    plug_take_adapter(r->p, &d, &src, 0, &r->f) && r->f.n == 0) {
		own = json_at(doc, "/status/subresource");
		r->p->adapters[r->p->n_adapters - 1]->pub.status_in_object =
			own != NULL && !json_bool(own);
	}
}

enum mk_code plug_add_description(struct plug *p, mk_str text, const char *file, struct arena *a,
				  mk_str *ret_findings, struct mk_err *err)
{
	struct reading r = {.p = p, .a = a};
	struct json *doc = NULL;
	enum mk_code code;

	*ret_findings = (mk_str){NULL, 0};
	if (text.n > DESCRIBE_MAX_SIZE) {
		return err_set(err, ERR_TOO_BIG, "expected at most %d bytes, found %zu",
			       DESCRIBE_MAX_SIZE, text.n);
	}
	code = yaml_parse(a, text, &(struct yaml_options){.only_one = true}, &doc, &r.lines, err);
	if (code != ERR_OK) {
		return code;
	}
	findings_init(&r.f);
	read_document(&r, doc, file);
	if (arena_failed(&p->arena) || arena_failed(a) || r.f.text.failed) {
		code = err_set(err, ERR_NO_MEMORY, "out of memory");
	} else if (r.f.n > 0) {
		mk_str all = arena_dup(a, buf_str(&r.f.text));

		code = err_set(err, all.p ? ERR_INVALID : ERR_NO_MEMORY, "%s",
			       all.p ? all.p : "out of memory");
		*ret_findings = all;
	}
	findings_done(&r.f);
	return code;
}
