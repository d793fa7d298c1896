/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sample configuration is accepted, and docs/configuration.md knows every
 * key and gate. Run from the root.
 */
#include "t/lib/tap.h"

#include "core/config/config.h"
#include "core/config/config_schema.h"

static struct buf page;
static int n_missing;

static bool read_file(const char *path, struct buf *b)
{
	FILE *f = fopen(path, "r");
	char part[4096];
	size_t n;

	if (!f) {
		return false;
	}
	while ((n = fread(part, 1, sizeof(part), f)) > 0) {
		buf_add(b, (mk_str){part, n});
	}
	fclose(f);
	return !b->failed;
}

/* Is 'key' on the page, as a whole word? */
static bool documented(const char *key)
{
	size_t n = strlen(key);

	for (const char *p = page.p; (p = strstr(p, key)) != NULL; p++) {
		if (strchr("`.", p[-1]) != NULL && strchr("`.[", p[n]) != NULL) {
			return true;
		}
	}
	return false;
}

static void check(const struct config_schema *schema)
{
	for (size_t i = 0; i < schema->n; i++) {
		const struct config_field *f = &schema->fields[i];

		if (!documented(f->name)) {
			printf("# not documented: %s of %s\n", f->name, schema->go_type);
			n_missing++;
		}
		if (f->sub != NULL) {
			check(f->sub);
		}
	}
}

int main(void)
{
	struct config_problems problems;
	struct mk_err err = {.msg = ""};
	struct config c;
	struct arena a;
	struct buf sample;
	const struct config_dispatcher names[] = {{STR(CONFIG_ALL_AT_ONCE), NULL}};

	arena_init(&a, 0);
	buf_init(&page, 1 << 20);
	buf_init(&sample, 1 << 20);
	ok(read_file("docs/configuration.md", &page), "the page");
	ok(read_file("conf/multikueued.yaml", &sample), "the sample");
	check(&config_root_schema);
	is_int(n_missing, 0, "every key is on the page");
	n_missing = 0;
	for (int i = 0; i < CONFIG_N_GATES; i++) {
		if (!documented(config_gate_name((enum config_gate)i))) {
			printf("# not documented: %s\n", config_gate_name((enum config_gate)i));
			n_missing++;
		}
	}
	is_int(n_missing, 0, "every gate of ours is on the page");
	is_int(config_load(&a, &(struct config_input){.text = buf_str(&sample)}, &c, &problems,
			   &err),
	       ERR_OK, "the sample is accepted");
	is_str(err.msg, "", "... without a message");
	is_int(config_check_dispatcher(&a, &c, names, 1, false, &problems, &err), ERR_OK,
	       "... and so is its dispatcher");
	ok(str_starts(config_print_kueue(&a, &c),
		      STR("apiVersion: config.kueue.x-k8s.io/v1beta2\n")) &&
		   !strstr(config_print_kueue(&a, &c).p, "plugins"),
	   "... and what is printed for Kueue has none of our keys");
	buf_done(&sample);
	buf_done(&page);
	arena_done(&a);
	return done_testing();
}
