/* SPDX-License-Identifier: Apache-2.0 */
/* The files behind the manager's credentials; what is in them is core/kube's business. See
 * credentials.h. */
#include "core/daemon/credentials.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file_read.h"
#include "core/kube/kubeconfig.h"

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount/"

enum { NAMESPACE_MAX = 4096 };

/* Reads what a kubeconfig names; relative names are relative to the kubeconfig's directory. */
static enum mk_code read_named(void *ctx, struct arena *a, mk_str path, mk_str *ret,
			       struct mk_err *err)
{
	const char *file = ctx;
	const char *slash = strrchr(file, '/');
	int dir_n = slash && path.n > 0 && path.p[0] != '/' ? (int)(slash - file) + 1 : 0;
	mk_str full = arena_printf(a, "%.*s%.*s", dir_n, file, STR_ARG(path));

	if (!full.p) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	return file_read(a, full.p, KUBECONFIG_MAX, ret, err);
}

static enum mk_code from_file(struct arena *a, const char *path, struct endpoint *ret,
			      struct mk_err *err)
{
	size_t size = strlen(path) + 1;
	char *name = arena_alloc(a, size); /* writable, as the callback's context must be */
	mk_str text;
	enum mk_code code;

	if (!name) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	memcpy(name, path, size);
	code = file_read(a, path, KUBECONFIG_MAX, &text, err);
	if (code != ERR_OK) {
		return code;
	}
	code = kubeconfig_parse_file(a, text, read_named, name, ret, err);
	if (code != ERR_OK) {
		err_wrap(err, "kubeconfig %s", path);
	}
	return code;
}

static enum mk_code from_pod(struct arena *a, struct endpoint *ret, struct mk_err *err)
{
	mk_str ca;
	enum mk_code code = file_read(a, ACCOUNT_DIR "ca.crt", KUBECONFIG_MAX, &ca, err);

	if (code == ERR_OK) {
		code = kubeconfig_in_cluster(a, str_of(getenv("KUBERNETES_SERVICE_HOST")),
					     str_of(getenv("KUBERNETES_SERVICE_PORT")), ca,
					     STR(ACCOUNT_DIR "token"), ret, err);
	}
	if (code != ERR_OK) {
		err_wrap(err,
			 "not running in a pod with a service account (give --kubeconfig FILE)");
	}
	return code;
}

enum mk_code credentials_load(struct arena *a, const char *kubeconfig, struct endpoint *ret,
			      struct mk_err *err)
{
	return kubeconfig ? from_file(a, kubeconfig, ret, err) : from_pod(a, ret, err);
}

mk_str credentials_namespace(struct arena *a)
{
	mk_str text = {NULL, 0};

	if (file_read(a, ACCOUNT_DIR "namespace", NAMESPACE_MAX, &text, NULL) != ERR_OK) {
		return (mk_str){NULL, 0};
	}
	return str_trim(text);
}
