/* SPDX-License-Identifier: Apache-2.0 */
/* Strict parser of HTTP/1.1 request heads; see http_parse.h. */
#include "core/net/http_parse.h"

#include <strings.h>

/* One line without its CR LF; a bare CR or LF inside, or a control character, is a syntax error. */
static bool next_line(mk_str *rest, mk_str *ret)
{
	ptrdiff_t lf = str_index(*rest, '\n');

	if (lf < 1 || rest->p[lf - 1] != '\r') {
		return false;
	}
	*ret = str_sub(*rest, 0, (size_t)lf - 1);
	*rest = str_sub(*rest, (size_t)lf + 1, rest->n);
	for (size_t i = 0; i < ret->n; i++) {
		if ((unsigned char)ret->p[i] < ' ' && ret->p[i] != '\t') {
			return false;
		}
	}
	return true;
}

static bool is_visible(mk_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] <= ' ' || s.p[i] >= 0x7f) {
			return false;
		}
	}
	return s.n > 0;
}

static int parse_request_line(mk_str line, struct http_head *h)
{
	mk_str rest = line;
	mk_str target;
	mk_str version;
	ptrdiff_t q;

	if (!str_split(&rest, ' ', &h->method) || !str_split(&rest, ' ', &target) ||
	    !str_split(&rest, ' ', &version) || rest.n > 0) {
		return 400;
	}
	if (!is_visible(h->method) || !is_visible(target) || target.p[0] != '/') {
		return 400;
	}
	if (!str_starts(version, STR("HTTP/1.")) || version.n != 8) {
		return str_starts(version, STR("HTTP/")) ? 505 : 400;
	}
	h->has_chunks = version.p[7] != '0';
	h->keep_alive = h->has_chunks;
	q = str_index(target, '?');
	h->path = q < 0 ? target : str_sub(target, 0, (size_t)q);
	h->query = q < 0 ? (mk_str){NULL, 0} : str_sub(target, (size_t)q + 1, target.n);
	return 0;
}

bool http_name_is(mk_str name, mk_str want)
{
	return name.n == want.n && (want.n == 0 || strncasecmp(name.p, want.p, want.n) == 0);
}

static bool name_is(mk_str name, const char *want)
{
	return http_name_is(name, str_of(want));
}

static int take_header(mk_str name, mk_str value, bool *has_length, struct http_head *h)
{
	uint64_t n = 0;

	if (name_is(name, "content-length")) {
		if (*has_length || !str_u64(value, &n)) {
			return 400;
		}
		*has_length = true;
		h->body_n = n < SIZE_MAX ? (size_t)n : SIZE_MAX;
	} else if (name_is(name, "transfer-encoding")) {
		return 501;
	} else if (name_is(name, "connection")) {
		if (name_is(value, "close")) {
			h->keep_alive = false;
		}
	} else if (name_is(name, "authorization")) {
		if (h->authorization.n > 0) {
			return 400; /* which of them would count? */
		}
		h->authorization = value;
	} else if (name_is(name, "host")) {
		if (h->has_host) {
			return 400; /* which of them would count? */
		}
		h->has_host = true;
		h->host = value;
	} else if (name_is(name, "expect")) {
		h->expects_continue = name_is(value, "100-continue");
	}
	return 0;
}

int http_parse_head(mk_str text, size_t max_body, struct http_head *ret)
{
	struct http_head h = {.body_n = 0};
	mk_str rest = text;
	mk_str line;
	bool has_length = false;
	int status = next_line(&rest, &line) ? parse_request_line(line, &h) : 400;

	h.headers = rest;
	while (status == 0) {
		ptrdiff_t colon;

		if (!next_line(&rest, &line)) {
			return 400;
		}
		if (line.n == 0) {
			break;
		}
		colon = str_index(line, ':');
		if (colon < 1 || !is_visible(str_sub(line, 0, (size_t)colon))) {
			return 400; /* no name, or a continued line */
		}
		status = take_header(str_sub(line, 0, (size_t)colon),
				     str_trim(str_sub(line, (size_t)colon + 1, line.n)),
				     &has_length, &h);
	}
	if (status == 0 && h.body_n > max_body) {
		status = 413;
	}
	if (status == 0) {
		*ret = h;
	}
	return status;
}

bool http_next_header(mk_str *rest, mk_str *ret_name, mk_str *ret_value)
{
	ptrdiff_t colon;
	mk_str line;

	if (!next_line(rest, &line)) {
		return false;
	}
	colon = str_index(line, ':');
	if (colon < 1) {
		return false;
	}
	*ret_name = str_sub(line, 0, (size_t)colon);
	*ret_value = str_trim(str_sub(line, (size_t)colon + 1, line.n));
	return true;
}

const char *http_reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 406:
		return "Not Acceptable";
	case 410:
		return "Gone";
	case 413:
		return "Content Too Large";
	case 431:
		return "Request Header Fields Too Large";
	case 500:
		return "Internal Server Error";
	case 501:
		return "Not Implemented";
	case 503:
		return "Service Unavailable";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Unknown";
	}
}

const char *http_method(mk_str m)
{
	static const char *const known[] = {"GET", "HEAD", "POST"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (str_is(m, known[i])) {
			return known[i];
		}
	}
	return NULL;
}
