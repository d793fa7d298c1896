/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of clients: which count, whose they are, and what the handshake takes. */
#include "t/lib/tap.h"

#include "core/base/clock.h"
#include "core/net/tls_client.h"
#include "t/lib/net_client_cert.h"

enum { HOUR_MS = 3600 * 1000 };

static struct arena arena;
static struct tls_pair ca_of[2];

/* The name that 'trust' finds after a handshake, or "" and the reason in 'err'. */
static const char *name_by(struct tls_serve *t, const struct tls_trust *trust,
			   const struct client_cert *w, struct mk_err *err)
{
	struct client_session session;
	mk_str name = STR("");

	client_session_begin(&session, t, w);
	ok(session.shaken, "the handshake takes any certificate, or none");
	err->code = ERR_OK;
	err->msg[0] = '\0';
	if (tls_client_name(trust, session.server, clock_wall_ms(), &arena, &name, err) != ERR_OK) {
		name = STR("");
	}
	client_session_end(&session);
	return name.p;
}

static void test_names(struct tls_serve *t, const struct tls_trust *trust)
{
	static const char nul[] = "front\0proxy";
	const struct {
		struct client_cert w;
		const char *name, *why;
	} rows[] = {
		{{"front-proxy", "clientAuth", &ca_of[0], -HOUR_MS, HOUR_MS, 0}, "front-proxy", ""},
		{{"f\xc3\xbc", "clientAuth", &ca_of[0], -HOUR_MS, HOUR_MS, 0}, "f\xc3\xbc", ""},
		{{"front-proxy", "clientAuth", &ca_of[1], -HOUR_MS, HOUR_MS, 0},
		 "",
		 "the client certificate does not count: x509: certificate signed by unknown "
		 "authority"},
		{{"front-proxy", "serverAuth", &ca_of[0], -HOUR_MS, HOUR_MS, 0},
		 "",
		 "the client certificate does not count: x509: certificate specifies an "
		 "incompatible key usage"},
		{{"front-proxy", "clientAuth", &ca_of[0], -HOUR_MS, -60000, 0},
		 "",
		 "the client certificate does not count: x509: certificate has expired or is not "
		 "yet valid"},
		{{"front-proxy", "clientAuth", &ca_of[0], 60000, HOUR_MS, 0},
		 "",
		 "the client certificate does not count: x509: certificate has expired or is not "
		 "yet valid"},
		{{"front-proxy,admin", "clientAuth", &ca_of[0], -HOUR_MS, HOUR_MS, 0},
		 "",
		 "expected a client certificate with one common name, found several"},
		{{"", "clientAuth", &ca_of[0], -HOUR_MS, HOUR_MS, 0},
		 "",
		 "expected a client certificate with one common name, found none"},
		{{nul, "clientAuth", &ca_of[0], -HOUR_MS, HOUR_MS, sizeof(nul) - 1},
		 "",
		 "the common name of the client certificate cannot be used"},
		{{"", "", NULL, 0, 0, 0}, "", "the client has shown no certificate"},
	};
	struct mk_err err;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_str(name_by(t, trust, &rows[i].w, &err), rows[i].name, "the name");
		is_str(err.msg, rows[i].why, "... or why there is none");
	}
}

static void test_trust(struct tls_serve *t)
{
	const struct client_cert w = {"client", "clientAuth", &ca_of[1], -HOUR_MS, HOUR_MS, 0};
	mk_str both = arena_printf(&arena, "%s%s", ca_of[0].cert.p, ca_of[1].cert.p), many;
	struct tls_trust *trust = tls_trust_new(both, NULL);
	struct mk_err err;

	is_str(name_by(t, trust, &w, &err), "client", "each of several authorities counts");
	tls_trust_free(trust);
	ok(!tls_trust_new(STR(""), &err) && err.code == ERR_INVALID, "none is refused");
	is_str(err.msg, "expected 1 to 64 certificates in PEM, found none", "... in words");
	ok(!tls_trust_new(STR("rubbish"), &err) && err.code == ERR_INVALID, "so is rubbish");
	many = both;
	for (int i = 0; i < 6; i++) {
		many = arena_printf(&arena, "%s%s", many.p, many.p);
	}
	ok(!tls_trust_new(many, &err) && err.code == ERR_INVALID, "and 128 of them");
	tls_trust_free(NULL);
	is_int(tls_client_name(NULL, NULL, 0, &arena, &both, &err), ERR_DENIED, "no TLS, no name");
}

int main(void)
{
	const mk_str names[] = {STR("localhost")};
	struct tls_serve *t = tls_serve_new(&(struct tls_serve_options){.asks_client = true}, NULL);
	struct tls_trust *trust;
	struct tls_pair leaf;

	arena_init(&arena, 0);
	for (size_t i = 0; i < 2; i++) {
		tls_issue_ca(&arena, i ? "b" : "a", clock_wall_ms(), INT64_C(24) * HOUR_MS,
			     &ca_of[i], NULL);
	}
	tls_issue_server(&arena, &ca_of[0], names, 1, clock_wall_ms(), HOUR_MS, &leaf, NULL);
	is_int(tls_serve_set(t, leaf.cert, leaf.key, NULL), ERR_OK, "a server that asks");
	trust = tls_trust_new(ca_of[0].cert, NULL);
	ok(trust != NULL, "an authority is trusted");
	test_names(t, trust);
	test_trust(t);
	tls_trust_free(trust);
	tls_serve_free(t);
	arena_done(&arena);
	return done_testing();
}
