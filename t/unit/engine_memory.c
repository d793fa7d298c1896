/* SPDX-License-Identifier: Apache-2.0 */
/* Out of memory at each allocation of each stage: the step ends early, nothing is lost, the job still finishes. */
#include "t/unit/engine_world.h"

enum { N_STAGES = 6, EVERY = 7 };

/* What happens at a stage of the job's life. */
static void stage(struct world *w, int s)
{
	struct object *remote = w_find(w, 2, JOB, "ns", "j");

	switch (s) {
	case 0:
		w_restart(w);
		break;
	case 1:
		a_job(w, "j");
		break;
	case 2:
		admit(w, 2, "wl-j");
		break;
	case 3:
		w_patch(w, remote, "{\"spec\":{\"suspend\":false},\"status\":{\"active\":2}}");
		w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":false}}");
		break;
	case 4:
		w_link(w, 2, LINK_DOWN);
		w_link(w, 2, LINK_UP);
		break;
	default:
		w_patch(w, remote, "{\"status\":{\"active\":null,\"succeeded\":2}}");
		clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
		break;
	}
}

/* Steps in which memory fails, one after another, until one step needs no more than 'n' allocations. */
static bool starve(uint64_t n, int at)
{
	struct world *w = w_new(3);
	bool good;

	for (int s = 0; s < N_STAGES; s++) {
		if (s == 2 && !clone_of(w, 2, "wl-j")) {
			printf("# stage %d, allocation %llu: no clone: %s\n", at,
			       (unsigned long long)n, w_take(w));
			w_free(w);
			return false;
		}
		stage(w, s);
		if (s == at) {
			for (int i = 0; i < 3; i++) {
				w->fail_at = n;
				w_step(w);
			}
		}
		w_settle(w);
		w_advance(w, 30000);
		if (s == 2 && !w_find(w, 2, JOB, "ns", "j")) {
			printf("# stage %d, allocation %llu: no job: %s\n", at,
			       (unsigned long long)n, w_take(w));
			w_free(w);
			return false;
		}
	}
	good = strstr(w_str(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j"), "/status/conditions"),
		      "Finished") &&
	       !clone_of(w, 1, "wl-j") && !clone_of(w, 2, "wl-j") &&
	       !w_find(w, 2, JOB, "ns", "j") &&
	       !strcmp(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2");
	if (!good) {
		printf("# stage %d, allocation %llu: %s\n", at, (unsigned long long)n, w_take(w));
	}
	w_free(w);
	return good;
}

int main(void)
{
	const char *step = getenv("EVERY");
	uint64_t every = step ? strtoull(step, NULL, 10) : EVERY;

	for (int s = 0; s < N_STAGES; s++) {
		int failed = 0;
		char name[64];

		for (uint64_t n = 1; n < 400; n += every) {
			failed += !starve(n, s);
		}
		snprintf(name, sizeof(name), "stage %d: starved anywhere, it still finishes", s);
		is_int(failed, 0, name);
	}
	return done_testing();
}
