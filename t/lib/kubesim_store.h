/* SPDX-License-Identifier: Apache-2.0 */
/* Short hand for the tests of the simulated store: requests in a line, answers as trees. */
#ifndef MK_T_LIB_KUBESIM_STORE_H
#define MK_T_LIB_KUBESIM_STORE_H

#include "core/base/json.h"
#include "t/kubesim/store.h"
#include "t/lib/tap.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define NS "/namespaces/default"
#define WORKLOADS KUEUE NS "/workloads"
#define JOBS "/apis/batch/v1" NS "/jobs"
#define CONFIGMAPS "/api/v1" NS "/configmaps"

extern const char merge_patch[];
extern const char json_patch[];
extern const char apply_patch[];

extern struct ks_store *st_store;
extern struct arena st_arena;
extern struct ks_response st_answer;
extern struct json *st_body;  /* of the last answer, NULL when it is no JSON */
extern int64_t st_now;        /* at first 2026-01-01T00:00:00Z */
extern const char *st_accept; /* the Accept header of requests */

/* A new store in st_store; 'o' NULL: one named "test". */
void st_start(const struct ks_store_options *o);

/* Frees the store and all answers. */
void st_stop(void);

/* Sends a request. Returns the status; the answer is in st_answer and st_body. */
int st_call(const char *method, const char *target, const char *type, const char *text);

/* GET. Returns the status. */
int st_get(const char *target);

/* POST of JSON. Returns the status. */
int st_post(const char *target, const char *text);

/* PUT of JSON. Returns the status. */
int st_put(const char *target, const char *text);

/* PATCH with a merge patch. Returns the status. */
int st_merge(const char *target, const char *text);

/* PATCH by server-side apply. Returns the status. */
int st_apply(const char *target, const char *text);

/* DELETE with options, or "". Returns the status. */
int st_del(const char *target, const char *text);

/* A string of the last answer by JSON pointer; "" when it is not there. */
const char *st_at(const char *pointer);

/* Has the last answer a value there? */
bool st_has(const char *pointer);

/* A number of the last answer; -1 when it is not there. */
int64_t st_num(const char *pointer);

/* Is the last answer's value there equal to this JSON? */
bool st_same(const char *pointer, const char *text);

/* A text in the store's arena, valid until st_stop(). */
const char *st_fmt(const char *f, ...) __attribute__((format(printf, 1, 2)));

/* Opens a watch. Returns its number, 0 when it is refused. */
uint64_t st_watch(const char *target);

/* Puts the next frame of a watch into st_body. Returns its type, "" when nothing comes. */
const char *st_next(uint64_t w);

/* All frames that wait, as "ADDED a, MODIFIED a, BOOKMARK". */
const char *st_drain(uint64_t w);

/* A Workload as JSON; 'more' goes into its metadata. */
const char *st_workload(const char *name, const char *more);

/* A Job as JSON; 'spec' goes into its spec. */
const char *st_job(const char *name, const char *spec);

/* A ConfigMap as JSON; 'labels' is the inside of an object. */
const char *st_map(const char *name, const char *labels);

#endif
