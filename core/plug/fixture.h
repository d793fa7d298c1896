/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one recorded situation through a plugin, by the same guard as the daemon does, and reports
 * the outcome. Used by mk-plugin-check, `kubectl multikueue adapter test` and the golden tests of
 * t/plan/adapter. A situation is a folder of JSON files:
 *
 *   adapters     local.json      the job on the manager; apiVersion and kind choose the adapter
 *                remote.json     its copy on the worker; no such file = about to be created
 *                workload.json   the Workload; no such file = one of the name that Kueue gives it
 *                env.json        {"now":"2026-01-02T03:04:05Z","elastic":false,
 *                                 "origin":"multikueue","evicted":false};
 *                                evicted and no remote.json: no copy is left
 *   dispatchers  workload.json, clusters.json, config.json (optional)
 *                env.json        {"dispatcher":"ex.io/cheapest","now_ms":0,"last_set_ms":-1,
 *                                 "requests":[{"name":"cpu","amount":2000}], (with MK_WANTS_FACTS)
 *                                 "job":{"kind":"batch/v1, Kind=Job"},    (with MK_WANTS_PLACES)
 *                                 "reserved_ms":-1}
 *   both         expect.json     what must come out; no such file = just show it
 *
 * What comes out of an adapter, members only where they apply:
 *   {"managed":true,"reason":"…","error":"…","status":"SET|DEFER","remote":"KEEP","said":["…"],
 *    "create":{object to POST},"localStatus":{new local status},"change":{remote after the patch},
 *    "ended":true,"active":false}; active, when no copy is left: does Kueue hold the quota still?
 * and of a dispatcher: {"verdict":"SET","clusters":["east"],"wait_ms":-1,"said":["…"]}.
 */
#ifndef MK_PLUG_FIXTURE_H
#define MK_PLUG_FIXTURE_H

#include "core/plug/plug.h"

struct fixture {
	struct json *got;
	struct json *want; /* expect.json, or NULL */
};

/*
 * Runs the situation in folder 'dir' with the plugins of 'p'; values live in 'a'. ERR_INVALID: a
 * file is missing or no JSON, nothing serves the kind or name. A hook that breaks the contract, or
 * whose second call differs from its first, is no error here but "fault" in what came out.
 */
enum mk_code fixture_run(struct plug *p, const char *dir, struct arena *a, struct fixture *ret,
			 struct mk_err *err);

/* Is there such a situation in 'dir' (an env.json or a local.json)? */
bool fixture_is(const char *dir);

/* What is different, in one line of text; empty when nothing is. In 'a'. */
mk_str fixture_diff(const struct fixture *f, struct arena *a);

#endif
