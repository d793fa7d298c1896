/* SPDX-License-Identifier: Apache-2.0 */
/* The group `kubectl multikueue adapter`: adapters without code, tried on files. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/yaml.h"
#include "core/cli/cli.h"
#include "core/cli/output.h"
#include "core/plug/describe.h"
#include "core/plug/fixture.h"
#include "core/plug/loader.h"

/* The template that a description is an instance of: adapters/generic.c, linked in. */
extern const struct mk_entry mk_entry_generic;

/* Lines of 'text', each with two blanks before it. */
static void put_indented(struct cli *c, mk_str text)
{
	mk_str line;

	while (str_split(&text, '\n', &line)) {
		if (line.n > 0) {
			buf_printf(&c->out, "  %.*s\n", STR_ARG(line));
		}
	}
}

/* One run of the command. */
struct trial {
	struct cli *c;
	struct plug *p;
	enum cli_format format;
	struct json *all; /* outcomes by folder, for JSON and YAML */
};

static bool is_data(const struct trial *t)
{
	return t->format == CLI_JSON || t->format == CLI_YAML;
}

static enum cli_exit show_data(struct trial *t, const char *dir, const struct fixture *f)
{
	bool differs = f->want && !json_equal(f->got, f->want);

	json_set(&t->c->a, t->all, str_of(dir), f->got);
	if (differs) {
		cli_error(t->c, "%s: differs from expect.json", dir);
	}
	return differs || (json_get(f->got, "fault") && !f->want) ? CLI_NO : CLI_OK;
}

static enum cli_exit show_text(struct cli *c, const char *dir, const struct fixture *f)
{
	if (f->want && json_equal(f->got, f->want)) {
		buf_printf(&c->out, "%s: as expected\n", dir);
	} else {
		buf_printf(&c->out, "%s:%s\n", dir, f->want ? " differs from expect.json" : "");
	}
	put_indented(c, yaml_write(&c->a, f->got));
	if (f->want && !json_equal(f->got, f->want)) {
		buf_printf(&c->out, "  expected:\n");
		put_indented(c, yaml_write(&c->a, f->want));
		return CLI_NO;
	}
	return json_get(f->got, "fault") && !f->want ? CLI_NO : CLI_OK;
}

static enum cli_exit run_one(struct trial *t, const char *dir)
{
	struct cli *c = t->c;
	struct fixture f = {NULL, NULL};
	struct mk_err err = {0};
	enum mk_code code = fixture_run(t->p, dir, &c->a, &f, &err);
	enum cli_exit rc;

	if (code != ERR_OK) {
		cli_error(c, "%s", err.msg);
		return code == ERR_NO_MEMORY ? CLI_FAILED : CLI_NO;
	}
	rc = is_data(t) ? show_data(t, dir, &f) : show_text(c, dir, &f);
	return arena_failed(&c->a) ? CLI_FAILED : rc;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* The situations of a folder, or the one that it is. */
static enum cli_exit run_folder(struct trial *t, const char *dir)
{
	struct cli *c = t->c;
	struct dirent **list = NULL;
	enum cli_exit rc = CLI_OK;
	size_t ran = 0;
	int n;

	if (fixture_is(dir)) {
		return run_one(t, dir);
	}
	n = scandir(dir, &list, NULL, by_name);
	if (n < 0) {
		cli_error(c, "%s: %s", dir, strerror(errno));
		return CLI_FAILED;
	}
	for (int i = 0; i < n; i++) {
		mk_str below = arena_printf(&c->a, "%s/%s", dir, list[i]->d_name);

		if (list[i]->d_name[0] != '.' && below.p && fixture_is(below.p)) {
			enum cli_exit one = run_one(t, below.p);

			rc = one > rc ? one : rc;
			ran++;
		}
		free(list[i]);
	}
	free(list);
	if (ran == 0 && !arena_failed(&c->a)) {
		cli_error(c, "%s: expected folders with a local.json, found none", dir);
		return CLI_NO;
	}
	return arena_failed(&c->a) ? CLI_FAILED : rc;
}

static enum cli_exit load(struct cli *c, const char *file, struct plug **ret)
{
	struct mk_err err = {0};
	mk_str problems = {NULL, 0};
	struct plug *p = plug_new(&err);
	enum mk_code code = p ? plug_add(p, &mk_entry_generic, "", &err) : ERR_NO_MEMORY;

