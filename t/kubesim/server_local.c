/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local mode: the first container of an annotated Job runs as a process of this machine, in a
 * process group of its own, without a shell unless its command is one. Its output (up to 64 KiB)
 * is the log of a Pod, and stays readable at /kubesim/logs when the Job is gone.
 */
#include <event2/buffer.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/timefmt.h"
#include "t/kubesim/server_priv.h"

enum { MAX_OUTPUT = 64 * 1024, MAX_ARGS = 256, MAX_ENV = 64, MAX_KEPT = 512, READ_SIZE = 4096 };

struct child {
	struct list_node node;
	struct local *local;
	struct cluster *cluster;
	char *ns, *job, *uid, *pod, *container;
	pid_t pid; /* 0 = over */
	int fd;
	bool exited;
	int exit_code;
	struct event *readable, *limit;
	struct buf output;
};

struct local {
	struct server *server;
	struct event *on_child;
	struct list_node children; /* oldest first, also those that are over */
	size_t n;
};

/* --- the pod ---------------------------------------------------------------------------------- */

static void pod_request(const struct child *c, struct arena *a, const char *method, mk_str target,
			const char *type, const struct json *body)
{
	struct ks_request r = {
		.method = str_of(method),
		.target = target,
		.accept = STR("application/json"),
		.content_type = str_of(type),
		.body = json_write(a, body),
		.user = STR("system:node:local"),
		.user_agent = STR("kubelet"),
	};
	struct ks_response resp;

	ks_handle(c->cluster->store, &r, clock_wall_ms(), a, &resp);
}

static mk_str pods_path(struct arena *a, const struct child *c, const char *rest)
{
	return arena_printf(a, "/api/v1/namespaces/%s/pods%s%s", c->ns, rest[0] != '\0' ? "/" : "",
			    rest);
}

static void pod_create(const struct child *c, const struct json *container)
{
	struct arena a;
	struct json *pod, *owner, *list;

	arena_init(&a, 0);
	pod = json_new_obj(&a);
	owner = json_new_obj(&a);
	list = json_new_arr(&a);
	json_set_str(&a, pod, "apiVersion", STR("v1"));
	json_set_str(&a, pod, "kind", STR("Pod"));
	json_put(&a, pod, "/metadata/name", json_new_str(&a, str_of(c->pod)));
	json_put(&a, pod, "/metadata/labels/job-name", json_new_str(&a, str_of(c->job)));
	json_put(&a, pod, "/metadata/labels/batch.kubernetes.io~1job-name",
		 json_new_str(&a, str_of(c->job)));
	json_put(&a, pod, "/metadata/labels/batch.kubernetes.io~1controller-uid",
		 json_new_str(&a, str_of(c->uid)));
	json_set_str(&a, owner, "apiVersion", STR("batch/v1"));
	json_set_str(&a, owner, "kind", STR("Job"));
	json_set_str(&a, owner, "name", str_of(c->job));
	json_set_str(&a, owner, "uid", str_of(c->uid));
	json_set_bool(&a, owner, "controller", true);
	json_set_bool(&a, owner, "blockOwnerDeletion", true);
	json_add(&a, list, owner);
	json_put(&a, pod, "/metadata/ownerReferences", list);
	list = json_new_arr(&a);
	json_add(&a, list, json_dup(&a, container));
	json_put(&a, pod, "/spec/containers", list);
	json_put(&a, pod, "/spec/restartPolicy", json_new_str(&a, STR("Never")));
	json_put(&a, pod, "/status/phase", json_new_str(&a, STR("Pending")));
	pod_request(c, &a, "POST", pods_path(&a, c, ""), "application/json", pod);
	arena_done(&a);
}

/* The status of its container, as a kubelet writes it. */
static struct json *container_status(struct arena *a, const struct child *c)
{
	struct json *o = json_new_obj(a), *at = json_new_obj(a);

