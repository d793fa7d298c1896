/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotation multikueued.io/dispatcher-config: what it changes in the dispatcher's section, for
 * a MultiKueueConfig and for one check; and what becomes of a mistake.
 */
#include "t/lib/engine_probe.h"

enum { ROUNDS, A, B, LIST };

static struct arena texts;

static struct world *section_world(const char *section)
{
	struct world *w = probe_world(1);
	struct json *parsed = NULL;

	arena_clear(&texts);
	if (section && json_parse(&texts, str_of(section), &parsed, NULL) != ERR_OK) {
		printf("Bail out! no JSON: %s\n", section);
		exit(1);
	}
	w->dispatchers = parsed;
	w_restart(w);
	w_settle(w);
	probe.wait_ms = -1;
	probe.at[ROUNDS] = "s/rounds";
	probe.at[A] = "s/more/a";
	probe.at[B] = "s/more/b";
	probe.at[LIST] = "s/more/list/0";
	a_job(w, "j");
	w_settle(w);
	w->full = true;
	w_take(w);
	return w;
}

static void annotate(struct world *w, uint16_t kind, const char *name, const char *value)
{
	char text[20000];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher-config\":%s}}}",
		 value);
	w_patch(w, w_find(w, 0, kind, "", name), text);
	w_settle(w);
}

static void on_both(void)
{
	struct world *w = section_world(
		"{\"test.io/probe\":{\"rounds\":5,\"more\":{\"a\":\"file\",\"b\":\"file\"}}}");
	unsigned calls = probe.calls;

	is_str(probe.got[ROUNDS], "5", "without annotations the file counts");
	annotate(w, KIND_CONFIG, "cfg", "\"{\\\"more\\\": {\\\"a\\\": \\\"config\\\"}}\"");
	ok(probe.calls > calls, "an annotation on the MultiKueueConfig counts at once");
	is_str(probe.got[A], "config", "... on top of the file's section");
	is_str(probe.got[B], "file", "... member by member");
	annotate(w, KIND_CHECK, "mk", "\"{rounds: 7, more: {b: check, list: [1]}}\"");
	is_str(probe.got[ROUNDS], "7", "that of the check, as YAML, on top of both");
	is_str(probe.got[A], "config", "... where it says nothing, the one below counts");
	is_str(probe.got[B], "check", "... and where it does, it");
	is_str(probe.got[LIST], "1", "a list is replaced whole");
	annotate(w, KIND_CHECK, "mk", "\"more:\\n  a: null\\n\"");
	is_str(probe.got[A], "-", "null takes a member away");
	is_str(probe.got[B], "file", "... and the rest is as below");
	annotate(w, KIND_CHECK, "mk", "null");
	annotate(w, KIND_CONFIG, "cfg", "null");
	is_str(probe.got[A], "file", "without annotations it is as before");
	ok(!strstr(w_take(w), "BadDispatcherConfig"), "nothing was wrong");
	w_free(w);
}

static void without_a_section(void)
{
	struct world *w = section_world(NULL);

	annotate(w, KIND_CONFIG, "cfg", "\"rounds: 3\"");
	is_str(probe.got[ROUNDS], "3", "the file need not have the section");
	w_free(w);
}

static void wrong(struct world *w, const char *value, const char *words)
{
	const char *log;

	annotate(w, KIND_CHECK, "mk", value);
	log = w_take(w);
	ok(w_times(log, "does not count") == 1 && strstr(log, words), words);
	is_str(probe.got[ROUNDS], "4", "... and what is below stays in force");
}

static void mistakes(void)
{
	struct world *w = section_world("{\"test.io/probe\":{\"rounds\":5}}");
	char big[17000];

	annotate(w, KIND_CONFIG, "cfg", "\"rounds: 4\"");
	wrong(w, "\"rounds: 0\"",
	      "Annotation multikueued.io/dispatcher-config: /rounds: Invalid value: 0");
	wrong(w, "\"round: 1\"", "/round");
	wrong(w, "\"[1]\"", "expected an object in JSON or YAML, found array");
	wrong(w, "\"{\"", "expected an object in JSON or YAML, found: ");
	wrong(w, "\"rounds: 1\\n---\\nrounds: 2\"", "expected an object in JSON or YAML, found: ");
	memset(big, 'x', sizeof(big) - 1);
	big[0] = '"';
	big[sizeof(big) - 2] = '"';
	big[sizeof(big) - 1] = '\0';
	wrong(w, big, "expected at most 16384 bytes, found 16997");
	w_later(w, 60 * 1000);
	a_job(w, "k");
	w_settle(w);
	ok(!strstr(w_take(w), "BadDispatcherConfig"), "it is told once");
	annotate(w, KIND_CONFIG, "cfg", "\"rounds: x\"");
	ok(strstr(w_take(w), "\"kind\":\"MultiKueueConfig\""),
	   "that on the MultiKueueConfig is told there");
	is_str(probe.got[ROUNDS], "5", "... and the file's section is in force");
	w_restart(w);
	w_settle(w);
	ok(w_times(w_take(w), "does not count") == 2, "a new process tells both again");
	w_free(w);
}

/* The section is that of the dispatcher that is asked. */
static void another_dispatcher(void)
{
	struct world *w = section_world("{\"test.io/probe\":{\"rounds\":5}}");

	annotate(w, KIND_CHECK, "mk", "\"rounds: 6\"");
	w_patch(w, w_find(w, 0, KIND_CHECK, "", "mk"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher\":"
		"\"kueue.x-k8s.io/multikueue-dispatcher-all-at-once\"}}}");
	w_settle(w);
	w_take(w);
	a_job(w, "k");
	w_settle(w);
	ok(clone_of(w, 1, "wl-k") != NULL, "another dispatcher is asked all the same");
	w_patch(w, w_find(w, 0, KIND_CHECK, "", "mk"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher\":\"test.io/"
		"probe\"}}}");
	a_job(w, "l");
	w_settle(w);
	is_str(probe.got[ROUNDS], "6", "the first one again: the annotation is for it");
	w_free(w);
}

static void no_memory(void)
{
	size_t bad = 0;

	for (uint64_t n = 1; n < 300; n += 2) {
		struct world *w = section_world("{\"test.io/probe\":{\"rounds\":5}}");
		char text[256];

		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher-config\":"
			 "\"rounds: 9\"}}}");
		w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"), text);
		w->fail_at = n;
		w_step(w);
		w_step(w);
		w_settle(w);
		w_later(w, 10000);
		a_job(w, "k");
		w_settle(w);
		bad += strcmp(probe.got[ROUNDS], "9") != 0 || !clone_of(w, 1, "wl-k");
		w_free(w);
	}
	ok(bad == 0, "memory that fails at any allocation loses no annotation");
}

int main(void)
{
	arena_init(&texts, 0);
	on_both();
	without_a_section();
	mistakes();
	another_dispatcher();
	no_memory();
	arena_done(&texts);
	return done_testing();
}
