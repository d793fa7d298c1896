/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfigs: every row of the vectors for content and server, our
 * stricter rules, files, and in-cluster.
 */

#include "core/base/alloc.h"
#include "core/kube/kubeconfig.h"
#include "t/lib/tap.h"

#define NC                                                                        \
	"invalid configuration: no configuration has been provided, try setting " \
	"KUBERNETES_MASTER "                                                      \
	"environment variable"
#define PARSE "failed to parse kubeconfig(apiconfig): "

static struct arena arena;
static struct mk_err err;
static struct endpoint end;
static const struct kubeconfig_options strict = {.allow_loopback = false};

static const char *try(mk_str text)
{
	end = (struct endpoint){.port = 0};
	err = (struct mk_err){.code = ERR_OK};
	return kubeconfig_parse(&arena, text, &strict, &end, &err) == ERR_OK ? "accepted" : err.msg;
}

/* The base configuration with other lines in it. NULL = the usual ones. */
static mk_str make(const char *top, const char *cluster, const char *user, const char *more)
{
	return arena_printf(&arena,
			    "%s\n"
			    "clusters:\n- name: c1\n  cluster: {%s}\n%s\n",
			    top != NULL
				    ? top
				    : "apiVersion: v1\nkind: Config\ncurrent-context: ctx\n"
				      "contexts: [{name: ctx, context: {cluster: c1, user: u1}}]",
			    cluster != NULL ? cluster
					    : "server: 'https://10.0.0.1:6443', "
					      "certificate-authority-data: Zm9v",
			    more != NULL ? more
					 : arena_printf(&arena, "users: [{name: u1, user: {%s}}]",
							user != NULL ? user : "token: abc")
						   .p);
}

struct row {
	const char *name, *top, *cluster, *user, *more;
	const char *want; /* ends in '*': a prefix */
};

#define SERVER "server: 'https://10.0.0.1:6443'"
#define EXEC \
	"exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never"

