/* SPDX-License-Identifier: Apache-2.0 */
/* A test program's TAP output: one line per check, the plan at the end. */
#ifndef MK_T_LIB_TAP_H
#define MK_T_LIB_TAP_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Prints one check's line, and where it stands when it failed. Returns 'pass'. */
bool tap_ok(bool pass, const char *name, const char *file, int line);

/* A check that two numbers are equal; prints both when they are not. */
bool tap_is_int(int64_t got, int64_t want, const char *name, const char *file, int line);

/* A check that two strings are equal; prints both when they are not. NULL equals NULL only. */
bool tap_is_str(const char *got, const char *want, const char *name, const char *file, int line);

/* Prints the plan. Returns the program's exit status: 0 when every check passed. */
int tap_done(void);

/*
 * True under valgrind (make test-valgrind), where a program takes fifty times as long, and what the
 * kernel accepted beyond a lowered limit of descriptors is closed.
 */
bool tap_valgrind(void);

/*
 * True under an emulator of another architecture (make test-arm64), where a program of that
 * architecture cannot start another one, and is not told why a program did not start.
 */
bool tap_emulated(void);

#define ok(pass, name) tap_ok((pass), (name), __FILE__, __LINE__)
#define is_int(got, want, name) \
	tap_is_int((int64_t)(got), (int64_t)(want), (name), __FILE__, __LINE__)
#define is_str(got, want, name) tap_is_str((got), (want), (name), __FILE__, __LINE__)
#define done_testing() tap_done()

#endif
