/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/trees_scene.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/file_read.h"
#include "t/lib/quota_objects.h"

void scene_open(struct scene *s, const char *yaml)
{
	*s = (struct scene){.q = quota_new()};
	arena_init(&s->a, 0);
	s->docs = objects_read(&s->a, yaml);
	objects_put(&s->a, s->docs, "/0/metadata/generation", "3");
}

void scene_open_file(struct scene *s, const char *path)
{
	struct arena a;
	mk_str text = {"", 0};
	struct mk_err err;

	arena_init(&a, 0);
	if (file_read(&a, path, 1024 * 1024, &text, &err) != ERR_OK) {
		fprintf(stderr, "%s\n", err.msg);
		exit(2);
	}
	scene_open(s, text.p);
	arena_done(&a);
}

void scene_put(struct scene *s, const char *pointer, const char *value)
{
	objects_put(&s->a, s->docs, pointer, value);
}

void scene_queue(struct scene *s, const char *name, const char *reclaim, const char *status)
{
	struct json *o = NULL;
	mk_str text = arena_printf(&s->a,
				   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
				   "\"ClusterQueue\",\"metadata\":{\"name\":\"%s\"},\"spec\":"
				   "{\"preemption\":{\"reclaimWithinCohort\":\"%s\"}},"
				   "\"status\":{%s}}",
				   name, reclaim, status);

	if (json_parse(&s->a, text, &o, NULL) != ERR_OK) {
		printf("# no JSON: %s\n", status);
	}
	json_add(&s->a, s->docs, o);
}

void scene_judge(struct scene *s)
{
	struct api_set *set = objects_link(&s->a, s->docs, API_NONE);
	struct validate_errors errors = {.n = 0};
	struct api_models models = {.n = 0};

	s->j = (struct trees_judged){
		.live = json_elem(s->docs, 0),
		.name = json_str_at(s->docs, "/0/metadata/name"),
		.mode = TREES_COMPILE,
	};
	if (!set ||
	    validate(&s->a,
		     &(struct validate_input){.now = set, .subject = API_NONE, .deleted = API_NONE},
		     &errors, NULL) != ERR_OK) {
		printf("# cannot judge\n");
		return;
	}
	s->j.errors = errors.v;
	s->j.n_errors = errors.n;
	if (errors.n > 0) {
		return;
	}
	if (api_build(&s->a, set, &models, NULL) != ERR_OK || models.n == 0 ||
	    quota_apply(s->q, &models.v[0].desc, NULL) != ERR_OK ||
	    compile_tree(&s->a, &models.v[0], s->q, &s->compiled, NULL) != ERR_OK) {
		printf("# cannot build\n");
		return;
	}
	s->j.set = set;
	s->j.model = &models.v[0];
	s->j.q = s->q;
	s->j.compiled = &s->compiled;
	s->j.written = true;
}

struct json *scene_status(struct scene *s)
{
	struct trees_usage *u = s->j.q != NULL ? trees_usage(&s->a, &s->j) : NULL;

	return trees_status(&s->a, &s->j, u, SCENE_NOW);
}

void scene_take(struct scene *s, const struct json *body)
{
	json_set(&s->a, json_elem(s->docs, 0), STR("status"),
		 json_dup(&s->a, json_get(body, "status")));
}

void scene_close(struct scene *s)
{
	quota_free(s->q);
	arena_done(&s->a);
}

mk_str scene_condition(struct scene *s, const struct json *body, const char *type)
{
	const struct json *c = json_find(json_at(body, "/status/conditions"), "type", type);

	return arena_printf(&s->a, "%s %s: %s", str_chars(json_str(json_get(c, "status"))),
			    str_chars(json_str(json_get(c, "reason"))),
			    str_chars(json_str(json_get(c, "message"))));
}
