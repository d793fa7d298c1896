/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may stand at the end of a command line, as kubectl's shell completion asks plugins: one word
 * on each line, with a text behind a tab, then ":0" (the shell offers files, too) or ":4" (it does
 * not). Commands and options are those of the table that help and dispatch read; names of objects
 * come from the API server. A completion has no errors: what cannot be asked is not offered.
 */
#include "core/cli/fleet/rows.h"

enum {
	ANSWER_MS = 3000,
	ANSWER_MAX = 4 * 1024 * 1024,
	WORDS_MAX = 64 * 1024,
	AFTER_FILES = 0,
	AFTER_NOTHING = 4,
};

struct line {
	struct cli *c;
	const struct cli_command *cmd;
	struct cli_args given;        /* 'rest': of a command that is no group */
	const struct cli_option *own; /* the last word is its value; NULL: it is none */
	mk_str last;                  /* what is to be completed */
	mk_str kept;                  /* what stands before it in the same word: "job/" */
	bool only_words;              /* "--" was given: no options follow */
};

static void offer(struct line *l, mk_str word, const char *what)
{
	if (word.n > 0 && str_starts(word, l->last)) {
		buf_printf(&l->c->out, "%.*s%.*s%s%s\n", STR_ARG(l->kept), STR_ARG(word),
			   what ? "\t" : "", what ? what : "");
	}
}

/* Words with 'sep' between them. */
static void offer_words(struct line *l, mk_str words, char sep)
{
	mk_str word;

	while (str_split(&words, sep, &word)) {
		offer(l, word, NULL);
	}
}

/* --- names that kubectl knows ----------------------------------------------------------------- */

/* What kubectl prints, in 'out'; nothing when it cannot answer. */
static void ask(struct line *l, const char *const *words, struct buf *out)
{
	const char *argv[KUBECTL_WORDS_MAX];
	struct buf err;
	bool good;

	buf_init(&err, WORDS_MAX);
	kubectl_words(&l->given, words, argv);
	if (!kubectl_run(argv, STR(""), ANSWER_MS, out, &err, &good) || !good) {
		buf_clear(out);
	}
	buf_done(&err);
}

static void offer_contexts(struct line *l)
{
	static const char *const words[] = {"config", "get-contexts", "--output=name", NULL};
	struct buf out;

	buf_init(&out, ANSWER_MAX);
	ask(l, words, &out);
	offer_words(l, buf_str(&out), '\n');
	buf_done(&out);
}

/* `kubectl get` of a resource, in the namespace that is meant, each object by that template. */
static void ask_objects(struct line *l, const char *resource, const char *each, struct buf *out)
{
	const char *ns = cli_get(&l->given, "namespace");
	const char *manager = cli_get(&l->given, "manager-context");
	mk_str format =
		arena_printf(&l->c->a, "--output=jsonpath={range .items[*]}%s{\"\\n\"}{end}", each);
	const char *words[10] = {"get", resource, "--request-timeout=3s", format.p};
	size_t n = 4;

	if (!format.p) {
		return;
	}
	if (cli_get(&l->given, "all-namespaces")) {
		words[n++] = "--all-namespaces";
	} else if (ns) {
		words[n++] = "--namespace";
		words[n++] = ns;
	}
	if (manager) {
		words[n++] = "--context";
		words[n++] = manager;
	}
	ask(l, words, out);
}

static void offer_objects(struct line *l, const char *resource)
{
	struct buf out;

	buf_init(&out, ANSWER_MAX);
	ask_objects(l, resource, "{.metadata.name}", &out);
	offer_words(l, buf_str(&out), '\n');
	buf_done(&out);
}

