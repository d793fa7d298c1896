/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of `kubectl multikueue worker`: which token comes next, what a manager is given. */
#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

#include "core/base/base64.h"
#include "core/cli/worker/objects.h"

#define UID "11111111-aaaa"
#define NAMED(n) "multikueued-token-11111111-" n

static struct arena a;

/* A token Secret of that manager, used or not. */
static void add_token(struct json *secrets, const char *name, const char *uid, bool used)
{
	struct json *v = parse_json(&a, "{\"metadata\":{\"labels\":{}},\"data\":{}}");
	struct json *labels = json_at(v, "/metadata/labels");

	json_set_str(&a, json_get(v, "metadata"), "name", str_of(name));
	json_set_str(&a, labels, OBJECTS_MANAGER_UID, str_of(uid));
	if (used) {
		json_set_str(&a, labels, "kubernetes.io/legacy-token-last-used", STR("2026-01-01"));
	}
	json_set_str(&a, json_get(v, "data"), "token", base64_encode(&a, str_of(name)));
	json_add(&a, json_get(secrets, "items"), v);
}

/* "NUMBER used FORMER..." of the rotation. */
static const char *rotation(const struct json *secrets, const char *token)
{
	struct objects_rotation r = objects_rotate(&a, secrets, STR(UID), str_of(token));

	return arena_printf(&a, "%d %s %.*s", (int)r.number, r.is_used ? "used" : "new",
			    STR_ARG(json_write(&a, r.former)))
		.p;
}

static void test_rotation(void)
{
	struct json *secrets = parse_json(&a, "{\"items\":[]}");

	is_str(rotation(secrets, "by hand"), "1 new []", "a manager without a token Secret");
	add_token(secrets, NAMED("1"), UID, true);
	is_str(rotation(secrets, NAMED("1")), "2 new [\"" NAMED("1") "\"]", "its first token goes");
	is_str(rotation(secrets, "by hand"), "2 new [\"" NAMED("1") "\"]",
	       "one that was used by others is no new one");
	add_token(secrets, NAMED("10"), UID, false);
	is_str(rotation(secrets, NAMED("1")), "10 new [\"" NAMED("1") "\"]",
	       "interrupted before the manager had it: the same");
	is_str(rotation(secrets, NAMED("10")), "10 used [\"" NAMED("1") "\"]",
	       "interrupted behind that: the same");
	add_token(secrets, NAMED("9"), UID, true);
	is_str(rotation(secrets, NAMED("9")), "10 new [\"" NAMED("1") "\",\"" NAMED("9") "\"]",
	       "numbers are compared as such");
	add_token(secrets, NAMED("12"), UID, true);
	is_str(rotation(secrets, NAMED("9")),
	       "13 new [\"" NAMED("1") "\",\"" NAMED("10") "\",\"" NAMED("9") "\",\"" NAMED(
		       "12") "\"]",
	       "one that was used, and put back, is no proof: another one");
}

static void test_strangers(void)
{
	struct json *secrets = parse_json(&a, "{\"items\":[]}");

	add_token(secrets, NAMED("7"), "22222222-bbbb", false);
	add_token(secrets, "registry-8", UID, false);
	add_token(secrets, NAMED("x"), UID, false);
	add_token(secrets, NAMED("99999999999"), UID, false);
	add_token(secrets, NAMED("1"), UID, true);
	is_str(rotation(secrets, NAMED("1")), "2 new [\"" NAMED("1") "\"]",
	       "Secrets of others, and of other names, stay");
}

/* A Secret of the manager with that kubeconfig. */
static struct json *secret_with(const char *kubeconfig)
{
	struct json *v = objects_secret(&a, STR("kueue-system"), STR("west"), STR("w-uid"),
					str_of(kubeconfig));

	json_set_str(&a, json_get(v, "metadata"), "resourceVersion", STR("5"));
	return v;
}

