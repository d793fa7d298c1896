/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of dispatchers changed by annotations; see overlay.h. */
#include "core/engine/clusters/overlay.h"

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/yaml.h"
#include "core/engine/act/note.h"
#include "core/plug/schema.h"

/* What is wrong with an annotation; the text is in the overlay's arena. */
struct fault {
	mk_str text; /* "": nothing */
	bool said;   /* an Event has told */
};

struct overlay {
	struct arena a;
	uint64_t config, check, name; /* hashes of what it was made of */
	const struct json *section;
	struct fault of_config, of_check;
};

/* --- one annotation --------------------------------------------------------------------------- */

/* Keeps the first fault: the others may follow from it. */
static void first_fault(void *ctx, mk_str pointer, mk_str text)
{
	struct overlay *o = ctx;
	struct fault *f = &o->of_check;

	if (f->text.n == 0) {
		f->text = arena_printf(&o->a, "%.*s: %.*s",
				       STR_ARG(pointer.n > 0 ? pointer : STR("/")), STR_ARG(text));
	}
}

/*
 * The section with the annotation applied. NULL: it has a mistake, and 'of_check' says which, or
 * out of memory.
 */
static const struct json *changed(struct overlay *o, const struct json *section, mk_str text,
				  const struct json *schema)
{
	struct json *patch = NULL, *with;
	struct yaml_options options = {.only_one = true};
	struct mk_err err = {0};
	enum mk_code code;

	if (text.n > OVERLAY_MAX) {
		o->of_check.text = arena_printf(&o->a, "expected at most %d bytes, found %zu",
						OVERLAY_MAX, text.n);
		return NULL;
	}
	code = yaml_parse(&o->a, text, &options, &patch, NULL, &err);
	if (code != ERR_OK) {
		if (code != ERR_NO_MEMORY) {
			o->of_check.text = arena_printf(
				&o->a, "expected an object in JSON or YAML, found: %s", err.msg);
		}
		return NULL;
	}
	if (json_type(patch) != JSON_OBJ) {
		o->of_check.text =
			arena_printf(&o->a, "expected an object in JSON or YAML, found %s",
				     json_type_word(patch));
		return NULL;
	}
	with = section ? json_dup(&o->a, section) : json_new_obj(&o->a);
	with = json_merge(&o->a, with, patch);
	if (with && schema && schema_check(&o->a, schema, with, STR(""), first_fault, o) > 0) {
		return NULL;
	}
	return with;
}

/*
 * Changes the section by the annotation of one object; a mistake goes to '*fault'. False: out of
 * memory.
 */
static bool apply(struct overlay *o, mk_str text, const struct json *schema, struct fault *fault)
{
	const struct json *with;

	o->of_check = (struct fault){.text = STR("")};
	if (text.n == 0) {
		return true;
	}
	with = changed(o, o->section, text, schema);
	o->section = with ? with : o->section;
	*fault = o->of_check;
	return with || fault->text.n > 0;
}

/* --- both ------------------------------------------------------------------------------------- */

static void make(struct engine *e, struct overlay *o, const struct facts *check,
		 const struct facts *config, mk_str name)
{
	int i = plug_find_dispatcher(e->o.plug, name);
	const struct plug_dispatcher *d = i < 0 ? NULL : plug_dispatcher(e->o.plug, (size_t)i);
	struct fault of_config = {.text = STR("")}, of_check = of_config;
	bool good = true;

	arena_clear(&o->a);
	o->section = json_getn(e->o.dispatchers, name);
	if (d && !d->is_template) {
		good = apply(o, config->s[S_DISPATCHER_CONFIG], d->schema, &of_config) &&
		       apply(o, check->s[S_DISPATCHER_CONFIG], d->schema, &of_check);
	}
	o->of_config = of_config;
	o->of_check = of_check;
	o->config = config->hash;
	o->check = check->hash;
	o->name = hash64(name);
	if (!good || arena_failed(&o->a)) {
		say_no_memory(e);
		o->name++; /* it is made again */
		o->section = json_getn(e->o.dispatchers, name);
	}
}

static void tell(struct engine *e, const struct record *r, struct fault *f)
{
	if (f->text.n == 0 || f->said || !e->may_write) {
		return;
	}
	f->said = true;
	note_warn(e, r, "BadDispatcherConfig",
		  "Annotation " NAME_DISPATCHER_CONFIG ": %.*s; the annotation does not count",
		  STR_ARG(f->text));
}

const struct json *overlay_section(struct engine *e, const struct record *check,
				   const struct record *config, mk_str name)
{
	struct check *k = map_get(&e->check_by_name, check->name);
	struct overlay *o = k ? k->overlay : NULL;

	if (check->facts->hash == 0 && config->facts->hash == 0 && !o) {
		return json_getn(e->o.dispatchers, name);
	}
	if (k && !o) {
		o = mk_calloc(1, sizeof(*o));
		if (o) {
			arena_init(&o->a, 0);
			k->overlay = o;
		}
	}
	if (!o) {
		say_no_memory(e);
		return json_getn(e->o.dispatchers, name);
	}
	if (o->name != hash64(name) || o->check != check->facts->hash ||
	    o->config != config->facts->hash) {
		make(e, o, check->facts, config->facts, name);
	}
	tell(e, config, &o->of_config);
	tell(e, check, &o->of_check);
	return o->section;
}

void overlay_done(struct check *k)
{
	if (k->overlay) {
		arena_done(&k->overlay->a);
		mk_free(k->overlay);
		k->overlay = NULL;
	}
}
