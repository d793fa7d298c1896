/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of a plugin's entry and descriptors, before any of its code runs. Every finding says what
 * was expected and what was found, so that an author can mend all of them at once. Strings and
 * pointers come from a hostile file: only what an earlier check vouched for is followed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "core/plug/internal.h"

enum {
	MAX_STRUCT = 4096,
	MAX_ITEMS = 64,
	MAX_LIST = 64,
	MAX_POINTER = 1024,
	MAX_ID = 253,
	MAX_VERSION = 63,
	MAX_NAME = 63,
	/* As of minor 0: what a later minor appends, an older plugin does not have. */
	MIN_ENTRY = offsetof(mk_entry, factories) + sizeof(void *),
	MIN_FACTORY = offsetof(mk_factory, items) + sizeof(void *),
};

void findings_init(struct findings *f)
{
	buf_init(&f->text, 64 * 1024);
	f->n = 0;
	f->is_full = false;
}

void findings_done(struct findings *f)
{
	buf_done(&f->text);
}

void findings_add(struct findings *f, const char *fmt, ...)
{
	static const char more[] = "; and more";
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	f->n++;
	if (f->text.n + 2 + strlen(line) + sizeof(more) > f->text.cap) {
		f->is_full = f->is_full || buf_add(&f->text, str_of(more));
		return;
	}
	if (!f->is_full) {
		buf_printf(&f->text, "%s%s", f->n > 1 ? "; " : "", line);
	}
}

int pointer_tokens(const char *pointer, size_t max)
{
	int n = 0;

	if (!pointer || (pointer[0] != '\0' && pointer[0] != '/')) {
		return -1;
	}
	for (size_t i = 0; pointer[i] != '\0'; i++) {
		if (i >= max) {
			return -1;
		}
		if (pointer[i] == '/') {
			n++;
		}
		if (pointer[i] == '~' && pointer[i + 1] != '0' && pointer[i + 1] != '1') {
			return -1;
		}
	}
	return n;
}

/*
 * The string is there, not longer than 'max', and printable ASCII without blanks: fit for logs,
 * names and lists.
 */
static bool is_plain(const char *s, size_t max)
{
	size_t n = s ? strnlen(s, max + 1) : 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] <= ' ' || s[i] > '~') {
			return false;
		}
	}
	return n > 0 && n <= max;
}

static const char *show(const char *s)
{
	return s ? (*s ? s : "\"\"") : "NULL";
}

/* What helps against another ABI, once for all that is said of it. */
static bool advise(struct findings *f, const char *or_what)
{
	findings_add(f, "%srebuild it against sdk/ of multikueued %s (ABI %d.%d)", or_what,
		     MK_VERSION, MK_ABI_MAJOR, MK_ABI_MINOR);
	return false;
}

bool check_entry(const struct plug *p, const struct mk_entry *e, struct findings *f)
{
	if (e->magic != MK_MAGIC) {
		/* not an entry, or of another machine: no other field means anything */
		findings_add(f, "magic: expected 0x%08x, found 0x%08x", MK_MAGIC, e->magic);
		return advise(f, "");
	}
	size_t before = f->n;

	if (e->layout != MK_LAYOUT) {
		findings_add(f, "layout: expected 0x%04x, found 0x%04x", (unsigned)MK_LAYOUT,
			     (unsigned)e->layout);
	}
	if (e->abi_major != MK_ABI_MAJOR) {
		findings_add(f, "abi_major: expected %d, found %u", MK_ABI_MAJOR,
			     (unsigned)e->abi_major);
	}
	if (e->struct_size < MIN_ENTRY) {
		findings_add(f, "struct_size: expected at least %d, found %u", MIN_ENTRY,
			     e->struct_size);
	}
	bool readable = f->n == before;

	if (e->min_host_minor > MK_ABI_MINOR) {
		findings_add(f, "min_host_minor: expected at most %d, found %u", MK_ABI_MINOR,
			     (unsigned)e->min_host_minor);
	}
	if (!readable) {
		return advise(f, "");
	}
	if (e->min_host_minor > MK_ABI_MINOR) {
		(void)advise(f, "upgrade multikueued, or ");
	}
	if (!is_plain(e->id, MAX_ID)) {
		findings_add(f, "id: expected a reverse-DNS name of at most %d bytes, found %.64s",
			     MAX_ID, show(e->id));
	} else {
		for (size_t i = 0; i < p->n_sources; i++) {
			if (strcmp(p->sources[i].id, e->id) == 0) {
				findings_add(
					f,
					"id: expected one that is not taken, found %s (also in %s)",
					e->id, p->sources[i].file);
			}
		}
	}
	if (!is_plain(e->version, MAX_VERSION)) {
		findings_add(f, "version: expected at most %d bytes, found %.64s", MAX_VERSION,
			     show(e->version));
	}
	if (!e->factories || !e->factories[0]) {
		findings_add(f, "factories: expected at least one, found none");
		return false;
	}
	return true;
}

