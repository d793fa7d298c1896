/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/kubesim_store.h"

struct ks_store *st_store;
struct arena st_arena;
struct ks_response st_answer;
struct json *st_body;
int64_t st_now = 1767225600000;
const char *st_accept = "";

const char merge_patch[] = "application/merge-patch+json";
const char json_patch[] = "application/json-patch+json";
const char apply_patch[] = "application/apply-patch+yaml";

void st_start(const struct ks_store_options *o)
{
	struct ks_store_options none = {.name = "test", .seed = 1};

	arena_init(&st_arena, 0);
	st_store = ks_store_new(o ? o : &none);
}

void st_stop(void)
{
	ks_store_free(st_store);
	arena_done(&st_arena);
}

int st_call(const char *method, const char *target, const char *type, const char *text)
{
	struct ks_request r = {
		.method = str_of(method),
		.target = str_of(target),
		.accept = str_of(st_accept),
		.content_type = str_of(type),
		.body = str_of(text),
		.user = STR("admin"),
		.user_agent = STR("tester/1.0 (linux)"),
	};

	ks_handle(st_store, &r, st_now, &st_arena, &st_answer);
	st_body = NULL;
	if (st_answer.body.n > 0 && st_answer.body.p[0] == '{') {
		(void)json_parse(&st_arena, st_answer.body, &st_body, NULL);
	}
	return st_answer.status;
}

int st_get(const char *target)
{
	return st_call("GET", target, "", "");
}

int st_post(const char *target, const char *text)
{
	return st_call("POST", target, "application/json", text);
}

int st_put(const char *target, const char *text)
{
	return st_call("PUT", target, "application/json", text);
}

int st_merge(const char *target, const char *text)
{
	return st_call("PATCH", target, merge_patch, text);
}

int st_apply(const char *target, const char *text)
{
	return st_call("PATCH", target, apply_patch, text);
}

int st_del(const char *target, const char *text)
{
	return st_call("DELETE", target, "application/json", text);
}

const char *st_at(const char *pointer)
{
	const char *p = json_str_at(st_body, pointer).p;

	return p ? p : "";
}

bool st_has(const char *pointer)
{
	return json_at(st_body, pointer) != NULL;
}

int64_t st_num(const char *pointer)
{
	return json_int(json_at(st_body, pointer), -1);
}

/* The last answer's value there as JSON text. */
static const char *st_text_at(const char *pointer)
{
	const struct json *v = json_at(st_body, pointer);

	return v ? json_write(&st_arena, v).p : "absent";
}

bool st_same(const char *pointer, const char *text)
{
	struct json *want = NULL;

	if (json_parse(&st_arena, str_of(text), &want, NULL) != ERR_OK) {
		return false;
	}
	if (!json_equal(json_at(st_body, pointer), want)) {
		printf("# %s is %s\n", pointer, st_text_at(pointer));
		return false;
	}
	return true;
}

const char *st_fmt(const char *f, ...)
{
	va_list ap;
	mk_str s;

	va_start(ap, f);
	s = arena_vprintf(&st_arena, f, ap);
	va_end(ap);
	return s.p;
}

uint64_t st_watch(const char *target)
{
	return st_get(target) == 200 ? st_answer.watch : 0;
}

const char *st_next(uint64_t w)
{
	mk_str frame;

	st_body = NULL;
	if (!ks_watch_next(st_store, w, st_now, &st_arena, &frame)) {
		return "";
	}
	(void)json_parse(&st_arena, frame, &st_body, NULL);
	return st_at("/type");
}

const char *st_drain(uint64_t w)
{
	const char *all = "";

	for (;;) {
		const char *type = st_next(w);

		if (type[0] == '\0') {
			return all;
		}
		all = st_fmt("%s%s%s%s%s", all, all[0] ? ", " : "", type,
			     st_at("/object/metadata/name")[0] ? " " : "",
			     st_at("/object/metadata/name"));
	}
}

const char *st_workload(const char *name, const char *more)
{
	return st_fmt(
		"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":"
		"{\"name\":\"%s\"%s},\"spec\":{\"queueName\":\"lq\",\"podSets\":[{\"name\":"
		"\"main\","
		"\"count\":2,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
		"\"busybox\"}],\"restartPolicy\":\"Never\"}}}]}}",
		name, more);
}

const char *st_job(const char *name, const char *spec)
{
	return st_fmt(
		"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\"},"
		"\"spec\":{%s%s\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
		"\"busybox\",\"command\":[\"sleep\",\"30\"],\"resources\":{\"requests\":{\"cpu\":"
		"\"1\"}}}],"
		"\"restartPolicy\":\"Never\"}}}}",
		name, spec, spec[0] ? "," : "");
}

const char *st_map(const char *name, const char *labels)
{
	return st_fmt("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
		      "\"labels\":{%s}},\"data\":{\"k\":\"v\"}}",
		      name, labels);
}
