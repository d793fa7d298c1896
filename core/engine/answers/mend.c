/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about a reason; see mend.h. */
#include "core/engine/answers/mend.h"

struct mend {
	int reason;        /* enum why, or enum why_phase */
	const char *words; /* which are in the message or the detail; NULL: any */
	const char *text;
};

/* The first row that fits is taken. The words are those of Kueue 0.19, Kubernetes and Go. */
static const struct mend clusters[] = {
	{WHY_NO_QUOTA, "LocalQueue",
	 "create this LocalQueue in the job's namespace on the worker, or resume it "
	 "(spec.stopPolicy)"},
	{WHY_NO_QUOTA, " doesn't exist",
	 "create this ClusterQueue on the worker, or let the LocalQueue there lead to another"},
	{WHY_NO_QUOTA, " is inactive",
	 "see the conditions of this ClusterQueue on the worker: it is stopped, or names a flavor "
	 "or admission check that is missing"},
	{WHY_NO_QUOTA, " is stopped", "resume this ClusterQueue on the worker (spec.stopPolicy)"},
	{WHY_NO_QUOTA, "insufficient unused quota",
	 "wait until jobs end there, or raise the quota of the ClusterQueue on the worker"},
	{WHY_NO_QUOTA, "insufficient quota",
	 "the job never fits there: raise the quota of the ClusterQueue on the worker, or ask for "
	 "less"},
	{WHY_NO_QUOTA, "unavailable in ClusterQueue",
	 "cover this resource in the ClusterQueue on the worker (spec.resourceGroups)"},
	{WHY_NO_QUOTA, "untolerated taint", "let the job tolerate it, or use another flavor there"},
	{WHY_NO_QUOTA, "flavor", "see the ClusterQueue on the worker and its ResourceFlavors"},
	{WHY_NO_QUOTA, "has not said why",
	 "see whether Kueue runs on the worker: kubectl -n kueue-system get deployments"},
	{WHY_NO_QUOTA, NULL, "see the ClusterQueue on the worker"},
	{WHY_QUOTA, NULL, "see the admission checks of the ClusterQueue on the worker"},
	{WHY_EVICTED, NULL, "wait until Kueue there has queued it again"},
	{WHY_RESTS, "namespaces ", "create this namespace on the worker, with a LocalQueue"},
	{WHY_RESTS, "admission webhook",
	 "see this webhook on the worker: it refuses what we create"},
	{WHY_RESTS, "exceeded quota", "raise the ResourceQuota of this namespace on the worker"},
	{WHY_RESTS, "forbidden",
	 "give our account on the worker this right: multikueued --print-worker-rbac"},
	{WHY_RESTS, NULL, "mend what the worker says; it is tried again by itself"},
	{WHY_NOT_CONNECTED, "no such host", "correct the server's name in the worker's kubeconfig"},
	{WHY_NOT_CONNECTED, "x509",
	 "correct certificate-authority-data in the worker's kubeconfig, or the server's "
	 "certificate"},
	{WHY_NOT_CONNECTED, "nauthorized",
	 "put a valid token or certificate into the worker's kubeconfig: this one is refused"},
	{WHY_NOT_CONNECTED, "orbidden",
	 "give our account on the worker this right: multikueued --print-worker-rbac"},
	{WHY_NOT_CONNECTED, "Secret", "create or correct this Secret: it holds the kubeconfig"},
	{WHY_NOT_CONNECTED, "kubeconfig", "correct the worker's kubeconfig"},
	{WHY_NOT_CONNECTED, "refused", "see whether the API server of the worker runs"},
	{WHY_NOT_CONNECTED, "timeout",
	 "see whether the worker's API server answers, and whether a firewall is between"},
	{WHY_NOT_CONNECTED, NULL, "see the conditions of the MultiKueueCluster"},
	{WHY_KIND_NOT_SERVED, NULL, "install this kind of job and its controller on the worker"},
	{WHY_KIND_REFUSED, NULL,
	 "give our account on the worker this right: multikueued --print-worker-rbac"},
	{WHY_FOREIGN, "another manager",
	 "give each manager an origin of its own: multiKueue.origin, multiKueue.formerOrigins"},
	{WHY_FOREIGN, NULL, "delete the Workload of this name on the worker, or rename the job"},
	{WHY_FORMER, NULL, "name the earlier manager in multiKueue.formerManagers"},
	{WHY_SAME_SERVER, NULL, "remove one of the two MultiKueueClusters from the config"},
	{WHY_CORDONED, NULL, "let it take jobs again when it may: kubectl multikueue uncordon"},
	{WHY_JOB_REFUSED, NULL, "mend what the worker says about the job, or the job"},
	{WHY_WINNER_HIDDEN, NULL, "bring the worker back before it counts as lost"},
};

static const struct mend wholes[] = {
	{PHASE_NO_QUOTA, NULL,
	 "see the ClusterQueue on the manager: raise its quota, or wait until jobs end"},
	{PHASE_CHECKS, NULL, "see the controller of that admission check"},
	{PHASE_NO_ADAPTER, NULL, "install an adapter for this kind: docs/adapters.md"},
	{PHASE_REJECTED, NULL,
	 "see the check's message; activate the Workload again (spec.active)"},
	{PHASE_INACTIVE, NULL, "activate the Workload again (spec.active)"},
	{PHASE_NO_JOB, NULL, "see who deleted the job; its Workload goes with it"},
	{PHASE_NOT_MANAGED, NULL,
	 "let the job be managed by kueue.x-k8s.io/multikueue (spec.managedBy)"},
	{PHASE_NO_CONFIG, NULL, "let the AdmissionCheck's parameters name a MultiKueueConfig"},
	{PHASE_NO_DISPATCHER, NULL,
	 "correct multiKueue.dispatcherName, or put that dispatcher's .so into the plugin "
	 "directory"},
	{PHASE_FAULT, NULL, "mend or replace this plugin: the Event and the log name its fault"},
	{PHASE_BREAKER, NULL,
	 "find who deletes our clones on the workers; see multikueued's log for their names"},
	{PHASE_NOT_NOMINATED, NULL, "see whether the dispatcher's controller runs"},
};

static bool has(mk_str s, const char *words)
{
	return s.n > 0 && memmem(s.p, s.n, words, strlen(words));
}

static const char *first(const struct mend *list, size_t n, int reason, mk_str words, mk_str detail)
{
	for (size_t i = 0; i < n; i++) {
		const struct mend *m = &list[i];

		if (m->reason == reason &&
		    (!m->words || has(words, m->words) || has(detail, m->words))) {
			return m->text;
		}
	}
	return NULL;
}

const char *mend_cluster(const struct why_cluster *w)
{
	return first(clusters, sizeof(clusters) / sizeof(*clusters), (int)w->why, w->words,
		     w->detail);
}

const char *mend_whole(const struct why_whole *w)
{
	return first(wholes, sizeof(wholes) / sizeof(*wholes), (int)w->phase, w->words, STR(""));
}
