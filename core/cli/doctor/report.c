/* SPDX-License-Identifier: Apache-2.0 */
/* Findings, and how they are printed; see doctor.h. */
#include <stdarg.h>
#include <stdlib.h>

#include "core/cli/doctor/doctor.h"

enum { OBJECTS_SHOWN = 3 };

const struct doctor_group doctor_groups[] = {{"config", false, doctor_config_rules},
					     {"daemon", false, doctor_daemon_rules},
					     {"credentials", true, doctor_credentials_rules},
					     {"connection", true, doctor_connection_rules},
					     {"identity", true, doctor_identity_rules},
					     {"rights", true, doctor_rights_rules},
					     {"kueue", true, doctor_kueue_rules},
					     {"queues", true, doctor_queues_rules},
					     {"copies", true, doctor_copies_rules},
					     {.name = NULL}};

mk_str doctor_text(struct doctor *d, const char *fmt, ...)
{
	va_list ap;
	mk_str s;

	va_start(ap, fmt);
	s = arena_vprintf(&d->c->a, fmt, ap);
	va_end(ap);
	return s;
}

/* Room for one more of an array in the arena. False: no memory. */
static bool grow(struct arena *a, void **p, size_t n, size_t *size, size_t one)
{
	size_t wanted = *size ? *size * 2 : 32;
	void *bigger;

	if (n < *size) {
		return true;
	}
	bigger = arena_array(a, wanted, one);
	if (!bigger) {
		return false;
	}
	if (n > 0) {
		memcpy(bigger, *p, n * one);
	}
	*p = bigger;
	*size = wanted;
	return true;
}

static bool is_same(const struct doctor_finding *x, const struct doctor_finding *y)
{
	return x->rule == y->rule && str_eq(x->cluster, y->cluster) &&
	       str_eq(x->object, y->object) && str_eq(x->found, y->found);
}

void doctor_found(struct doctor *d, const struct doctor_rule *r, const struct doctor_worker *w,
		  mk_str object, mk_str found, mk_str expected, mk_str mend)
{
	struct doctor_finding f = {.rule = r,
				   .group = d->group,
				   .cluster = w ? w->name : STR(""),
				   .object = object,
				   .found = found,
				   .expected = expected,
				   .mend = mend,
				   .order = d->n_findings};
	void *p = d->findings;

	/* Several LocalQueues may lead to one faulty ClusterQueue. */
	if (d->n_findings > 0 && is_same(&d->findings[d->n_findings - 1], &f)) {
		return;
	}
	if (grow(&d->c->a, &p, d->n_findings, &d->findings_size, sizeof(f))) {
		d->findings = p;
		d->findings[d->n_findings++] = f;
	}
}

void doctor_note(struct doctor *d, const struct doctor_worker *w, mk_str text)
{
	void *p = d->notes;

	for (size_t i = 0; i < d->n_notes; i++) {
		if (str_eq(d->notes[i].text, text)) {
			d->notes[i].n++;
			return;
		}
	}
	if (grow(&d->c->a, &p, d->n_notes, &d->notes_size, sizeof(*d->notes))) {
		d->notes = p;
		d->notes[d->n_notes++] =
			(struct doctor_note){.text = text, .first = w ? w->name : STR(""), .n = 1};
	}
}

mk_str doctor_object_of(struct doctor *d, const struct doctor_worker *w)
{
	return doctor_text(d, "MultiKueueCluster/%.*s", STR_ARG(w->name));
}

const struct json *doctor_condition(const struct json *object, const char *type)
{
	return json_find(json_at(object, "/status/conditions"), "type", type);
}

void doctor_look(struct doctor *d, struct doctor_worker *w)
{
	for (const struct doctor_group *g = doctor_groups; g->name; g++) {
		if (g->of_worker != (w != NULL) || !doctor_wants_group(d, g->name)) {
			continue;
		}
		d->group = g->name;
		for (const struct doctor_rule *r = g->rules; r->name; r++) {
			r->look(d, r, w);
		}
	}
}

/* --- text ------------------------------------------------------------------------------------- */

static mk_str severity(struct cli *c, const struct doctor_rule *r)
{
	return r->severity == DOCTOR_ERROR ? output_paint(c, OUTPUT_RED, STR("error"))
					   : output_paint(c, OUTPUT_YELLOW, STR("warning"));
}

/* "LocalQueue/team/jobs on west" */
static mk_str place(struct doctor *d, const struct doctor_finding *f)
{
	bool on = f->cluster.n > 0 && !str_starts(f->object, STR("MultiKueueCluster/"));

	return doctor_text(d, "%.*s%s%.*s", STR_ARG(f->object), on ? " on " : "",
			   STR_ARG(on ? f->cluster : STR("")));
}