static const struct row rows[] = {
	{"1 base", NULL, NULL, NULL, NULL, "accepted"},
	{"1 without CA", NULL, SERVER, NULL, NULL, "accepted"},
	{"1 insecure false", NULL, SERVER ", insecure-skip-tls-verify: false", NULL, NULL,
	 "accepted"},
	{"2 no version, unknown field",
	 "foo: [1]\ncurrent-context: no\ncurrent-context: ctx\ncontexts: [{name: ctx, context: "
	 "{cluster: c1, user: "
	 "u1}}]",
	 NULL, NULL, NULL, "accepted"},
	{"2 tls-server-name", NULL, SERVER ", tls-server-name: foo", NULL, NULL, "accepted"},
	{"2 second document", NULL, NULL, NULL,
	 "users: [{name: u1, user: {token: abc}}]\n---\nkind: Pod\n", "accepted"},
	{"3 no contexts", "apiVersion: v1", NULL, NULL, NULL, NC},
	{"4 no current-context", "contexts: [{name: ctx, context: {cluster: c1, user: u1}}]", NULL,
	 NULL, NULL, NC},
	{"4 wrong case",
	 "Current-Context: ctx\ncontexts: [{name: ctx, context: {cluster: c1, user: u1}}]", NULL,
	 NULL, NULL, NC},
	{"5 unknown context", "current-context: zz", NULL, NULL, NULL,
	 "invalid configuration: [context was not found for specified context: zz, cluster has no "
	 "server defined]"},
	{"6 unknown cluster",
	 "current-context: ctx\ncontexts: [{name: ctx, context: {cluster: nope, user: u1}}]", NULL,
	 NULL, NULL, NC},
	{"6 no cluster", "current-context: ctx\ncontexts: [{name: ctx, context: {user: u1}}]", NULL,
	 NULL, NULL, NC},
	{"7 unknown user",
	 "current-context: ctx\ncontexts: [{name: ctx, context: {cluster: c1, user: nobody}}]",
	 NULL, NULL, NULL, "accepted"},
	{"7 no user", "current-context: ctx\ncontexts: [{name: ctx, context: {cluster: c1}}]", NULL,
	 NULL, NULL, "accepted"},
	{"7 empty user", NULL, NULL, "", NULL, "accepted"},
	{"8 kind", "apiVersion: v1\nkind: Pod", NULL, NULL, NULL,
	 PARSE "no kind \"Pod\" is registered for version \"v1\" in scheme*"},
	{"8 version", "apiVersion: v2\nkind: Config", NULL, NULL, NULL,
	 PARSE "no kind \"Config\" is registered for version \"v2\" in scheme*"},
	{"8 kind of another type", "kind: 7", NULL, NULL, NULL,
	 PARSE "json: cannot unmarshal number*"},
	{"11 bad base64", NULL, SERVER ", certificate-authority-data: '***'", NULL, NULL,
	 PARSE "illegal base64 data at input byte 0"},
	{"11 in an unused user", NULL, NULL, NULL,
	 "users: [{name: u1, user: {token: a}}, {name: u2, user: {client-key-data: '***'}}]",
	 PARSE "illegal base64 data at input byte 0"},
	{"12 number token", NULL, NULL, "token: 123", NULL, PARSE "json: cannot unmarshal number*"},
	{"12 string bool", NULL, SERVER ", insecure-skip-tls-verify: 'true'", NULL, NULL,
	 PARSE "json: cannot unmarshal string*"},
	{"12 list as object", NULL, NULL, NULL, "users: {}",
	 PARSE "json: cannot unmarshal object*"},
	{"12 entry as number", NULL, NULL, NULL, "users: [7]",
	 PARSE "json: cannot unmarshal number*"},
	{"12 bool as string", NULL, "server: true", NULL, NULL,
	 PARSE "json: cannot unmarshal bool*"},
	{"12 list as string", NULL, "server: [a]", NULL, NULL,
	 PARSE "json: cannot unmarshal array*"},
	{"12 null is nothing", NULL, NULL, NULL, "users: [{name: u1, user: null}, null]",
	 "accepted"},
	{"14 tokenFile", NULL, NULL, "tokenFile: /x", NULL, "tokenFile is not allowed"},
	{"14 tokenFile unused, insecure, CA path", NULL,
	 SERVER ", insecure-skip-tls-verify: true, certificate-authority: /c", NULL,
	 "users: [{name: u2, user: {tokenFile: /x}}]", "tokenFile is not allowed"},
	{"15 insecure", NULL, SERVER ", insecure-skip-tls-verify: true", NULL, NULL,
	 "insecure TLS verification is not allowed for cluster c1"},
	{"15 insecure and CA path", NULL,
	 SERVER ", insecure-skip-tls-verify: true, certificate-authority: /c", NULL, NULL,
	 "insecure TLS verification is not allowed for cluster c1"},
	{"16 CA path", NULL,
	 SERVER ", certificate-authority: /etc/ca.crt, certificate-authority-data: Zm9v", NULL,
	 NULL,
	 "certificate-authority file paths are not allowed, use certificate-authority-data for "
	 "cluster c1"},
	{"17 no server", NULL, "", NULL, NULL, "server URL is required for cluster c1"},
	{"18 basic", NULL, NULL, "username: a, password: b", NULL, "basic auth is not allowed"},
	{"18 username", NULL, NULL, "username: a", NULL, "basic auth is not allowed"},
	{"18 password", NULL, NULL, "password: a", NULL, "basic auth is not allowed"},
	{"19 token and basic", NULL, NULL, "token: t, username: a, password: b", NULL,
	 "invalid configuration: more than one authentication method found for u1; found [token "
	 "basicAuth], only one "
	 "is allowed"},
	{"20 unused users may", NULL, NULL, NULL,
	 "users: [{name: u1, user: {token: a}}, {name: u2, user: {username: a}}, {name: u3, user: "
	 "{" EXEC "}}}]",
	 "accepted"},
	{"21 exec", NULL, NULL, EXEC "}", NULL, "exec plugins are not allowed"},
	{"21 exec and token", NULL, NULL, EXEC "}, token: t", NULL, "exec plugins are not allowed"},
	{"21 exec v1beta1", NULL, NULL,
	 "exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1}", NULL,
	 "exec plugins are not allowed"},
	{"21 exec v1alpha1", NULL, NULL,
	 "exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}", NULL,
	 "exec plugins are not allowed"},
	{"22 exec without mode", NULL, NULL,
	 "exec: {command: x, apiVersion: client.authentication.k8s.io/v1}", NULL,
	 "invalid configuration: interactiveMode must be specified for u1 to use exec "
	 "authentication plugin"},
	{"23 exec without command", NULL, NULL,
	 "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}", NULL,
	 "invalid configuration: command must be specified for u1 to use exec authentication "
	 "plugin"},
	{"23 exec without version", NULL, NULL, "exec: {command: x, interactiveMode: Always}", NULL,
	 "invalid configuration: apiVersion must be specified for u1 to use exec authentication "
	 "plugin"},
	{"24 mode", NULL, NULL,
	 "exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: "
	 "Sometimes}",
	 NULL, "invalid configuration: invalid interactiveMode for u1: \"Sometimes\""},
	{"24 exec and auth-provider", NULL, NULL, EXEC "}, auth-provider: {name: oidc}", NULL,
	 "invalid configuration: authProvider cannot be provided in combination with an exec "
	 "plugin for u1"},
	{"24 auth-provider", NULL, NULL, "auth-provider: {name: oidc}", NULL,
	 "auth providers are not allowed"},
	{"25 cert and key", NULL, NULL, "client-certificate-data: Zm9v, client-key-data: YmFy",
	 NULL, "accepted"},
	{"25 key alone", NULL, NULL, "client-key-data: YmFy", NULL, "accepted"},
	{"26 cert alone", NULL, NULL, "client-certificate-data: Zm9v", NULL,
	 "invalid configuration: client-key-data or client-key must be specified for u1 to use the "
	 "clientCert "
	 "authentication method."},
	{"28 files and data", NULL, NULL,
	 "client-certificate: /c, client-certificate-data: Zm9v, client-key: /k, client-key-data: "
	 "YmFy",
	 NULL,
	 "invalid configuration: [client-cert-data and client-cert are both specified for u1. "
	 "client-cert-data will "
	 "override., client-key-data and client-key are both specified for u1; client-key-data "
	 "will override]"},
	{"30 as-uid", NULL, NULL, "as-uid: '7'", NULL,
	 "invalid configuration: requesting uid, groups or user-extra for u1 without impersonating "
	 "a user"},
	{"30 as-groups", NULL, NULL, "as-groups: [a]", NULL,
	 "invalid configuration: requesting uid, groups or user-extra for u1 without impersonating "
	 "a user"},
	{"30 as-user-extra", NULL, NULL, "as-user-extra: {a: [b]}", NULL,
	 "invalid configuration: requesting uid, groups or user-extra for u1 without impersonating "
	 "a user"},
	{"32 proxy scheme", NULL, SERVER ", proxy-url: 'ftp://p:1'", NULL, NULL,
	 "invalid configuration: invalid 'proxy-url' \"ftp://p:1\" for cluster \"c1\": unsupported "
	 "scheme \"ftp\", must "
	 "be http, https, or socks5"},
	{"32 proxy without scheme", NULL, SERVER ", proxy-url: 'p:3128'", NULL, NULL,
	 "invalid configuration: invalid 'proxy-url' \"p:3128\" for cluster \"c1\": unsupported "
	 "scheme \"p\", must be "
	 "http, https, or socks5"},
	{"32 proxy bracket", NULL, SERVER ", proxy-url: 'http://[::1'", NULL, NULL,
	 "invalid configuration: invalid 'proxy-url' \"http://[::1\" for cluster \"c1\": could not "
	 "parse: http://[::1"},
	{"33 CA is not PEM", NULL, SERVER ", certificate-authority-data: Zm9v", NULL, NULL,
	 "accepted"},
	/* stricter than Kueue */
	{"25 files", NULL, NULL, "client-certificate: /c, client-key: /k", NULL,
	 "client-certificate and client-key file paths are not allowed, use "
	 "client-certificate-data and client-key-data "
	 "for user u1"},
	{"29 as", NULL, NULL, "token: a, as: bob", NULL,
	 "impersonation is not allowed for user u1"},
	{"31 proxy", NULL, SERVER ", proxy-url: 'http://p:1'", NULL, NULL,
	 "proxy-url is not allowed for cluster c1"},
	{"token with a line end", NULL, NULL, "token: \"a\\nb\"", NULL,
	 "token has characters that are not allowed"},
	{"server name with a blank", NULL, SERVER ", tls-server-name: 'a b'", NULL, NULL,
	 "tls-server-name has characters that are not allowed"},
	{"path with a quote", NULL, "server: 'https://h/\"x'", NULL, NULL,
	 "the path of the server URL has characters that must be escaped"},
	{"basic auth is found before our rule of the scheme", NULL, "server: 'http://h'",
	 "username: a", NULL, "basic auth is not allowed"},
};