	json_set_str(a, o, "name", str_of(c->container));
	json_set_int(a, o, "restartCount", 0);
	json_set_bool(a, o, "ready", !c->exited);
	if (c->exited) {
		json_set_int(a, at, "exitCode", c->exit_code);
		json_set_str(a, at, "reason", c->exit_code == 0 ? STR("Completed") : STR("Error"));
		json_put(a, o, "/state/terminated", at);
	} else {
		json_set_str(a, at, "startedAt", time_rfc3339(a, clock_wall_ms()));
		json_put(a, o, "/state/running", at);
	}
	return o;
}

static void pod_phase(const struct child *c, const char *phase)
{
	struct arena a;
	struct json *patch, *statuses;

	arena_init(&a, 0);
	patch = json_new_obj(&a);
	statuses = json_new_arr(&a);
	json_add(&a, statuses, container_status(&a, c));
	json_put(&a, patch, "/status/phase", json_new_str(&a, str_of(phase)));
	json_put(&a, patch, "/status/containerStatuses", statuses);
	pod_request(c, &a, "PATCH", arena_printf(&a, "%s/status", pods_path(&a, c, c->pod).p),
		    "application/merge-patch+json", patch);
	arena_done(&a);
}

/* --- the process ------------------------------------------------------------------------------ */