static bool is_alike(const struct doctor_finding *x, const struct doctor_finding *y)
{
	return x->rule == y->rule && str_eq(x->found, y->found) && str_eq(x->mend, y->mend);
}

/* One finding, with the places of those behind it that say the same, which are marked. */
static void print_one(struct doctor *d, size_t at, bool *told)
{
	const struct doctor_finding *f = &d->findings[at];
	mk_str places = place(d, f);
	size_t n = 1;

	for (size_t i = at + 1; i < d->n_findings; i++) {
		if (told[i] || !is_alike(f, &d->findings[i])) {
			continue;
		}
		told[i] = true;
		if (n++ < OBJECTS_SHOWN) {
			places = doctor_text(d, "%.*s, %.*s", STR_ARG(places),
					     STR_ARG(place(d, &d->findings[i])));
		}
	}
	if (n > OBJECTS_SHOWN) {
		places = doctor_text(d, "%.*s and %zu more", STR_ARG(places), n - OBJECTS_SHOWN);
	}
	buf_printf(&d->c->out, "%.*s %.*s: %.*s\n", STR_ARG(severity(d->c, f->rule)),
		   STR_ARG(output_paint(d->c, OUTPUT_BOLD, str_of(f->rule->name))),
		   STR_ARG(places));
	buf_printf(&d->c->out, "  found:    %.*s\n  expected: %.*s\n  mend:     %.*s\n\n",
		   STR_ARG(f->found), STR_ARG(f->expected), STR_ARG(f->mend));
}

static void print_table(struct doctor *d)
{
	static const char *const head[] = {"SEVERITY", "FINDING",  "CLUSTER", "OBJECT",
					   "FOUND",    "EXPECTED", "MEND"};
	static const bool right[7];
	struct output_table t;

	output_table_init(&t, d->c, 7, right);
	row_head(&t, head, 7);
	for (size_t i = 0; i < d->n_findings; i++) {
		const struct doctor_finding *f = &d->findings[i];

		output_cell(&t, severity(d->c, f->rule));
		output_cell(&t, str_of(f->rule->name));
		output_cell(&t, f->cluster.n > 0 ? f->cluster : STR("(manager)"));
		output_cell(&t, f->object);
		output_cell(&t, f->found);
		output_cell(&t, f->expected);
		output_cell(&t, f->mend);
	}
	if (d->n_findings > 0) {
		output_table_print(&t, "");
		buf_add(&d->c->out, STR("\n"));
	}
}

static void print_notes(struct doctor *d)
{
	for (size_t i = 0; i < d->n_notes; i++) {
		const struct doctor_note *n = &d->notes[i];

		buf_printf(&d->c->out, "Not checked%s%.*s", n->first.n > 0 ? " on " : "",
			   STR_ARG(n->first));
		if (n->n > 1) {
			buf_printf(&d->c->out, " and %zu more", n->n - 1);
		}
		buf_printf(&d->c->out, ": %.*s\n", STR_ARG(n->text));
	}
}

static size_t count(const struct doctor *d, enum doctor_severity s)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_findings; i++) {
		n += d->findings[i].rule->severity == s;
	}
	return n;
}

static void print_summary(struct doctor *d, bool noted)
{
	size_t errors = count(d, DOCTOR_ERROR), warnings = count(d, DOCTOR_WARNING);
	struct buf *b = &d->c->out;

	if (d->n_findings == 0) {
		buf_add(b, STR("No findings"));
	} else {
		buf_printf(b, "%zu error%s, %zu warning%s", errors, errors == 1 ? "" : "s",
			   warnings, warnings == 1 ? "" : "s");
	}
	buf_printf(b, ": %zu worker%s, %zu kinds of findings looked for", d->n_workers,
		   d->n_workers == 1 ? "" : "s", d->n_looked);
	if (d->n_notes > 0 && !noted) {
		buf_printf(b, "; %zu thing%s could not be looked at: -o wide", d->n_notes,
			   d->n_notes == 1 ? "" : "s");
	}
	buf_add(b, STR(".\n"));
}

/* --- data ------------------------------------------------------------------------------------- */

static struct json *report_data(struct doctor *d)
{
	struct arena *a = &d->c->a;
	struct json *o = json_new_obj(a), *items = json_new_arr(a), *notes = json_new_arr(a);

