/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a wall (multiKueue.walls) lets through: a function of the configuration and one object,
 * without the engine's state. docs/threat-model.md says what it is for.
 *
 * An object is judged as it would be created, wherever in it a name stands: kinds nest pod
 * templates in places of their own, so the judge looks at members by their names and not by their
 * paths. Names are compared without case and punctuation. What it cannot read it refuses.
 */
#ifndef MK_ENGINE_RULES_WALL_JUDGE_H
#define MK_ENGINE_RULES_WALL_JUDGE_H

#include "core/base/json.h"
#include "core/model/kind.h"

/* A larger object is refused: more members and elements than a pass should look at. */
enum { WALL_NODES_MAX = 100 * 1000 };

struct wall_question {
	const struct json *walls; /* multiKueue.walls, validated; NULL: none */
	mk_str config;            /* of this MultiKueueConfig */
	mk_str ns;                /* of the Workload */
	const struct kind *kind;  /* of its job */
	const struct json *obj;   /* the job as it would be created, or the spec of its Workload */
	bool is_job;              /* ... the former: objects in it are of allowed kinds, too */
};

enum wall_verdict { WALL_LETS, WALL_REFUSES, WALL_NO_MEMORY };

/* Is there a wall for the MultiKueueConfig of that name? */
bool wall_judge_stands(const struct json *walls, mk_str config);
/*
 * The ServiceAccount, of each namespace, as which objects of that config are written on workers;
 * "": the daemon's own account.
 */
mk_str wall_judge_account(const struct json *walls, mk_str config);
/*
 * May the object leave for a worker? 'ret_why' is set with WALL_REFUSES: one clause in 'a' that
 * names the wall, the place in the object, what is there and what is allowed.
 */
enum wall_verdict wall_judge(const struct wall_question *q, struct arena *a, mk_str *ret_why);

#endif
