/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files of objects; see files.h. */
#include "core/cli/tree/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/quota/compile_source.h"

enum { FILE_MAX = 64 * 1024 * 1024, FILES_MAX = 10000 };

/* --- bytes ------------------------------------------------------------------------------------ */

static bool slurp(struct cli *c, const char *path, struct buf *b)
{
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	char chunk[16384];
	ssize_t n = fd >= 0 ? 1 : -1;

	while (n > 0) {
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR) {
			n = 1;
			continue;
		}
		if (n > 0 && !buf_add(b, (mk_str){chunk, (size_t)n})) {
			cli_error(c, "%s: more than %d MiB", path, FILE_MAX / 1024 / 1024);
			close(fd);
			return false;
		}
	}
	if (n < 0) {
		cli_error(c, "%s: %s", path, strerror(errno));
	}
	if (fd >= 0) {
		close(fd);
	}
	return n == 0;
}

/* --- documents -------------------------------------------------------------------------------- */

static bool add_doc(struct cli *c, struct files *f, struct files_doc doc)
{
	if (f->n == f->size) {
		size_t size = f->size ? f->size * 2 : 32;
		struct files_doc *bigger = arena_array(&c->a, size, sizeof(*bigger));

		if (!bigger) {
			cli_no_memory(c);
			return false;
		}
		if (f->n > 0) {
			memcpy(bigger, f->docs, f->n * sizeof(*bigger));
		}
		f->docs = bigger;
		f->size = size;
	}
	f->docs[f->n++] = doc;
	return true;
}

/* The text of a YAML error, with its line counted from the start of the file. */
static void yaml_error(struct cli *c, const char *file, size_t first, const struct mk_err *err)
{
	const char *at = strstr(err->msg, "line ");
	const char *p = at != NULL ? at + 5 : NULL;
	uint64_t line = 0;
	size_t n = 0;

	while (p != NULL && p[n] >= '0' && p[n] <= '9') {
		n++;
	}
	if (!p || !str_u64((mk_str){p, n}, &line) || line == 0) {
		cli_error(c, "%s:%zu: %s", file, first, err->msg);
		return;
	}
	p += n;
	p += strncmp(p, ": ", 2) == 0 ? 2 : 0;
	cli_error(c, "%s:%zu: %s", file, first + (size_t)line - 1, p);
}

/* --- long lists ------------------------------------------------------------------------------- */

static bool read_short(struct cli *c, struct files *f, const char *file, size_t first, mk_str text);

/* Behind the string that begins at 'at'. */
static size_t string_end(mk_str text, size_t at)
{
	for (at++; at < text.n && text.p[at] != '"'; at++) {
		at += text.p[at] == '\\';
	}
	return at < text.n ? at + 1 : text.n;
}

/* Behind the object that begins at 'at'; lines in it are counted. */
static size_t object_end(mk_str text, size_t at, size_t *line)
{
	size_t depth = 0;

	while (at < text.n) {
		if (text.p[at] == '"') {
			at = string_end(text, at);
			continue;
		}
		depth += text.p[at] == '{';
		depth -= text.p[at] == '}';
		*line += text.p[at] == '\n';
		at++;
		if (depth == 0) {
			break;
		}
	}
	return at;
}

/* Where the array "items" of a list begins, text.n when there is none. */
static size_t find_items(mk_str text, size_t *line)
{
	size_t depth = 0;
	bool items = false;

	for (size_t at = 0; at < text.n;) {
		char ch = text.p[at];

		if (ch == '"') {
			size_t end = string_end(text, at);

			items = depth == 1 && str_is(str_sub(text, at, end - at), "\"items\"");
			at = end;
			continue;
		}
		if (items && ch == '[') {
			return at;
		}
		items = items && (ch == ':' || ch <= ' ');
		depth += ch == '{' || ch == '[';
		depth -= depth > 0 && (ch == '}' || ch == ']');
		*line += ch == '\n';
		at++;
	}
	return text.n;
}

/*
 * A list in JSON of any length, item by item: what `kubectl get -o json` prints of thousands of
 * objects.
 */
