/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry: takes in checked entries, finds adapters by kind and dispatchers by name. Items
 * live in one arena, so that pointers to them stay good when others are added. guard.c calls them.
 */
#include <stdio.h>

#include "core/api/names.h"
#include "core/base/alloc.h"
#include "core/plug/internal.h"
#include "core/plug/schema.h"

const struct plug_limits plug_default_limits = {
	.soft_us = 5000,
	.hard_us = 50000,
	.soft_bytes = 4 * 1024 * 1024,
	.hard_bytes = 16 * 1024 * 1024,
	.soft_calls = 100000,
	.hard_calls = 1000000,
	.draft_bytes = 3 * 512 * 1024,
	.say_bytes = 1024,
	.pointer_bytes = 4096,
};

struct plug *plug_new(struct mk_err *err)
{
	struct plug *p = mk_calloc(1, sizeof(*p));

	if (!p) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	arena_init(&p->arena, 4 * 1024 * 1024);
	p->limits = plug_default_limits;
	p->running = &p->own_running;
	if (pthread_mutex_init(&p->running_lock, NULL) != 0) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		mk_free(p);
		return NULL;
	}
	return p;
}

void plug_free(struct plug *p)
{
	if (!p) {
		return;
	}
	mk_free(p->vals);
	pthread_mutex_destroy(&p->running_lock);
	arena_done(&p->arena);
	mk_free(p);
}

void plug_set_limits(struct plug *p, const struct plug_limits *limits)
{
	p->limits = *limits;
}

void plug_set_clocks(struct plug *p, int64_t (*mono_us)(void), int64_t (*cpu_us)(void))
{
	p->mono_us = mono_us;
	p->cpu_us = cpu_us;
	p->cpu_read_us = INT64_MIN / 2;
}

void plug_on_incident(struct plug *p, plug_incident_fn *fn, void *data)
{
	p->on_incident = fn;
	p->incident_data = data;
}

void plug_get_stats(const struct plug *p, struct plug_stats *ret)
{
	*ret = p->stats;
}

const char *plug_source_stats(const struct plug *p, size_t i, struct plug_stats *ret)
{
	if (i >= p->n_sources) {
		return NULL;
	}
	*ret = p->source_stats[i];
	return p->sources[i].id;
}

size_t plug_n_adapters(const struct plug *p)
{
	return p->n_adapters;
}

const struct plug_adapter *plug_adapter(const struct plug *p, size_t i)
{
	return i < p->n_adapters ? &p->adapters[i]->pub : NULL;
}

int plug_find_adapter(const struct plug *p, mk_str gvk)
{
	for (size_t i = 0; i < p->n_adapters; i++) {
		if (str_eq(p->adapters[i]->pub.gvk, gvk)) {
			return (int)i;
		}
	}
	return -1;
}

void plug_remove_adapter(struct plug *p, size_t i)
{
	if (i < p->n_adapters) {
		p->n_adapters--;
		memmove(&p->adapters[i], &p->adapters[i + 1],
			(p->n_adapters - i) * sizeof(p->adapters[0]));
	}
}

size_t plug_n_dispatchers(const struct plug *p)
{
	return p->n_dispatchers;
}

const struct plug_dispatcher *plug_dispatcher(const struct plug *p, size_t i)
{
	return i < p->n_dispatchers ? &p->dispatchers[i]->pub : NULL;
}

bool plug_is_external(mk_str name)
{
	return name.n == 0 || (str_index(name, '/') > 0 && !str_starts(name, STR(NAME_GROUP "/")));
}

int plug_find_dispatcher(const struct plug *p, mk_str name)
{
	int found = -1;

	for (size_t i = 0; i < p->n_dispatchers; i++) {
		const struct plug_dispatcher *d = &p->dispatchers[i]->pub;

		if (!d->is_template && str_eq(name, d->name)) {
			return (int)i;
		}
		found = d->is_template && plug_is_external(name) ? (int)i : found;
	}
	return found;
}

const char *plug_warning(const struct plug *p, size_t i)
{
	return i < p->n_warnings ? p->warnings[i] : NULL;
}

static void warn(struct plug *p, mk_str text)
{
	if (text.p && p->n_warnings < PLUG_MAX_WARNINGS) {
		p->warnings[p->n_warnings++] = text.p;
	}
}

/*
 * A descriptor of a newer minor may use fields that this host does not know: said once, at the
 * first such byte.
 */
static void warn_tail(struct plug *p, const void *item, size_t known, uint32_t size,
		      const char *what, const struct plug_source *src)
{
	const unsigned char *bytes = item;

	for (size_t i = known; i < size; i++) {
		if (bytes[i]) {
			warn(p,
			     arena_printf(&p->arena,
					  "%s: %s: built for abi %u.%u uses a field at offset %zu "
					  "that this "
					  "host (%d.%d) does not know; it is ignored",
					  src->file, what, (unsigned)src->abi_major,
					  (unsigned)src->abi_minor, i, MK_ABI_MAJOR, MK_ABI_MINOR));
			return;
		}
	}
}

