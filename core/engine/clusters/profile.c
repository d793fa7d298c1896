/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterProfiles; see profile.h. */
#include "core/engine/clusters/profile.h"

#include "core/base/canon.h"
#include "core/base/hash.h"
#include "core/engine/clusters/source.h"
#include "core/engine/clusters/watches.h"

#define EXTENSION "client.authentication.k8s.io/exec"

/*
 * The profile's entry for 'provider'; NULL: it has none. The deprecated list counts after the new
 * one.
 */
static const struct json *access_by(const struct json *profile, mk_str provider)
{
	static const char *const lists[] = {"/status/accessProviders",
					    "/status/credentialProviders"};

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		struct json_iter it = json_iter(json_at(profile, lists[i]));

		while (json_next(&it)) {
			if (str_eq(json_str(json_get(it.val, "name")), provider)) {
				return it.val;
			}
		}
	}
	return NULL;
}

/* The entry of the first configured provider that the profile names. */
static const struct json *choose(const struct engine_options *o, const struct json *profile,
				 mk_str *ret_provider)
{
	for (size_t i = 0; i < o->n_providers; i++) {
		const struct json *access = access_by(profile, o->providers[i]);

		if (access) {
			*ret_provider = o->providers[i];
			return access;
		}
	}
	return NULL;
}

static const struct json *extension(const struct json *cluster)
{
	struct json_iter it = json_iter(json_get(cluster, "extensions"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "name")), EXTENSION)) {
			return json_get(it.val, "extension");
		}
	}
	return NULL;
}

/* The body of OP_CONNECT. */
static struct json *body_of(struct arena *a, const struct json *access, mk_str provider)
{
	static const char *const fields[][2] = {{"server", "server"},
						{"ca", "certificate-authority-data"},
						{"proxy", "proxy-url"},
						{"tlsServerName", "tls-server-name"}};
	const struct json *cluster = json_get(access, "cluster");
	const struct json *config = extension(cluster);
	struct json *body = json_new_obj(a);

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		mk_str v = json_str(json_get(cluster, fields[i][1]));

		if (v.n > 0) {
			json_set_str(a, body, fields[i][0], arena_dup(a, v));
		}
	}
	json_set_str(a, body, "provider", arena_dup(a, provider));
	if (config) {
		json_set(a, body, STR("config"), json_dup(a, config));
	}
	return arena_failed(a) ? NULL : body;
}

static struct cluster *bad(struct engine *e, struct cluster *c, mk_str text)
{
	return source_refuse(e, c, "BadClusterProfile", text);
}

static struct cluster *follow(struct engine *e, struct cluster *c, const struct record *profile)
{
	mk_str provider = {NULL, 0};
	const struct json *access = choose(&e->o, record_parse(e, profile), &provider);
	struct json *body = NULL;

	if (e->no_memory) {
		return c;
	}
	if (!access) {
		return bad(e, c,
			   arena_printf(&e->scratch,
					"no matching cluster accessor found for cluster profile "
					"\"%.*s\"",
					STR_ARG(profile->name)));
	}
	body = body_of(e->out->arena, access, provider);
	if (!body) {
		say_no_memory(e);
		return c;
	}
	return source_follow(e, c,
			     &(struct source){.key = arena_printf(&e->scratch, PROFILE_KEY "%.*s",
								  STR_ARG(profile->name)),
					      .hash = hash64(canon_text(&e->scratch, body)),
					      .body = body});
}

struct cluster *profile_see(struct engine *e, struct cluster *c, const struct record *r)
{
	struct cluster *manager = e->clusters[CLUSTER_MANAGER];
	const struct table *t = manager->tables[KIND_PROFILE];
	mk_str name = r->facts->s[S_LOCATION];
	const struct record *profile;

	if (!e->o.gates.cluster_profile) {
		return source_refuse(e, c, "MultiKueueClusterProfileFeatureDisabled",
				     STR("MultiKueueClusterProfile feature gate is disabled"));
	}
	if (!watches_ready(e, manager, KIND_PROFILE)) {
		return table_is_unserved(t) ? bad(e, c, str_of(t->why)) : c;
	}
	profile = manager_get(e, KIND_PROFILE, e->o.namespace_, name);
	if (!profile) {
		return bad(e, c,
			   arena_printf(&e->scratch,
					"ClusterProfile.multicluster.x-k8s.io \"%.*s\" not found",
					STR_ARG(name)));
	}
	if (!e->o.has_profiles) {
		return bad(e, c, STR("no access provider configured"));
	}
	return follow(e, c, profile);
}
