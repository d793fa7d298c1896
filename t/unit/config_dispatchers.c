/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the configuration says of dispatchers: names, those of other controllers with and
 * without external.so, sections.
 */
#include "t/lib/tap.h"

#include "core/config/config.h"
#include "core/plug/plug.h"

#define MK "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmultiKueue:\n"
#define DIRECTORY "/usr/local/lib/multikueue/plugins"
#define SIXTYFOUR "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct arena a;
static struct config c;
static struct config_problems problems;
static struct mk_err err;

static enum mk_code load(const char *text)
{
	struct config_input in = {.text = str_of(text), .feature_gates = STR("")};

	arena_clear(&a);
	memset(&c, 0, sizeof(c));
	err.msg[0] = '\0';
	return config_load(&a, &in, &c, &problems, &err);
}

static bool strict;         /* as with --check-config */
static size_t n_loaded = 4; /* 3: without external.so */

static void dispatcher(const char *name, const char *declared, bool good, const char *want)
{
	const struct config_dispatcher names[] = {
		{STR(CONFIG_ALL_AT_ONCE), NULL},
		{STR(CONFIG_INCREMENTAL), NULL},
		{STR("acme.io/cheapest"), NULL},
		{STR(PLUG_EXTERNAL), NULL},
	};
	char text[512];
	enum mk_code code;

	snprintf(text, sizeof(text), MK "  dispatcherName: \"%s\"\n%s%s%s", name,
		 declared ? "  externalDispatchers: [\"" : "", declared ? declared : "",
		 declared ? "\"]\n" : "");
	is_int(load(text), ERR_OK, text + strlen(MK));
	problems.n_warnings = 0;
	code = config_check_dispatcher(&a, &c, names, n_loaded, strict, &problems, &err);
	is_int(code, good ? ERR_OK : ERR_INVALID, "... judged");
	if (!good) {
		is_str(err.msg, want, "... says so");
	} else {
		is_int(problems.n_warnings, want != NULL ? 1 : 0, "... warnings");
	}
}

/* The text of the finding at a line; "" when there is none. */
static const char *text_at(int line)
{
	for (const struct config_problem *p = problems.first; p; p = p->next) {
		if (p->line == line) {
			return p->text.p;
		}
	}
	return "";
}

/* A section is judged by its dispatcher's schema; each fault has its line. */
static void test_section(void)
{
	static const char sections[] = MK "  dispatchers:\n"
					  "    acme.io/cheapest:\n"
					  "      steps: [1,\n"
					  "              \"x\"]\n"
					  "      \"od/d\": 1\n"
					  "    acme.io/nobody: {x: 1}\n";
	struct json *schema = NULL;
	struct config_dispatcher known[] = {{STR(CONFIG_ALL_AT_ONCE), NULL},
					    {STR("acme.io/cheapest"), NULL}};

	is_int(load(sections), ERR_OK, "a section is any map");
	is_int(config_check_dispatcher(&a, &c, known, 2, false, &problems, &err), ERR_OK,
	       "... without a schema it stays that");
	is_str(text_at(9),
	       "multiKueue.dispatchers: no dispatcher is named \"acme.io/nobody\": nobody reads "
	       "this "
	       "section",
	       "a section that no dispatcher reads is warned of at its line");
	is_int(load(sections), ERR_OK, "once more");
	json_parse(&a,
		   STR("{\"additionalProperties\":false,\"required\":[\"least\"],\"properties\":{"
		       "\"steps\":{\"items\":{\"type\":\"integer\"}}}}"),
		   &schema, NULL);
	known[1].schema = schema;
	is_int(config_check_dispatcher(&a, &c, known, 2, false, &problems, &err), ERR_INVALID,
	       "with a schema it is judged");
	is_str(err.msg,
	       "multiKueue.dispatchers.acme.io/cheapest.steps[1]: Invalid value: \"x\": must be of "
	       "type integer",
	       "... the first fault is the message");
	is_int(problems.n_errors, 3, "... all are told");
	is_str(text_at(7),
	       "multiKueue.dispatchers.acme.io/cheapest.steps[1]: Invalid value: \"x\": "
	       "must be of type integer",
	       "an element at its line");
	is_str(text_at(8),
	       "multiKueue.dispatchers.acme.io/cheapest.od/d: Forbidden: no such key (keys here: "
	       "steps)",
	       "a key that is not known at its line");
	is_str(text_at(5), "multiKueue.dispatchers.acme.io/cheapest.least: Required value",
	       "a key that is missing at its parent's");
}