static bool read_list(struct cli *c, struct files *f, const char *file, size_t first, mk_str text)
{
	size_t line = first;
	size_t at = find_items(text, &line);
	bool good = true;

	if (at == text.n) {
		cli_error(c, "%s:%zu: more than %d KiB, and no list", file, first,
			  YAML_MAX_SIZE / 1024);
		return false;
	}
	while (at < text.n && text.p[at] != ']') {
		size_t end = at;

		if (text.p[at] != '{') {
			line += text.p[at] == '\n';
			at++;
			continue;
		}
		first = line;
		end = object_end(text, at, &line);
		good = read_short(c, f, file, first, str_sub(text, at, end - at)) && good;
		at = end;
	}
	return good;
}

/* A document that the parser takes as one; an item of a long list is no list itself. */
static bool read_short(struct cli *c, struct files *f, const char *file, size_t first, mk_str text)
{
	struct files_doc doc = {.file = file, .first = first};
	struct json *v = NULL;
	struct json_iter it;
	struct mk_err err;

	if (text.n > YAML_MAX_SIZE) {
		cli_error(c, "%s:%zu: more than %d KiB in one item", file, first,
			  YAML_MAX_SIZE / 1024);
		return false;
	}
	if (yaml_parse(&c->a, text, NULL, &v, &doc.lines, &err) != ERR_OK) {
		yaml_error(c, file, first, &err);
		return false;
	}
	if (json_type(v) == JSON_NULL) {
		return true;
	}
	doc.json = v;
	if (!str_ends(json_str(json_get(v, "kind")), STR("List")) ||
	    json_type(json_get(v, "items")) != JSON_ARR) {
		return add_doc(c, f, doc);
	}
	it = json_iter(json_get(v, "items"));
	for (size_t i = 0; json_next(&it); i++) {
		doc.json = it.val;
		doc.prefix = arena_printf(&c->a, "/items/%zu", i);
		if (!add_doc(c, f, doc)) {
			return false;
		}
	}
	return true;
}

static bool read_document(struct cli *c, struct files *f, const char *file, size_t first,
			  mk_str text)
{
	size_t at = 0;

	if (text.n <= YAML_MAX_SIZE) {
		return read_short(c, f, file, first, text);
	}
	for (; at < text.n && text.p[at] <= ' '; at++) {
		first += text.p[at] == '\n';
	}
	text = str_sub(text, at, SIZE_MAX);
	if (str_starts(text, STR("{"))) {
		return read_list(c, f, file, first, text);
	}
	cli_error(c, "%s:%zu: more than %d KiB of YAML: give it as JSON (kubectl get -o json)",
		  file, first, YAML_MAX_SIZE / 1024);
	return false;
}

/* Documents end at lines that begin with "---", as for kubectl. */
static bool read_text(struct cli *c, struct files *f, const char *file, mk_str text)
{
	size_t line = 1, first = 1, start = 0;
	bool good = true;

	for (size_t at = 0; at <= text.n; line++) {
		mk_str rest = str_sub(text, at, SIZE_MAX);
		ptrdiff_t end = str_index(rest, '\n');
		size_t next = end >= 0 ? at + (size_t)end + 1 : text.n + 1;
		bool mark = str_starts(rest, STR("---")) && at < text.n;

		if (mark || next > text.n) {
			size_t stop = mark ? at : text.n;

			good = read_document(c, f, file, first,
					     str_sub(text, start, stop - start)) &&
			       good;
			/* What stands behind the mark in its line belongs to the document. */
			start = at + 3;
			first = line;
		}
		if (mark && next > text.n) {
			good = read_document(c, f, file, first, str_sub(text, start, SIZE_MAX)) &&
			       good;
		}
		at = next;
	}
	return good;
}

static bool read_file(struct cli *c, struct files *f, const char *path)
{
	struct buf b;
	bool good;

	buf_init(&b, FILE_MAX);
	good = slurp(c, path, &b) && read_text(c, f, path, buf_str(&b));
	buf_done(&b);
	return good;
}

/* --- folders ---------------------------------------------------------------------------------- */

static int cmp_names(const void *x, const void *y)
{
	const char *const *a = x;
	const char *const *b = y;

	return strcmp(*a, *b);
}

static bool is_ours(mk_str name)
{
	return !str_starts(name, STR(".")) &&
	       (str_ends(name, STR(".yaml")) || str_ends(name, STR(".yml")) ||
		str_ends(name, STR(".json")));
}

