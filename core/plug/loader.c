/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlopen, behind the checks of loader_path.c. Every file is looked at even after one failed, so
 * that an operator sees all problems of a directory at once.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/plug/describe.h"
#include "core/plug/internal.h"
#include "core/plug/loader.h"
#include "core/plug/loader_path.h"

enum { MAX_FILES = 256 };

/*
 * Is the open file a shared object that this process could load? Answered before the dynamic linker
 * sees it.
 */
static bool check_elf(int fd, const char *path, struct problems *pr)
{
	ElfW(Ehdr) h;
	const unsigned char *id = h.e_ident;
	const unsigned char want_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	ssize_t n = pread(fd, &h, sizeof(h), 0);

	if (n < (ssize_t)sizeof(h) || memcmp(id, ELFMAG, SELFMAG) != 0) {
		problem(pr, path, "format: expected an ELF shared object, found another file");
		return false;
	}
	if (id[EI_CLASS] != want_class || h.e_type != ET_DYN) {
		problem(pr, path,
			"format: expected an ELF shared object of %zu bits, found type %u of class "
			"%u",
			sizeof(void *) * 8, (unsigned)h.e_type, (unsigned)id[EI_CLASS]);
		return false;
	}
#ifdef __x86_64__
	if (h.e_machine != EM_X86_64) {
		problem(pr, path, "machine: expected %d, found %u", EM_X86_64,
			(unsigned)h.e_machine);
		return false;
	}
#endif
	return true;
}

/* The dynamic linker's words, without the name that we made up. */
static const char *dl_reason(const char *name)
{
	const char *why = dlerror();
	size_t n = strlen(name);

	if (!why) {
		return "an unknown error";
	}
	return strncmp(why, name, n) == 0 && why[n] == ':' ? why + n + 2 : why;
}

/* The exported entry, if the symbol is data and long enough to have a size in it. */
static const mk_entry *find_entry(void *handle, const char *path, struct problems *pr)
{
	void *sym = dlsym(handle, "mk_plugin_entry");
	const ElfW(Sym) *info = NULL;
	void *extra = NULL;
	Dl_info where;

	if (!sym) {
		problem(pr, path, "entry: expected the symbol mk_plugin_entry, found none");
		return NULL;
	}
	/*
	 * dladdr1 with this flag returns the symbol table's line: its size cannot lie past the
	 * file's data
	 */
	if (dladdr1(sym, &where, &extra, RTLD_DL_SYMENT) && extra) {
		info = extra;
	}
	if (info &&
	    (ELF64_ST_TYPE(info->st_info) != STT_OBJECT || info->st_size < 2 * sizeof(uint64_t))) {
		problem(pr, path,
			"entry: expected a constant of type mk_entry, found %llu bytes of type %u",
			(unsigned long long)info->st_size, (unsigned)ELF64_ST_TYPE(info->st_info));
		return NULL;
	}
	const mk_entry *entry = sym;

	if (info && entry->magic == MK_MAGIC && entry->struct_size > info->st_size) {
		problem(pr, path, "struct_size: expected at most the symbol's %llu bytes, found %u",
			(unsigned long long)info->st_size, entry->struct_size);
		return NULL;
	}
	return entry;
}

bool plug_is_description(mk_str name)
{
	return str_ends(name, STR(".yaml")) || str_ends(name, STR(".yml"));
}

/* Takes over 'fd', a file of YAML. */
static void load_description(struct plug *p, int fd, const char *path, struct problems *pr)
{
	struct arena a;
	struct mk_err err = {0};
	mk_str findings = {NULL, 0};
	size_t n = 0;

	arena_init(&a, 16 * 1024 * 1024);
	char *text = arena_alloc(&a, DESCRIBE_MAX_SIZE + 1);

	while (text && n <= DESCRIBE_MAX_SIZE) {
		ssize_t got = read(fd, text + n, DESCRIBE_MAX_SIZE + 1 - n);

		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got < 0) {
			problem(pr, path, "read: %s", strerror(errno));
			goto out;
		}
		if (got == 0) {
			break;
		}
		n += (size_t)got;
	}
	enum mk_code code =
		text ? plug_add_description(p, (mk_str){text, n}, path, &a, &findings, &err)
		     : err_set(&err, ERR_NO_MEMORY, "out of memory");

	if (code != ERR_OK) {
		problem(pr, path, "%s", findings.p ? findings.p : err.msg);
		pr->no_memory |= code == ERR_NO_MEMORY;
	}
out:
	close(fd);
	arena_done(&a);
}

/* Takes over 'fd', which stays open once the object is mapped. */
static void load_fd(struct plug *p, int fd, const char *path, struct problems *pr)
{
	char name[64];

	if (plug_is_description(str_of(path))) {
		load_description(p, fd, path, pr);
		return;
	}
	if (!check_elf(fd, path, pr)) {
		close(fd);
		return;
	}
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	/* Its constructors run, and what its entry points to is followed. */
	running_begin(p, &(struct plug_source){.id = path, .version = ""}, "load",
		      &(struct running_object){.object = NULL});
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		running_end(p);
		problem(pr, path, "load: expected a loadable object, found: %s", dl_reason(name));
		close(fd);
		return;
	}
	const mk_entry *entry = find_entry(handle, path, pr);
	struct findings f;

	findings_init(&f);
	if (entry && !plug_add_entry(p, entry, path, &f)) {
		problem(pr, path, "%s", f.text.p ? f.text.p : "out of memory");
	}
	running_end(p);
	findings_done(&f);
}