static bool matches(const char *got, const char *want)
{
	size_t n = strlen(want);

	return n > 0 && want[n - 1] == '*' ? strncmp(got, want, n - 1) == 0
					   : strcmp(got, want) == 0;
}

static void test_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		const char *got = try(make(r->top, r->cluster, r->user, r->more));

		if (!ok(matches(got, r->want), r->name)) {
			printf("#   found    %s\n#   expected %s\n", got, r->want);
		}
	}
	ok(strcmp(try(STR("")), NC) == 0, "3 empty bytes");
	ok(matches(try(STR("hello")), PARSE "couldn't get version/kind; json parse error: *"),
	   "9 a word");
	ok(matches(try(STR("- a\n")), PARSE "couldn't get version/kind; json parse error: *"),
	   "9 a list");
	ok(matches(try(STR("\ta: b\n")), PARSE "yaml: *"), "10 a tab");
	ok(matches(try(STR("a: [\n")), PARSE "yaml: *"), "10 broken YAML");
	ok(matches(try(STR("clusters: [{name: c1}, {name: c1}]")),
		   PARSE "error converting *[]NamedCluster into *map[string]*api.Cluster: "
			 "duplicate name \"c1\" in list*"),
	   "13 two clusters of one name");
	ok(matches(try(STR("users: [{name: u}, {name: u}]")),
		   PARSE "error converting *[]NamedAuthInfo into *map[string]*api.AuthInfo: "
			 "duplicate name \"u\"*"),
	   "13 two users");
	ok(matches(try(STR("contexts: [{name: u}, {name: u}]")),
		   PARSE "error converting *[]NamedContext into *map[string]*api.Context: "
			 "duplicate name \"u\"*"),
	   "13 two contexts");
	is_str(try(STR("{\"current-context\":\"x\",\"clusters\":[{\"name\":\"a\",\"cluster\":{"
		       "\"server\":\"https://"
		       "h\"}}],\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"a\"}}]}")),
	       "accepted", "1 as JSON");
	is_str(try(STR("clusters: [{name: c1, cluster: {server: 'https://h'}}, {name: c2, cluster: "
		       "{insecure-skip-tls-verify: true}}]")),
	       "insecure TLS verification is not allowed for cluster c2", "15 an unused cluster");
	is_str(try(STR("clusters: [{name: c1, cluster: {server: 'https://h'}}, {name: c2}]")),
	       "server URL is required for cluster c2", "17 an unused cluster");
}