	for (size_t i = 0; i < d->n_findings; i++) {
		const struct doctor_finding *f = &d->findings[i];
		struct json *one = json_new_obj(a);

		json_set_str(a, one, "name", str_of(f->rule->name));
		json_set_str(a, one, "group", str_of(f->group));
		json_set_str(a, one, "severity",
			     f->rule->severity == DOCTOR_ERROR ? STR("error") : STR("warning"));
		if (f->cluster.n > 0) {
			json_set_str(a, one, "cluster", f->cluster);
		}
		json_set_str(a, one, "object", f->object);
		json_set_str(a, one, "found", f->found);
		json_set_str(a, one, "expected", f->expected);
		json_set_str(a, one, "mend", f->mend);
		json_add(a, items, one);
	}
	for (size_t i = 0; i < d->n_notes; i++) {
		struct json *one = json_new_obj(a);

		json_set_str(a, one, "what", d->notes[i].text);
		if (d->notes[i].first.n > 0) {
			json_set_str(a, one, "cluster", d->notes[i].first);
			json_set_int(a, one, "clusters", (int64_t)d->notes[i].n);
		}
		json_add(a, notes, one);
	}
	json_set_str(a, o, "kind", STR("DoctorReport"));
	json_set_int(a, o, "workers", (int64_t)d->n_workers);
	json_set_int(a, o, "errors", (int64_t)count(d, DOCTOR_ERROR));
	json_set_int(a, o, "warnings", (int64_t)count(d, DOCTOR_WARNING));
	json_set(a, o, STR("items"), items);
	json_set(a, o, STR("notChecked"), notes);
	return o;
}

/* Those of the manager first, then by worker; of one worker as they were found. */
static int by_place(const void *x, const void *y)
{
	const struct doctor_finding *a = x, *b = y;
	int names = str_cmp(a->cluster, b->cluster);

	return names != 0 ? names : a->order < b->order ? -1 : a->order > b->order;
}

enum cli_exit doctor_report(struct doctor *d, enum cli_format format)
{
	bool *told = arena_array(&d->c->a, d->n_findings + 1, sizeof(*told));

	if (d->n_findings > 0) {
		qsort(d->findings, d->n_findings, sizeof(*d->findings), by_place);
	}

	if (!told || arena_failed(&d->c->a)) {
		return cli_no_memory(d->c);
	}
	if (format == CLI_JSON || format == CLI_YAML) {
		if (!output_value(d->c, report_data(d), format)) {
			return cli_no_memory(d->c);
		}
		return d->n_findings > 0 ? CLI_NO : CLI_OK;
	}
	if (format == CLI_WIDE) {
		print_table(d);
	}
	for (int s = DOCTOR_ERROR; s >= DOCTOR_WARNING && format == CLI_TEXT; s--) {
		for (size_t i = 0; i < d->n_findings; i++) {
			if ((int)d->findings[i].rule->severity == s && !told[i]) {
				print_one(d, i, told);
			}
		}
	}
	if (format == CLI_WIDE || d->n_findings > 0) {
		print_notes(d);
	}
	print_summary(d, format == CLI_WIDE || d->n_findings > 0);
	return arena_failed(&d->c->a) ? cli_no_memory(d->c) : d->n_findings > 0 ? CLI_NO : CLI_OK;
}

/* --- what there is to find -------------------------------------------------------------------- */

enum cli_exit doctor_list(struct cli *c, enum cli_format format)
{
	static const char *const head[] = {"GROUP", "FINDING", "SEVERITY", "WRONG", "READS"};
	static const bool right[5];
	struct json *items = json_new_arr(&c->a), *o = json_new_obj(&c->a);
	struct output_table t;

	output_table_init(&t, c, 5, right);
	row_head(&t, head, 5);
	for (const struct doctor_group *g = doctor_groups; g->name; g++) {
		for (const struct doctor_rule *r = g->rules; r->name; r++) {
			const char *word = r->severity == DOCTOR_ERROR ? "error" : "warning";
			struct json *one = json_new_obj(&c->a);

			output_cell(&t, str_of(g->name));
			output_cell(&t, str_of(r->name));
			output_cell(&t, severity(c, r));
			output_cell(&t, str_of(r->wrong));
			output_cell(&t, str_of(r->reads));
			json_set_str(&c->a, one, "group", str_of(g->name));
			json_set_str(&c->a, one, "name", str_of(r->name));
			json_set_str(&c->a, one, "severity", str_of(word));
			json_set_str(&c->a, one, "wrong", str_of(r->wrong));
			json_set_str(&c->a, one, "reads", str_of(r->reads));
			json_add(&c->a, items, one);
		}
	}
	json_set_str(&c->a, o, "kind", STR("DoctorRuleList"));
	json_set(&c->a, o, STR("items"), items);
	if (format == CLI_JSON || format == CLI_YAML) {
		return output_value(c, o, format) ? CLI_OK : cli_no_memory(c);
	}
	output_table_print(&t, "");
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}