static mk_str gvk_text(struct arena *a, mk_str group, mk_str version, mk_str kind)
{
	return arena_printf(a, "%.*s/%.*s, Kind=%.*s", STR_ARG(group), STR_ARG(version),
			    STR_ARG(kind));
}

/*
 * The descriptor with all fields that this host knows: those that an older plugin's lacks are zero.
 */
static const mk_adapter *whole_adapter(struct arena *a, const mk_adapter *ad)
{
	mk_adapter *whole = arena_alloc(a, sizeof(*whole));
	size_t n = ad->struct_size < sizeof(*whole) ? ad->struct_size : sizeof(*whole);

	if (whole) {
		memcpy(whole, ad, n - n % sizeof(void *)); /* no half of a pointer */
	}
	return whole;
}

bool plug_take_adapter(struct plug *p, const mk_adapter *ad, const struct plug_source *src,
		       size_t i, struct findings *f)
{
	bool is_template = !ad->group && !ad->version && !ad->kind;
	struct plug_adapter_item *item = arena_alloc(&p->arena, sizeof(*item));
	const mk_adapter *whole = whole_adapter(&p->arena, ad);

	if (!item || !whole) {
		return false;
	}
	item->pub = (struct plug_adapter){.d = whole, .source = *src};
	if (is_template) {
		p->template_ = item;
		warn_tail(p, ad, sizeof(*ad), ad->struct_size, "template", src);
		return true;
	}
	item->pub.group = str_of(ad->group);
	item->pub.version = str_of(ad->version);
	item->pub.kind = str_of(ad->kind);
	item->pub.gvk = gvk_text(&p->arena, item->pub.group, item->pub.version, item->pub.kind);
	if (!item->pub.gvk.p) {
		return false;
	}
	int other = plug_find_adapter(p, item->pub.gvk);

	if (other >= 0) {
		findings_add(
			f,
			"adapter %zu: kind: expected one without an adapter, found %s (also in %s)",
			i, item->pub.gvk.p, p->adapters[other]->pub.source.file);
		return true;
	}
	if (p->n_adapters == PLUG_MAX_ITEMS) {
		findings_add(f, "adapter %zu: expected at most %d adapters, found more", i,
			     PLUG_MAX_ITEMS);
		return true;
	}
	warn_tail(p, ad, sizeof(*ad), ad->struct_size, item->pub.gvk.p, src);
	p->adapters[p->n_adapters++] = item;
	return true;
}

static bool take_dispatcher(struct plug *p, const mk_dispatcher *di, const struct plug_source *src,
			    size_t i, struct findings *f)
{
	struct plug_dispatcher_item *item = arena_alloc(&p->arena, sizeof(*item));

	if (!item) {
		return false;
	}
	if (p->n_dispatchers == PLUG_MAX_ITEMS) {
		findings_add(f, "dispatcher %zu: expected at most %d dispatchers, found more", i,
			     PLUG_MAX_ITEMS);
		return true;
	}
	item->pub = (struct plug_dispatcher){.d = di,
					     .name = str_of(di->name ? di->name : PLUG_EXTERNAL),
					     .is_template = !di->name,
					     .source = *src};
	if (MK_HAS(di, config_schema) && di->config_schema) {
		struct mk_err err = {0};
		/* one byte more than allowed is enough to be refused */
		mk_str text = {di->config_schema,
			       strnlen(di->config_schema, (size_t)SCHEMA_MAX_SIZE + 1)};

		if (schema_read(&p->arena, text, &item->pub.schema, &err) != ERR_OK) {
			findings_add(f, "dispatcher %zu: config_schema: %s", i, err.msg);
			return true;
		}
	}
	warn_tail(p, di, sizeof(*di), di->struct_size, item->pub.name.p, src);
	p->dispatchers[p->n_dispatchers++] = item;
	return true;
}

/* Checks and takes the items of one factory. False: out of memory. */
static bool take_factory(struct plug *p, const mk_factory *fa, const struct plug_source *src,
			 struct findings *f)
{
	bool adapters = strcmp(fa->id, MK_FACTORY_ADAPTER) == 0;
	char what[160];