	if (code == ERR_OK) {
		code = plug_load_file(p, file, &c->a, &problems, &err);
	}
	if (code != ERR_OK) {
		cli_error(c, "%s", problems.n > 0 ? problems.p : err.msg);
		plug_free(p);
		return code == ERR_NO_MEMORY || arena_failed(&c->a) ? CLI_FAILED : CLI_NO;
	}
	*ret = p;
	return CLI_OK;
}

/* The outcome of one situation is what its expect.json holds; of several, by folder. */
static bool put_data(struct trial *t)
{
	struct json_iter it = json_iter(t->all);
	bool one = json_len(t->all) == 1 && json_next(&it);

	return output_value(t->c, one ? it.val : t->all, t->format);
}

static enum cli_exit run_test(struct cli *c, const struct cli_args *args)
{
	struct trial t = {.c = c, .all = json_new_obj(&c->a)};
	enum cli_exit rc;

	if (args->n_rest < 1 || !plug_is_description(str_of(args->rest[0]))) {
		return cli_usage(c, "kubectl multikueue adapter test",
				 "expected a file that ends in .yaml or .yml");
	}
	if (!cli_get_format(c, args, &t.format)) {
		return CLI_USAGE;
	}
	if (access(args->rest[0], R_OK) != 0) {
		cli_error(c, "%s: %s", args->rest[0], strerror(errno));
		return CLI_FAILED;
	}
	rc = load(c, args->rest[0], &t.p);
	if (rc != CLI_OK) {
		return rc;
	}
	if (!is_data(&t)) {
		buf_printf(&c->out, "%s: %s\n", args->rest[0], plug_adapter(t.p, 0)->gvk.p);
	}
	for (size_t i = 1; i < args->n_rest; i++) {
		enum cli_exit one = run_folder(&t, args->rest[i]);

		rc = one > rc ? one : rc;
	}
	if (is_data(&t) && !put_data(&t)) {
		rc = CLI_FAILED;
	}
	plug_free(t.p);
	return rc == CLI_FAILED && arena_failed(&c->a) ? cli_no_memory(c) : rc;
}

static const struct cli_option test_options[] = {
	{'o', "output", "FORMAT", false, "text (default; wide is the same), json or yaml"},
	{0, NULL, NULL, false, NULL},
};

static enum cli_exit run_schema(struct cli *c, const struct cli_args *args)
{
	if (args->n_rest > 0) {
		return cli_usage(c, "kubectl multikueue adapter schema", "unexpected %s",
				 args->rest[0]);
	}
	buf_add(&c->out, describe_schema(&c->a));
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}

static const struct cli_place test_places[] = {{"", "FILE"}, {.of = NULL}};

static const struct cli_command test_command = {
	.name = "test",
	.synopsis = "FILE.yaml [FOLDER...] [-o FORMAT]",
	.summary = "what an adapter without code makes of jobs in files",
	.help = "FILE is judged as the daemon judges it. A FOLDER is a situation, or holds some: "
		"local.json is\n"
		"the job on the manager; remote.json its copy on the worker, absent before there "
		"is one; and\n"
		"expect.json, if there is one, what must come out. Without it the outcome is "
		"shown alone.\n"
		"{\"evicted\": true} in env.json, and no remote.json: the job was evicted and no "
		"copy is left;\n"
		"active then says whether Kueue still holds its quota.\n"
		"With -o json the outcome of one situation is what can be kept as its expect.json; "
		"that of several\n"
		"stands by folder.\n",
	.examples = "  kubectl multikueue adapter test widget.yaml\n"
		    "  kubectl multikueue adapter test widget.yaml fixtures/\n"
		    "  kubectl multikueue adapter test widget.yaml fixtures/create -o json "
		    ">fixtures/create/expect.json\n",
	.options = test_options,
	.places = test_places,
	.run = run_test,
};

static const struct cli_command schema_command = {
	.name = "schema",
	.synopsis = "",
	.summary = "the JSON Schema of such files, for editors",
	.examples = "  kubectl multikueue adapter schema >adapter.schema.json\n",
	.run = run_schema,
};

static const struct cli_command *const commands[] = {&test_command, &schema_command, NULL};

const struct cli_command cli_adapter = {
	.name = "adapter",
	.synopsis = "COMMAND",
	.summary = "adapters without code: try them on files",
	.help = "A YAML file in the plugin directory says what a kind of job is; these commands "
		"work on files alone.\n",
	.examples = "  kubectl multikueue adapter test widget.yaml fixtures/\n",
	.below = commands,
};
