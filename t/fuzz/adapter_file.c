/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: adapters without code, and the schemas of dispatchers' sections. A file that is
 * taken is one adapter with a kind; one that is not says why. A schema that is taken judges itself
 * as a value, and each fault has a place.
 */
#include "core/plug/describe.h"
#include "core/plug/schema.h"
#include "t/fuzz/fuzz.h"

#define mk_plugin_entry generic_plugin
#include "adapters/generic.c"
#undef mk_plugin_entry

static void fault(void *ctx, mk_str pointer, mk_str text)
{
	(void)ctx;
	FUZZ_MUST((pointer.n == 0 || pointer.p[0] == '/') && text.n > 0);
}

static void describe(struct arena *a, mk_str text)
{
	mk_str findings = {NULL, 0};
	struct plug *p = plug_new(NULL);
	struct mk_err err = {.msg = ""};
	enum mk_code code;

	FUZZ_MUST(p != NULL && plug_add(p, &generic_plugin, "", NULL) == ERR_OK);
	code = plug_add_description(p, text, "f.yaml", a, &findings, &err);
	FUZZ_MUST(plug_n_adapters(p) == (code == ERR_OK ? 1 : 0));
	FUZZ_MUST(code == ERR_OK || findings.n > 0 || err.msg[0] != '\0');
	if (code == ERR_OK) {
		const struct plug_adapter *ad = plug_adapter(p, 0);

		FUZZ_MUST(ad->kind.n > 0 && ad->version.n > 0 && ad->gvk.n > 0);
	}
	plug_free(p);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	mk_str text = {(const char *)data, size};
	const struct json *schema = NULL;
	struct mk_err err;
	struct arena a;

	arena_init(&a, 0);
	if (size <= DESCRIBE_MAX_SIZE + 1) {
		describe(&a, text);
	}
	if (schema_read(&a, text, &schema, &err) == ERR_OK) {
		schema_check(&a, schema, schema, STR("/s"), fault, NULL);
	}
	arena_done(&a);
	return 0;
}