bool check_factory(const struct mk_factory *fa, size_t i, struct findings *f)
{
	if (fa->struct_size < MIN_FACTORY || fa->struct_size > MAX_STRUCT) {
		findings_add(f, "factory %zu: struct_size: expected %d to %d, found %u", i,
			     MIN_FACTORY, MAX_STRUCT, fa->struct_size);
		return false;
	}
	if (!is_plain(fa->id, MAX_ID)) {
		findings_add(f, "factory %zu: id: expected a factory id, found %.64s", i,
			     show(fa->id));
		return false;
	}
	if (fa->n < 1 || fa->n > MAX_ITEMS) {
		findings_add(f, "factory %s: n: expected 1 to %d, found %u", fa->id, MAX_ITEMS,
			     fa->n);
		return false;
	}
	if (!fa->items) {
		findings_add(f, "factory %s: items: expected %u, found NULL", fa->id, fa->n);
		return false;
	}
	return true;
}

static bool check_size(uint32_t have, size_t least, const char *what, struct findings *f)
{
	if (have < least || have > MAX_STRUCT) {
		findings_add(f, "%s: struct_size: expected %zu to %d, found %u", what, least,
			     MAX_STRUCT, have);
		return false;
	}
	return true;
}

static void check_pointer(const char *pointer, const char *what, const char *field,
			  struct findings *f)
{
	if (pointer_tokens(pointer, MAX_POINTER) < 1) {
		findings_add(f,
			     "%s: %s: expected a JSON pointer that begins with \"/\", found %.64s",
			     what, field, show(pointer));
	}
}

static void check_list(const char *const *list, const char *what, const char *field,
		       struct findings *f)
{
	for (size_t i = 0; list && list[i]; i++) {
		if (i == MAX_LIST) {
			findings_add(f, "%s: %s: expected at most %d pointers and NULL, found more",
				     what, field, MAX_LIST);
			return;
		}
		check_pointer(list[i], what, field, f);
	}
}

static void check_gvk(const struct plug *p, const struct mk_adapter *ad, const char *what,
		      struct findings *f)
{
	if (!ad->group && !ad->version && !ad->kind) {
		if (p->template_) {
			findings_add(
				f, "%s: expected at most one template, found another (also in %s)",
				what, p->template_->pub.source.file);
		}
		return;
	}
	if (!ad->group || (ad->group[0] && !is_plain(ad->group, MAX_ID))) {
		findings_add(f, "%s: group: expected an API group or \"\", found %.64s", what,
			     show(ad->group));
	}
	if (!is_plain(ad->version, MAX_VERSION)) {
		findings_add(f, "%s: version: expected an API version, found %.64s", what,
			     show(ad->version));
	}
	if (!is_plain(ad->kind, MAX_NAME)) {
		findings_add(f, "%s: kind: expected a kind, found %.64s", what, show(ad->kind));
	}
}

static bool too_many(const char *const *values, const char *what, const char *field,
		     struct findings *f)
{
	for (size_t k = 0; values && values[k]; k++) {
		if (k == MAX_LIST) {
			findings_add(f, "%s: %s: expected at most %d values, found more", what,
				     field, MAX_LIST);
			return true;
		}
	}
	return false;
}

static void check_ends(const mk_end *ends, const char *what, struct findings *f)
{
	for (size_t i = 0; ends && (ends[i].condition || ends[i].pointer); i++) {
		if (i == MAX_LIST) {
			findings_add(f, "%s: ends: expected at most %d, found more", what,
				     MAX_LIST);
			return;
		}
		if (!ends[i].condition) {
			check_pointer(ends[i].pointer, what, "ends", f);
		} else if (!is_plain(ends[i].condition, MAX_ID + 1 + MAX_NAME)) {
			findings_add(f, "%s: ends: expected a type of condition, found %.64s", what,
				     show(ends[i].condition));
		}
		if (too_many(ends[i].values, what, "ends", f)) {
			return;
		}
	}
}

