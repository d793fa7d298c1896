/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's parts, put together and taken apart again; see daemon.h. */
#include "core/daemon/daemon.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/daemon/about.h"
#include "core/daemon/beside.h"
#include "core/daemon/credentials.h"
#include "core/daemon/exec_plugin.h"
#include "core/daemon/files.h"
#include "core/daemon/identity.h"
#include "core/daemon/last_resort.h"
#include "core/daemon/lease_thread.h"
#include "core/daemon/manager_settings.h"
#include "core/daemon/notify.h"
#include "core/daemon/trees_thread.h"
#include "core/kube/kubeconfig.h"
#include "core/serve/endpoints.h"
#include "core/serve/telemetry.h"
#include "core/serve/webhook.h"

enum {
	BEAT_MS = 500,
	DRAIN_MS = 20000,  /* for what is on the wire */
	RELEASE_MS = 5000, /* for the lease */
	LINGER_MS = 5000,  /* from the signal: until no Service sends reviews any more */
};
enum { CREDENTIALS_MAX = 16 * 1024 * 1024 };

enum phase { PHASE_RUNNING, PHASE_DRAINING, PHASE_RELEASING, PHASE_LINGERING, PHASE_ENDED };

struct daemon {
	struct setup *setup;
	struct arena arena; /* credentials */
	struct loop *loop;
	struct notify *notify; /* NULL: no service manager wants to know */
	struct net_fence fence;
	struct transport_net *transport;
	struct telemetry *telemetry;
	struct files *files;           /* kubeconfigs */
	struct exec_plugins *programs; /* which give credentials; NULL without the gate */
	struct manager *manager;
	struct manager_observer told; /* of what the manager does: telemetry */
	struct trees_thread *trees;   /* NULL: quotaTrees.mode is Off */
	struct webhook *webhook;      /* NULL without one */
	bool account_told;            /* to the webhook */
	struct endpoints *endpoints;
	struct watchdog *watchdog;
	struct lease_thread *lease; /* NULL without leader election */
	struct beside *beside;      /* NULL: it could not be started */
	struct loop_timer *run_timer, *beat_timer, *end_timer;
	struct loop_fd *signals[2];
	enum phase phase;
	int64_t linger_until_ms;
	int status;
	bool leads;
	struct lease_view lease_seen;
	struct identity identity;
};

/* Where we stand, for the service manager. */
static void tell(struct daemon *d)
{
	if (d->phase != PHASE_RUNNING) {
		notify_tell(d->notify, NOTIFY_STOPPING, "ends");
	} else {
		notify_tell(d->notify, NOTIFY_READY,
			    d->leads ? "leads" : "is ready to lead; waits for the lease");
	}
}

/* --- ending ----------------------------------------------------------------------------------- */

static void end(struct daemon *d, int status)
{
	if (d->phase != PHASE_ENDED) {
		d->phase = PHASE_ENDED;
		d->status = status;
		tell(d);
		loop_stop(d->loop);
	}
}

/*
 * No cluster waits for us any more. But API servers send reviews for a moment longer, and refuse a
 * job when the port is closed: reviews are answered until then.
 */
static void leave(struct daemon *d)
{
	int64_t left = d->linger_until_ms - clock_mono_ms();

	if (!d->webhook || left <= 0) {
		end(d, 0);
		return;
	}
	log_write(LOG_INFO, "daemon", "reviews are answered a little longer",
		  LOG_INT("left_ms", left), LOG_END);
	d->phase = PHASE_LINGERING;
	d->leads = false;
	loop_timer_set(d->end_timer, left);
}

static void release(struct daemon *d)
{
	d->phase = PHASE_RELEASING;
	if (!d->lease || lease_thread_state(d->lease) == LEASE_RELEASED) {
		leave(d);
		return;
	}
	lease_thread_release(d->lease);
	loop_timer_set(d->end_timer, RELEASE_MS);
}

static void end_timer_fired(void *ctx)
{
	struct daemon *d = ctx;

	if (d->phase == PHASE_DRAINING) {
		log_write(LOG_WARN, "daemon",
			  "requests are still open; leaving without their answers",
			  LOG_INT("pending", manager_pending(d->manager)), LOG_END);
		release(d);
	} else if (d->phase == PHASE_RELEASING) {
		log_write(LOG_WARN, "daemon", "the lease was not given back in time", LOG_END);
		leave(d);
	} else {
		end(d, 0);
	}
}

