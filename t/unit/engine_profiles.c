/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clusters of ClusterProfiles: which provider is asked, what the link is
 * opened with, and why there is none.
 */
#include "t/lib/engine_world.h"

static const mk_str two_providers[] = {{"gcp", 3}, {"corp", 4}};

/*
 * A world with the gate and the providers gcp and corp; w1 has the
 * profile p1, which is not there yet.
 */
static struct world *profiles_new(size_t n, bool section)
{
	struct world *w = w_new(n);

	w->gate_profiles = true;
	w->has_profiles = section;
	w->providers = two_providers;
	w->n_providers = section ? 2 : 0;
	w_restart(w);
	w_settle(w);
	w->full = true;
	w_take(w);
	return w;
}

static void use_profile(struct world *w, const char *cluster, const char *profile)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"spec\":{\"clusterSource\":{\"kubeConfig\":null,\"clusterProfileRef\":{"
		 "\"name\":\"%s\"}}}}",
		 profile);
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", cluster), text);
	w_settle(w);
}

static void put_profile(struct world *w, const char *ns, const char *name, const char *status)
{
	struct object *o = w_find(w, 0, KIND_PROFILE, ns, name);
	char text[4096];

	if (o) {
		snprintf(text, sizeof(text), "{\"status\":%s}", status);
		w_patch(w, o, text);
	} else {
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"},\"spec\":{},"
			 "\"status\":%s}",
			 name, ns, status);
		w_put(w, 0, KIND_PROFILE, text);
	}
	w_settle(w);
}

#define CORP(server)                                                                            \
	"{\"name\":\"corp\",\"cluster\":{\"server\":\"" server                                  \
	"\",\"certificate-authority-data\":\"Q0E=\",\"insecure-skip-tls-verify\":true,"         \
	"\"certificate-authority\":\"/ca\",\"extensions\":[{\"name\":\"other\",\"extension\":1" \
	"},{\"name\":\"client.authentication.k8s.io/exec\",\"extension\":{\"aud\":\"x\"}}]}}"
#define NEW_LIST(entries) "{\"credentialProviders\":null,\"accessProviders\":[" entries "]}"

static void words(void)
{
	struct world *w = profiles_new(1, false);

	use_profile(w, "w1", "p1");
	ok(strstr(w->log, "watch_open 0 ClusterProfile") != NULL, "C-2.2c: profiles are watched");
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False BadClusterProfile: load client config failed: "
	       "ClusterProfile.multicluster.x-k8s.io \"p1\" not found",
	       "C-P8: the profile is missing");
	w_take(w);
	w_later(w, 600000);
	ok(!strstr(w_take_work(w), "MultiKueueCluster"), "and it is not asked again");
	put_profile(w, "elsewhere", "p1", NEW_LIST(CORP("https://c:6443")));
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False BadClusterProfile: load client config failed: "
	       "ClusterProfile.multicluster.x-k8s.io \"p1\" not found",
	       "W-I57: one of another namespace does not count");
	put_profile(w, "kueue-system", "p1", NEW_LIST(CORP("https://c:6443")));
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False BadClusterProfile: load client config failed: no access provider configured",
	       "trap_07: no section clusterProfile in the configuration");
	w->has_profiles = true;
	w_restart(w);
	w_settle(w);
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False BadClusterProfile: load client config failed: no matching cluster accessor "
	       "found for cluster profile \"p1\"",
	       "an empty section");
	w->n_providers = 1;
	w_restart(w);
	w_settle(w);
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False BadClusterProfile: load client config failed: no matching cluster accessor "
	       "found for cluster profile \"p1\"",
	       "C-S15: a provider that the profile does not name");
	w_free(w);
}

static void life(void)
{
	struct world *w = profiles_new(1, true);
	const char *log;

	use_profile(w, "w1", "p1");
	w_take(w);
	put_profile(w, "kueue-system", "p1", NEW_LIST(CORP("https://c:6443")));
	log = w_take(w);
	ok(strstr(log, "/w1 secret=profile:p1 ") &&
		   strstr(log,
			  "{\"server\":\"https://c:6443\",\"ca\":\"Q0E=\",\"provider\":\"corp\","
			  "\"config\":{\"aud\":\"x\"}}"),
	   "W-I57: it appears: a link with what it says, insecure TLS and CA files apart");
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected", "and up");

	w_patch(w, w_find(w, 0, KIND_PROFILE, "kueue-system", "p1"),
		"{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"displayName\":\"x\"},"
		"\"status\":{\"conditions\":[{\"type\":\"ControlPlaneHealthy\"}]}}");
	w_settle(w);
	is_str(w_take_work(w), "", "C-B2: an equal way to the cluster: nothing follows");
	put_profile(w, "kueue-system", "p1",
		    NEW_LIST("{\"cluster\":{\"extensions\":[{\"extension\":{\"aud\":\"x\"},"
			     "\"name\":\"client.authentication.k8s.io/exec\"}],"
			     "\"certificate-authority-data\":\"Q0E=\","
			     "\"server\":\"https://c:6443\"},\"name\":\"corp\"}"));
	is_str(w_take_work(w), "", "nor when it is written in another order");

	put_profile(w, "kueue-system", "p1", NEW_LIST(CORP("https://d:6443")));
	log = w_take(w);
	ok(strstr(log, "secret=profile:p1 ") && strstr(log, "https://d:6443") &&
		   !strstr(log, "disconnect"),
	   "another server: the same link connects anew");

	w_del(w, w_find(w, 0, KIND_PROFILE, "kueue-system", "p1"));
	w_settle(w);
	ok(strstr(w_take(w), "disconnect ") != NULL, "the profile goes: the link is cut");
	ok(strstr(w_active(w, KIND_CLUSTER, "w1"), "BadClusterProfile") != NULL, "with its reason");
	put_profile(w, "kueue-system", "p1", NEW_LIST(CORP("https://d:6443")));
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected",
	       "W-I57: made again: connected again");
	w_free(w);
}