static void check_moves(const mk_move *moves, const char *what, struct findings *f)
{
	for (size_t i = 0; moves && (moves[i].from || moves[i].to); i++) {
		if (i == MAX_LIST) {
			findings_add(f, "%s: status_map: expected at most %d, found more", what,
				     MAX_LIST);
			return;
		}
		check_pointer(moves[i].from, what, "status_map", f);
		check_pointer(moves[i].to, what, "status_map", f);
	}
}

/* What a value becomes must be JSON, and must not say again what it is to take back. */
static void check_without(const mk_sign *sign, const char *what, const char *field,
			  struct findings *f)
{
	struct json *v = NULL;
	struct arena a;

	if (!sign->without) {
		return;
	}
	arena_init(&a, 256 * 1024);
	if (strnlen(sign->without, MAX_STRUCT) == MAX_STRUCT ||
	    json_parse(&a, str_of(sign->without), &v, NULL) != ERR_OK) {
		findings_add(f, "%s: %s: without: expected JSON of less than %d bytes, found %.64s",
			     what, field, MAX_STRUCT, sign->without);
	} else if (sign_says(sign, v)) {
		findings_add(
			f, "%s: %s: without: expected what does not say that pods run, found %.64s",
			what, field, sign->without);
	}
	arena_done(&a);
}

static void check_sign(const mk_sign *sign, const char *what, const char *field, struct findings *f)
{
	if (too_many(sign->values, what, field, f) || too_many(sign->except, what, field, f)) {
		return;
	}
	if (!sign->condition) {
		check_pointer(sign->pointer, what, field, f);
		if (sign->pointer && strncmp(sign->pointer, "/status/", 8) != 0) {
			findings_add(f, "%s: %s: expected a pointer below /status, found %.64s",
				     what, field, sign->pointer);
		}
		check_without(sign, what, field, f);
		return;
	}
	if (!is_plain(sign->condition, MAX_ID + 1 + MAX_NAME)) {
		findings_add(f, "%s: %s: expected a type of condition, found %.64s", what, field,
			     show(sign->condition));
	}
	if (sign->except || sign->without) {
		findings_add(f,
			     "%s: %s: expected except and without of a value, found them of a "
			     "condition",
			     what, field);
	}
}

static void check_signs(const mk_sign *signs, const char *what, const char *field,
			struct findings *f)
{
	for (size_t i = 0; signs && (signs[i].condition || signs[i].pointer); i++) {
		if (i == MAX_LIST) {
			findings_add(f, "%s: %s: expected at most %d, found more", what, field,
				     MAX_LIST);
			return;
		}
		check_sign(&signs[i], what, field, f);
	}
}

/* 'text' is a name of at most 'max' bytes that 'field' needs; for messages 'expected'. */
static void check_word(const char *text, size_t max, const char *what, const char *field,
		       const char *expected, struct findings *f)
{
	if (!is_plain(text, max)) {
		findings_add(f, "%s: scale: %s: expected %s, found %.64s", what, field, expected,
			     show(text));
	}
}

static void check_scale(const struct mk_adapter *ad, const char *what, struct findings *f)
{
	const mk_scale *s = ad->scale;

	if (ad->group_key || ad->replicas) {
		findings_add(f, "%s: scale: expected no group_key or replicas beside it, found one",
			     what);
	}
	check_pointer(s->enabled, what, "scale: enabled", f);
	check_pointer(s->declared, what, "scale: declared", f);
	check_pointer(s->groups, what, "scale: groups", f);
	check_pointer(s->name, what, "scale: name", f);
	check_pointer(s->count, what, "scale: count", f);
	if (s->times) {
		check_pointer(s->times, what, "scale: times", f);
	}
	check_word(s->sizes, MAX_ID + 1 + MAX_NAME, what, "sizes", "a metadata key", f);
	check_word(s->revision, MAX_ID + 1 + MAX_NAME, what, "revision", "a metadata key", f);
	if (!s->child) {
		return;
	}
	check_pointer(s->child, what, "scale: child", f);
	if (!s->group || (s->group[0] && !is_plain(s->group, MAX_ID))) {
		findings_add(f, "%s: scale: group: expected an API group, found %.64s", what,
			     show(s->group));
	}
	check_word(s->version, MAX_VERSION, what, "version", "an API version", f);
	check_word(s->kind, MAX_NAME, what, "kind", "a kind", f);
}

