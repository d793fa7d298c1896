/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading kubeconfigs from files and noticing when they change; see files.h. For each file the
 * lookups on its way are kept as (watched directory, name): an event of the directory that names
 * something else is ignored. The way is found anew, and watched, before each read, so no change
 * between the two is missed.
 */
#include "core/daemon/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/file_read.h"
#include "core/base/hash.h"
#include "core/base/list.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/slice.h"
#include "core/daemon/file_path.h"
#include "core/kube/kubeconfig.h"

enum {
	SETTLE_MS = 100, /* a swap is several events */
	POLL_MS = 30 * 1000,
	AGAIN_MS = 1000, /* without memory */
	STEPS_MAX = 256,
	READS_MAX = 64,  /* of events, before others have their turn */
	SLICE_US = 3000, /* for files that are due together, likewise */
	ARENA_MAX = 8 * 1024 * 1024,
};

struct step {
	int wd;
	char *name;
};

struct file {
	struct list_node node;
	char *path;
	struct step *steps;
	size_t n_steps;
	char *last; /* what was told: the text's hash or the problem; NULL nothing */
	bool due;   /* to be looked at */
	bool late;  /* ... but not before others that are due, since there was no memory */
	bool asked; /* ... and told, news or not */
};

struct files {
	struct files_options o;
	int fd; /* -1: no inotify */
	struct loop_fd *watch;
	struct loop_timer *settle, *poll;
	struct list_node list; /* in the order they were asked for */
	struct map by_path;
	struct arena arena;
	struct slice slice;
	bool settling, limited; /* limited: the log says that there are too many watches */
};

/* --- the way to a file ------------------------------------------------------------------------ */

static bool is_used(const struct files *f, int wd)
{
	for (LIST_EACH(n, &f->list)) {
		const struct file *file = LIST_ENTRY(n, struct file, node);

		for (size_t i = 0; i < file->n_steps; i++) {
			if (file->steps[i].wd == wd) {
				return true;
			}
		}
	}
	return false;
}

static void free_steps(const struct files *f, struct step *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (f->fd >= 0 && !is_used(f, s[i].wd)) {
			(void)inotify_rm_watch(f->fd,
					       s[i].wd); /* gone with its directory, perhaps */
		}
		mk_free(s[i].name);
	}
	mk_free(s);
}

struct arming {
	struct files *f;
	struct step *steps;
	size_t n;
	bool no_memory;
};

static void arm_step(void *ctx, const char *dir, const char *name)
{
	struct arming *a = ctx;
	struct step *more = mk_realloc(a->steps, (a->n + 1) * sizeof(*more));
	char *copy = mk_strndup(str_of(name));
	int wd;

	if (more) {
		a->steps = more;
	}
	if (!more || !copy || a->n >= STEPS_MAX) {
		a->no_memory |= a->n < STEPS_MAX;
		mk_free(copy);
		return;
	}
	wd = inotify_add_watch(a->f->fd, dir,
			       IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
				       IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF |
				       IN_ONLYDIR);
	if (wd < 0 && errno == ENOSPC && !a->f->limited) {
		a->f->limited = true;
		log_write(LOG_WARN, "files",
			  "no more directories can be watched (fs.inotify.max_user_watches): "
			  "kubeconfig files are looked at every half minute",
			  LOG_END);
	}
	if (wd < 0) {
		mk_free(copy);
		return;
	}
	a->steps[a->n++] = (struct step){.wd = wd, .name = copy};
}