static void told_to_end(void *ctx)
{
	struct daemon *d = ctx;

	if (d->phase != PHASE_RUNNING) {
		log_write(LOG_WARN, "daemon", "told to end again: ending at once", LOG_END);
		_exit(1);
	}
	log_write(LOG_INFO, "daemon", "told to end: draining",
		  LOG_INT("pending", manager_pending(d->manager)), LOG_END);
	d->phase = PHASE_DRAINING;
	tell(d);
	d->linger_until_ms = clock_mono_ms() + LINGER_MS;
	endpoints_drain(d->endpoints);
	manager_set_leader(d->manager,
			   false); /* nothing new; what is queued can wait for the next leader */
	trees_thread_lead(d->trees, false);
	loop_timer_set(d->end_timer, DRAIN_MS);
	loop_timer_set(d->run_timer, 0);
}

/* --- running ---------------------------------------------------------------------------------- */

/* Reviews of queue trees let our own writes pass. */
static void tell_account(struct daemon *d)
{
	char name[TREES_ACCOUNT_MAX] = "";

	if (d->trees && !d->account_told) {
		trees_thread_account(d->trees, name);
		webhook_account(d->webhook, str_of(name));
		d->account_told = name[0] != '\0';
	}
}

static void run_manager(void *ctx)
{
	struct daemon *d = ctx;
	int64_t now = clock_mono_ms();
	int64_t next, due;

	manager_run(d->manager, now, clock_wall_ms());
	if (manager_broken(d->manager)) {
		log_write(LOG_ERROR, "daemon",
			  "out of memory in a place that cannot be made good: ending, "
			  "to start anew",
			  LOG_END);
		end(d, 1);
		return;
	}
	if (d->phase == PHASE_DRAINING && manager_pending(d->manager) == 0) {
		release(d);
	}
	trees_thread_run(d->trees, d->manager, now, clock_wall_ms());
	next = manager_next_ms(d->manager);
	if (d->webhook) {
		tell_account(d);
		webhook_run(d->webhook, now, clock_wall_ms(),
			    d->leads && d->phase == PHASE_RUNNING);
		next = next < webhook_next_ms(d->webhook) ? next : webhook_next_ms(d->webhook);
	}
	due = trees_thread_next_ms(d->trees);
	next = next < due ? next : due;
	endpoints_run(d->endpoints, now, clock_wall_ms(), d->leads && d->phase == PHASE_RUNNING);
	due = endpoints_next_ms(d->endpoints);
	next = next < due ? next : due;
	if (next == INT64_MAX) {
		loop_timer_stop(d->run_timer);
	} else {
		loop_timer_set(d->run_timer, next - clock_mono_ms());
	}
}

static void before_delivery(void *ctx)
{
	struct daemon *d = ctx;

	manager_now(d->manager, clock_mono_ms(), clock_wall_ms());
}

static void after_delivery(void *ctx)
{
	struct daemon *d = ctx;

	loop_timer_set(d->run_timer, 0);
}

static void beat(void *ctx)
{
	struct daemon *d = ctx;

	watchdog_beat(d->watchdog);
	telemetry_beat(d->telemetry, clock_mono_ms());
	loop_timer_set(d->beat_timer, BEAT_MS);
}

static void lead(struct daemon *d)
{
	d->leads = true;
	log_write(LOG_INFO, "daemon", "leading", LOG_CSTR("identity", d->identity.name), LOG_END);
	before_delivery(d);
	manager_set_leader(d->manager, true);
	trees_thread_lead(d->trees, true);
	loop_timer_set(d->run_timer, 0);
}

static void lease_changed(void *ctx)
{
	struct daemon *d = ctx;
	enum lease_state s = lease_thread_state(d->lease);

	if (d->phase == PHASE_RELEASING && (s == LEASE_RELEASED || s == LEASE_LOST)) {
		leave(d);
	} else if (s == LEASE_LOST && d->phase < PHASE_LINGERING) {
		d->leads = false;
		before_delivery(d);
		manager_set_leader(d->manager, false);
		log_write(LOG_ERROR, "daemon",
			  "the lease is lost: nothing is written any more; ending", LOG_END);
		end(d, 1);
	} else if (s == LEASE_LEADER && d->phase == PHASE_RUNNING && !d->leads) {
		lead(d);
		tell(d);
	}
}