/* Descriptions come last: they are instances of a template. */
static int by_name(const void *x, const void *y)
{
	const char *const *a = x, *const *b = y;
	int kind = plug_is_description(str_of(*a)) - plug_is_description(str_of(*b));

	return kind != 0 ? kind : strcmp(*a, *b);
}

/*
 * The names of all plugins in the directory, in the order of loading, in 'a'; -1 after a
 * problem.
 */
static int list_dir(int dir, const char *path, struct arena *a, const char **names,
		    struct problems *pr)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	int n = 0;

	if (!d) {
		problem(pr, path, "directory: expected a readable one, found: %s", strerror(errno));
		if (fd >= 0) {
			close(fd);
		}
		return -1;
	}
	for (;;) {
		const struct dirent *e = readdir(d);

		if (!e) {
			break;
		}
		mk_str name = str_of(e->d_name);

		if (name.n < 4 || !(str_ends(name, STR(".so")) || plug_is_description(name))) {
			continue;
		}
		if (n == MAX_FILES) {
			problem(pr, path, "directory: expected at most %d plugins, found more",
				MAX_FILES);
			n = -1;
			break;
		}
		names[n] = arena_dup(a, name).p;
		if (!names[n]) {
			n = -1;
			break;
		}
		n++;
	}
	closedir(d);
	if (n > 0) {
		qsort(names, (size_t)n, sizeof(*names), by_name);
	}
	return n;
}

static bool is_allowed(const char *name, const mk_str *allow, size_t n_allow)
{
	for (size_t i = 0; i < n_allow; i++) {
		if (str_is(allow[i], name)) {
			return true;
		}
	}
	return n_allow == 0;
}

/* 'why': the code for other problems than a lack of memory. */
static enum mk_code report(struct problems *pr, enum mk_code why, struct arena *a,
			   mk_str *ret_problems, struct mk_err *err)
{
	enum mk_code code = ERR_OK;

	if (pr->n > 0 || pr->text.failed || arena_failed(a)) {
		mk_str text = arena_dup(a, buf_str(&pr->text)), rest = text, first;

		if (!text.p) {
			code = err_set(err, ERR_NO_MEMORY, "out of memory");
		} else {
			if (!str_split(&rest, '\n', &first)) {
				first = text;
			}
			code = err_set(err, pr->no_memory ? ERR_NO_MEMORY : why, "%.*s",
				       STR_ARG(first));
			if (ret_problems) {
				*ret_problems = text;
			}
		}
	}
	problems_done(pr);
	return code;
}

static void check_all_there(const char *directory, const mk_str *allow, size_t n_allow,
			    const char *const *names, int n, struct problems *pr)
{
	for (size_t i = 0; i < n_allow; i++) {
		bool found = false;

		for (int k = 0; k < n; k++) {
			found = found || str_is(allow[i], names[k]);
		}
		if (!found) {
			struct str_guess g = {.word = allow[i]};

			for (int k = 0; k < n; k++) {
				str_guess_try(&g, str_of(names[k]));
			}
			problem(pr, directory, "allow: expected %.*s, found no such file%s%.*s%s",
				STR_ARG(allow[i]), g.best.p ? ": did you mean " : "",
				STR_ARG(g.best), g.best.p ? "?" : "");
		}
	}
}

enum mk_code plug_load_dir(struct plug *p, const char *directory, const mk_str *allow,
			   size_t n_allow, struct arena *a, mk_str *ret_problems,
			   struct mk_err *err)
{
	struct problems pr;
	const char **names = arena_array(a, MAX_FILES, sizeof(*names));

	problems_init(&pr);
	int dir = names ? path_open_dir(directory, &pr) : -1;
	int n = dir < 0 ? -1 : list_dir(dir, directory, a, names, &pr);

	if (n == 0) {
		problem(&pr, directory,
			"directory: expected at least one *.so, *.yaml or *.yml, found none: "
			"put plugins there, or name another directory");
	}
	if (n >= 0) {
		check_all_there(directory, allow, n_allow, names, n, &pr);
	}
	for (int i = 0; i < n; i++) {
		mk_str path = arena_printf(a, "%s/%s", directory, names[i]);

		if (!path.p) {
			break;
		}
		if (!is_allowed(names[i], allow, n_allow)) {
			continue;
		}
		int fd = path_open_file(dir, names[i], path.p, &pr);

		if (fd >= 0) {
			load_fd(p, fd, path.p, &pr);
		}
	}
	if (dir >= 0) {
		close(dir);
	}
	return report(&pr, dir < 0 ? ERR_NOT_FOUND : ERR_INVALID, a, ret_problems, err);
}

enum mk_code plug_load_file(struct plug *p, const char *path, struct arena *a, mk_str *ret_problems,
			    struct mk_err *err)
{
	struct problems pr;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	problems_init(&pr);
	if (fd < 0) {
		problem(&pr, path, "file: expected a readable one, found: %s", strerror(errno));
	} else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		problem(&pr, path, "file: expected a regular one, found another type");
		close(fd);
	} else {
		load_fd(p, fd, path, &pr);
	}
	return report(&pr, ERR_INVALID, a, ret_problems, err);
}