/* False: out of memory; what was watched stays so. */
static bool arm(struct files *f, struct file *file)
{
	struct arming a = {.f = f};
	struct step *old = file->steps;
	size_t n_old = file->n_steps;
	char at[PATH_MAX];

	if (f->fd < 0) {
		return true;
	}
	(void)file_walk(file->path, arm_step, &a, at);
	if (a.no_memory) {
		free_steps(f, a.steps, a.n);
		return false;
	}
	file->steps = a.steps;
	file->n_steps = a.n;
	free_steps(f, old, n_old);
	return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The file's text, at most 1 MiB. Errors in Go's words where it has some. */
static enum mk_code read_file(struct arena *a, const char *path, bool nofollow, mk_str *ret,
			      struct mk_err *err)
{
	enum mk_code code = ERR_OK;
	char words[128];
	struct stat st;
	int fd = open(path,
		      O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (nofollow ? O_NOFOLLOW : 0));

	if (fd < 0 || fstat(fd, &st) != 0) {
		code = err_set(err, ERR_UNAVAILABLE, "open %s: %s", path, file_error(errno, words));
	} else if (S_ISDIR(st.st_mode)) {
		code = err_set(err, ERR_INVALID, "read %s: is a directory", path);
	} else {
		code = file_read_open(a, fd, path, KUBECONFIG_MAX, ret, err);
	}
	if (fd >= 0) {
		close(fd);
	}
	return code;
}

static enum mk_code read_allowed(struct files *f, const struct file *file, mk_str *ret,
				 struct mk_err *err)
{
	const char *path = file->path;
	enum mk_code code = ERR_OK;

	if (f->o.directory) {
		code = file_path_check(&f->arena, str_of(file->path), f->o.directory, &path, err);
	}
	return code == ERR_OK ? read_file(&f->arena, path, f->o.directory != NULL, ret, err) : code;
}

static void say(const struct file *file, mk_str problem)
{
	if (problem.n > 0) {
		log_write(LOG_WARN, "files", "a kubeconfig cannot be read",
			  LOG_CSTR("path", file->path), LOG_STR("err", problem), LOG_END);
	} else {
		log_write(LOG_INFO, "files", "a kubeconfig was read", LOG_CSTR("path", file->path),
			  LOG_END);
	}
}

/* False: out of memory, to be done again. */
static bool tell(struct files *f, struct file *file, mk_str text, mk_str problem)
{
	mk_str mark = problem.n > 0 ? problem : sha256_hex(&f->arena, text);
	bool news = mark.n > 0 && (!file->last || !str_eq(str_of(file->last), mark));
	char *copy;

	if (mark.n == 0) {
		return false;
	}
	if (!news && !file->asked) {
		return true;
	}
	copy = mk_strndup(mark);
	if (!copy || f->o.told(f->o.ctx, str_of(file->path), text, problem) != ERR_OK) {
		mk_free(copy);
		return false;
	}
	if (news) {
		say(file, problem);
	}
	mk_free(file->last);
	file->last = copy;
	file->asked = false;
	return true;
}

static bool look(struct files *f, struct file *file)
{
	struct mk_err err = {.code = ERR_OK};
	mk_str text = {NULL, 0};
	enum mk_code code;
	bool done;

	if (!arm(f, file)) {
		return false;
	}
	code = read_allowed(f, file, &text, &err);
	done = code != ERR_NO_MEMORY &&
	       tell(f, file, text, code == ERR_OK ? (mk_str){NULL, 0} : str_of(err.msg));
	str_wipe(text);
	arena_clear(&f->arena);
	return done;
}

/* --- events ----------------------------------------------------------------------------------- */

static void settle_soon(struct files *f, int64_t in_ms)
{
	if (!f->settling) {
		f->settling = true;
		loop_timer_set(f->settle, in_ms);
	}
}

static void settled(void *ctx)
{
	struct files *f = ctx;
	bool again = false;

	f->settling = false;
	slice_begin(&f->slice, SLICE_US);
	for (LIST_EACH_AS(struct file, file, &f->list, node)) {
		if (!file->due || file->late) {
			continue;
		}
		file->due = !look(f, file);
		file->late = file->due;
		if (slice_spent(&f->slice)) {
			settle_soon(f, 0);
			return;
		}
	}
	for (LIST_EACH_AS(struct file, file, &f->list, node)) {
		again |= file->late;
		file->late = false;
	}
	if (again) {
		settle_soon(f, AGAIN_MS);
	}
}

/* 'wd' -1: all of them. */
static void touch(struct files *f, int wd, const char *name)
{
	for (LIST_EACH(n, &f->list)) {
		struct file *file = LIST_ENTRY(n, struct file, node);
		bool due = wd < 0;

		for (size_t i = 0; i < file->n_steps && !due; i++) {
			due = file->steps[i].wd == wd &&
			      (!name || strcmp(file->steps[i].name, name) == 0);
		}
		if (due) {
			file->due = true;
			settle_soon(f, SETTLE_MS);
		}
	}
}

static void polled(void *ctx)
{
	struct files *f = ctx;

	touch(f, -1, NULL);
	loop_timer_set(f->poll, POLL_MS);
}

static void readable(void *ctx, unsigned ready)
{
	struct files *f = ctx;
	_Alignas(struct inotify_event) char buf[16 * 1024];

	(void)ready;
	for (int i = 0; i < READS_MAX; i++) {
		ssize_t got = read(f->fd, buf, sizeof(buf));

		if (got <= 0) {
			return;
		}
		for (size_t at = 0; at + sizeof(struct inotify_event) <= (size_t)got;) {
			struct inotify_event ev;

			memcpy(&ev, buf + at, sizeof(ev));
			touch(f, ev.mask & IN_Q_OVERFLOW ? -1 : ev.wd,
			      ev.len > 0 ? buf + at + sizeof(ev) : NULL);
			at += sizeof(ev) + ev.len;
		}
	}
}

/* --- life ------------------------------------------------------------------------------------- */

struct files *files_new(const struct files_options *o, struct mk_err *err)
{
	struct files *f = mk_calloc(1, sizeof(*f));

	if (!f) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	f->o = *o;
	f->slice.clock_us = o->clock_us ? o->clock_us : clock_mono_us;
	list_init(&f->list);
	map_init(&f->by_path);
	arena_init(&f->arena, ARENA_MAX);
	f->settle = loop_timer_new(o->loop, settled, f);
	f->poll = loop_timer_new(o->loop, polled, f);
	f->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (f->fd >= 0) {
		f->watch = loop_fd_new(o->loop, f->fd, LOOP_READ, readable, f);
	} else {
		log_write(LOG_WARN, "files",
			  "no inotify: kubeconfig files are looked at every half minute", LOG_END);
	}
	if (!f->settle || !f->poll || (f->fd >= 0 && !f->watch)) {
		files_free(f);
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	loop_timer_set(f->poll, POLL_MS);
	return f;
}

static void file_free(struct files *f, struct file *file)
{
	struct step *steps = file->steps;
	size_t n = file->n_steps;

	list_del(&file->node);
	file->steps = NULL;
	file->n_steps = 0;
	free_steps(f, steps, n);
	mk_free(file->path);
	mk_free(file->last);
	mk_free(file);
}

void files_free(struct files *f)
{
	if (!f) {
		return;
	}
	while (!list_empty(&f->list)) {
		file_free(f, LIST_ENTRY(f->list.next, struct file, node));
	}
	map_done(&f->by_path);
	loop_fd_free(f->watch);
	loop_timer_free(f->settle);
	loop_timer_free(f->poll);
	if (f->fd >= 0) {
		close(f->fd);
	}
	arena_done(&f->arena);
	mk_free(f);
}

bool files_watch(struct files *f, mk_str path)
{
	struct file *file = map_get(&f->by_path, path);

	if (!file) {
		file = mk_calloc(1, sizeof(*file));
		if (!file) {
			return false;
		}
		list_init(&file->node);
		file->path = mk_strndup(path);
		if (!file->path || !map_put(&f->by_path, path, file)) {
			file_free(f, file);
			return false;
		}
		list_add_tail(&f->list, &file->node);
	}
	file->due = true;
	file->asked = true;
	settle_soon(f, 0);
	return true;
}

void files_unwatch(struct files *f, mk_str path)
{
	struct file *file = map_del(&f->by_path, path);

	if (file) {
		file_free(f, file);
	}
}
