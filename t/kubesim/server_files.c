/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfigs of simulated clusters. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "t/kubesim/server_priv.h"

static mk_str head(const struct cluster *c, struct arena *a, const char *user)
{
	mk_str ca = base64_encode(a, pki_cert_pem(a, &c->ca));

	return arena_printf(a,
			    "apiVersion: v1\nkind: Config\ncurrent-context: %s\n"
			    "clusters:\n- name: %s\n  cluster:\n    server: https://127.0.0.1:%u\n"
			    "    certificate-authority-data: %.*s\n"
			    "contexts:\n- name: %s\n  context:\n    cluster: %s\n    user: %s\n"
			    "users:\n- name: %s\n  user:\n",
			    c->name, c->name, c->port, STR_ARG(ca), c->name, c->name, user, user);
}

mk_str kubeconfig_text(const struct cluster *c, struct arena *a)
{
	mk_str cert = base64_encode(a, pki_cert_pem(a, &c->admin));
	mk_str key = base64_encode(a, pki_key_pem(a, &c->admin));

	return arena_printf(a, "%s    client-certificate-data: %.*s\n    client-key-data: %.*s\n",
			    head(c, a, "admin").p, STR_ARG(cert), STR_ARG(key));
}

static mk_str token_text(const struct cluster *c, struct arena *a, const char *user,
			 const char *token)
{
	return arena_printf(a, "%s    token: %s\n", head(c, a, user).p, token);
}

static enum mk_code write_file(const char *path, mk_str text, struct mk_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	enum mk_code code = ERR_OK;

	if (fd < 0) {
		return err_set(err, ERR_INVALID, "cannot write %s: %s", path, strerror(errno));
	}
	if (fchmod(fd, 0600) != 0 || write(fd, text.p, text.n) != (ssize_t)text.n) {
		code = err_set(err, ERR_INVALID, "cannot write %s: %s", path, strerror(errno));
	}
	close(fd);
	return code;
}

enum mk_code kubeconfig_write(const struct cluster *c, struct mk_err *err)
{
	const char *dir = c->server->o->dir;
	struct arena a;
	enum mk_code code;
	mk_str path;

	arena_init(&a, 0);
	path = arena_printf(&a, "%s/%s.kubeconfig", dir, c->name);
	code = write_file(path.p, kubeconfig_text(c, &a), err);
	if (code == ERR_OK) {
		path = arena_printf(&a, "%s/%s-token.kubeconfig", dir, c->name);
		code = write_file(path.p, token_text(c, &a, "admin", c->admin_token), err);
	}
	if (code == ERR_OK) {
		path = arena_printf(&a, "%s/%s-viewer.kubeconfig", dir, c->name);
		code = write_file(path.p, token_text(c, &a, "viewer", c->viewer_token), err);
	}
	arena_done(&a);
	return code;
}
