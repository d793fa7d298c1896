/* SPDX-License-Identifier: Apache-2.0 */
/* From the configuration to the manager's options; see manager_settings.h. */
#include "core/daemon/manager_settings.h"

#include "core/base/clock.h"

static struct engine_gates gates_of(const struct config *c)
{
	return (struct engine_gates){
		.identifier_annotations = c->gates[CONFIG_GATE_WORKLOAD_IDENTIFIER_ANNOTATIONS],
		.orchestrated_preemption = c->gates[CONFIG_GATE_ORCHESTRATED_PREEMPTION],
		.elastic_slices = c->gates[CONFIG_GATE_ELASTIC_JOBS],
		.remote_spec_sync = c->gates[CONFIG_GATE_REMOTE_SPEC_SYNC],
		.quota_automation = c->gates[CONFIG_GATE_MANAGER_QUOTA_AUTOMATION],
		.cluster_profile = c->gates[CONFIG_GATE_CLUSTER_PROFILE],
		.priority_boost = c->gates[CONFIG_GATE_PRIORITY_BOOST],
		.ray_autoscaling = c->gates[CONFIG_GATE_RAY_AUTOSCALING],
		.path_validation = c->gates[CONFIG_GATE_KUBECONFIG_PATH_VALIDATION],
	};
}

/* Who gives credentials for clusters of ClusterProfiles; NULL: out of memory. */
static const struct kube_provider *providers_of(struct arena *a, const struct config_multikueue *c)
{
	struct kube_provider *v = arena_array(a, c->n_providers + 1, sizeof(*v));

	for (size_t i = 0; v && i < c->n_providers; i++) {
		const struct config_provider *p = &c->providers[i];

		v[i] = (struct kube_provider){.name = p->name,
					      .command = p->command,
					      .api_version = p->api_version,
					      .install_hint = p->install_hint,
					      .args = p->args.v,
					      .n_args = p->args.n,
					      .env = p->env.v,
					      .n_env = p->env.n,
					      .cluster_info = p->provide_cluster_info};
	}
	return v;
}

struct manager_options manager_settings(struct setup *s, uint64_t seed)
{
	const struct config *c = &s->config;
	const struct config_multikueue *mk = &c->multikueue;

	struct manager_options o = {
		.plug = s->plug,
		.origin = mk->origin,
		.former_origins = mk->former_origins.v,
		.n_former_origins = mk->former_origins.n,
		.former_managers = mk->former_managers.v,
		.n_former_managers = mk->former_managers.n,
		.manager_id = mk->manager_id,
		.namespace_ = c->namespace_,
		.dispatcher = mk->dispatcher,
		.dispatchers = config_dispatchers(&s->arena, c),
		.walls = mk->walls,
		.worker_lost_timeout_ms = mk->worker_lost_timeout_ms,
		.worker_lost_keep = mk->worker_lost_keep,
		.collect_unmarked = mk->collect_unmarked,
		.placement_timeout_ms = mk->placement_timeout_ms,
		.unplaceable_reject = mk->unplaceable_reject,
		.gc_interval_ms = mk->gc_interval_ms,
		.job_status_size = (size_t)mk->job_status_size,
		.worker_memory = (size_t)mk->worker_memory,
		.rate = {.qps = c->client_qps, .burst = c->client_burst},
		.gates = gates_of(c),
		.queues = true,
		.allow_loopback = mk->allow_loopback,
		.allow_link_local = mk->allow_link_local,
		.seed = seed,
		.clock_us = clock_mono_us,
	};

	if (o.gates.cluster_profile) {
		o.has_profiles = mk->has_profiles;
		o.providers = providers_of(&s->arena, mk);
		o.n_providers = mk->n_providers;
	}
	return o;
}