static void test_fields(void)
{
	static const char text[] = "current-context: x\n"
				   "clusters: [{name: a, cluster: {server: "
				   "'HTTPS://Foo.Example:8443/Pre/', tls-server-name: sn, "
				   "certificate-authority-data: Zm9v}}]\n"
				   "users: [{name: u, user: {token: tok, client-certificate-data: "
				   "Y2VydA==, client-key-data: a2V5}}]\n"
				   "contexts: [{name: x, context: {cluster: a, user: u}}]\n";

	is_str(try(STR(text)), "accepted", "a full configuration");
	ok(str_is(end.host, "foo.example"), "host in lower case");
	is_int(end.port, 8443, "port");
	ok(str_is(end.base_path, "/Pre"), "path as written, without its last slash");
	ok(str_is(end.tls_server_name, "sn") && str_is(end.ca_pem, "foo") &&
		   str_is(end.token, "tok"),
	   "server name, CA, token");
	ok(str_is(end.cert_pem, "cert") && str_is(end.key_pem, "key"), "client certificate");
	kubeconfig_wipe(&end);
	ok(end.token.n == 0 && end.key_pem.n == 0, "wiped");
	kubeconfig_wipe(&end);
}

static const char *const servers_good[] = {
	"https://1.2.3.4:6443",
	"https://01.2.3.4",
	"https://256.1.1.1",
	"https://1.2.3:6443",
	"https://[2001:db8::1]:443/",
	"https://Foo.Example.COM",
	"HTTPS://FOO:6443",
	"https://xn--bcher-kva.example",
	"https://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"https://foo.example.com:6443/k8s/clusters/c-1",
	"https://foo:",
	"https://foo:6443/%7e",
};

