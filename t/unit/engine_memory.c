/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory at each allocation of each stage: the step ends early, nothing
 * is lost, the job still finishes.
 */
#include "core/engine/store/facts.h"
#include "t/lib/engine_world.h"

enum { N_STAGES = 6, N_TROUBLES = 12, EVERY = 7 };

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

/*
 * Steps in which memory fails, one after another, until one step needs no more than 'n'
 * allocations.
 */
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

/* A life full of trouble: each stage undoes something, and the last one lets the job end on w1. */
static void trouble(struct world *w, int s)
{
	struct object *wl = w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j");
	struct object *job = w_find(w, 0, JOB, "ns", "j");

	switch (s) {
	case 0: /* a stranger's job on w2, and a clone that cannot win on w3 */
		w_put(w, 2, JOB,
		      "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\"},\"spec\":{}}");
		a_job(w, "j");
		break;
	case 1:
		clone_condition(w, 3, "wl-j", "Evicted", "Preempted", false);
		break;
	case 2: /* the job cannot be made: Retry */
		admit(w, 2, "wl-j");
		break;
	case 3:
		evict(w, wl, "refused");
		break;
	case 4:
		release_quota(w, wl);
		break;
	case 5: /* the next round goes to the others */
		give_quota(w, wl);
		break;
	case 6:
		admit(w, 1, "wl-j");
		break;
	case 7: /* it runs, and is evicted here */
		w_patch(w, w_find(w, 1, JOB, "ns", "j"),
			"{\"spec\":{\"suspend\":false},\"status\":{\"active\":2}}");
		evict(w, wl, "preempted");
		w_patch(w, job, "{\"spec\":{\"suspend\":true}}");
		break;
	case 8: /* a user removes the job there; its clone says so */
		if (w_find(w, 1, JOB, "ns", "j")) {
			w_del(w, w_find(w, 1, JOB, "ns", "j"));
		}
		clone_condition(w, 1, "wl-j", "Finished", "OwnerNotFound", true);
		break;
	case 9:
		release_quota(w, wl);
		w_settle(w);
		w_advance(w, 30000);
		give_quota(w, wl);
		break;
	case 10: /* w3's cluster is made anew, w2's Secret goes */
		w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w3"));
		w_del(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w2"));
		admit(w, 1, "wl-j");
		break;
	default:
		add_cluster(w, 3, "");
		w_patch(w, w_find(w, 1, JOB, "ns", "j"), "{\"status\":{\"succeeded\":2}}");
		clone_condition(w, 1, "wl-j", "Finished", "Succeeded", true);
		break;
	}
}

/* The same for a life full of trouble: nothing of the stranger is touched, the job ends on w1. */
static bool starve_in_trouble(uint64_t n, int at)
{
	struct world *w = w_new(3);
	struct object *theirs;
	bool good = true;

	for (int s = 0; good && s < N_TROUBLES; s++) {
		if ((s == 1 && !clone_of(w, 3, "wl-j")) || (s == 2 && !clone_of(w, 2, "wl-j")) ||
		    ((s == 6 || s == 8 || s >= 10) && !clone_of(w, 1, "wl-j")) ||
		    ((s == 7 || s == 11) && !w_find(w, 1, JOB, "ns", "j"))) {
			printf("# before trouble %d: something is missing\n", s);
			good = false;
			break;
		}
		trouble(w, s);
		for (int i = 0; s == at && i < 3; i++) {
			w->fail_at = n;
			w_step(w);
		}
		w_settle(w);
		w_advance(w, 30000);
	}
	theirs = w_find(w, 2, JOB, "ns", "j");
	good = good &&
	       strstr(w_str(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j"), "/status/conditions"),
		      "Finished") &&
	       !clone_of(w, 1, "wl-j") && !w_find(w, 1, JOB, "ns", "j") && theirs &&
	       !strstr(theirs->text, "multikueue") &&
	       !strcmp(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2");
	if (!good) {
		printf("# trouble %d, allocation %llu: %s\n", at, (unsigned long long)n, w_take(w));
	}
	w_free(w);
	return good;
}

static void everywhere(int n_stages, bool (*life)(uint64_t n, int at), const char *what)
{
	const char *step = getenv("EVERY");
	uint64_t every = step ? strtoull(step, NULL, 10) : EVERY;

	for (int s = 0; s < n_stages; s++) {
		int failed = 0;
		char name[64];

		for (uint64_t n = 1; n < 400; n += every) {
			failed += !life(n, s);
		}
		snprintf(name, sizeof(name), "%s %d: starved anywhere, it still finishes", what, s);
		is_int(failed, 0, name);
	}
}

/* A job that no memory is left to judge is no unusable job: there are no facts of it at all. */
static void judged_without_memory(void)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"j\"},\"spec\":{\"managedBy\":\"example.com/other\"}}";
	struct world *w = w_new(1);
	struct facts_env env = {.plug = w->plug, .adapter = plug_adapter(w->plug, 0)};
	struct facts *f = NULL;
	int n = 0, wrong = 0;

	while (!f && n < 100) {
		struct arena objects, scratch;
		struct json *v = NULL;

		arena_init(&objects, 0);
		arena_init(&scratch, 0);
		json_parse(&objects, str_of(text), &v, NULL);
		alloc_fail_after((uint64_t)++n);
		f = facts_of(JOB, v, &env, &scratch);
		alloc_fail_after(0);
		wrong += f && (facts_is(f, F_UNUSABLE) || f->s[S_REASON].n == 0);
		arena_done(&scratch);
		arena_done(&objects);
	}
	ok(f && n > 1, "facts, once there is memory for them");
	is_int(wrong, 0, "and before that none");
	mk_free(f);
	w_free(w);
}

/*
 * The Secret of w2 goes, or its MultiKueueCluster is another one: 'n' allocations in that step.
 * Nothing else happens after which all clusters would be looked at again.
 */
static bool starve_cluster(uint64_t n, bool secret)
{
	struct world *w = w_new(2);
	const char *want = secret ? "False BadKubeConfig" : "True Active";
	bool good;

	if (secret) {
		w_del(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w2"));
	} else {
		w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
		add_cluster(w, 2, "");
	}
	arena_done(&w->arena); /* of which a block would be left */
	w->fail_at = n;
	w_step(w);
	w_later(w, 5000);
	good = strstr(w_active(w, KIND_CLUSTER, "w2"), want) != NULL &&
	       (secret || w->links[2] != 2);
	if (!good) {
		printf("# allocation %llu: %s\n", (unsigned long long)n,
		       w_active(w, KIND_CLUSTER, "w2"));
	}
	w_free(w);
	return good;
}

static void clusters_without_memory(void)
{
	int lost = 0, replaced = 0;

	for (uint64_t n = 1; n < 100; n++) {
		lost += !starve_cluster(n, true);
		replaced += !starve_cluster(n, false);
	}
	is_int(lost, 0, "a cluster loses its Secret: that is noticed however starved");
	is_int(replaced, 0, "... and so is a cluster of the same name");
}

int main(void)
{
	clusters_without_memory();
	everywhere(N_STAGES, starve, "stage");
	everywhere(N_TROUBLES, starve_in_trouble, "trouble");
	judged_without_memory();
	return done_testing();
}
