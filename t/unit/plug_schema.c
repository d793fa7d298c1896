/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schemas of dispatchers' sections: which are refused with the plugin,
 * and what they find in a section.
 */
#include "core/base/alloc.h"
#include "core/plug/schema.h"
#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

static struct arena a;
static char found[2048];

static void fault(void *ctx, mk_str pointer, mk_str text)
{
	size_t n = strlen(found);

	(void)ctx;
	snprintf(found + n, sizeof(found) - n, "%s%.*s %.*s", n ? "\n" : "", STR_ARG(pointer),
		 STR_ARG(text));
}

/* The schema finds 'want' in 'value', one line each. */
static void finds(const char *schema, const char *value, const char *want)
{
	const struct json *s = NULL;
	struct mk_err err = {0};

	arena_clear(&a);
	found[0] = 0;
	if (schema_read(&a, str_of(schema), &s, &err) != ERR_OK) {
		is_str(err.msg, "", schema);
		return;
	}
	size_t n = schema_check(&a, s, parse_json(&a, value), STR("/s"), fault, NULL);

	is_str(found, want, value);
	ok((n > 0) == (want[0] != 0), "... counted");
}

static void refused(const char *schema, const char *want)
{
	const struct json *s = NULL;
	struct mk_err err = {0};

	arena_clear(&a);
	is_int(schema_read(&a, str_of(schema), &s, &err), ERR_INVALID, schema);
	is_str(err.msg, want, "... says why");
	ok(!s, "... and gives nothing");
}

#define RANGE "{\"type\":\"integer\",\"minimum\":1,\"maximum\":20}"
#define STEP \
	"{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"step\":" RANGE "}}"

static void values(void)
{
	finds("{}", "{\"any\":[1,null]}", "");
	finds(STEP, "{}", "");
	finds(STEP, "{\"step\":20}", "");
	finds(STEP, "{\"step\":0}", "/s/step Invalid value: 0: must be greater than or equal to 1");
	finds(STEP, "{\"step\":21}", "/s/step Invalid value: 21: must be less than or equal to 20");
	finds(STEP, "{\"step\":18446744073709551615}",
	      "/s/step Invalid value: 18446744073709551615: must be less than or equal to 20");
	finds(STEP, "{\"step\":\"3\"}", "/s/step Invalid value: \"3\": must be of type integer");
	finds(STEP, "{\"step\":2.5}", "/s/step Invalid value: 2.5: must be of type integer");
	finds(STEP, "{\"stepp\":2,\"a/b~c\":0}",
	      "/s/stepp Forbidden: no such key: did you mean step? (keys here: step)\n"
	      "/s/a~1b~0c Forbidden: no such key (keys here: step)");
	finds(STEP, "[]", "/s Invalid value: []: must be of type object");
	finds(STEP, "null", "/s Invalid value: null: must be of type object");
	finds("{\"type\":\"number\",\"minimum\":-1,\"maximum\":1}", "-1.25",
	      "/s Invalid value: -1.25: must be greater than or equal to -1");
	finds("{\"type\":\"number\",\"maximum\":1}", "1.0", "");
	finds("{\"maximum\":18446744073709551615}", "5", "");
	finds("{\"minimum\":18446744073709551615}", "5",
	      "/s Invalid value: 5: must be greater than or equal to 18446744073709551615");
	finds("{\"minimum\":5}", "\"text has no bounds\"", "");
}

static void shapes(void)
{
	finds("{\"required\":[\"x\",\"y\"]}", "{\"x\":null}", "/s/y Required value");
	finds("{\"enum\":[\"config\",\"name\",7]}", "\"nam\"",
	      "/s Unsupported value: \"nam\": supported values: \"config\", \"name\", 7");
	finds("{\"enum\":[\"config\",7]}", "7", "");
	finds("{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", "[\"a\",1,true]",
	      "/s/1 Invalid value: 1: must be of type string\n"
	      "/s/2 Invalid value: true: must be of type string");
	finds("{\"additionalProperties\":{\"type\":\"boolean\"}}", "{\"x\":true,\"y\":1}",
	      "/s/y Invalid value: 1: must be of type boolean");
	finds("{\"type\":\"null\"}", "null", "");
	finds("{\"properties\":{\"p\":" STEP
	      "},\"title\":\"t\",\"description\":\"d\",\"default\":{}}",
	      "{\"p\":{\"step\":-1,\"x\":1}}",
	      "/s/p/step Invalid value: -1: must be greater than or equal to 1\n"
	      "/s/p/x Forbidden: no such key (keys here: step)");
	finds("{\"type\":\"object\"}",
	      "\"a long text that is cut where it is shown to people, and not before, since they "
	      "may "
	      "need it\"",
	      "/s Invalid value: \"a long text that is cut where it is shown to people, and not "
	      "be...: must be of type object");
}

static void schemas(void)
{
	char big[SCHEMA_MAX_SIZE + 8];
	struct buf deep;
	const struct json *s = NULL;
	struct mk_err err = {0};

	refused("{\"pattern\":\"x\"}", "expected a known word, found \"pattern\"");
	refused("[]", "expected an object, found a array");
	refused("{\"type\":\"int\"}", "type: expected one of JSON Schema's types, found a string");
	refused("{\"type\":[\"string\"]}",
		"type: expected one of JSON Schema's types, found a array");
	refused("{\"minimum\":1.5}", "minimum: expected an integer, found a number");
	refused("{\"enum\":[]}", "enum: expected a list, not empty, found a array");
	refused("{\"required\":[1]}", "required: expected a list of strings, found a array");
	refused("{\"additionalProperties\":1}",
		"additionalProperties: expected a bool or a schema, found a number");
	refused("{\"properties\":{\"x\":{\"items\":true}}}",
		"properties: x: items: expected an object, found a bool");
	buf_init(&deep, 4096);
	for (int i = 0; i < SCHEMA_MAX_DEPTH; i++) {
		buf_add(&deep, STR("{\"items\":"));
	}
	buf_add(&deep, STR("{}"));
	for (int i = 0; i < SCHEMA_MAX_DEPTH; i++) {
		buf_add(&deep, STR("}"));
	}
	is_int(schema_read(&a, buf_str(&deep), &s, &err), ERR_INVALID, "too deep");
	buf_done(&deep);
	ok(strstr(err.msg, "expected at most 16 levels, found more") != NULL, "... says so");
	memset(big, ' ', sizeof(big));
	memcpy(big, "{}", 2);
	is_int(schema_read(&a, (mk_str){big, sizeof(big)}, &s, &err), ERR_TOO_BIG, "too big");
	ok(schema_read(&a, STR("{"), &s, &err) == ERR_INVALID, "no JSON");
}

/* Memory that runs out is said, and never a schema that passes for checked. */
static void memory(void)
{
	for (uint64_t n = 1; n < 40; n++) {
		const struct json *s = NULL;
		struct arena small;
		enum mk_code code;

		arena_init(&small, 0);
		alloc_fail_after(n);
		code = schema_read(&small, STR(STEP), &s, NULL);
		if (code == ERR_OK) {
			(void)schema_check(&small, s, s, STR("/s"), fault, NULL);
		}
		alloc_fail_after(0);
		if (code != ERR_OK && code != ERR_NO_MEMORY) {
			ok(false, "no memory is no other error");
		}
		arena_done(&small);
	}
	ok(true, "memory that runs out is survived");
}

int main(void)
{
	arena_init(&a, 0);
	values();
	shapes();
	schemas();
	memory();
	arena_done(&a);
	return done_testing();
}
