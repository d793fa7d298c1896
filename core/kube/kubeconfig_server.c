/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server field: cut up as Go's net/url does it, judged as Kueue judges the host, and then held
 * to our own rules (https, nothing beside host, port and path, no loopback or link-local target
 * unless allowed).
 */
#include <arpa/inet.h>

#include "core/kube/kubeconfig_impl.h"

enum { HOST_MAX = 253, SERVER_MAX = 2048 };

struct url_parts {
	mk_str scheme, host, path;   /* host with port and brackets */
	bool has_userinfo, has_more; /* more: query or fragment */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z');
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* "scheme:" in front, or nothing. */
static mk_str cut_scheme(mk_str *rest)
{
	for (size_t i = 0; i < rest->n; i++) {
		char c = rest->p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (c == ':' && i > 0) {
			mk_str scheme = str_sub(*rest, 0, i);

			*rest = str_sub(*rest, i + 1, rest->n);
			return scheme;
		}
		if (!letter && (i == 0 || !(is_digit(c) || c == '+' || c == '-' || c == '.'))) {
			break;
		}
	}
	return (mk_str){NULL, 0};
}

static bool escapes_are_valid(mk_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '%' && (i + 2 >= s.n || !is_hex(s.p[i + 1]) || !is_hex(s.p[i + 2]))) {
			return false;
		}
	}
	return true;
}

static size_t find_any(mk_str s, const char *chars)
{
	size_t i = 0;

	while (i < s.n && !strchr(chars, s.p[i])) {
		i++;
	}
	return i;
}

/* False: no URL with an authority. */
static bool cut_url(mk_str url, struct url_parts *ret)
{
	struct url_parts u = {.has_more = false};
	mk_str rest = url;
	size_t end = 0;

	for (size_t i = 0; i < url.n; i++) {
		if ((unsigned char)url.p[i] < 0x20 || url.p[i] == 0x7f) {
			return false;
		}
	}
	u.scheme = cut_scheme(&rest);
	if (!str_starts(rest, STR("//"))) {
		return false;
	}
	rest = str_sub(rest, 2, rest.n);
	end = find_any(rest, "/?#");
	u.host = str_sub(rest, 0, end);
	rest = str_sub(rest, end, rest.n);
	for (size_t i = u.host.n; i > 0; i--) {
		if (u.host.p[i - 1] == '@') {
			u.has_userinfo = true;
			u.host = str_sub(u.host, i, u.host.n);
			break;
		}
	}
	end = find_any(rest, "?#");
	u.path = str_sub(rest, 0, end);
	u.has_more = end < rest.n;
	if (!escapes_are_valid(u.path)) {
		return false;
	}
	*ret = u;
	return true;
}

/* RFC 1123 subdomain, without a limit on labels: 'lower' is lower case. */
static bool is_subdomain(mk_str lower)
{
	if (lower.n == 0 || lower.n > HOST_MAX) {
		return false;
	}
	for (size_t i = 0; i < lower.n; i++) {
		bool edge = i == 0 || i + 1 == lower.n || lower.p[i - 1] == '.' ||
			    lower.p[i + 1] == '.';

		if (lower.p[i] == '.' ? edge
				      : !is_alnum(lower.p[i]) && (edge || lower.p[i] != '-')) {
			return false;
		}
	}
	return true;
}

static bool is_ipv6(mk_str s)
{
	char text[INET6_ADDRSTRLEN + 1] = {0};
	struct in6_addr addr;

	if (s.n == 0 || s.n >= sizeof(text)) {
		return false;
	}
	memcpy(text, s.p, s.n);
	return inet_pton(AF_INET6, text, &addr) == 1;
}

/* Host and port text from an authority. False: Kueue would refuse it as untrusted. */
static bool cut_host(mk_str authority, mk_str *ret_host, mk_str *ret_port)
{
	ptrdiff_t close = str_index(authority, ']');
	ptrdiff_t colon = str_index(authority, ':');
	mk_str host = authority;
	mk_str port = {NULL, 0};

	if (authority.n > 0 && authority.p[0] == '[') {
		if (close < 0 || (size_t)close + 1 >= authority.n ||
		    authority.p[close + 1] != ':') {
			return false; /* Kueue accepts a bracketed host only with a port */
		}
		host = str_sub(authority, 1, (size_t)close - 1);
		port = str_sub(authority, (size_t)close + 2, authority.n);
		if (!is_ipv6(host)) {
			return false;
		}
	} else if (colon >= 0) {
		host = str_sub(authority, 0, (size_t)colon);
		port = str_sub(authority, (size_t)colon + 1, authority.n);
	}
	for (size_t i = 0; i < port.n; i++) {
		if (!is_digit(port.p[i])) {
			return false;
		}
	}
	*ret_host = host;
	*ret_port = port;
	return authority.p != NULL && authority.n > 0 && authority.p[0] == '[' ? true
									       : is_subdomain(host);
}

