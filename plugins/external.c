/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatcher of every name that belongs to another controller: a template, without a name of
 * its own. That controller writes status.nominatedClusterNames itself. We accept each cluster that
 * the MultiKueueConfig has, and say which one it has not.
 */
#include <stdbool.h>
#include <string.h>

#include <multikueue/dispatcher.h>

enum { NAME_BYTES = 256, SENTENCE_BYTES = 1024 };

struct sentence {
	char p[SENTENCE_BYTES];
	size_t n;
};

/* Cut to NAME_BYTES bytes, not within a character: three names and our words fit. */
static void add_words(struct sentence *t, mk_str s)
{
	size_t n = s.n < NAME_BYTES ? s.n : NAME_BYTES;

	while (n > 0 && n < s.n && ((unsigned char)s.p[n] & 0xC0) == 0x80) {
		n--;
	}
	if (n > 0) {
		memcpy(t->p + t->n, s.p, n);
		t->n += n;
	}
}

static void refuse_cluster(mk_call *c, const mk_dispatch *d, mk_str cluster)
{
	struct sentence t = {.n = 0};

	add_words(&t, mk_lit("The nominated cluster \""));
	add_words(&t, cluster);
	add_words(&t, mk_lit("\" is not in MultiKueueConfig \""));
	add_words(&t, mk_str_at(c, d->config, "/multiKueueConfig"));
	add_words(&t, mk_lit("\": the dispatcher \""));
	add_words(&t, mk_str_at(c, d->config, "/name"));
	add_words(&t, mk_lit("\" should not have named it"));
	c->host->say(c, (mk_str){t.p, t.n});
}

static bool is_accepted(const mk_pick *pick, ptrdiff_t i)
{
	for (size_t k = 0; k < pick->n; k++) {
		if (pick->index[k] == (uint32_t)i) {
			return true;
		}
	}
	return false;
}

static int accept_nominated(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	mk_val list = c->host->get(c, d->workload, "/status/nominatedClusterNames");
	size_t n = c->host->type(c, list) == MK_ARR ? c->host->len(c, list) : 0;
	bool refused = false;

	for (size_t i = 0; i < n && pick->n < pick->cap; i++) {
		mk_str name = mk_str_at(c, c->host->at(c, list, i), "");
		ptrdiff_t at = mk_find(c, d->clusters, "/name", name);

		if (at >= 0 && !is_accepted(pick, at)) {
			pick->index[pick->n++] = (uint32_t)at;
		} else if (at < 0 && name.n > 0 && !refused) {
			refuse_cluster(c, d,
				       name); /* the first; the others when that one is mended */
			refused = true;
		}
	}
	return MK_SET;
}

static const mk_dispatcher external = {.struct_size = sizeof(mk_dispatcher),
				       .nominate = accept_nominated};

static const void *const items[] = {&external};
static const mk_factory dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER, items};
static const mk_factory *const factories[] = {&dispatchers, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("io.multikueue.external", "1.0.0", factories);