/* Names of Workloads and of their jobs; behind "job/" those of jobs of that kind alone. */
static void offer_jobs(struct line *l)
{
	const struct wanted w = wanted_of(l->last.p);
	mk_str rest, row, name, kind;
	struct buf out;

	l->kept = str_sub(l->last, 0, l->last.n - w.name.n);
	l->last = w.name;
	buf_init(&out, ANSWER_MAX);
	ask_objects(l, "workloads.kueue.x-k8s.io",
		    "{.metadata.name} {.metadata.ownerReferences[0].kind} "
		    "{.metadata.ownerReferences[0].name}",
		    &out);
	rest = buf_str(&out);
	while (str_split(&rest, '\n', &row)) {
		name = STR("");
		(void)str_split(&row, ' ', &name);
		if (!wanted_job(&w)) {
			offer(l, name, NULL);
		}
		if (str_split(&row, ' ', &kind) && wanted_kind(&w, kind)) {
			offer(l, str_trim(row), NULL);
		}
	}
	buf_done(&out);
}

/* --- places ----------------------------------------------------------------------------------- */

/* What stands in a place; see struct cli_place. */
static int offer_place(struct line *l, const char *what)
{
	static const struct {
		const char *what, *resource;
	} resources[] = {{"NAMESPACE", "namespaces"},
			 {"CLUSTER", "multikueueclusters.kueue.x-k8s.io"},
			 {"CONFIG", "multikueueconfigs.kueue.x-k8s.io"},
			 {"QUEUE", "clusterqueues.kueue.x-k8s.io"}};

	if (strcmp(what, "FILE") == 0) {
		return AFTER_FILES;
	}
	if (strcmp(what, "CONTEXT") == 0) {
		offer_contexts(l);
	} else if (strcmp(what, "JOB") == 0) {
		offer_jobs(l);
	} else if (strchr(what, '|')) {
		offer_words(l, str_of(what), '|');
	}
	for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++) {
		if (strcmp(what, resources[i].what) == 0) {
			offer_objects(l, resources[i].resource);
		}
	}
	return AFTER_NOTHING;
}

/* What the command says of an option, or of what is no option (""); NULL: nothing. */
static const char *place_of(const struct cli_command *cmd, const char *of)
{
	for (size_t i = 0; cmd->places && cmd->places[i].of; i++) {
		if (strcmp(cmd->places[i].of, of) == 0) {
			return cmd->places[i].what;
		}
	}
	return NULL;
}

/* Formats are those that the help of -o names. */
static int offer_formats(struct line *l, const char *help)
{
	static const char *const formats[] = {"json", "name", "text", "wide", "yaml"};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (strstr(help, formats[i])) {
			offer(l, str_of(formats[i]), NULL);
		}
	}
	return AFTER_NOTHING;
}

static int offer_value(struct line *l)
{
	static const char *const common[][2] = {{"context", "CONTEXT"},
						{"manager-context", "CONTEXT"},
						{"namespace", "NAMESPACE"},
						{"manager-namespace", "NAMESPACE"}};
	const struct cli_option *o = l->own;
	const char *what = place_of(l->cmd, o->name);

	if (strcmp(o->name, "output") == 0) {
		return offer_formats(l, o->help);
	}
	for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++) {
		what = strcmp(o->name, common[i][0]) == 0 ? common[i][1] : what;
	}
	return offer_place(l, what ? what : o->value);
}

static int offer_rest(struct line *l)
{
	const char *what = place_of(l->cmd, "");

	if (what && l->given.n_rest > 0 && strcmp(what, "FILE") != 0) {
		what = place_of(l->cmd, l->given.rest[0]);
	}
	return what ? offer_place(l, what) : AFTER_NOTHING;
}

static void offer_options(struct line *l)
{
	const struct cli_option *o = l->cmd->options;

	for (; o && o->name; o++) {
		if (o->many || !cli_get(&l->given, o->name)) {
			offer(l, arena_printf(&l->c->a, "--%s", o->name), o->help);
		}
	}
	offer(l, STR("--help"), "options and examples");
}

/* --- the line --------------------------------------------------------------------------------- */

