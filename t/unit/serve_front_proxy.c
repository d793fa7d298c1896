/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom the front proxy forwards a request for: the ConfigMap that says whom to believe, also while
 * it changes, and hostile headers.
 */
#include "t/lib/tap.h"

#include "core/base/clock.h"
#include "core/serve/front_proxy.h"
#include "t/lib/net_client_cert.h"

enum { HOUR_MS = 3600 * 1000 };

static struct arena arena;
static struct front_proxy f;

static struct json *config_map(const char *ca, const char *users, const char *rest)
{
	struct json *o = json_new_obj(&arena), *data = NULL;
	mk_str text = arena_printf(&arena, "{%s}", rest);

	if (json_parse(&arena, text, &data, NULL) != ERR_OK) {
		ok(false, rest);
	}
	if (ca) {
		json_set_str(&arena, data, "requestheader-client-ca-file", str_of(ca));
	}
	if (users) {
		json_set_str(&arena, data, "requestheader-username-headers", str_of(users));
	}
	json_set(&arena, o, STR("data"), data);
	return o;
}

#define LISTS                                                               \
	"\"requestheader-allowed-names\":\"[\\\"front-proxy-client\\\"]\"," \
	"\"requestheader-group-headers\":\"[\\\"X-Remote-Group\\\"]\","     \
	"\"requestheader-uid-headers\":\"[\\\"X-Remote-Uid\\\"]\","         \
	"\"requestheader-extra-headers-prefix\":\"[\\\"X-Remote-Extra-\\\"]\""

static void test_config_map(const char *ca)
{
	static const char users[] = "[\"X-Remote-User\"]";
	const struct {
		const char *ca, *users, *rest, *why;
	} rows[] = {
		{NULL, users, "",
		 "no requestheader-client-ca-file: the API servers run without an aggregation "
		 "layer (--requestheader-client-ca-file)"},
		{ca, NULL, "", "no requestheader-username-headers"},
		{ca, "[]", "", "no requestheader-username-headers"},
		{ca, "X-Remote-User", "",
		 "requestheader-username-headers: expected a JSON array of strings"},
		{ca, "[\"X-Remote-User\",7]", "",
		 "requestheader-username-headers: expected a JSON array of strings, found an "
		 "element that is none, or empty"},
		{ca, users, "\"requestheader-group-headers\":\"{}\"",
		 "requestheader-group-headers: expected a JSON array of strings"},
		{"rubbish", users, "",
		 "requestheader-client-ca-file: expected 1 to 64 certificates in PEM, found none"},
	};
	const struct http_request rq = {.method = "GET",
					.headers = STR("X-Remote-User: a\r\n\r\n")};
	struct json *user = NULL;
	struct mk_err err;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_int(front_proxy_set(&f, config_map(ca, users, LISTS), &err), ERR_OK,
		       "a good one");
		is_int(front_proxy_set(&f, config_map(rows[i].ca, rows[i].users, rows[i].rest),
				       &err),
		       ERR_INVALID, "a bad one");
		is_str(err.msg, rows[i].why, "... is told");
		is_int(front_proxy_user(&f, &rq, clock_wall_ms(), &arena, &user, &err), ERR_DENIED,
		       "... and no client is believed any more");
	}
	is_int(front_proxy_set(&f, NULL, &err), ERR_INVALID, "none at all");
	is_int(front_proxy_set(&f, config_map(ca, users, LISTS), &err), ERR_OK, "a good one again");
	is_int(front_proxy_user(&f, &rq, clock_wall_ms(), &arena, &user, &err), ERR_DENIED,
	       "headers without a certificate say nothing");
	is_str(err.msg, "the client has shown no certificate", "... and that is the reason");
}

#define END "\r\n"