static void child_free(struct child *c)
{
	if (c->pid > 0) {
		kill(-c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	if (c->readable != NULL) {
		event_free(c->readable);
	}
	if (c->limit != NULL) {
		event_free(c->limit);
	}
	if (c->fd >= 0) {
		close(c->fd);
	}
	list_del(&c->node);
	buf_done(&c->output);
	mk_free(c->ns);
	mk_free(c->job);
	mk_free(c->uid);
	mk_free(c->pod);
	mk_free(c->container);
	mk_free(c);
}

static void drain(struct child *c)
{
	char piece[READ_SIZE];
	ssize_t n;

	while (c->fd >= 0 && (n = read(c->fd, piece, sizeof(piece))) > 0) {
		size_t room = MAX_OUTPUT - c->output.n;

		buf_add(&c->output, (mk_str){piece, (size_t)n < room ? (size_t)n : room});
	}
}

static void over(struct child *c, int exit_code)
{
	struct arena a;

	c->exited = true;
	c->exit_code = exit_code;
	event_del(c->readable);
	event_del(c->limit);
	drain(c);
	close(c->fd);
	c->fd = -1;
	pod_phase(c, exit_code == 0 ? "Succeeded" : "Failed");
	arena_init(&a, 0);
	ks_actors_local_done(c->cluster->actors, str_of(c->ns), str_of(c->job), str_of(c->uid),
			     exit_code, clock_wall_ms());
	arena_done(&a);
	cluster_kick(c->cluster);
}

static void on_child(evutil_socket_t fd, short what, void *ctx)
{
	struct local *l = ctx;

	(void)fd;
	(void)what;
	for (LIST_EACH_SAFE(n, &l->children)) {
		struct child *c = LIST_ENTRY(n, struct child, node);
		int status;

		if (c->pid > 0 && waitpid(c->pid, &status, WNOHANG) == c->pid) {
			c->pid = 0;
			over(c, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
		}
	}
}

static void on_readable(evutil_socket_t fd, short what, void *ctx)
{
	struct child *c = ctx;
	char piece[READ_SIZE];
	ssize_t n = read((int)fd, piece, sizeof(piece));

	(void)what;
	if (n > 0) {
		size_t room = MAX_OUTPUT - c->output.n;

		buf_add(&c->output, (mk_str){piece, (size_t)n < room ? (size_t)n : room});
	} else if (n == 0) {
		event_del(c->readable);
	}
}

static void on_limit(evutil_socket_t fd, short what, void *ctx)
{
	struct child *c = ctx;

	(void)fd;
	(void)what;
	if (c->pid > 0) {
		kill(-c->pid, SIGKILL);
	}
}

static size_t add_strings(struct arena *a, const struct json *list, char **out, size_t n,
			  size_t max)
{
	struct json_iter it = json_iter(list);

	while (json_next(&it) && n < max) {
		mk_str s = arena_dup(a, json_str(it.val));

		memcpy(&out[n++], &s.p, sizeof(char *));
	}
	return n;
}

static char *env_entry(struct arena *a, mk_str name, mk_str value)
{
	mk_str s = arena_printf(a, "%.*s=%.*s", STR_ARG(name), STR_ARG(value));
	char *out;

	memcpy(&out, &s.p, sizeof(out));
	return out;
}

static void make_env(struct arena *a, const struct json *container, char **env)
{
	struct json_iter it = json_iter(json_get(container, "env"));
	size_t n = 0;

	env[n++] = env_entry(a, STR("PATH"), STR("/usr/local/bin:/usr/bin:/bin"));
	env[n++] = env_entry(a, STR("LC_ALL"), STR("C.UTF-8"));
	while (json_next(&it) && n < MAX_ENV) {
		env[n++] = env_entry(a, json_str(json_get(it.val, "name")),
				     json_str(json_get(it.val, "value")));
	}
	env[n] = NULL;
}

/* The pid, or 0. 'out' is the end of the pipe that the process writes to. */
static pid_t spawn(const struct json *container, int out)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	struct arena a;
	char *argv[MAX_ARGS + 1], *env[MAX_ENV + 1];
	pid_t pid = 0;
	size_t n;

	arena_init(&a, 0);
	n = add_strings(&a, json_get(container, "command"), argv, 0, MAX_ARGS);
	n = add_strings(&a, json_get(container, "args"), argv, n, MAX_ARGS);
	argv[n] = NULL;
	make_env(&a, container, env);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_adddup2(&files, out, 2);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	sigaddset(&none, SIGPIPE);
	posix_spawnattr_setsigdefault(&attr, &none);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	if (n == 0 || arena_failed(&a) ||
	    posix_spawnp(&pid, argv[0], &files, &attr, argv, env) != 0) {
		pid = 0;
	}
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	arena_done(&a);
	return pid;
}

/* Drops the oldest that are over, so that not all output is kept for ever. */
static void make_room(struct local *l)
{
	for (LIST_EACH_SAFE(n, &l->children)) {
		struct child *c = LIST_ENTRY(n, struct child, node);

		if (l->n < MAX_KEPT) {
			return;
		}
		if (c->pid == 0) {
			child_free(c);
			l->n--;
		}
	}
}

static struct child *child_new(struct cluster *cl, const struct ks_local_order *o)
{
	struct local *l = cl->server->local;
	struct child *c = mk_calloc(1, sizeof(*c));
	struct arena a;

	if (!c) {
		return NULL;
	}
	arena_init(&a, 0);
	list_init(&c->node);
	c->local = l;
	c->cluster = cl;
	c->fd = -1;
	buf_init(&c->output, MAX_OUTPUT + 1);
	c->ns = mk_strndup(o->ns);
	c->job = mk_strndup(o->job);
	c->uid = mk_strndup(o->uid);
	c->pod = mk_strndup(arena_printf(&a, "%.*s-%.*s", STR_ARG(o->job), 5,
					 o->uid.n >= 5 ? o->uid.p : "00000"));
	c->container = mk_strndup(json_str(json_get(o->container, "name")));
	arena_done(&a);
	list_add_tail(&l->children, &c->node);
	l->n++;
	return c;
}

static void start(struct cluster *cl, const struct ks_local_order *o)
{
	struct event_base *base = cl->server->base;
	struct timeval limit = {.tv_sec = o->limit_ms / 1000, .tv_usec = o->limit_ms % 1000 * 1000};
	struct child *c;
	int ends[2];

	make_room(cl->server->local);
	c = child_new(cl, o);
	if (!c || pipe2(ends, O_CLOEXEC) != 0) {
		ks_actors_local_done(cl->actors, o->ns, o->job, o->uid, -1, clock_wall_ms());
		return;
	}
	c->fd = ends[0];
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	c->readable = event_new(base, c->fd, EV_READ | EV_PERSIST, on_readable, c);
	c->limit = event_new(base, -1, 0, on_limit, c);
	pod_create(c, o->container);
	c->pid = spawn(o->container, ends[1]);
	close(ends[1]);
	if (!c->readable || !c->limit || c->pid == 0) {
		buf_printf(&c->output, "cannot start the command\n");
		over(c, 127);
		return;
	}
	pod_phase(c, "Running");
	event_add(c->readable, NULL);
	event_add(c->limit, &limit);
}

static void stop(struct cluster *cl, mk_str ns, mk_str job)
{
	for (LIST_EACH_SAFE(n, &cl->server->local->children)) {
		struct child *c = LIST_ENTRY(n, struct child, node);

		if (c->cluster == cl && str_is(ns, c->ns) && str_is(job, c->job) && c->pid > 0) {
			kill(-c->pid, SIGKILL);
		}
	}
}

void local_take_orders(struct cluster *c)
{
	struct ks_local_order o;
	struct arena a;

	arena_init(&a, 0);
	while (ks_actors_take_local(c->actors, &a, &o)) {
		if (o.start) {
			start(c, &o);
		} else {
			stop(c, o.ns, o.job);
		}
	}
	arena_done(&a);
}

/* --- logs ------------------------------------------------------------------------------------- */

bool local_answer_log(struct exchange *ex, mk_str path)
{
	mk_str ns, word, pod, rest = path;

	if (!str_starts(path, STR("/api/v1/namespaces/")) || !str_ends(path, STR("/log"))) {
		return false;
	}
	rest = str_sub(path, sizeof("/api/v1/namespaces/") - 1, path.n);
	str_split(&rest, '/', &ns);
	str_split(&rest, '/', &word);
	str_split(&rest, '/', &pod);
	if (!str_is(word, "pods") || !str_is(rest, "log")) {
		return false;
	}
	for (LIST_EACH(n, &ex->conn->cluster->server->local->children)) {
		const struct child *c = LIST_ENTRY(n, struct child, node);

		if (c->cluster == ex->conn->cluster && str_is(ns, c->ns) && str_is(pod, c->pod)) {
			exchange_answer(ex, 200, "text/plain",
					arena_dup(&ex->a, buf_str(&c->output)));
			return true;
		}
	}
	exchange_status(ex, 404, "NotFound", "no log of that pod");
	return true;
}

struct json *local_logs(const struct cluster *cl, struct arena *a)
{
	struct json *list = json_new_arr(a);

	for (LIST_EACH(n, &cl->server->local->children)) {
		const struct child *c = LIST_ENTRY(n, struct child, node);
		struct json *o;

		if (c->cluster != cl) {
			continue;
		}
		o = json_new_obj(a);
		json_set_str(a, o, "namespace", str_of(c->ns));
		json_set_str(a, o, "job", str_of(c->job));
		json_set_str(a, o, "pod", str_of(c->pod));
		if (c->exited) {
			json_set_int(a, o, "exitCode", c->exit_code);
		}
		json_set_str(a, o, "output", buf_str(&c->output));
		json_add(a, list, o);
	}
	return list;
}

struct local *local_new(struct server *s)
{
	struct local *l = mk_calloc(1, sizeof(*l));

	if (!l) {
		return NULL;
	}
	l->server = s;
	list_init(&l->children);
	l->on_child = evsignal_new(s->base, SIGCHLD, on_child, l);
	if (!l->on_child || event_add(l->on_child, NULL) != 0) {
		local_free(l);
		return NULL;
	}
	return l;
}

void local_free(struct local *l)
{
	if (!l) {
		return;
	}
	while (!list_empty(&l->children)) {
		child_free(LIST_ENTRY(l->children.next, struct child, node));
	}
	if (l->on_child != NULL) {
		event_free(l->on_child);
	}
	mk_free(l);
}