static bool read_folder(struct cli *c, struct files *f, const char *path)
{
	DIR *dir = opendir(path);
	const char **names = arena_array(&c->a, FILES_MAX, sizeof(*names));
	struct dirent *e;
	size_t n = 0;
	bool good = dir != NULL && names != NULL;

	if (!good) {
		cli_error(c, "%s: %s", path, strerror(errno));
	}
	for (e = good ? readdir(dir) : NULL; e != NULL && good; e = readdir(dir)) {
		if (is_ours(str_of(e->d_name)) && n < FILES_MAX) {
			names[n] = arena_printf(&c->a, "%s/%s", path, e->d_name).p;
			good = names[n++] != NULL;
		}
	}
	if (dir != NULL) {
		closedir(dir);
	}
	if (!good) {
		return false;
	}
	qsort(names, n, sizeof(*names), cmp_names);
	for (size_t i = 0; i < n; i++) {
		good = read_file(c, f, names[i]) && good;
	}
	return good;
}

bool files_read(struct cli *c, struct files *f, const char *const *paths, size_t n)
{
	bool good = true;

	for (size_t i = 0; i < n; i++) {
		struct stat st;
		bool folder = strcmp(paths[i], "-") != 0 && stat(paths[i], &st) == 0 &&
			      S_ISDIR(st.st_mode);

		good = (folder ? read_folder(c, f, paths[i]) : read_file(c, f, paths[i])) && good;
	}
	if (good && f->n == 0) {
		cli_error(c, "no objects in the files given with -f");
		return false;
	}
	return good;
}

/* --- what a cluster printed ------------------------------------------------------------------- */

/* Only a cluster's objects have a uid: in what a user wrote, a cohort is the user's. */
static bool is_printed(const struct json *o)
{
	return json_str_at(o, "/metadata/uid").n > 0;
}

bool files_restore(struct cli *c, struct files *f)
{
	struct json **objects = arena_array(&c->a, f->n, sizeof(*objects));
	size_t n = 0;

	for (size_t i = 0; objects != NULL && i < f->n; i++) {
		struct json *o = f->docs[i].json;

		if (is_printed(o) || !str_is(json_str(json_get(o, "kind")), "ClusterQueue")) {
			objects[n++] = o;
		}
	}
	return (objects != NULL && compile_source(&c->a, objects, n, NULL) == ERR_OK) ||
	       cli_no_memory(c) == CLI_OK;
}

bool files_add(struct cli *c, const struct files *f, struct api_set *set)
{
	bool good = true;

	for (size_t i = 0; i < f->n; i++) {
		const struct files_doc *doc = &f->docs[i];
		struct mk_err err;

		if (api_set_add(set, doc->json, i, &err) != ERR_OK) {
			cli_error(c, "%s:%zu: %s", doc->file, files_line(c, f, i, STR("")),
				  err.msg);
			good = false;
		}
	}
	return good;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* "a.b[c/d]" as "/a/b/c~1d". */
static mk_str pointer_of(struct cli *c, mk_str prefix, mk_str path)
{
	struct buf b;
	mk_str out;
	bool inside = false;

	buf_init(&b, 1024 * 1024);
	buf_add(&b, prefix);
	buf_add(&b, STR("/"));
	for (size_t i = 0; i < path.n; i++) {
		char ch = path.p[i];
		bool ends = i + 1 == path.n || path.p[i + 1] == '.' || path.p[i + 1] == '[';

		if ((ch == '.' || ch == '[') && !inside) {
			inside = ch == '[';
			/* The bracket behind "a" begins a token, the dot behind "]" does too. */
			buf_add(&b, STR("/"));
		} else if (ch == ']' && inside && ends) {
			inside = false;
		} else if (ch == '/' || ch == '~') {
			buf_add(&b, ch == '/' ? STR("~1") : STR("~0"));
		} else {
			buf_add(&b, (mk_str){&path.p[i], 1});
		}
	}
	out = b.failed ? (mk_str){NULL, 0} : arena_dup(&c->a, buf_str(&b));
	buf_done(&b);
	return out;
}

size_t files_line(struct cli *c, const struct files *f, size_t tag, mk_str path)
{
	const struct files_doc *doc = &f->docs[tag];
	mk_str pointer = path.n > 0 ? pointer_of(c, doc->prefix, path) : doc->prefix;
	int line = yaml_line(&doc->lines, pointer.p != NULL ? pointer : STR(""));

	return doc->first + (size_t)(line > 0 ? line - 1 : 0);
}
