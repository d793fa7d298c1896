/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program under a seccomp filter, as a container runtime does, and asks what a filter
 * refuses. t/package/seccomp.t compiles it and makes the rules of conf/deploy/seccomp.json.
 *
 *     confine RULES PROGRAM ARGUMENTS...
 *     confine RULES --probe "NUMBER [ARGUMENT]"...
 *
 * RULES is a file of numbers. The first line is what is answered when no rule applies; the others
 * are rules: NUMBER ANSWER, and then any number of INDEX MASK VALUE, which say that the argument of
 * that index has this value below the mask. ANSWER is 0 (allowed) or the number of an error. With
 * --probe each call is made by a process of its own, and a line says its number and what came back:
 * 0 or the number of an error.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#else
#error "no number of this machine for seccomp"
#endif

/* A rule loads the number once and has at most six conditions of four steps each. */
enum { STEPS_MAX = BPF_MAXINSNS, ARGS_MAX = 6, LINE_MAX_BYTES = 512 };

static struct sock_filter steps[STEPS_MAX];
static unsigned short n_steps;

static void fail(const char *what)
{
	fprintf(stderr, "confine: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void step(uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false)
{
	if (n_steps == STEPS_MAX) {
		errno = E2BIG;
		fail("rules");
	}
	steps[n_steps++] = (struct sock_filter){code, if_true, if_false, k};
}

static void load(size_t offset)
{
	step(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static uint32_t answer(unsigned long long code)
{
	return code == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)code;
}

/* What is compared is half of an argument; the lower half comes first on these machines. */
static void half(unsigned long index, size_t offset, uint64_t mask, uint64_t value, uint8_t left)
{
	load(offsetof(struct seccomp_data, args) + index * 8 + offset);
	step(BPF_ALU | BPF_AND | BPF_K, (uint32_t)mask, 0, 0);
	step(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)value, 0, left);
}

static void rule(const unsigned long long *v, size_t n)
{
	size_t conditions = (n - 2) / 3;
	uint8_t left = (uint8_t)(conditions * 6 + 1); /* steps of this rule that follow */

	load(offsetof(struct seccomp_data, nr));
	step(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)v[0], 0, left);
	for (size_t i = 0; i < conditions; i++) {
		const unsigned long long *c = v + 2 + i * 3;

		left = (uint8_t)(left - 3);
		half(c[0], 0, c[1], c[2], left);
		left = (uint8_t)(left - 3);
		half(c[0], 4, c[1] >> 32, c[2] >> 32, left);
	}
	step(BPF_RET | BPF_K, answer(v[1]), 0, 0);
}

static size_t numbers(char *line, unsigned long long *ret, size_t most)
{
	size_t n = 0;
	char *end = line;

	for (char *at = line; n < most; at = end) {
		ret[n] = strtoull(at, &end, 10);
		if (end == at) {
			break;
		}
		n++;
	}
	return n;
}

static void read_rules(const char *file)
{
	unsigned long long v[2 + ARGS_MAX * 3], otherwise = EPERM;
	char line[LINE_MAX_BYTES];
	FILE *f = fopen(file, "r");

	if (!f || !fgets(line, sizeof(line), f) || numbers(line, &otherwise, 1) != 1) {
		fail(file);
	}
	/* Calls of other machines, and on x86-64 those of x32, have other numbers. */
	load(offsetof(struct seccomp_data, arch));
	step(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
	step(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
	while (fgets(line, sizeof(line), f)) {
		size_t n = numbers(line, v, sizeof(v) / sizeof(v[0]));

		if (n < 2 || (n - 2) % 3 != 0) {
			errno = EINVAL;
			fail(line);
		}
		rule(v, n);
	}
	fclose(f);
	step(BPF_RET | BPF_K, answer(otherwise), 0, 0);
}

static void confine(void)
{
	struct sock_fprog program = {.len = n_steps, .filter = steps};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
		fail("seccomp");
	}
}

static void probe(char *text)
{
	unsigned long long v[2] = {0, 0};
	int status = 0;
	pid_t child = numbers(text, v, 2) > 0 ? fork() : -1;

	if (child < 0) {
		fail("probe");
	}
	if (child == 0) {
		confine();
		_exit(syscall((long)v[0], (long)v[1], 0L, 0L, 0L, 0L, 0L) < 0 ? errno : 0);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
		errno = ECHILD;
		fail(text);
	}
	printf("%llu %d\n", v[0], WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: confine RULES PROGRAM ARGUMENTS... | --probe CALL...\n");
		return 125;
	}
	read_rules(argv[1]);
	if (strcmp(argv[2], "--probe") == 0) {
		for (int i = 3; i < argc; i++) {
			probe(argv[i]);
		}
		return 0;
	}
	confine();
	execvp(argv[2], argv + 2);
	fail(argv[2]);
}
