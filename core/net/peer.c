/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoint copies, checks and tokens; see peer.h. */
#include "core/net/peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/net/address.h"

static bool is_ipv6(const char *s)
{
	struct in6_addr a;

	return inet_pton(AF_INET6, s, &a) == 1;
}

static bool is_ip(const char *s)
{
	struct in_addr a;

	return inet_pton(AF_INET, s, &a) == 1 || is_ipv6(s);
}

/* Letters, digits, dots, hyphens and underscores: nothing that could change the meaning of a URL.
 */
static bool is_dns_name(mk_str s)
{
	if (s.n == 0 || s.n > 253 || s.p[0] == '.' || s.p[0] == '-') {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '.' || c == '-' || c == '_')) {
			return false;
		}
	}
	return true;
}

static bool is_visible(mk_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] <= ' ' || s.p[i] == 0x7f) {
			return false;
		}
	}
	return true;
}

static bool is_base_path(mk_str s)
{
	return s.n == 0 || (s.p[0] == '/' && s.p[s.n - 1] != '/' && is_visible(s) &&
			    str_index(s, '?') < 0 && str_index(s, '#') < 0);
}

static enum mk_code check(const struct endpoint *e, struct tls_creds **ret, struct mk_err *err)
{
	struct mk_err why = {.code = ERR_OK};
	char host[256];

	for (int i = 0; i < 2; i++) {
		mk_str s = i == 0 ? e->host : e->tls_server_name;

		if (i == 1 && s.n == 0) {
			continue;
		}
		snprintf(host, sizeof(host), "%.*s", STR_ARG(s));
		if (!is_dns_name(s) && !(s.n < sizeof(host) && is_ip(host))) {
			return err_set(err, ERR_INVALID, "%s must be a DNS name or an IP address",
				       i == 0 ? "server" : "tls-server-name");
		}
	}
	if (e->port == 0) {
		return err_set(err, ERR_INVALID, "server port must not be 0");
	}
	if (!is_base_path(e->base_path)) {
		return err_set(err, ERR_INVALID,
			       "server path must start with / and contain no blanks, ? or #");
	}
	if (!is_visible(e->token) || e->token.n > PEER_TOKEN_MAX) {
		return err_set(err, ERR_INVALID,
			       "token must be at most 64 KiB of visible characters");
	}
	*ret = tls_creds_new(e->ca_pem, e->cert_pem, e->key_pem, &why);
	return *ret ? ERR_OK : err_set(err, why.code, "%s", why.msg);
}

/* {NULL} for "", else a copy in *ret; false when out of memory. */
static bool copy(mk_str s, char **ret, size_t *ret_size)
{
	if (ret_size) {
		*ret_size = s.n;
	}
	if (s.n == 0) {
		return true;
	}
	*ret = mk_strndup(s);
	return *ret != NULL;
}

static bool make_url(struct peer *p, const struct endpoint *e, const char *name)
{
	struct buf b;
	bool six = is_ipv6(name);

	buf_init(&b, 8192);
	buf_printf(&b, "https://%s%s%s:%u%.*s", six ? "[" : "", name, six ? "]" : "",
		   (unsigned)e->port, STR_ARG(e->base_path));
	if (!b.failed) {
		p->url = mk_strndup(buf_str(&b));
	}
	buf_done(&b);
	return p->url != NULL;
}

/* The URL has the name to verify; the address to connect to is set separately. */
static bool make_override(struct peer *p, const char *name)
{
	char entry[600];
	const char *open = is_ipv6(p->host) ? "[" : "";
	const char *close = open[0] ? "]" : "";
	unsigned port = p->port;

	if (strcmp(name, p->host) == 0) {
		return true;
	}
	if (is_ip(p->host) && !is_ipv6(name)) {
		snprintf(entry, sizeof(entry), "%s:%u:%s%s%s", name, port, open, p->host, close);
		p->resolve = curl_slist_append(NULL, entry);
		return p->resolve != NULL;
	}
	/* libcurl wants IPv6 addresses in brackets in this list only. */
	snprintf(entry, sizeof(entry), "%s%s%s:%u:%s%s%s:%u", is_ipv6(name) ? "[" : "", name,
		 is_ipv6(name) ? "]" : "", port, open, p->host, close, port);
	p->connect = curl_slist_append(NULL, entry);
	return p->connect != NULL;
}