static const char *const servers_untrusted[] = {
	"1.2.3.4:6443",
	"example.com",
	"example.com:6443",
	"localhost:8080",
	"/foo",
	"https:foo:6443",
	"https://",
	"https://:6443",
	"https:///path",
	"https://[::1]",
	"https://::1:6443",
	"https://[fe80::1%25eth0]:6443",
	"https://[1.2.3.4]:1",
	"https://b\303\274cher.example",
	"https://foo_bar:6443",
	"https://foo.example.com.",
	"https://foo.example.com.:6443",
	"https://-foo",
	"https://foo-",
	"https://foo..bar",
	"https://.foo",
	"https://foo:port",
	"https://foo:6443/%zz",
	"https://foo:6443/%4",
	" https://foo",
	"https://foo ",
	"https://foo bar",
	"unix:///var/run/x.sock",
	"https://foo\001",
	"https://[::1",
	"https://[]:1",
	"9https://foo",
	":foo",
	"https://[::1]x",
	"https://[::1111111111111111111111111111111111111111111111111]:1",
};

static const struct {
	const char *server, *want;
} servers_ours[] = {
	{"http://foo:80", "server URL scheme \"http\" is not allowed, use https"},
	{"ftp://foo", "server URL scheme \"ftp\" is not allowed, use https"},
	{"foo+1://bar", "server URL scheme \"foo+1\" is not allowed, use https"},
	{"//foo:6443", "server URL scheme \"\" is not allowed, use https"},
	{"https://user:pw@foo:1", "user info, query and fragment are not allowed in a server URL"},
	{"https://foo:6443?x=1", "user info, query and fragment are not allowed in a server URL"},
	{"https://foo:6443#frag", "user info, query and fragment are not allowed in a server URL"},
	{"https://foo:99999", "server port 99999 is out of range"},
	{"https://foo:0", "server port 0 is out of range"},
	{"https://169.254.169.254", "server \"169.254.169.254\" is a link-local address, which "
				    "multiKueue.network.allowLinkLocal does not allow"},
	{"https://[fe80::1]:1", "server \"fe80::1\" is a link-local address, which "
				"multiKueue.network.allowLinkLocal does not allow"},
	{"https://[::1]:6443", "server \"::1\" is a loopback address, which "
			       "multiKueue.network.allowLoopback does not allow"},
	{"https://[::ffff:127.0.0.1]:1", "server \"::ffff:127.0.0.1\" is a loopback address, which "
					 "multiKueue.network.allowLoopback does not allow"},
	{"https://127.0.0.1:1", "server \"127.0.0.1\" is a loopback address, which "
				"multiKueue.network.allowLoopback does not allow"},
	{"https://0.0.0.0:1", "server \"0.0.0.0\" is a loopback address, which "
			      "multiKueue.network.allowLoopback does not "
			      "allow"},
	{"https://localhost",
	 "server \"localhost\" is a loopback address, which multiKueue.network.allowLoopback does "
	 "not allow"},
	{"https://a.localhost",
	 "server \"a.localhost\" is a loopback address, which multiKueue.network.allowLoopback "
	 "does not allow"},
};