static void providers(void)
{
	struct world *w = profiles_new(1, true);

	use_profile(w, "w1", "p1");
	put_profile(w, "kueue-system", "p1",
		    NEW_LIST(CORP("https://c:6443") ","
						    "{\"name\":\"gcp\",\"cluster\":{\"server\":"
						    "\"https://g:6443\","
						    "\"proxy-url\":\"http://"
						    "p\",\"tls-server-name\":\"n\"}}"));
	ok(strstr(w_take(w), "{\"server\":\"https://g:6443\",\"proxy\":\"http://p\","
			     "\"tlsServerName\":\"n\",\"provider\":\"gcp\"}") != NULL,
	   "C-2.4a: the first of the configured providers, not of the profile's");
	put_profile(w, "kueue-system", "p1",
		    "{\"accessProviders\":null,\"credentialProviders\":[{\"name\":\"gcp\","
		    "\"cluster\":{\"server\":\"https://old:6443\"}}]}");
	ok(strstr(w_take(w), "https://old:6443") != NULL, "the old list is read too");
	put_profile(w, "kueue-system", "p1",
		    "{\"accessProviders\":[{\"name\":\"gcp\",\"cluster\":{\"server\":"
		    "\"https://new:6443\"}}],\"credentialProviders\":[{\"name\":\"gcp\","
		    "\"cluster\":{\"server\":\"https://old:6443\"}}]}");
	ok(strstr(w_take(w), "https://new:6443") != NULL, "the new one wins");
	w_free(w);
}

static void shared(void)
{
	struct world *w = profiles_new(2, true);
	const char *log;

	use_profile(w, "w1", "p1");
	use_profile(w, "w2", "p1");
	w_take(w);
	put_profile(w, "kueue-system", "p1", NEW_LIST(CORP("https://c:6443")));
	log = w_take(w);
	ok(strstr(log, "/w1 secret=profile:p1 ") && strstr(log, "/w2 secret=profile:p1 "),
	   "W-I57: a profile of two clusters");
	put_profile(w, "kueue-system", "p2", NEW_LIST(CORP("https://e:6443")));
	is_str(w_take_work(w), "", "one that no cluster refers to");
	use_profile(w, "w2", "p2");
	log = w_take(w);
	ok(strstr(log, "/w2 secret=profile:p2 ") && !strstr(log, "/w1 secret="),
	   "W-I57: a cluster takes another profile");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"spec\":{\"clusterSource\":{\"clusterProfileRef\":null,\"kubeConfig\":{"
		"\"location\":\"w2\",\"locationType\":\"Secret\"}}}}");
	w_settle(w);
	ok(strstr(w_take(w), "/w2 secret=w2 ") != NULL, "and then a Secret");
	w_free(w);
}

static void no_crd(void)
{
	struct world *w = profiles_new(1, true);
	struct pending *p;

	w->stay_down[0] = true;
	use_profile(w, "w1", "p1");
	p = w_event(w, EV_UNSERVED, 0, KIND_PROFILE);
	p->ev.code = ERR_NOT_FOUND;
	p->msg = w_dup(STR("no matches for kind \"ClusterProfile\" in version "
			   "\"multicluster.x-k8s.io/v1alpha1\""));
	w_settle(w);
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False BadClusterProfile: load client config failed: no matches for kind "
	       "\"ClusterProfile\" in version \"multicluster.x-k8s.io/v1alpha1\"",
	       "C-2.4d: without the CRD the cluster says so, and nothing else stops");
	ok(w->sought[0][KIND_PROFILE], "which has it looked for");
	w_event(w, EV_SERVED, 0, KIND_PROFILE);
	w_list(w, 0, KIND_PROFILE);
	put_profile(w, "kueue-system", "p1", NEW_LIST(CORP("https://c:6443")));
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected",
	       "it is installed: no restart is needed");
	ok(!w->sought[0][KIND_PROFILE], "and looked for no more");
	w_free(w);
}

static void without_gate(void)
{
	struct world *w = w_new(1);

	w_take(w);
	use_profile(w, "w1", "p1");
	is_str(w_active(w, KIND_CLUSTER, "w1"),
	       "False MultiKueueClusterProfileFeatureDisabled: load client config failed: "
	       "MultiKueueClusterProfile feature gate is disabled",
	       "C-8.6: without the gate profiles are refused");
	ok(!strstr(w_take(w), "ClusterProfile "), "and not watched");
	w_free(w);
}

static void without_memory(void)
{
	bool good = true;

	for (uint64_t n = 1; n < 60; n++) {
		struct world *w = profiles_new(1, true);

		w->fail_at = n;
		use_profile(w, "w1", "p1");
		w->fail_at = n;
		put_profile(w, "kueue-system", "p1", NEW_LIST(CORP("https://c:6443")));
		w_later(w, 2000);
		put_profile(w, "kueue-system", "p1", NEW_LIST(CORP("https://d:6443")));
		if (!strstr(w_take(w), "https://d:6443") ||
		    strcmp(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected") != 0) {
			printf("# allocation %d: %s\n", (int)n, w_active(w, KIND_CLUSTER, "w1"));
			good = false;
		}
		w_free(w);
	}
	ok(good, "without memory at any place: the profile counts in the end");
}

int main(void)
{
	words();
	life();
	providers();
	shared();
	no_crd();
	without_gate();
	without_memory();
	return done_testing();
}