static bool fill(struct peer *p, const struct endpoint *e)
{
	char *name = NULL;
	bool done;

	p->port = e->port;
	p->allow_loopback = e->allow_loopback;
	p->allow_link_local = e->allow_link_local;
	if (!copy(e->host, &p->host, NULL) || !copy(e->ca_pem, &p->ca, &p->ca_size) ||
	    !copy(e->cert_pem, &p->cert, &p->cert_size) ||
	    !copy(e->key_pem, &p->key, &p->key_size) || !copy(e->token, &p->token, NULL) ||
	    !copy(e->token_file, &p->token_file, NULL) ||
	    !copy(e->tls_server_name.n ? e->tls_server_name : e->host, &name, NULL)) {
		mk_free(name);
		return false;
	}
	p->is_name = !is_ip(p->host) && strcasecmp(p->host, "localhost") != 0;
	done = make_url(p, e, name) && make_override(p, name);
	mk_free(name);
	return done;
}

struct peer *peer_new(const struct endpoint *e, struct tls_creds **ret_creds, struct mk_err *err)
{
	struct tls_creds *creds = NULL;
	struct peer *p;

	if (check(e, &creds, err) != ERR_OK) {
		return NULL;
	}
	p = mk_calloc(1, sizeof(*p));
	if (!p || !fill(p, e)) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		tls_creds_free(creds);
		peer_free(p);
		return NULL;
	}
	if (ret_creds) {
		*ret_creds = creds;
	} else {
		tls_creds_free(creds);
	}
	p->token_read_ms = INT64_MIN / 2;
	p->token_generation = 1;
	return p;
}

static void wipe(char *s)
{
	if (s) {
		explicit_bzero(s, strlen(s));
		mk_free(s);
	}
}

void peer_free(struct peer *p)
{
	if (!p) {
		return;
	}
	mk_free(p->host);
	mk_free(p->url);
	curl_slist_free_all(p->resolve);
	curl_slist_free_all(p->connect);
	mk_free(p->ca);
	mk_free(p->cert);
	wipe(p->key);
	wipe(p->token);
	mk_free(p->token_file);
	mk_free(p);
}

/* The trimmed content of the file, or NULL. */
static char *read_token(const char *path)
{
	char *text = mk_malloc(PEER_TOKEN_MAX + 1);
	char *token = NULL;
	size_t n = 0;
	int fd;

	if (!text) {
		return NULL;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	while (fd >= 0 && n <= PEER_TOKEN_MAX) {
		ssize_t got = read(fd, text + n, PEER_TOKEN_MAX + 1 - n);

		if (got <= 0) {
			break;
		}
		n += (size_t)got;
	}
	if (fd >= 0) {
		close(fd);
	}
	if (n <= PEER_TOKEN_MAX) {
		mk_str s = str_trim((mk_str){text, n});

		if (s.n > 0 && is_visible(s)) {
			token = mk_strndup(s);
		}
	}
	explicit_bzero(text, PEER_TOKEN_MAX + 1);
	mk_free(text);
	return token;
}

bool peer_refresh_token(struct peer *p, int64_t mono_ms, bool force)
{
	char *token;

	if (!p->token_file || (!force && mono_ms - p->token_read_ms < PEER_TOKEN_REREAD_MS)) {
		return false;
	}
	p->token_read_ms = mono_ms;
	token = read_token(p->token_file);
	if (!token) {
		return false;
	}
	if (p->token && strcmp(p->token, token) == 0) {
		wipe(token);
		return false;
	}
	wipe(p->token);
	p->token = token;
	p->token_generation++;
	return true;
}

enum mk_code peer_renew(struct peer *p, const struct endpoint *e, struct mk_err *err)
{
	struct peer fresh = {.port = 0};
	struct tls_creds *creds = NULL;
	enum mk_code code = check(e, &creds, err);

	tls_creds_free(creds);
	if (code != ERR_OK) {
		return code;
	}
	if (!copy(e->cert_pem, &fresh.cert, &fresh.cert_size) ||
	    !copy(e->key_pem, &fresh.key, &fresh.key_size) || !copy(e->token, &fresh.token, NULL)) {
		mk_free(fresh.cert);
		wipe(fresh.key);
		wipe(fresh.token);
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	mk_free(p->cert);
	wipe(p->key);
	wipe(p->token);
	p->cert = fresh.cert;
	p->cert_size = fresh.cert_size;
	p->key = fresh.key;
	p->key_size = fresh.key_size;
	p->token = fresh.token;
	p->token_generation++;
	return ERR_OK;
}

const char *peer_refuses(const struct peer *p, const struct sockaddr *sa, size_t len)
{
	return address_refusal(sa, len, p->allow_loopback, p->allow_link_local);
}

struct endpoint peer_endpoint(const struct peer *p)
{
	return (struct endpoint){
		.host = str_of(p->host),
		.port = p->port,
		.ca_pem = {p->ca, p->ca_size},
		.cert_pem = {p->cert, p->cert_size},
		.key_pem = {p->key, p->key_size},
		.token = str_of(p->token),
		.token_file = str_of(p->token_file),
		.allow_loopback = p->allow_loopback,
		.allow_link_local = p->allow_link_local,
	};
}