static struct telemetry_sources sources(void *ctx)
{
	struct daemon *d = ctx;

	if (d->lease) {
		lease_thread_view(d->lease, &d->lease_seen);
	}
	return (struct telemetry_sources){
		.manager = d->manager,
		.transport = d->transport,
		.plug = d->setup->plug,
		.loop = d->loop,
		.leads = d->leads,
		.lease = d->lease ? &d->lease_seen : NULL,
		.kueue = beside_view(d->beside),
	};
}

/* What the manager sees and does goes to telemetry, and what it sees to our servers. */
static void on_event(void *ctx, const struct event *ev)
{
	struct daemon *d = ctx;

	d->told.on_event(d->told.ctx, ev);
	trees_thread_event(d->trees, ev);
	if (d->webhook) {
		webhook_event(d->webhook, ev);
	}
	if (d->endpoints) {
		endpoints_event(d->endpoints, ev);
	}
}

static void on_op(void *ctx, const struct op *op)
{
	struct daemon *d = ctx;

	d->told.on_op(d->told.ctx, op);
}

static void on_count(void *ctx, const struct engine_count *count)
{
	struct daemon *d = ctx;

	d->told.on_count(d->told.ctx, count);
}

static bool watch_file(void *ctx, mk_str path)
{
	struct daemon *d = ctx;

	return files_watch(d->files, path);
}

static void unwatch_file(void *ctx, mk_str path)
{
	struct daemon *d = ctx;

	files_unwatch(d->files, path);
}

static enum mk_code file_told(void *ctx, mk_str path, mk_str text, mk_str problem)
{
	struct daemon *d = ctx;
	enum mk_code code;

	before_delivery(d);
	code = manager_file(d->manager, path, text, problem, NULL);
	after_delivery(d);
	return code;
}

static void program_done(void *ctx, uint64_t id, enum mk_code code, mk_str out, mk_str text)
{
	struct daemon *d = ctx;

	before_delivery(d);
	manager_program_done(d->manager, id, code, out, text);
	after_delivery(d);
}

/* --- building --------------------------------------------------------------------------------- */

static enum mk_code build_loop(struct daemon *d, struct mk_err *err)
{
	static const int signos[] = {SIGTERM, SIGINT};
	const struct config_multikueue *mk = &d->setup->config.multikueue;
	struct transport_options to = {.fence = &d->fence, .user_agent = d->identity.agent};

	d->loop = loop_new(err);
	if (!d->loop || notify_new(d->loop, &d->notify, err) != ERR_OK) {
		return ERR_UNAVAILABLE;
	}
	d->run_timer = loop_timer_new(d->loop, run_manager, d);
	d->beat_timer = loop_timer_new(d->loop, beat, d);
	d->end_timer = loop_timer_new(d->loop, end_timer_fired, d);
	for (size_t i = 0; i < 2; i++) {
		d->signals[i] = loop_signal_new(d->loop, signos[i], told_to_end, d);
	}
	d->telemetry = telemetry_new(d->setup->config.leader_election.elect);
	if (!d->run_timer || !d->beat_timer || !d->end_timer || !d->signals[0] || !d->signals[1] ||
	    !d->telemetry) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	loop_on_stall(d->loop, telemetry_stall, d->telemetry);
	to.loop = d->loop;
	to.tls13 = mk->workers_tls13;
	to.report = telemetry_report;
	to.rests = telemetry_rests;
	to.report_ctx = d->telemetry;
	d->transport =
		transport_net_new(&to, mk->only_libcurl ? TRANSPORT_CURL : TRANSPORT_AUTO, err);
	return d->transport ? ERR_OK : ERR_INVALID;
}

/* What serves clusters of ClusterProfiles. */
static enum mk_code build_profiles(struct daemon *d, struct manager_options *mo, struct mk_err *err)
{
	struct exec_plugin_options eo = {.loop = d->loop, .ctx = d, .done = program_done};

	if (!mo->gates.cluster_profile) {
		return ERR_OK;
	}
	d->programs = exec_plugins_new(&eo, err);
	if (!mo->providers || !d->programs) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	mo->programs = (struct kube_programs){
		.ctx = d->programs, .run = exec_plugins_run, .cancel = exec_plugins_cancel};
	return ERR_OK;
}

