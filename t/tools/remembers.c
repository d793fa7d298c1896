/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for bytes in the memory of a process. t/integration/e2e_memory.t compiles it.
 *
 *     remembers PID FILE
 *
 * FILE has lines NAME HEX: a name, and bytes. All that the process has mapped readable is read, and
 * a line NAME ADDRESS MAPPING is written for each place that has the bytes. Status 0: all was read,
 * whether anything was found or not; 1: it was not, and the standard error says why.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES_MAX = 512, NAME_BYTES = 64, PATTERNS_MAX = 64, LINE_BYTES = 4096, HEX = 16 };

struct pattern {
	char name[NAME_BYTES];
	unsigned char bytes[BYTES_MAX];
	size_t n;
};

static struct pattern patterns[PATTERNS_MAX];
static size_t n_patterns;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "remembers: %s: %s\n", what, why);
	exit(1);
}

static void take(char *line)
{
	struct pattern *p = &patterns[n_patterns];
	char *hex = strchr(line, ' ');
	size_t n = 0;

	if (hex) {
		*hex++ = '\0';
		n = strspn(hex, "0123456789abcdef");
	}
	if (n_patterns == PATTERNS_MAX || n < 2 || n % 2 != 0 || n / 2 > BYTES_MAX ||
	    (hex[n] != '\n' && hex[n] != '\0') || strlen(line) >= NAME_BYTES) {
		fail(line, "expected a short name, a blank and bytes in hex");
	}
	memcpy(p->name, line, strlen(line) + 1);
	p->n = n / 2;
	for (size_t i = 0; i < p->n; i++) {
		char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

		p->bytes[i] = (unsigned char)strtoul(digits, NULL, HEX);
	}
	n_patterns++;
}

static void take_all(const char *file)
{
	char line[LINE_BYTES];
	FILE *f = fopen(file, "r");

	if (!f) {
		fail(file, strerror(errno));
	}
	while (fgets(line, sizeof(line), f)) {
		take(line);
	}
	fclose(f);
	if (n_patterns == 0) {
		fail(file, "expected lines, found none");
	}
}

static void search(const unsigned char *at, size_t n, uint64_t from, const char *mapping)
{
	for (size_t i = 0; i < n_patterns; i++) {
		const struct pattern *p = &patterns[i];
		const unsigned char *next = at, *found;

		while (next < at + n &&
		       (found = memmem(next, n - (size_t)(next - at), p->bytes, p->n))) {
			printf("%s %llx %s\n", p->name,
			       (unsigned long long)(from + (uint64_t)(found - at)), mapping);
			next = found + 1;
		}
	}
}

/*
 * What the kernel does not give is zeros here: pages of a file behind its end. Returns the bytes
 * that it gave.
 */
static size_t read_mapping(int mem, uint64_t from, size_t n, const char *mapping)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), at = 0, got = 0;
	unsigned char *text = calloc(n, 1);

	if (!text) {
		fail(mapping, "out of memory");
	}
	while (at < n) {
		ssize_t one = pread(mem, text + at, n - at, (off_t)(from + at));

		if (one > 0) {
			got += (size_t)one;
			at += (size_t)one;
		} else if (one < 0 && errno != EIO) {
			fail(mapping, strerror(errno));
		} else {
			at += page - at % page;
		}
	}
	search(text, n, from, mapping);
	free(text);
	return got;
}

/* A line of /proc/PID/maps: "FROM-TO MODE ... NAME". Returns the bytes that were read. */
static size_t look_at(int mem, const char *line)
{
	unsigned long long from = 0, to = 0;
	char name[LINE_BYTES];
	const char *rest = strpbrk(line, "/[");
	char *end = NULL;

	from = strtoull(line, &end, HEX);
	if (*end == '-') {
		to = strtoull(end + 1, &end, HEX);
	}
	if (to <= from || *end != ' ') {
		fail("maps", "expected FROM-TO MODE");
	}
	snprintf(name, sizeof(name), "%.*s", rest ? (int)strcspn(rest, "\n") : 0, rest ? rest : "");
	/* The kernel's own pages have nothing of the process. */
	if (end[1] != 'r' || strncmp(name, "[v", 2) == 0) {
		return 0;
	}
	return read_mapping(mem, from, (size_t)(to - from), name[0] ? name : "anonymous");
}

int main(int argc, char **argv)
{
	char name[NAME_BYTES], line[LINE_BYTES];
	size_t total = 0;
	FILE *maps;
	int mem;

	if (argc != 3) {
		fail("usage", "remembers PID FILE");
	}
	take_all(argv[2]);
	snprintf(name, sizeof(name), "/proc/%.20s/maps", argv[1]);
	maps = fopen(name, "r");
	if (!maps) {
		fail(name, strerror(errno));
	}
	snprintf(name, sizeof(name), "/proc/%.20s/mem", argv[1]);
	mem = open(name, O_RDONLY | O_CLOEXEC);
	if (mem < 0) {
		fail(name, strerror(errno));
	}
	while (fgets(line, sizeof(line), maps)) {
		total += look_at(mem, line);
	}
	fclose(maps);
	close(mem);
	if (total == 0) {
		fail(name, "nothing was read");
	}
	return 0;
}