static void test_headers(void)
{
	static const struct {
		const char *headers, *user, *why;
	} rows[] = {
		{"X-Remote-User: jane\r\n" END, "{\"username\":\"jane\",\"groups\":[]}", NULL},
		{"x-remote-USER: jane\r\nX-REMOTE-GROUP: a\r\nx-remote-group: b\r\n" END,
		 "{\"username\":\"jane\",\"groups\":[\"a\",\"b\"]}", NULL},
		{"X-Remote-User: jane\r\nX-Remote-Uid: 7\r\nX-Remote-Extra-Scopes: x\r\n"
		 "X-Remote-Extra-scopes: y\r\n" END,
		 "{\"username\":\"jane\",\"uid\":\"7\",\"groups\":[],\"extra\":{\"scopes\":[\"x\","
		 "\"y\"]}}",
		 NULL},
		{"X-Remote-User: jane\r\nX-Remote-Extra-Example.org%2fKey: v\r\n" END,
		 "{\"username\":\"jane\",\"groups\":[],\"extra\":{\"example.org/key\":[\"v\"]}}",
		 NULL},
		{"X-Remote-User: jane\r\nX-Remote-Extra-%41b: v\r\n" END,
		 "{\"username\":\"jane\",\"groups\":[],\"extra\":{\"Ab\":[\"v\"]}}", NULL},
		{"X-Remote-User: j\xc3\xbcrgen\r\nX-Remote-Group:\r\n" END,
		 "{\"username\":\"j\xc3\xbcrgen\",\"groups\":[]}", NULL},
		{"X-Remote-Users: jane\r\n" END, NULL,
		 "expected a user in header X-Remote-User, found none"},
		{"X-Remote-User:\r\n" END, NULL,
		 "expected a user in header X-Remote-User, found none"},
		{END, NULL, "expected a user in header X-Remote-User, found none"},
		{"X-Remote-User: jane\r\nx-remote-user: admin\r\n" END, NULL,
		 "header x-remote-user: expected once, found several times"},
		{"X-Remote-User: jane\r\nX-Remote-Uid: 1\r\nX-Remote-Uid: 2\r\n" END, NULL,
		 "header X-Remote-Uid: expected once, found several times"},
		{"X-Remote-User: j\xff\r\n" END, NULL, "header X-Remote-User: expected UTF-8"},
		{"X-Remote-User: jane\r\nX-Remote-Group: \xff\r\n" END, NULL,
		 "header X-Remote-Group: expected UTF-8"},
		{"X-Remote-User: jane\r\nX-Remote-Extra-a: \xff\r\n" END, NULL,
		 "header X-Remote-Extra-a: expected UTF-8"},
		{"X-Remote-User: jane\r\nX-Remote-Extra-%4: v\r\n" END, NULL,
		 "header X-Remote-Extra-%4: expected a key in URL encoding"},
		{"X-Remote-User: jane\r\nX-Remote-Extra-%zz: v\r\n" END, NULL,
		 "header X-Remote-Extra-%zz: expected a key in URL encoding"},
		{"X-Remote-User: jane\r\nX-Remote-Extra-%ff: v\r\n" END, NULL,
		 "header X-Remote-Extra-%ff: expected a key in URL encoding"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json *user = NULL;
		struct mk_err err = {.code = ERR_OK, .msg = ""};
		enum mk_code code =
			front_proxy_headers(&f, str_of(rows[i].headers), &arena, &user, &err);

		is_int(code, rows[i].why ? ERR_DENIED : ERR_OK, "headers");
		if (rows[i].why) {
			is_str(err.msg, rows[i].why, "... are refused");
		} else {
			is_str(json_write(&arena, user).p, rows[i].user, "... name a user");
		}
	}
}

/* A user of a header that the ConfigMap names second counts when the first says nothing. */
static void test_several_names(const char *ca)
{
	struct json *user = NULL;
	struct mk_err err;

	is_int(front_proxy_set(&f, config_map(ca, "[\"X-User\",\"X-Remote-User\"]", ""), &err),
	       ERR_OK, "two headers of users, and none of groups");
	is_int(front_proxy_headers(&f, STR("X-Remote-User: b\r\nX-Remote-Group: c\r\n\r\n"), &arena,
				   &user, &err),
	       ERR_OK, "the second has one");
	is_str(json_write(&arena, user).p, "{\"username\":\"b\",\"groups\":[]}",
	       "and a header that is not named says nothing");
	is_int(front_proxy_headers(&f, STR("X-Remote-User: b\r\nX-User: a\r\n\r\n"), &arena, &user,
				   &err),
	       ERR_OK, "both have one");
	is_str(json_write(&arena, user).p, "{\"username\":\"a\",\"groups\":[]}",
	       "the first in the ConfigMap's order counts");
}

/* Who 'session' speaks for now, "" when it is not believed. */
static const char *believed(const struct client_session *session)
{
	const struct http_request rq = {.method = "GET",
					.headers = STR("X-Remote-User: jane\r\n\r\n"),
					.tls = session->server};
	struct json *user = NULL;

	return front_proxy_user(&f, &rq, clock_wall_ms(), &arena, &user, NULL) == ERR_OK
		       ? json_str(json_get(user, "username")).p
		       : "";
}

/*
 * The front proxy's authority is replaced, in stages, while connections stand. Each request is
 * judged by what the ConfigMap says then.
 */
static void test_rotation(const struct tls_pair *former, const struct tls_pair *next)
{
	static const char users[] = "[\"X-Remote-User\"]", other[] = "a-client";
	const struct client_cert certs[] = {
		{"front-proxy-client", "clientAuth", former, -HOUR_MS, HOUR_MS, 0},
		{"front-proxy-client", "clientAuth", next, -HOUR_MS, HOUR_MS, 0},
		{other, "clientAuth", next, -HOUR_MS, HOUR_MS, 0}};
	const char *both = arena_printf(&arena, "%s%s", former->cert.p, next->cert.p).p;
	const mk_str names[] = {STR("localhost")};
	struct tls_serve *t = tls_serve_new(&(struct tls_serve_options){.asks_client = true}, NULL);
	struct client_session s[3];
	struct tls_pair leaf;

	tls_issue_server(&arena, former, names, 1, clock_wall_ms(), HOUR_MS, &leaf, NULL);
	is_int(tls_serve_set(t, leaf.cert, leaf.key, NULL), ERR_OK, "a server");
	for (size_t i = 0; i < 3; i++) {
		client_session_begin(&s[i], t, &certs[i]);
	}
	front_proxy_set(&f, config_map(former->cert.p, users, LISTS), NULL);
	is_str(believed(&s[0]), "jane", "the front proxy is believed");
	is_str(believed(&s[1]), "", "... with a certificate of another authority it is not");
	front_proxy_set(&f, config_map(both, users, LISTS), NULL);
	is_str(believed(&s[0]), "jane", "two authorities: a certificate of the former one counts");
	is_str(believed(&s[1]), "jane", "... and one of the next, on a connection of before");
	is_str(believed(&s[2]), "", "... for the front proxy's name only");
	front_proxy_set(&f, config_map(next->cert.p, users, LISTS), NULL);
	is_str(believed(&s[0]), "", "the former authority is gone: its certificates do not count");
	is_str(believed(&s[1]), "jane", "... those of the next do");
	front_proxy_set(&f, config_map("rubbish", users, LISTS), NULL);
	is_str(believed(&s[1]), "", "an authority that cannot be read: no client is believed");
	for (size_t i = 0; i < 3; i++) {
		ok(s[i].shaken, "the connection stands");
		client_session_end(&s[i]);
	}
	tls_serve_free(t);
}

int main(void)
{
	struct tls_pair ca, next;

	arena_init(&arena, 0);
	tls_issue_ca(&arena, "front-proxy-ca", clock_wall_ms(), HOUR_MS, &ca, NULL);
	tls_issue_ca(&arena, "front-proxy-ca", clock_wall_ms(), HOUR_MS, &next, NULL);
	test_config_map(ca.cert.p);
	test_headers();
	test_several_names(ca.cert.p);
	test_rotation(&ca, &next);
	front_proxy_clear(&f);
	arena_done(&arena);
	return done_testing();
}
