/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: kubeconfigs, a worker's by the strict rules and the manager's own.
 * What is taken is wiped afterwards.
 */
#include <string.h>

#include "core/kube/kubeconfig.h"
#include "t/fuzz/fuzz.h"

static enum mk_code read_file(void *ctx, struct arena *a, mk_str path, mk_str *ret,
			      struct mk_err *err)
{
	(void)ctx;
	if (path.n % 2 == 0) {
		return err_set(err, ERR_NOT_FOUND, "no such file");
	}
	*ret = arena_dup(a, path);
	return ERR_OK;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	const struct kubeconfig_options o = {.allow_loopback = size % 2 == 0};
	mk_str text = {(const char *)data, size};
	struct endpoint e;
	struct mk_err err;
	struct arena a;

	arena_init(&a, 0);
	memset(&e, 0, sizeof(e));
	if (size < 65536 && kubeconfig_parse(&a, text, &o, &e, &err) == ERR_OK) {
		FUZZ_MUST(e.host.n > 0 && e.port > 0);
		kubeconfig_wipe(&e);
	}
	memset(&e, 0, sizeof(e));
	if (size < 65536 && kubeconfig_parse_file(&a, text, read_file, NULL, &e, &err) == ERR_OK) {
		FUZZ_MUST(e.host.n > 0 && e.port > 0);
		kubeconfig_wipe(&e);
	}
	arena_done(&a);
	return 0;
}
