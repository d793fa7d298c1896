/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of HTTP requests: what is understood, and what is refused. */
#include "t/lib/tap.h"

#include "core/net/http_parse.h"

static int status_of(const char *head)
{
	struct http_head h;

	return http_parse_head(str_of(head), 1000, &h);
}

static void test_headers(void)
{
	struct http_head h;
	mk_str rest, name, value;
	int n = 0;

	is_int(http_parse_head(STR("GET / HTTP/1.1\r\nX-Remote-User:  jane \r\nx-remote-group:\r\n"
				   "X-Remote-Group: a: b\r\n\r\n"),
			       1000, &h),
	       0, "a head with headers of others");
	for (rest = h.headers; http_next_header(&rest, &name, &value); n++) {
		ok(http_name_is(name, n == 0 ? STR("x-remote-user") : STR("X-REMOTE-GROUP")),
		   "a name, whatever its case");
		ok(str_is(value, n == 0 ? "jane" : n == 1 ? "" : "a: b"), "and its value");
	}
	is_int(n, 3, "in their order, each");
	ok(!http_name_is(STR("X-Remote-User"), STR("X-Remote-Users")), "a longer name is another");
	is_int(http_parse_head(STR("GET / HTTP/1.1\r\n\r\n"), 1000, &h), 0, "a head without any");
	rest = h.headers;
	ok(!http_next_header(&rest, &name, &value), "has none");
	rest = STR("");
	ok(!http_next_header(&rest, &name, &value), "and nothing has none");
}

int main(void)
{
	static const struct {
		const char *head;
		int status;
	} rows[] = {
		{"GET / HTTP/1.1\r\n\r\n", 0},
		{"GET / HTTP/1.0\r\nHost: x\r\n\r\n", 0},
		{"GET /\r\n\r\n", 400},
		{"GET / HTTP/2.0\r\n\r\n", 505},
		{"GET / HTTP/1.10\r\n\r\n", 505},
		{"GET / FTP/1.1\r\n\r\n", 400},
		{"GET  / HTTP/1.1\r\n\r\n", 400},
		{"GET / HTTP/1.1 x\r\n\r\n", 400},
		{"GET http://x/ HTTP/1.1\r\n\r\n", 400},
		{"GET / HTTP/1.1\n\n", 400},
		{"GET / HTTP/1.1\r\nA: b\n\r\n", 400},
		{"GET / HTTP/1.1\r\n a: b\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nA : b\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\n: b\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nA: b\r\n", 400},
		{"GET / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n", 0},
		{"GET / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", 413},
		{"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nAuthorization: a\r\nauthorization: b\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400},
		{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 501},
		{"\r\n\r\n", 400},
		{"", 400},
	};
	struct http_head h = {.body_n = 0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char name[64];

		snprintf(name, sizeof(name), "row %zu", i);
		is_int(status_of(rows[i].head), rows[i].status, name);
	}
	is_int(http_parse_head(STR("POST /a/b?c=d&e HTTP/1.1\r\ncOntent-lEngth:  7 \r\n"
				   "Expect: 100-continue\r\n\r\n"),
			       1000, &h),
	       0, "a whole one");
	ok(str_is(h.method, "POST") && str_is(h.path, "/a/b") && str_is(h.query, "c=d&e"),
	   "method, path, query");
	is_int(h.body_n, 7, "length of the body, name in any case");
	is_int(h.authorization.n, 0, "no authorization");
	ok(h.keep_alive && h.expects_continue, "HTTP/1.1 stays open; continue is expected");
	http_parse_head(STR("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n"), 0, &h);
	ok(!h.keep_alive, "unless the client says close");
	http_parse_head(STR("GET / HTTP/1.0\r\n\r\n"), 0, &h);
	ok(!h.keep_alive, "HTTP/1.0 closes");
	test_headers();
	return done_testing();
}