static bool is_plain_path(mk_str path)
{
	for (size_t i = 0; i < path.n; i++) {
		unsigned char c = (unsigned char)path.p[i];

		if (c <= ' ' || c >= 0x7f || strchr("\"<>\\^`{|}", c) != NULL) {
			return false;
		}
	}
	return true;
}

static mk_str lowered(struct arena *a, mk_str s)
{
	mk_str out = {NULL, 0};
	char *p = arena_alloc(a, s.n + 1);

	if (!p) {
		return out;
	}
	for (size_t i = 0; i < s.n; i++) {
		p[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] - 'A' + 'a') : s.p[i];
	}
	return (mk_str){p, s.n};
}

static enum mk_code strict(const struct url_parts *u, mk_str scheme, mk_str port,
			   struct endpoint *ret, struct mk_err *err)
{
	uint64_t number = 443;
	mk_str path = u->path;

	if (!str_is(scheme, "https")) {
		return err_set(err, ERR_INVALID,
			       "server URL scheme \"%.*s\" is not allowed, use https",
			       STR_ARG(str_cut(scheme, 32)));
	}
	if (u->has_userinfo || u->has_more) {
		return err_set(err, ERR_INVALID,
			       "user info, query and fragment are not allowed in a server URL");
	}
	if (port.n > 0 && (!str_u64(port, &number) || number == 0 || number > UINT16_MAX)) {
		return err_set(err, ERR_INVALID, "server port %.*s is out of range",
			       STR_ARG(str_cut(port, 32)));
	}
	while (path.n > 0 && path.p[path.n - 1] == '/') {
		path.n--;
	}
	if (!is_plain_path(path)) {
		return err_set(err, ERR_INVALID,
			       "the path of the server URL has characters that must be escaped");
	}
	ret->port = (uint16_t)number;
	ret->base_path = path;
	return ERR_OK;
}

enum mk_code kubeconfig_server(struct arena *a, mk_str url, struct endpoint *ret,
			       struct mk_err *err)
{
	struct url_parts u = {.has_more = false};
	struct endpoint e = *ret;
	mk_str host = {NULL, 0};
	mk_str port = {NULL, 0};
	mk_str authority;
	enum mk_code code = ERR_OK;

	if (url.n > SERVER_MAX || !cut_url(url, &u)) {
		return err_set(err, ERR_INVALID, "untrusted server endpoint");
	}
	authority = lowered(a, u.host);
	u.scheme = lowered(a, u.scheme);
	e.base_path = arena_dup(a, u.path);
	if (arena_failed(a)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (!cut_host(authority, &host, &port)) {
		return err_set(err, ERR_INVALID, "untrusted server endpoint");
	}
	u.path = e.base_path;
	e.host = host;
	code = strict(&u, u.scheme, port, &e, err);
	if (code == ERR_OK) {
		*ret = e;
	}
	return code;
}

/* --- where it points ------------------------------------------------------------------------- */

static void judge_v4(const uint8_t *b, bool *loopback, bool *link_local)
{
	*loopback = b[0] == 127 || b[0] == 0;
	*link_local = b[0] == 169 && b[1] == 254;
}

static void judge(mk_str host, bool *loopback, bool *link_local)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	static const uint8_t zero[15] = {0};
	char text[INET6_ADDRSTRLEN + 1] = {0};
	uint8_t b[16] = {0};

	*loopback = str_is(host, "localhost") || str_ends(host, STR(".localhost"));
	if (host.n == 0 || host.n >= sizeof(text)) {
		return;
	}
	memcpy(text, host.p, host.n);
	if (inet_pton(AF_INET, text, b) == 1) {
		judge_v4(b, loopback, link_local);
	} else if (inet_pton(AF_INET6, text, b) == 1) {
		if (memcmp(b, mapped, sizeof(mapped)) == 0) {
			judge_v4(b + sizeof(mapped), loopback, link_local);
			return;
		}
		*loopback = memcmp(b, zero, sizeof(zero)) == 0 && b[15] <= 1;
		*link_local = b[0] == 0xfe && (b[1] & 0xc0) == 0x80;
	}
}

enum mk_code kubeconfig_check_host(mk_str host, const struct kubeconfig_options *o,
				   struct mk_err *err)
{
	bool loopback = false;
	bool link_local = false;

	judge(host, &loopback, &link_local);
	if (loopback && !o->allow_loopback) {
		return err_set(err, ERR_INVALID,
			       "server \"%.*s\" is a loopback address, which "
			       "multiKueue.network.allowLoopback does not allow",
			       STR_ARG(host));
	}
	if (link_local && !o->allow_link_local) {
		return err_set(err, ERR_INVALID,
			       "server \"%.*s\" is a link-local address, which "
			       "multiKueue.network.allowLinkLocal does not allow",
			       STR_ARG(host));
	}
	return ERR_OK;
}