static mk_str with_server(const char *server)
{
	return arena_printf(&arena,
			    "{\"current-context\":\"x\",\"clusters\":[{\"name\":\"a\",\"cluster\":{"
			    "\"server\":\"%s\"}}],"
			    "\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"a\"}}]}",
			    server);
}

static void test_servers(void)
{
	const struct kubeconfig_options loose = {.allow_loopback = true, .allow_link_local = true};
	char name[300];

	for (size_t i = 0; i < sizeof(servers_good) / sizeof(servers_good[0]); i++) {
		is_str(try(with_server(servers_good[i])), "accepted", servers_good[i]);
	}
	for (size_t i = 0; i < sizeof(servers_untrusted) / sizeof(servers_untrusted[0]); i++) {
		const char *s = servers_untrusted[i];

		is_str(try(with_server(strcmp(s, "https://foo\001") == 0 ? "https://foo\\u0001"
									 : s)),
		       "untrusted server endpoint",
		       strcmp(s, "https://foo\001") == 0 ? "control character" : s);
	}
	for (size_t i = 0; i < sizeof(servers_ours) / sizeof(servers_ours[0]); i++) {
		is_str(try(with_server(servers_ours[i].server)), servers_ours[i].want,
		       servers_ours[i].server);
	}
	memset(name, 'a', sizeof(name));
	memcpy(name, "https://", 8);
	name[8 + 253] = '\0';
	is_str(try(with_server(name)), "accepted", "a name of 253 characters");
	name[8 + 253] = 'a';
	name[8 + 254] = '\0';
	is_str(try(with_server(name)), "untrusted server endpoint", "one of 254");
	is_int(kubeconfig_parse(&arena, with_server("https://127.0.0.1:1"), &loose, &end, NULL),
	       ERR_OK, "loopback when allowed");
	is_int(kubeconfig_parse(&arena, with_server("https://169.254.0.1:1"), &loose, &end, NULL),
	       ERR_OK, "link-local when allowed");
	ok(end.allow_loopback && end.allow_link_local, "and the transport is told");
}

static enum mk_code read_file(void *ctx, struct arena *a, mk_str path, mk_str *ret,
			      struct mk_err *e)
{
	(void)ctx;
	if (str_is(path, "missing")) {
		return err_set(e, ERR_NOT_FOUND, "no such file");
	}
	*ret = str_is(path, "empty") ? (mk_str){NULL, 0} : arena_printf(a, "<%.*s>", STR_ARG(path));
	return ERR_OK;
}

static const char *try_file(const char *cluster, const char *user)
{
	mk_str text = make(NULL, cluster, user, NULL);

	end = (struct endpoint){.port = 0};
	return kubeconfig_parse_file(&arena, text, read_file, NULL, &end, &err) == ERR_OK
		       ? "accepted"
		       : err.msg;
}

static void test_files(void)
{
	is_str(try_file("server: 'https://127.0.0.1:1', certificate-authority: ca",
			"client-certificate: c, client-key: k"),
	       "accepted", "our own may name files");
	ok(str_is(end.ca_pem, "<ca>") && str_is(end.cert_pem, "<c>") && str_is(end.key_pem, "<k>"),
	   "which are read");
	ok(end.allow_loopback, "and may be local");
	is_str(try_file(SERVER, "tokenFile: /t"), "accepted", "a token file");
	ok(str_is(end.token_file, "/t"), "is left to the transport");
	is_str(try_file(SERVER, "tokenFile: /t, token: x"), "accepted", "a token beside it");
	ok(end.token_file.n == 0 && str_is(end.token, "x"), "wins");
	is_str(try_file(SERVER ", certificate-authority: missing", NULL),
	       "certificate-authority missing: no such file", "a missing file");
	is_str(try_file(SERVER, "client-certificate: empty, client-key: k"),
	       "client-certificate empty: the file is empty", "an empty file");
	is_str(try_file(SERVER, "client-certificate: c, client-key: missing"),
	       "client-key missing: no such file", "a missing key");
	is_str(try_file(SERVER ", insecure-skip-tls-verify: true", NULL),
	       "insecure TLS verification is not allowed for cluster c1",
	       "insecure is not for us either");
	is_str(try_file(SERVER, EXEC "}"), "exec plugins are not allowed", "nor exec");
	is_str(try_file("server: 'http://h'", NULL),
	       "server URL scheme \"http\" is not allowed, use https", "nor http");
	is_str(try_file(SERVER, "token: \"a b\""), "token has characters that are not allowed",
	       "nor odd tokens");
	is_int(kubeconfig_parse_file(&arena, STR("a: ["), read_file, NULL, &end, NULL), ERR_INVALID,
	       "broken YAML");
	is_int(kubeconfig_parse_file(&arena, STR(""), read_file, NULL, &end, NULL), ERR_INVALID,
	       "nothing");
}

