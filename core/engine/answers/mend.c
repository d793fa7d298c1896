/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about a reason; see mend.h. */
#include "core/engine/answers/mend.h"

#include "core/api/names.h"
#include "core/engine/answers/loss.h"

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
	{WHY_RESTS, "refused the job: an object of this name",
	 "delete the object of this name on the worker, or rename the job"},
	{WHY_RESTS, "workload.kb.io",
	 "see whether Kueue runs on the worker, whose webhook does not answer: "
	 "kubectl -n kueue-system get deployments"},
	{WHY_RESTS, "failed calling webhook",
	 "see whether the service behind this webhook runs on the worker"},
	{WHY_RESTS, "changes the Workload",
	 "see the webhooks and policies on the worker: one changes what we create there"},
	{WHY_RESTS, "was removed on",
	 "find who deletes it there: the audit log of the worker's API server has the client"},
	{WHY_RESTS, " evicted the Workload", "wait until Kueue there has room for it"},
	{WHY_RESTS, " ended the Workload", "see why Kueue there finished it before it ran"},
	{WHY_RESTS, "admission webhook",
	 "see this webhook on the worker: it refuses what we create"},
	{WHY_RESTS, "exceeded quota", "raise the ResourceQuota of this namespace on the worker"},
	{WHY_RESTS, "ValidatingAdmissionPolicy",
	 "see this policy on the worker: it refuses what we create"},
	{WHY_RESTS, "cannot impersonate",
	 "let our account on the worker impersonate that one: multikueued --print-worker-rbac"},
	{WHY_RESTS, "forbidden: User \"" NAME_ACCOUNT,
	 "give this account that right on the worker: the daemon's own by multikueued "
	 "--print-worker-rbac, a tenant's by a RoleBinding in its namespace"},
	{WHY_RESTS, "forbidden",
	 "give our account on the worker this right: multikueued --print-worker-rbac"},
	{WHY_RESTS, "refused the job",
	 "mend what the worker says about the job, or the job; it is tried again by itself"},
	{WHY_RESTS, NULL, "mend what the worker says; it is tried again by itself"},
	{WHY_AT_GATE, "until its turn comes",
	 "wait: one worker after the other may preempt, each for five minutes (feature gate "
	 "MultiKueueOrchestratedPreemption)"},
	{WHY_AT_GATE, NULL, "see the preemption settings of the ClusterQueue on the worker"},
	{WHY_NOT_NOMINATED, "MultiKueueConfig",
	 "name it in the MultiKueueConfig (spec.clusters), if it is to take such jobs"},
	{WHY_NOT_NOMINATED, "yet by dispatcher",
	 "wait for the dispatcher's next round, or let rounds be shorter (multiKueue.dispatchers)"},
	{WHY_NO_CLONE, "breaker",
	 "find who deletes our clones there: see the audit log of the worker's API server"},
	{WHY_CHANGED, NULL,
	 "see the webhooks and policies on the worker: one changes the Workloads that we create"},
	{WHY_WINDING, NULL, "wait until its pods there have ended"},
	{WHY_NOT_CONNECTED, NULL, "see the conditions of the MultiKueueCluster"},
	{WHY_KIND_NOT_SERVED, "cannot say",
	 "see the API server of the worker and the aggregated APIs behind it"},
	{WHY_KIND_NOT_SERVED, NULL, "install this kind of job and its controller on the worker"},
	{WHY_KIND_REFUSED, NULL,
	 "give our account on the worker this right: multikueued --print-worker-rbac"},
	{WHY_FOREIGN, "another manager",
	 "give each manager an origin of its own: multiKueue.origin, multiKueue.formerOrigins"},
	{WHY_FOREIGN, NULL, "delete the Workload of this name on the worker, or rename the job"},
	{WHY_FORMER, NULL, "name the earlier manager in multiKueue.formerManagers"},
	{WHY_SAME_SERVER, NULL, "remove one of the two MultiKueueClusters from the config"},
	{WHY_ID_SHARED, NULL,
	 "end the other manager, which was restored from a backup of this one perhaps, or give one "
	 "of the two an id of its own: multiKueue.managerId"},
	{WHY_CORDONED, NULL, "let it take jobs again when it may: kubectl multikueue uncordon"},
	{WHY_JOB_AWAITED, "kueue-webhook-service",
	 "see whether Kueue runs on the worker, whose webhook does not answer: "
	 "kubectl -n kueue-system get deployments"},
	{WHY_JOB_AWAITED, "failed calling webhook",
	 "see whether the service behind this webhook runs on the worker"},
	{WHY_JOB_AWAITED, " has refused the job",
	 "see what the worker says; the job is tried again by itself, and elsewhere after "
	 "workerLostTimeout"},
	{WHY_JOB_REFUSED, NULL, "mend what the worker says about the job, or the job"},
	{WHY_WINNER_HIDDEN, "another API server",
	 "let the kubeconfig lead to the former server again, or, if that is gone for good, "
	 "declare "
	 "it lost: annotation " NAME_SERVER_LOST ", see the condition of the MultiKueueCluster"},
	{WHY_WINNER_HIDDEN, NULL, "bring the worker back before it counts as lost"},
};

static const struct mend wholes[] = {
	{PHASE_NO_QUOTA, NULL,
	 "see the ClusterQueue on the manager: raise its quota, or wait until jobs end"},
	{PHASE_CHECKS, NULL,
	 "see the controller of that admission check: workers are asked once it is Ready"},
	{PHASE_EVICTED, NULL,
	 "wait until the job has stopped on its worker: Kueue queues it again then"},
	{PHASE_NO_ADAPTER, "names no job", "delete the Workload, if its job is gone"},
	{PHASE_NO_ADAPTER, NULL, "install an adapter for this kind: docs/adapters.md"},
	{PHASE_REJECTED, "the wall of",
	 "change the job, or have an operator allow this (multiKueue.walls); then activate the "
	 "Workload again (spec.active)"},
	{PHASE_INACTIVE, "the wall of",
	 "change the job, or have an operator allow this (multiKueue.walls); then activate the "
	 "Workload again (spec.active)"},
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
	 "find who deletes or changes our clones on the workers; see multikueued's log for their "
	 "names"},
	{PHASE_UNPLACEABLE, NULL,
	 "see the reason of each worker: it takes more quota or another label there, or a job that "
	 "asks for less"},
	{PHASE_NOT_NOMINATED, "finds no worker", "see the reason of each worker"},
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
	const struct loss *loss = w->why == WHY_NOT_CONNECTED ? loss_of(w->detail) : NULL;

	if (loss) {
		return loss->mend;
	}
	return first(clusters, sizeof(clusters) / sizeof(*clusters), (int)w->why, w->words,
		     w->detail);
}

const char *mend_whole(const struct why_whole *w)
{
	return first(wholes, sizeof(wholes) / sizeof(*wholes), (int)w->phase, w->words, STR(""));
}