/*
 * The option that a word begins with, and where its value begins in that word; *ret_value NULL: it
 * has none there. NULL: there is no such option.
 */
static const struct cli_option *option_of(const struct cli_command *cmd, const char *word,
					  const char **ret_value)
{
	bool is_long = word[1] == '-';
	const char *equals = strchr(word, '=');
	mk_str name = str_of(word + 2);
	const struct cli_option *o = cmd->options;

	name = equals ? str_cut(name, (size_t)(equals - word) - 2) : name;
	for (; o && o->name; o++) {
		if (is_long ? str_is(name, o->name) : o->letter && o->letter == word[1]) {
			break;
		}
	}
	*ret_value = equals ? equals + 1 : !is_long && word[2] ? word + 2 : NULL;
	return o && o->name ? o : NULL;
}

static const struct cli_command *command_of(const struct cli_command *group, const char *word)
{
	for (size_t i = 0; group->below[i]; i++) {
		if (strcmp(group->below[i]->name, word) == 0) {
			return group->below[i];
		}
	}
	return NULL;
}

/* Reads the words before the last one. False: one of them is no command. */
static bool read_words(struct line *l, int n, char *const *words)
{
	for (int i = 0; i < n; i++) {
		bool is_option = words[i][0] == '-' && words[i][1] && !l->only_words;
		const struct cli_option *o;
		const char *value;

		if (l->cmd->below) {
			const struct cli_command *next = command_of(l->cmd, words[i]);

			if (!next && !is_option && strcmp(words[i], "help") != 0) {
				return false;
			}
			l->cmd = next ? next : l->cmd;
			continue;
		}
		if (is_option && strcmp(words[i], "--") == 0) {
			l->only_words = true;
			continue;
		}
		if (!is_option) {
			l->given.rest[l->given.n_rest++] = words[i];
			continue;
		}
		o = option_of(l->cmd, words[i], &value);
		if (o && o->value && !value && i + 1 == n) {
			l->own = o;
		} else if (o) {
			value = o->value && !value ? words[++i] : value;
			l->given.given[l->given.n_given++] = (struct cli_given){o, value};
		}
	}
	return true;
}

/* "--context=ea": the shell keeps what stands before the value. */
static void read_last(struct line *l, const char *word)
{
	const struct cli_option *o;
	const char *value;

	if (l->own || l->only_words || l->cmd->below || word[0] != '-' || !strchr(word, '=')) {
		return;
	}
	o = option_of(l->cmd, word, &value);
	if (o && o->value) {
		l->own = o;
		l->last = str_of(value);
	}
}

static int offer_all(struct line *l)
{
	bool is_option = l->last.n > 0 && l->last.p[0] == '-' && !l->only_words;

	if (l->own) {
		return offer_value(l);
	}
	if (is_option) {
		offer_options(l);
		return AFTER_NOTHING;
	}
	for (size_t i = 0; l->cmd->below && l->cmd->below[i]; i++) {
		offer(l, str_of(l->cmd->below[i]->name), l->cmd->below[i]->summary);
	}
	return l->cmd->below ? AFTER_NOTHING : offer_rest(l);
}

enum cli_exit cli_complete(struct cli *c, const struct cli_command *all, int n, char *const *words)
{
	const char *last = n > 0 ? words[n - 1] : "";
	struct line l = {.c = c, .cmd = all, .last = str_of(last), .kept = STR("")};
	int after = AFTER_NOTHING;

	l.given.given = arena_array(&c->a, (size_t)n + 1, sizeof(*l.given.given));
	l.given.rest = arena_array(&c->a, (size_t)n + 1, sizeof(*l.given.rest));
	if (!l.given.given || !l.given.rest) {
		return cli_no_memory(c);
	}
	if (read_words(&l, n > 0 ? n - 1 : 0, words)) {
		read_last(&l, last);
		after = offer_all(&l);
	}
	buf_printf(&c->out, ":%d\n", after);
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}