static void test_in_cluster(void)
{
	mk_str token = STR("/var/run/token");

	is_int(kubeconfig_in_cluster(&arena, STR("10.0.0.1"), STR("443"), STR("PEM"), token, &end,
				     &err),
	       ERR_OK, "in a cluster");
	ok(str_is(end.host, "10.0.0.1") && end.port == 443 &&
		   str_is(end.token_file, "/var/run/token"),
	   "as told");
	is_int(kubeconfig_in_cluster(&arena, STR("fd00::1"), STR("443"), STR("PEM"), token, &end,
				     &err),
	       ERR_OK, "IPv6");
	ok(str_is(end.host, "fd00::1"), "without brackets");
	is_int(kubeconfig_in_cluster(&arena, STR(""), STR("443"), STR("PEM"), token, &end, &err),
	       ERR_NOT_FOUND, "outside");
	is_int(kubeconfig_in_cluster(&arena, STR("h"), STR(""), STR("PEM"), token, &end, &err),
	       ERR_NOT_FOUND, "no port");
	is_int(kubeconfig_in_cluster(&arena, STR("h"), STR("x"), STR("PEM"), token, &end, &err),
	       ERR_INVALID, "bad port");
	is_int(kubeconfig_in_cluster(&arena, STR("h"), STR("1"), STR(" \n"), token, &end, &err),
	       ERR_INVALID, "empty CA");
}

/* Many entries must be refused early, not searched for duplicates in quadratic time. */
static void test_caps(void)
{
	struct buf b;

	buf_init(&b, KUBECONFIG_MAX * 2);
	buf_add(&b, STR("users:\n"));
	for (int i = 0; i < 2000; i++) {
		buf_printf(&b, "- name: u%d\n", i);
	}
	ok(matches(try(buf_str(&b)), PARSE "more than 1000 users"), "too many entries");
	while (b.n <= KUBECONFIG_MAX) {
		buf_add(&b, STR("# padding padding padding padding padding padding padding\n"));
	}
	try(buf_str(&b));
	is_int(err.code, ERR_TOO_BIG, "too long");
	buf_done(&b);
}

/* Running out of memory anywhere is an ordinary error. */
static void test_no_memory(void)
{
	mk_str text = make(NULL, NULL,
			   "token: t, client-certificate-data: Zm9v, client-key-data: YmFy", NULL);
	enum mk_code code = ERR_NO_MEMORY;
	uint64_t n = 0;
	bool clean = true;

	while (code != ERR_OK && n < 1000) {
		struct arena a;

		arena_init(&a, 0);
		alloc_fail_after(++n);
		code = kubeconfig_parse(&a, text, &strict, &end, NULL);
		alloc_fail_after(0);
		clean = clean && (code == ERR_OK || code == ERR_NO_MEMORY);
		arena_done(&a);
	}
	ok(clean && code == ERR_OK && n > 1, "every allocation may fail");
}

int main(void)
{
	arena_init(&arena, 0);
	test_rows();
	test_fields();
	test_servers();
	test_files();
	test_in_cluster();
	test_caps();
	test_no_memory();
	arena_done(&arena);
	return done_testing();
}
