/* SPDX-License-Identifier: Apache-2.0 */
/* The group `kubectl multikueue adapter`: adapters without code, tried on files. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/yaml.h"
#include "core/cli/cli.h"
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

static enum cli_exit run_one(struct cli *c, struct plug *p, const char *dir)
{
	struct fixture f = {NULL, NULL};
	struct mk_err err = {0};
	enum mk_code code = fixture_run(p, dir, &c->a, &f, &err);

	if (code != ERR_OK) {
		cli_error(c, "%s", err.msg);
		return code == ERR_NO_MEMORY ? CLI_FAILED : CLI_NO;
	}
	if (f.want && json_equal(f.got, f.want)) {
		buf_printf(&c->out, "%s: as expected\n", dir);
	} else {
		buf_printf(&c->out, "%s:%s\n", dir, f.want ? " differs from expect.json" : "");
	}
	put_indented(c, yaml_write(&c->a, f.got));
	if (f.want && !json_equal(f.got, f.want)) {
		buf_printf(&c->out, "  expected:\n");
		put_indented(c, yaml_write(&c->a, f.want));
		return CLI_NO;
	}
	if (arena_failed(&c->a)) {
		return CLI_FAILED;
	}
	return json_get(f.got, "fault") && !f.want ? CLI_NO : CLI_OK;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* The situations of a folder, or the one that it is. */
static enum cli_exit run_folder(struct cli *c, struct plug *p, const char *dir)
{
	struct dirent **list = NULL;
	enum cli_exit rc = CLI_OK;
	size_t ran = 0;
	int n;

	if (fixture_is(dir)) {
		return run_one(c, p, dir);
	}
	n = scandir(dir, &list, NULL, by_name);
	if (n < 0) {
		cli_error(c, "%s: %s", dir, strerror(errno));
		return CLI_FAILED;
	}
	for (int i = 0; i < n; i++) {
		mk_str below = arena_printf(&c->a, "%s/%s", dir, list[i]->d_name);

		if (list[i]->d_name[0] != '.' && below.p && fixture_is(below.p)) {
			enum cli_exit one = run_one(c, p, below.p);

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

static enum cli_exit run_test(struct cli *c, const struct cli_args *args)
{
	struct plug *p = NULL;
	enum cli_exit rc;

	if (args->n_rest < 1 || !plug_is_description(str_of(args->rest[0]))) {
		return cli_usage(c, "kubectl multikueue adapter test",
				 "expected a file that ends in .yaml or .yml");
	}
	if (access(args->rest[0], R_OK) != 0) {
		cli_error(c, "%s: %s", args->rest[0], strerror(errno));
		return CLI_FAILED;
	}
	rc = load(c, args->rest[0], &p);
	if (rc != CLI_OK) {
		return rc;
	}
	buf_printf(&c->out, "%s: %s\n", args->rest[0], plug_adapter(p, 0)->gvk.p);
	for (size_t i = 1; i < args->n_rest; i++) {
		enum cli_exit one = run_folder(c, p, args->rest[i]);

		rc = one > rc ? one : rc;
	}
	plug_free(p);
	return rc == CLI_FAILED && arena_failed(&c->a) ? cli_no_memory(c) : rc;
}

static enum cli_exit run_schema(struct cli *c, const struct cli_args *args)
{
	if (args->n_rest > 0) {
		return cli_usage(c, "kubectl multikueue adapter schema", "unexpected %s",
				 args->rest[0]);
	}
	buf_add(&c->out, describe_schema(&c->a));
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}

static const struct cli_command test_command = {
	.name = "test",
	.synopsis = "FILE.yaml [FOLDER...]",
	.summary = "what an adapter without code makes of jobs in files",
	.help = "FILE is judged as the daemon judges it. A FOLDER is a situation, or holds some: "
		"local.json is\n"
		"the job on the manager; remote.json its copy on the worker, absent before there "
		"is one; and\n"
		"expect.json, if there is one, what must come out. Without it the outcome is "
		"shown alone.\n"
		"{\"evicted\": true} in env.json, and no remote.json: the job was evicted and no "
		"copy is left;\n"
		"active then says whether Kueue still holds its quota.\n",
	.examples = "  kubectl multikueue adapter test widget.yaml\n"
		    "  kubectl multikueue adapter test widget.yaml fixtures/\n",
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
