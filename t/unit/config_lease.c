/* SPDX-License-Identifier: Apache-2.0 */
/* Which Lease the daemon has by a configuration that Kueue may have as well. */
#include "t/lib/tap.h"

#include "core/config/config.h"

#define V2 "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"

static struct arena a;
static struct config c;
static struct config_problems problems;
static struct mk_err err;

static enum mk_code load(const char *text)
{
	struct config_input in = {.text = str_of(text)};

	arena_clear(&a);
	memset(&c, 0, sizeof(c));
	err.msg[0] = '\0';
	return config_load(&a, &in, &c, &problems, &err);
}

/* The Lease of a file, and its warnings. */
static void lease(const char *text, const char *name, const char *warning)
{
	struct buf b;

	is_int(load(text), ERR_OK, text + strlen(V2));
	is_str(c.leader_election.resource_name.p, name, "... its Lease");
	buf_init(&b, 4096);
	for (const struct config_problem *p = problems.first; p != NULL; p = p->next) {
		if (str_index(p->text, ':') > 0 && strstr(p->text.p, "Lease")) {
			buf_add(&b, p->text);
		}
	}
	is_str(b.n ? b.p : "", warning, "... its warnings");
	buf_done(&b);
}

int main(void)
{
	arena_init(&a, 0);
#define RESOURCE "leaderElection: {resourceName: " CONFIG_KUEUE_LEASE "}\n"
	lease(V2, "multikueued", "");
	lease(V2 "leaderElection: {leaderElect: true}\n", "multikueued", "");
	lease(V2 "leaderElection: {resourceName: multikueued}\n", "multikueued", "");
	lease(V2 RESOURCE, "multikueued",
	      "leaderElection.resourceName: c1f6bfd2.kueue.x-k8s.io is Kueue's own Lease and is "
	      "left to it: multikueued has the Lease multikueued; multiKueue.leaseName sets "
	      "another one");
	lease(V2 RESOURCE "multiKueue: {leaseName: mine}\n", "mine", "");
	lease(V2 "leaderElection: {resourceName: chosen}\n", "chosen",
	      "leaderElection.resourceName: \"chosen\" is taken for multikueued's own Lease: if "
	      "Kueue has this name as well, the two keep each other from leading; "
	      "multiKueue.leaseName says for certain which is ours");
	lease(V2 "leaderElection: {resourceName: a}\nmultiKueue: {leaseName: b}\n", "b", "");
	lease(V2 "leaderElection: {resourceName: a}\nmultiKueue: {leaseName: a}\n", "a",
	      "multiKueue.leaseName: \"a\" is the Lease of Kueue, too: while Kueue holds it, "
	      "multikueued leads nothing; give it a name of its own");
	lease(V2 "multiKueue: {leaseName: " CONFIG_KUEUE_LEASE "}\n", CONFIG_KUEUE_LEASE,
	      "multiKueue.leaseName: \"c1f6bfd2.kueue.x-k8s.io\" is the Lease of Kueue, too: while "
	      "Kueue holds it, multikueued leads nothing; give it a name of its own");
	lease(V2 "leaderElection: {leaderElect: false, resourceName: x}\n", "x", "");
	is_int(load(V2 "multiKueue: {leaseName: Mine}\n"), ERR_INVALID,
	       "a name that no Lease can have");
	ok(strstr(err.msg, "multiKueue.leaseName: Invalid value: \"Mine\": a lowercase RFC "
			   "1123 subdomain must consist of") != NULL,
	   "... is an error");
	is_int(load(V2 "leaderElection: {leaderElect: true, resourceName: multikueued}\n"), ERR_OK,
	       "a file with our Lease in Kueue's key");
	ok(strstr(config_print_kueue(&a, &c).p, "leaderElect: true") != NULL &&
		   !strstr(config_print_kueue(&a, &c).p, "resourceName"),
	   "... is not printed for Kueue with it");
#undef RESOURCE
	arena_done(&a);
	return done_testing();
}