	if (!adapters && strcmp(fa->id, MK_FACTORY_DISPATCHER) != 0) {
		warn(p,
		     arena_printf(&p->arena,
				  "%s: factory %s is not known to this host (%d.%d); it is skipped",
				  src->file, fa->id, MK_ABI_MAJOR, MK_ABI_MINOR));
		return true;
	}
	warn_tail(p, fa, sizeof(*fa), fa->struct_size, fa->id, src);
	for (size_t i = 0; i < fa->n; i++) {
		bool fine = true;

		(void)snprintf(what, sizeof(what), "%s %zu", adapters ? "adapter" : "dispatcher",
			       i);
		if (!fa->items[i]) {
			findings_add(f, "%s: expected a descriptor, found NULL", what);
		} else if (adapters) {
			const mk_adapter *ad = fa->items[i];

			if (check_adapter(p, ad, what, f)) {
				fine = plug_take_adapter(p, ad, src, i, f);
			}
		} else {
			const mk_dispatcher *di = fa->items[i];

			if (check_dispatcher(p, di, what, f)) {
				fine = take_dispatcher(p, di, src, i, f);
			}
		}
		if (!fine) {
			return false;
		}
	}
	return true;
}

static bool take_entry(struct plug *p, const struct mk_entry *entry, const char *file,
		       struct findings *f)
{
	if (!check_entry(p, entry, f)) {
		return true;
	}
	if (p->n_sources == PLUG_MAX_ITEMS) {
		findings_add(f, "expected at most %d plugins, found more", PLUG_MAX_ITEMS);
		return true;
	}
	mk_str copy = arena_dup(&p->arena, str_of(file));

	if (!copy.p) {
		return false;
	}
	struct plug_source *src = &p->sources[p->n_sources++];

	*src = (struct plug_source){.id = entry->id,
				    .version = entry->version,
				    .file = copy.p,
				    .abi_major = entry->abi_major,
				    .abi_minor = entry->abi_minor};
	warn_tail(p, entry, sizeof(*entry), entry->struct_size, "entry", src);
	for (size_t i = 0; entry->factories[i]; i++) {
		if (i == PLUG_MAX_ITEMS) {
			findings_add(f, "factories: expected at most %d and NULL, found more",
				     PLUG_MAX_ITEMS);
			break;
		}
		if (check_factory(entry->factories[i], i, f) &&
		    !take_factory(p, entry->factories[i], src, f)) {
			return false;
		}
	}
	return true;
}

bool plug_add_entry(struct plug *p, const struct mk_entry *entry, const char *file,
		    struct findings *f)
{
	size_t before = f->n, n_adapters = p->n_adapters, n_dispatchers = p->n_dispatchers;
	size_t n_sources = p->n_sources, n_warnings = p->n_warnings;
	struct plug_adapter_item *tmpl = p->template_;

	if (!take_entry(p, entry, file, f)) {
		findings_add(f, "out of memory");
	}
	if (f->n == before) {
		return true;
	}
	/* all or nothing: an entry with a finding leaves no trace */
	p->n_adapters = n_adapters;
	p->n_dispatchers = n_dispatchers;
	p->n_sources = n_sources;
	p->n_warnings = n_warnings;
	p->template_ = tmpl;
	return false;
}

enum mk_code plug_add(struct plug *p, const struct mk_entry *entry, const char *file,
		      struct mk_err *err)
{
	struct findings f;
	enum mk_code code = ERR_OK;

	findings_init(&f);
	if (!plug_add_entry(p, entry, file, &f)) {
		code = err_set(err, arena_failed(&p->arena) ? ERR_NO_MEMORY : ERR_INVALID, "%s",
			       f.text.p ? f.text.p : "out of memory");
	}
	findings_done(&f);
	return code;
}

enum mk_code plug_add_framework(struct plug *p, mk_str name, struct mk_err *err)
{
	mk_str rest = name, kind, version;

	if (!str_split(&rest, '.', &kind) || !str_split(&rest, '.', &version) || !kind.n ||
	    !version.n || !rest.n) {
		return err_set(err, ERR_INVALID, "expected Kind.version.group, found \"%.*s\"",
			       STR_ARG(name));
	}
	if (!p->template_) {
		return err_set(err, ERR_INVALID,
			       "%.*s: expected a plugin with a template adapter, found none",
			       STR_ARG(name));
	}
	struct plug_adapter_item *item = arena_alloc(&p->arena, sizeof(*item));

	if (!item) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	item->pub = p->template_->pub;
	item->pub.is_instance = true;
	item->pub.group = arena_dup(&p->arena, rest);
	item->pub.version = arena_dup(&p->arena, version);
	item->pub.kind = arena_dup(&p->arena, kind);
	item->pub.gvk = gvk_text(&p->arena, rest, version, kind);
	if (arena_failed(&p->arena)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (plug_find_adapter(p, item->pub.gvk) >= 0) {
		return err_set(err, ERR_INVALID,
			       "%.*s: expected a kind without an adapter, found one",
			       STR_ARG(name));
	}
	if (p->n_adapters == PLUG_MAX_ITEMS) {
		return err_set(err, ERR_INVALID, "expected at most %d adapters, found more",
			       PLUG_MAX_ITEMS);
	}
	p->adapters[p->n_adapters++] = item;
	return ERR_OK;
}
