/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about changes to queue trees: what is written or deleted, judged with how things were. */
#include "t/lib/tap.h"

#include "t/lib/quota_cases.h"

static void judge_change(const struct quota_change *t)
{
	struct arena a;
	struct json *old, *new;
	struct validate_input in = {
		.subject = t->subject >= 0 && !t->deleted ? (size_t)t->subject : API_NONE,
		.deleted = t->deleted ? (size_t)t->subject : API_NONE,
		.by_controller = t->by_controller,
	};

	arena_init(&a, 0);
	old = objects_changed(&a, t->base, t->before_pointer, t->before_value);
	new = json_dup(&a, old);
	if (t->deleted) {
		json_remove(new, (size_t)t->subject);
	} else {
		objects_put(&a, new, t->pointer, t->value);
	}
	in.before = objects_link(&a, old, API_NONE);
	in.now = objects_link(&a, new, in.subject);
	is_str(objects_judge(&a, &in).p, t->want, t->name);
	arena_done(&a);
}

int main(void)
{
	quota_cases_begin();
	for (size_t i = 0; i < n_quota_queue_changes; i++) {
		judge_change(&quota_queue_changes[i]);
	}
	for (size_t i = 0; i < n_quota_tree_changes; i++) {
		judge_change(&quota_tree_changes[i]);
	}
	return done_testing();
}
