/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema that is published for editors, docs/adapter.schema.json as it lies there: every sample
 * fits, files that are wrong do not, and every word that can be completed is explained.
 */
#include <dirent.h>
#include <stdlib.h>

#include "core/base/yaml.h"
#include "core/plug/schema.h"
#include "t/lib/tap.h"

enum { MAX_TEXT = 1 << 16 };

static struct arena a;
static const struct json *schema;

static mk_str read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = arena_alloc(&a, MAX_TEXT);
	size_t n = f && text ? fread(text, 1, MAX_TEXT, f) : 0;

	if (f) {
		fclose(f);
	}
	return (mk_str){text, n};
}

static void tell(void *ctx, mk_str pointer, mk_str text)
{
	(void)ctx;
	printf("# %.*s: %.*s\n", STR_ARG(pointer), STR_ARG(text));
}

/* The number of faults; -1 no YAML. */
static int faults(const char *path)
{
	struct json *v = NULL;
	struct mk_err err;

	if (yaml_parse(&a, read_file(path), NULL, &v, NULL, &err) != ERR_OK) {
		printf("# %s: %s\n", path, err.msg);
		return -1;
	}
	return (int)schema_check(&a, schema, v, (mk_str){"", 0}, tell, NULL);
}

static void samples(const char *dir)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, NULL, alphasort), ran = 0;

	for (int i = 0; i < n; i++) {
		if (strstr(list[i]->d_name, ".yaml")) {
			mk_str path = arena_printf(&a, "%s/%s", dir, list[i]->d_name);

			is_int(faults(path.p), 0, path.p);
			ran++;
		}
		free(list[i]);
	}
	free(list);
	ok(ran >= 4, "all samples were there");
}

/* What an editor shows beside a member: all but the three that say only what the file is. */
static void explained(const struct json *s, const char *where)
{
	struct json_iter it = json_iter(json_get(s, "properties"));

	while (json_next(&it)) {
		mk_str path = arena_printf(&a, "%s/%.*s", where, STR_ARG(it.key));
		bool plain = str_is(it.key, "apiVersion") || str_is(it.key, "kind");

		ok(plain || json_get(it.val, "description") || json_get(it.val, "properties"),
		   path.p);
		explained(it.val, path.p);
		explained(json_get(it.val, "items"), path.p);
	}
}

int main(void)
{
	struct mk_err err = {0};

	arena_init(&a, 0);
	ok(schema_read(&a, read_file("docs/adapter.schema.json"), &schema, &err) == ERR_OK,
	   "docs/adapter.schema.json is a schema");
	if (schema) {
		samples("conf/adapters");
		is_int(faults("t/cli/input/widget.yaml"), 0, "the kind of the tests");
		is_int(faults("t/plan/kind/elsewhere.yaml"), 0, "one whose copies are another's");
		ok(faults("t/cli/input/faulty-adapter.yaml") > 1,
		   "a file with faults is found out");
		ok(faults("conf/multikueued.yaml") > 1, "as is one of another kind");
		explained(schema, "");
	}
	arena_done(&a);
	return done_testing();
}