static void test_kubeconfig(void)
{
	struct endpoint e = {
		.server = STR("https://a:6443"), .ca = STR("Q0E="), .tls_name = STR("b")};
	mk_str old = objects_kubeconfig(&a, STR("west"), &e, STR("old"));
	struct json *secret = secret_with(old.p), *next;
	mk_str text = STR("");

	is_str(objects_kubeconfig_token(&a, secret).p, "old", "the token of a kubeconfig");
	next = objects_with_token(&a, secret, STR("new"));
	is_str(objects_kubeconfig_token(&a, next).p, "new", "is replaced");
	is_str(objects_server(&a, next).p, "https://a:6443", "the server stays");
	is_str(json_str_at(next, "/metadata/resourceVersion").p, "5",
	       "a change in between is a conflict");
	is_str(json_str(json_get(json_at(next, "/metadata/labels"), OBJECTS_WORKER_UID)).p, "w-uid",
	       "it leads where it led");
	(void)base64_decode(&a, json_str_at(next, "/data/kubeconfig"), &text, NULL);
	ok(str_eq(text, objects_kubeconfig(&a, STR("west"), &e, STR("new"))),
	   "all else is the same");
	next = objects_with_token(&a, secret, STR(OBJECTS_REDACTED));
	objects_show_kubeconfig(&a, next);
	ok(!json_get(next, "data") &&
		   str_eq(json_str_at(next, "/stringData/kubeconfig"),
			  objects_kubeconfig(&a, STR("west"), &e, STR(OBJECTS_REDACTED))),
	   "it can be shown");
	ok(!objects_with_token(&a, secret_with("{}"), STR("new")), "no user: no token");
	ok(!objects_with_token(&a, secret_with("users: [{user: {token: a}}, {user: {token: b}}]"),
			       STR("new")),
	   "two users: none");
	ok(!objects_with_token(&a, secret_with("users: [{user: {client-key-data: a}}]"),
			       STR("new")),
	   "a certificate: none");
	ok(!objects_with_token(&a, secret_with("users: ["), STR("new")), "no YAML: none");
	ok(!objects_with_token(&a, json_new_obj(&a), STR("new")), "no Secret: none");
}

static void test_removal(void)
{
	struct json *config = parse_json(
		&a,
		"{\"metadata\":{\"name\":\"workers\",\"resourceVersion\":\"7\"},"
		"\"spec\":{\"clusters\":[\"a\",\"west\",\"b\"],\"quotaManagement\":\"Manual\"}}");
	const struct json *without = objects_config_without(&a, config, STR("west"));
	struct json *secrets = parse_json(&a, "{\"items\":[]}");

	is_str(json_write(&a, json_get(without, "spec")).p, "{\"clusters\":[\"a\",\"b\"]}",
	       "a config keeps its other clusters, in order");
	is_str(json_str_at(without, "/metadata/resourceVersion").p, "7",
	       "... if nothing has changed it");
	ok(!objects_config_without(&a, config, STR("wes")), "one that does not name it stays");

	add_token(secrets, NAMED("1"), UID, true);
	json_add(&a, json_get(secrets, "items"),
		 parse_json(&a, "{\"metadata\":{\"name\":\"x\",\"annotations\":{\"kubernetes.io/"
				"service-account.name\":\"default\"}}}"));
	is_int(objects_foreign_token(secrets, STR(UID)).n, 0, "no token of another manager");
	json_add(&a, json_get(secrets, "items"), objects_token(&a, STR("n"), STR("2-b"), 1));
	ok(objects_is_token(json_at(secrets, "/items/0"), STR(UID)), "a token Secret of ours");
	add_token(secrets, "--all", UID, false);
	ok(!objects_is_token(json_at(secrets, "/items/3"), STR(UID)),
	   "one whose name would be an option of kubectl is none");
	is_str(objects_foreign_token(secrets, STR(UID)).p, "multikueued-token-2-b-1",
	       "one of another");

	is_int(objects_foreign_writer(
		       parse_json(
			       &a,
			       "{\"metadata\":{\"managedFields\":["
			       "{\"manager\":\"kubectl-multikueue\",\"fieldsV1\":{\"f:rules\":{}}},"
			       "{\"manager\":\"label\",\"fieldsV1\":{\"f:metadata\":{}}}]}}"))
		       .n,
	       0, "rights that no other wrote");
	is_str(objects_foreign_writer(
		       parse_json(&a, "{\"metadata\":{\"managedFields\":["
				      "{\"manager\":\"argocd\",\"fieldsV1\":{\"f:rules\":{}}}]}}"))
		       .p,
	       "argocd", "rights that another wrote");
	ok(objects_binds_alone(
		   parse_json(
			   &a,
			   "{\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"multikueued\","
			   "\"namespace\":\"n\"}]}"),
		   STR("n")),
	   "rights of this account alone");
	ok(!objects_binds_alone(
		   parse_json(
			   &a,
			   "{\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"multikueued\","
			   "\"namespace\":\"m\"}]}"),
		   STR("n")),
	   "of that in another namespace");
	ok(!objects_binds_alone(
		   parse_json(
			   &a,
			   "{\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"multikueued\","
			   "\"namespace\":\"n\"},{\"kind\":\"User\",\"name\":\"u\"}]}"),
		   STR("n")),
	   "and of a user");
}

int main(void)
{
	arena_init(&a, 1 << 24);
	test_removal();
	test_rotation();
	test_strangers();
	test_kubeconfig();
	arena_done(&a);
	return done_testing();
}
