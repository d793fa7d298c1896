/* SPDX-License-Identifier: Apache-2.0 */
/* Short hand for the tests of the simulated store: requests in a line, answers as trees. */
#ifndef MK_T_UNIT_KUBESIM_STORE_H
#define MK_T_UNIT_KUBESIM_STORE_H

#include "core/base/json.h"
#include "t/kubesim/store.h"
#include "t/tap.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define NS "/namespaces/default"
#define WORKLOADS KUEUE NS "/workloads"
#define JOBS "/apis/batch/v1" NS "/jobs"
#define CONFIGMAPS "/api/v1" NS "/configmaps"

static const char merge_patch[] = "application/merge-patch+json";
static const char json_patch[] = "application/json-patch+json";
static const char apply_patch[] = "application/apply-patch+yaml";

static struct ks_store *store;
static struct arena arena;
static struct ks_response answer;
static struct json *body;           /* of the last answer, NULL when it is no JSON */
static int64_t now = 1767225600000; /* 2026-01-01T00:00:00Z */
static const char *accept_header = "";

static inline void start(const struct ks_store_options *o)
{
	struct ks_store_options none = {.name = "test", .seed = 1};

	arena_init(&arena, 0);
	store = ks_store_new(o ? o : &none);
}

static inline void stop(void)
{
	ks_store_free(store);
	arena_done(&arena);
}

/* Sends a request; returns the status. */
static inline int call(const char *method, const char *target, const char *type, const char *text)
{
	struct ks_request r = {
		.method = str_of(method),
		.target = str_of(target),
		.accept = str_of(accept_header),
		.content_type = str_of(type),
		.body = str_of(text),
		.user = STR("admin"),
		.user_agent = STR("tester/1.0 (linux)"),
	};

	ks_handle(store, &r, now, &arena, &answer);
	body = NULL;
	if (answer.body.n > 0 && answer.body.p[0] == '{') {
		(void)json_parse(&arena, answer.body, &body, NULL);
	}
	return answer.status;
}

static inline int get(const char *target)
{
	return call("GET", target, "", "");
}

static inline int post(const char *target, const char *text)
{
	return call("POST", target, "application/json", text);
}

static inline int put(const char *target, const char *text)
{
	return call("PUT", target, "application/json", text);
}

static inline int merge(const char *target, const char *text)
{
	return call("PATCH", target, merge_patch, text);
}

static inline int apply(const char *target, const char *text)
{
	return call("PATCH", target, apply_patch, text);
}

static inline int del(const char *target, const char *text)
{
	return call("DELETE", target, "application/json", text);
}

/* A string of the last answer by JSON pointer; "" when it is not there. */
static inline const char *at(const char *pointer)
{
	const char *p = json_str_at(body, pointer).p;

	return p ? p : "";
}

static inline bool has(const char *pointer)
{
	return json_at(body, pointer) != NULL;
}

static inline int64_t num(const char *pointer)
{
	return json_int(json_at(body, pointer), -1);
}

/* The last answer's value there as JSON text. */
static inline const char *text_at(const char *pointer)
{
	const struct json *v = json_at(body, pointer);

	return v ? json_write(&arena, v).p : "absent";
}

/* Is the last answer's value there equal to this JSON? */
static inline bool same(const char *pointer, const char *text)
{
	struct json *want = NULL;

	if (json_parse(&arena, str_of(text), &want, NULL) != MK_OK) {
		return false;
	}
	if (!json_equal(json_at(body, pointer), want)) {
		printf("# %s is %s\n", pointer, text_at(pointer));
		return false;
	}
	return true;
}

static inline const char *fmt(const char *f, ...) __attribute__((format(printf, 1, 2)));
static inline const char *fmt(const char *f, ...)
{
	va_list ap;
	mk_str s;

	va_start(ap, f);
	s = arena_vprintf(&arena, f, ap);
	va_end(ap);
	return s.p;
}

/* --- watches ---------------------------------------------------------------------------------------- */
static inline uint64_t watch(const char *target)
{
	return get(target) == 200 ? answer.watch : 0;
}

/* The next frame as "TYPE name rv-delta" is in 'body'; returns its type, "" when nothing comes. */
static inline const char *next(uint64_t w)
{
	mk_str frame;

	body = NULL;
	if (!ks_watch_next(store, w, now, &arena, &frame)) {
		return "";
	}
	(void)json_parse(&arena, frame, &body, NULL);
	return at("/type");
}

/* All frames that wait, as "ADDED a, MODIFIED a, BOOKMARK". */
static inline const char *drain(uint64_t w)
{
	const char *all = "";

	for (;;) {
		const char *type = next(w);

		if (type[0] == '\0') {
			return all;
		}
		all = fmt("%s%s%s%s%s", all, all[0] ? ", " : "", type,
			  at("/object/metadata/name")[0] ? " " : "", at("/object/metadata/name"));
	}
}

/* --- objects ---------------------------------------------------------------------------------------- */
static inline const char *workload_text(const char *name, const char *more)
{
	return fmt("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":"
		   "{\"name\":\"%s\"%s},\"spec\":{\"queueName\":\"lq\",\"podSets\":[{\"name\":"
		   "\"main\","
		   "\"count\":2,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
		   "\"busybox\"}],\"restartPolicy\":\"Never\"}}}]}}",
		   name, more);
}

static inline const char *job_text(const char *name, const char *spec)
{
	return fmt(
		"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\"},"
		"\"spec\":{%s%s\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
		"\"busybox\",\"command\":[\"sleep\",\"30\"],\"resources\":{\"requests\":{\"cpu\":"
		"\"1\"}}}],"
		"\"restartPolicy\":\"Never\"}}}}",
		name, spec, spec[0] ? "," : "");
}

static inline const char *map_text(const char *name, const char *labels)
{
	return fmt("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
		   "\"labels\":{%s}},\"data\":{\"k\":\"v\"}}",
		   name, labels);
}

#endif