/* What an older plugin's descriptor does not have. */
static void check_tail(const struct mk_adapter *ad, const char *what, struct findings *f)
{
	if (MK_HAS(ad, suspend) && ad->suspend) {
		check_pointer(ad->suspend, what, "suspend", f);
	}
	if (MK_HAS(ad, ends)) {
		check_ends(ad->ends, what, f);
	}
	if (MK_HAS(ad, status_map)) {
		check_moves(ad->status_map, what, f);
	}
	if (MK_HAS(ad, active)) {
		check_signs(ad->active, what, "active", f);
	}
	if (MK_HAS(ad, of_run)) {
		check_signs(ad->of_run, what, "of_run", f);
	}
	if (MK_HAS(ad, scale) && ad->scale) {
		check_scale(ad, what, f);
	}
}

bool check_adapter(const struct plug *p, const struct mk_adapter *ad, const char *what,
		   struct findings *f)
{
	size_t before = f->n;

	if (!check_size(ad->struct_size, offsetof(mk_adapter, suspend), what, f)) {
		return false;
	}
	const uint32_t known = MK_STATUS_NONE | MK_STATUS_IF_PRESENT;

	if (ad->flags & ~known) {
		/* a flag changes what the host does; leaving one out would be another adapter */
		findings_add(f, "%s: flags: expected bits of 0x%x, found 0x%x", what, known,
			     ad->flags);
	}
	check_gvk(p, ad, what, f);
	if (ad->managed_by) {
		check_pointer(ad->managed_by, what, "managed_by", f);
	}
	check_list(ad->strip, what, "strip", f);
	check_list(ad->forward, what, "forward", f);
	if (ad->replicas) {
		check_pointer(ad->replicas, what, "replicas", f);
	}
	if (ad->group_key && !is_plain(ad->group_key, MAX_ID + 1 + MAX_NAME)) {
		findings_add(f, "%s: group_key: expected a metadata key, found %.64s", what,
			     show(ad->group_key));
	}
	if (ad->group_key && ad->replicas) {
		findings_add(f, "%s: expected group_key or replicas, found both", what);
	}
	check_tail(ad, what, f);
	return f->n == before;
}

/* NULL makes it the template, of which there is one. */
static void check_name(const struct plug *p, const struct mk_dispatcher *di, const char *what,
		       struct findings *f)
{
	const char *slash = is_plain(di->name, MAX_NAME) ? strchr(di->name, '/') : NULL;
	const struct plug_dispatcher *d;

	if (di->name && (!slash || slash == di->name || !slash[1])) {
		findings_add(f, "%s: name: expected domain/name of at most %d bytes, found %.80s",
			     what, MAX_NAME, show(di->name));
		return;
	}
	for (size_t i = 0; (d = plug_dispatcher(p, i)) != NULL; i++) {
		if (di->name ? str_is(d->name, di->name) : d->is_template) {
			findings_add(
				f, "%s: name: expected one that is not taken, found it also in %s",
				what, d->source.file);
		}
	}
	if (!di->name && MK_HAS(di, config_schema) && di->config_schema) {
		findings_add(f, "%s: config_schema: expected none of a template, found one", what);
	}
}

bool check_dispatcher(const struct plug *p, const struct mk_dispatcher *di, const char *what,
		      struct findings *f)
{
	size_t before = f->n;

	/* what came after 'nominate' may not be there */
	if (!check_size(di->struct_size, offsetof(mk_dispatcher, config_schema), what, f)) {
		return false;
	}
	const uint32_t known = MK_WANTS_FACTS | MK_WANTS_PLACES;

	if (di->flags & ~known) {
		findings_add(f, "%s: flags: expected bits of 0x%x, found 0x%x", what, known,
			     di->flags);
	}
	if (!di->nominate) {
		findings_add(f, "%s: nominate: expected a function, found NULL", what);
	}
	check_name(p, di, what, f);
	return f->n == before;
}