static enum mk_code build_manager(struct daemon *d, struct mk_err *err)
{
	struct files_options fo = {.loop = d->loop, .ctx = d, .told = file_told};
	struct manager_options mo = manager_settings(d->setup, d->identity.seed);

	mo.transport = transport_net_get(d->transport);
	mo.observer = (struct manager_observer){
		.ctx = d, .on_event = on_event, .on_op = on_op, .on_count = on_count};
	mo.has_owner = trees_thread_owns;
	mo.owner_ctx = &d->trees;
	mo.files = (struct manager_files){.ctx = d, .watch = watch_file, .unwatch = unwatch_file};
	fo.directory = mo.gates.path_validation ? FILES_DIRECTORY : NULL;
	d->files = files_new(&fo, err);
	if (!d->files || build_profiles(d, &mo, err) != ERR_OK) {
		return ERR_NO_MEMORY;
	}
	d->told = telemetry_observer(d->telemetry);
	d->manager = manager_new(&mo, err);
	if (!d->manager) {
		return ERR_INVALID;
	}
	telemetry_set_kinds(d->telemetry, manager_kinds(d->manager));
	transport_net_set_sink(d->transport, manager_sink(d->manager));
	transport_net_set_hooks(d->transport, before_delivery, after_delivery, d);
	return ERR_OK;
}

static enum mk_code build_trees(struct daemon *d, struct mk_err *err)
{
	struct trees_thread_options o = {.mode = d->setup->config.multikueue.quota_trees,
					 .kube = manager_kube(d->manager),
					 .kinds = manager_kinds(d->manager),
					 .fence = &d->fence,
					 .user_agent = d->identity.agent,
					 .lost_ms =
						 d->setup->config.multikueue.worker_lost_timeout_ms,
					 .tls13 = d->setup->config.multikueue.workers_tls13};

	if (o.mode == CONFIG_TREES_OFF) {
		return ERR_OK;
	}
	before_delivery(d);
	d->trees = trees_thread_new(&o, err);
	return d->trees ? ERR_OK : ERR_NO_MEMORY;
}

static enum mk_code build_webhook(struct daemon *d, struct mk_err *err)
{
	struct webhook_options wo = {.config = &d->setup->config,
				     .manager = d->manager,
				     .trees = trees_thread_store(d->trees)};

	if (!d->setup->config.webhook_on) {
		log_write(LOG_INFO, "daemon",
			  "no section 'webhook' in the configuration: admission is not served",
			  LOG_END);
		return ERR_OK;
	}
	before_delivery(d);
	d->webhook = webhook_new(&wo, err);
	return d->webhook ? ERR_OK : ERR_UNAVAILABLE;
}

static enum mk_code build_endpoints(struct daemon *d, struct mk_err *err)
{
	struct endpoints_options eo = {
		.loop = d->loop,
		.config = &d->setup->config,
		.telemetry = d->telemetry,
		.manager = d->manager,
		.webhook = d->webhook,
		.plugins = about_plugins(&d->setup->arena, d->setup->plug),
		.settings = about_settings(&d->setup->arena, &d->setup->config, d->setup->plug),
		.sources = sources,
		.wake = after_delivery,
		.ctx = d,
	};

	if (!eo.plugins || !eo.settings) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	d->endpoints = endpoints_new(&eo, err);
	return d->endpoints ? ERR_OK : ERR_UNAVAILABLE;
}

static enum mk_code start_election(struct daemon *d, const struct endpoint *e, struct mk_err *err)
{
	const struct config_leader_election *le = &d->setup->config.leader_election;
	struct lease_thread_options lo = {
		.lease = {.ns = le->resource_namespace.n ? le->resource_namespace
							 : d->setup->config.namespace_,
			  .name = le->resource_name,
			  .identity = str_of(d->identity.name),
			  .lease_ms = le->lease_duration_ms,
			  .renew_ms = le->renew_deadline_ms,
			  .retry_ms = le->retry_period_ms,
			  .seed = d->identity.seed ^ UINT64_C(0x6c65617365)},
		.endpoint = e,
		.user_agent = d->identity.lease_agent,
		.tls13 = d->setup->config.multikueue.workers_tls13,
		.fence = &d->fence,
		.loop = d->loop,
		.watchdog = d->watchdog,
	};