static void test_dispatcher(void)
{
#define D "multiKueue.dispatcherName: Invalid value: "
	dispatcher(CONFIG_ALL_AT_ONCE, NULL, true, NULL);
	dispatcher("acme.io/cheapest", NULL, true, NULL);
	dispatcher("acme.io/other", NULL, true, "warned");
	dispatcher("acme.io/other", "acme.io/other", true, NULL);
	dispatcher("", NULL, true, "warned");
	dispatcher(
		PLUG_EXTERNAL, NULL, false,
		D
		"\"" PLUG_EXTERNAL
		"\": must be a domain-prefixed path (such as \"acme.io/foo\") of at most 63 bytes");
	dispatcher("foo", NULL, false,
		   D "\"foo\": must be a domain-prefixed path (such as \"acme.io/foo\") of at most "
		     "63 bytes");
	dispatcher("acme.io/" SIXTYFOUR, NULL, false,
		   D "\"acme.io/" SIXTYFOUR
		     "\": must be a domain-prefixed path (such as \"acme.io/foo\") of at most 63 "
		     "bytes");
	dispatcher("kueue.x-k8s.io/foo", NULL, false,
		   D "\"kueue.x-k8s.io/foo\": no such dispatcher in kueue.x-k8s.io");
	dispatcher("acme.io/cheapst", NULL, false,
		   D "\"acme.io/cheapst\": no such dispatcher; did you mean \"acme.io/cheapest\"?");
	dispatcher("acme.io/cheapset", NULL, false,
		   D
		   "\"acme.io/cheapset\": no such dispatcher; did you mean \"acme.io/cheapest\"?");
	dispatcher("acme.io/cheapestt", NULL, false,
		   D
		   "\"acme.io/cheapestt\": no such dispatcher; did you mean \"acme.io/cheapest\"?");
	dispatcher("acme.io/cheapest2x", NULL, true, "warned");
	dispatcher("acme.io/cheapst", "acme.io/cheapst", true, NULL);
	dispatcher("multikueued.io/least-loaded", NULL, false,
		   D "\"multikueued.io/least-loaded\": no plugin in " DIRECTORY
		     " has it: put its .so there (and into plugins.allow)");
	is_str(problems.first->hint.p,
	       "dispatchers loaded: " CONFIG_ALL_AT_ONCE ", " CONFIG_INCREMENTAL
	       ", acme.io/cheapest",
	       "... and which there are");
}

/* --check-config: a name that only may be another controller's is an error. */
static void test_strict(void)
{
	strict = true;
	dispatcher("acme.io/other", NULL, false,
		   D "\"acme.io/other\": no plugin in " DIRECTORY
		     " has it: put its .so there (and into plugins.allow); or, if another "
		     "controller nominates, name it in multiKueue.externalDispatchers");
	dispatcher("acme.io/other", "acme.io/other", true, NULL);
	dispatcher("", NULL, true, "warned");
	strict = false;
}

/* No plugin serves the names of other controllers: such a name is refused. */
static void test_without_external(void)
{
	n_loaded = 3;
	dispatcher("acme.io/cheapest", NULL, true, NULL);
	dispatcher("acme.io/other", NULL, false, D "\"acme.io/other\": " PLUG_NO_EXTERNAL);
	dispatcher("acme.io/other", "acme.io/other", false,
		   D "\"acme.io/other\": " PLUG_NO_EXTERNAL);
	dispatcher("", NULL, false, D "\"\": " PLUG_NO_EXTERNAL);
	dispatcher("acme.io/cheapest", "acme.io/cheapest", true, NULL);
	dispatcher("acme.io/cheapst", NULL, false,
		   D "\"acme.io/cheapst\": no such dispatcher; did you mean \"acme.io/cheapest\"?");
	n_loaded = 4;
}

int main(void)
{
	arena_init(&a, 0);
	test_dispatcher();
	test_without_external();
	test_strict();
	test_section();
	arena_done(&a);
	return done_testing();
}