	if (!le->elect) {
		net_fence_set(&d->fence, INT64_MAX);
		lead(d);
		return ERR_OK;
	}
	loop_on_wake(d->loop, lease_changed, d);
	d->lease = lease_thread_start(&lo, err);
	return d->lease ? ERR_OK : ERR_INVALID;
}

static enum mk_code start(struct daemon *d, const struct options *o, struct mk_err *err)
{
	const struct watchdog_options wo = {.fence = &d->fence, .plug = d->setup->plug};
	struct endpoint e = {.port = 0};
	enum mk_code code = credentials_load(&d->arena, o->kubeconfig, &e, err);

	if (code == ERR_OK) {
		before_delivery(d);
		code = manager_start(d->manager, &e, err);
	}
	if (code == ERR_OK && d->trees) {
		code = trees_thread_start(d->trees, &e, err);
	}
	if (code == ERR_OK) {
		d->beside = beside_start(&d->setup->config.multikueue, &e, d->identity.agent);
		d->watchdog = watchdog_start(&wo, err);
		code = d->watchdog ? start_election(d, &e, err) : ERR_UNAVAILABLE;
	}
	if (code == ERR_OK) {
		beat(d);
	}
	kubeconfig_wipe(&e); /* its users have copies */
	loop_timer_set(d->run_timer, 0);
	return code;
}

static void take_apart(struct daemon *d)
{
	last_resort_begin(d->status, LAST_RESORT_MS);
	last_resort_at("the lease's thread");
	watchdog_stop(d->watchdog);
	lease_thread_free(d->lease);
	watchdog_free(d->watchdog);
	beside_free(d->beside);
	last_resort_at("the thread of queue trees");
	trees_thread_stop(d->trees);
	last_resort_at("the clusters");
	manager_free(d->manager);
	endpoints_free(d->endpoints);
	last_resort_at("files");
	files_free(d->files);
	last_resort_at("programs");
	exec_plugins_free(d->programs);
	last_resort_at("the webhook");
	webhook_free(d->webhook);
	trees_thread_free(d->trees);
	last_resort_at("connections");
	transport_net_free(d->transport);
	telemetry_free(d->telemetry);
	for (size_t i = 0; i < 2; i++) {
		loop_fd_free(d->signals[i]);
	}
	loop_timer_free(d->run_timer);
	loop_timer_free(d->beat_timer);
	loop_timer_free(d->end_timer);
	notify_free(d->notify);
	loop_free(d->loop);
	arena_done(&d->arena);
	last_resort_at("plugins and libraries");
}

int daemon_run(struct setup *s, const struct options *o)
{
	struct daemon d = {.setup = s, .status = 1};
	struct mk_err err = {.code = ERR_OK};
	enum mk_code code = identity_make(&d.identity, &err);
	char kueue[16];

	snprintf(kueue, sizeof(kueue), "0.%d", s->config.multikueue.kueue_minor);
	arena_init(&d.arena, CREDENTIALS_MAX);
	code = code == ERR_OK ? build_loop(&d, &err) : code;
	code = code == ERR_OK ? build_manager(&d, &err) : code;
	code = code == ERR_OK ? build_trees(&d, &err) : code;
	code = code == ERR_OK ? build_webhook(&d, &err) : code;
	code = code == ERR_OK ? build_endpoints(&d, &err) : code;
	code = code == ERR_OK ? start(&d, o, &err) : code;
	if (code != ERR_OK) {
		log_write(LOG_ERROR, "daemon", "cannot start", LOG_ERR(&err), LOG_END);
	} else {
		log_write(LOG_INFO, "daemon", "started", LOG_CSTR("version", MK_VERSION),
			  LOG_CSTR("kueue", kueue), LOG_CSTR("config", s->file),
			  LOG_STR("ns", s->config.namespace_),
			  LOG_STR("dispatcher", s->config.multikueue.dispatcher),
			  LOG_INT("adapters", plug_n_adapters(s->plug)),
			  LOG_BOOL("leader_election", s->config.leader_election.elect), LOG_END);
		tell(&d);
		loop_run(d.loop);
		log_write(LOG_INFO, "daemon", "ended", LOG_INT("status", d.status), LOG_END);
	}
	take_apart(&d);
	return d.status;
}
