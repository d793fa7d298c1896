/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the registry takes and what it refuses, with the exact findings; versions of other minors;
 * templates.
 */
#include "core/base/alloc.h"
#include "core/plug/plug.h"
#include "t/lib/tap.h"

static int nominate(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	(void)c;
	(void)d;
	(void)pick;
	return MK_KEEP;
}

static const mk_adapter job = {
	.struct_size = sizeof(mk_adapter), .group = "batch", .version = "v1", .kind = "Job"};
static const mk_adapter pod = {
	.struct_size = sizeof(mk_adapter), .group = "", .version = "v1", .kind = "Pod"};
static const mk_adapter tmpl = {.struct_size = sizeof(mk_adapter), .managed_by = "/spec/managedBy"};
static const mk_dispatcher theirs = {.struct_size = sizeof(mk_dispatcher), .nominate = nominate};
static const mk_dispatcher cheap = {
	.struct_size = sizeof(mk_dispatcher), .name = "ex.io/cheap", .nominate = nominate};

/* An entry with one factory, built on the spot. */
struct made {
	mk_entry entry;
	mk_factory factory;
	const void *items[4];
	const mk_factory *factories[3];
};

static const mk_entry *make(struct made *m, const char *id, const char *factory, const void *x,
			    const void *y)
{
	*m = (struct made){.entry = MK_ENTRY(id, "1.2", m->factories)};
	m->items[0] = x;
	m->items[1] = y;
	m->factory = (mk_factory){sizeof(mk_factory), y ? 2 : 1, factory, m->items};
	m->factories[0] = &m->factory;
	return &m->entry;
}

static void refused(struct plug *p, const mk_entry *e, const char *want)
{
	struct mk_err err = {0};
	size_t adapters = plug_n_adapters(p), dispatchers = plug_n_dispatchers(p);

	is_int(plug_add(p, e, "bad.so", &err), ERR_INVALID, want);
	is_str(err.msg, want, "the finding");
	ok(plug_n_adapters(p) == adapters && plug_n_dispatchers(p) == dispatchers,
	   "it leaves no trace");
}

static void finds(struct plug *p)
{
	struct made m;
	const struct plug_adapter *ad;

	is_int(plug_add(p, make(&m, "io.kinds", MK_FACTORY_ADAPTER, &job, &pod), "kinds.so", NULL),
	       ERR_OK, "two kinds");
	is_int(plug_find_adapter(p, (mk_str){"batch/v1, Kind=Job", 18}), 0, "found by kind");
	is_int(plug_find_adapter(p, (mk_str){"/v1, Kind=Pod", 13}), 1, "the core group is empty");
	is_int(plug_find_adapter(p, (mk_str){"v1, Kind=Pod", 12}), -1,
	       "another spelling is another kind");
	ad = plug_adapter(p, 1);
	is_str(ad->source.file, "kinds.so", "file");
	is_str(ad->source.version, "1.2", "version");
	ok(!plug_adapter(p, 2), "past the end");
	static struct made d; /* the registry keeps pointers to descriptors */

	is_int(plug_add(p, make(&d, "io.disp", MK_FACTORY_DISPATCHER, &cheap, NULL), "d.so", NULL),
	       ERR_OK, "dispatcher");
	is_int(plug_find_dispatcher(p, (mk_str){"ex.io/cheap", 11}), 0, "found by name");
	is_int(plug_find_dispatcher(p, (mk_str){"ex.io/chea", 10}), -1, "not by a part");
}

/* A dispatcher without a name answers for names of other controllers, after all that are loaded. */
static void external_names(void)
{
	static const mk_dispatcher late = {
		.struct_size = sizeof(mk_dispatcher), .name = "ex.io/late", .nominate = nominate};
	struct plug *p = plug_new(NULL);
	mk_dispatcher choosy = theirs;
	struct made m, n, bad;
	int i;

	is_int(plug_add(p, make(&m, "io.t", MK_FACTORY_DISPATCHER, &theirs, NULL), "t.so", NULL),
	       ERR_OK, "a template");
	is_int(plug_add(p, make(&n, "io.d", MK_FACTORY_DISPATCHER, &cheap, &late), "d.so", NULL),
	       ERR_OK, "and dispatchers with names that it would answer for");
	i = plug_find_dispatcher(p, STR("ex.io/other"));
	ok(i == 0 && plug_dispatcher(p, 0)->is_template,
	   "a name that no plugin has is the template's");
	is_str(plug_dispatcher(p, 0)->name.p, "(external names)", "... which is listed so");
	is_int(plug_find_dispatcher(p, STR("ex.io/late")), 2, "a name that is loaded is its own");
	is_int(plug_find_dispatcher(p, STR("")), 0, "no name at all is external, as in Kueue");
	is_int(plug_find_dispatcher(p, STR("kueue.x-k8s.io/new")), -1, "Kueue's own are not");
	is_int(plug_find_dispatcher(p, STR("new")), -1, "nor is what has no domain");
	is_int(plug_find_dispatcher(p, STR(PLUG_EXTERNAL)), -1, "nor the name in lists");
	refused(p, make(&bad, "io.x", MK_FACTORY_DISPATCHER, &theirs, NULL),
		"dispatcher 0: name: expected one that is not taken, found it also in t.so");
	choosy.config_schema = "{}";
	plug_free(p);
	p = plug_new(NULL);
	refused(p, make(&bad, "io.x", MK_FACTORY_DISPATCHER, &choosy, NULL),
		"dispatcher 0: config_schema: expected none of a template, found one");
	plug_free(p);
}

static void refuses_entries(struct plug *p)
{
	struct made m;

	make(&m, "io.x", MK_FACTORY_ADAPTER, &job, NULL);
	m.entry.magic = 7;
#define ADVICE "; rebuild it against sdk/ of multikueued " MK_VERSION " (ABI 1.3)"
	refused(p, &m.entry, "magic: expected 0x314b4d7f, found 0x00000007" ADVICE);
	make(&m, "io.x", MK_FACTORY_ADAPTER, &job, NULL);
	m.entry.abi_major = 2;
	m.entry.struct_size = 8;
	m.entry.layout = 0x0401;
	m.entry.min_host_minor = 4;
	refused(p, &m.entry,
		"layout: expected 0x0801, found 0x0401; abi_major: expected 1, found 2; "
		"struct_size: expected at least 40, found 8; min_host_minor: expected at most 3, "
		"found 4" ADVICE);
	make(&m, "io.kinds", MK_FACTORY_ADAPTER, &tmpl, NULL);
	m.entry.version = NULL;
	refused(p, &m.entry,
		"id: expected one that is not taken, found io.kinds (also in kinds.so); "
		"version: expected at most 63 bytes, found NULL");
	make(&m, "", MK_FACTORY_ADAPTER, &tmpl, NULL);
	m.factories[0] = NULL;
	refused(p, &m.entry,
		"id: expected a reverse-DNS name of at most 253 bytes, found \"\"; "
		"factories: expected at least one, found none");
	make(&m, "io.x", MK_FACTORY_ADAPTER, &tmpl, NULL);
	m.factory.n = 0;
	refused(p, &m.entry, "factory mk.adapter/1: n: expected 1 to 64, found 0");
}

static void refuses_items(struct plug *p)
{
	static const char *const lists[] = {"/fine", "spec", NULL};
	mk_adapter bad = job;
	mk_dispatcher worse = cheap;
	struct made m;

	refused(p, make(&m, "io.x", MK_FACTORY_ADAPTER, &job, NULL),
		"adapter 0: kind: expected one without an adapter, found batch/v1, Kind=Job (also "
		"in kinds.so)");
	bad.kind = "New";
	refused(p, make(&m, "io.x", MK_FACTORY_ADAPTER, &bad, &bad),
		"adapter 1: kind: expected one without an adapter, found batch/v1, Kind=New (also "
		"in bad.so)");
	bad.struct_size = 80;
	refused(p, make(&m, "io.x", MK_FACTORY_ADAPTER, &bad, NULL),
		"adapter 0: struct_size: expected 88 to 4096, found 80");
	bad = (mk_adapter){.struct_size = sizeof(bad),
			   .flags = 8,
			   .group = "g",
			   .managed_by = "spec",
			   .strip = lists,
			   .replicas = "/a~",
			   .group_key = "k"};
	refused(p, make(&m, "io.x", MK_FACTORY_ADAPTER, &bad, NULL),
		"adapter 0: flags: expected bits of 0x3, found 0x8; adapter 0: version: expected "
		"an API version, found "
		"NULL; adapter 0: kind: expected a kind, found NULL; adapter 0: managed_by: "
		"expected a JSON pointer that "
		"begins with \"/\", found spec; adapter 0: strip: expected a JSON pointer that "
		"begins with \"/\", found "
		"spec; adapter 0: replicas: expected a JSON pointer that begins with \"/\", found "
		"/a~; adapter 0: "
		"expected group_key or replicas, found both");
	worse.nominate = NULL;
	worse.flags = 4;
	worse.name = "plain";
	refused(p, make(&m, "io.x", MK_FACTORY_DISPATCHER, &worse, NULL),
		"dispatcher 0: flags: expected bits of 0x3, found 0x4; dispatcher 0: nominate: "
		"expected a "
		"function, found NULL; "
		"dispatcher 0: name: expected domain/name of at most 63 bytes, found plain");
	refused(p, make(&m, "io.x", MK_FACTORY_DISPATCHER, &cheap, NULL),
		"dispatcher 0: name: expected one that is not taken, found it also in d.so");
	make(&m, "io.x", MK_FACTORY_DISPATCHER, NULL, NULL);
	refused(p, &m.entry, "dispatcher 0: expected a descriptor, found NULL");
	worse = cheap;
	worse.name = "ex.io/strict";
	worse.config_schema = "{\"pattern\":\"x\"}";
	refused(p, make(&m, "io.x", MK_FACTORY_DISPATCHER, &worse, NULL),
		"dispatcher 0: config_schema: expected a known word, found \"pattern\"");
}

/*
 * A dispatcher's schema, and one that was built before there were any:
 * what follows it is not looked at.
 */
static void schemas(struct plug *p)
{
	static mk_dispatcher strict = {.struct_size = sizeof(mk_dispatcher),
				       .name = "ex.io/strict",
				       .nominate = nominate,
				       .config_schema = "{\"type\":\"object\"}"};
	static mk_dispatcher old = {.struct_size = offsetof(mk_dispatcher, config_schema),
				    .name = "ex.io/old",
				    .nominate = nominate,
				    .config_schema = "no part of the struct"};
	struct made m, n;
	int i;

	is_int(plug_add(p, make(&m, "io.strict", MK_FACTORY_DISPATCHER, &strict, NULL), "", NULL),
	       ERR_OK, "with a schema");
	i = plug_find_dispatcher(p, (mk_str){"ex.io/strict", 12});
	ok(i >= 0 && json_type(plug_dispatcher(p, (size_t)i)->schema) == JSON_OBJ,
	   "... which is there to be asked");
	is_int(plug_add(p, make(&n, "io.old", MK_FACTORY_DISPATCHER, &old, NULL), "", NULL), ERR_OK,
	       "as the struct was before");
	i = plug_find_dispatcher(p, (mk_str){"ex.io/old", 9});
	ok(i >= 0 && !plug_dispatcher(p, (size_t)i)->schema, "... has none");
}

static void minors(struct plug *p)
{
	static struct {
		mk_adapter ad;
		const void *newer[2];
	} big = {.ad = {.struct_size = sizeof(big), .group = "g", .version = "v1", .kind = "Big"}};
	static struct made m, other;
	size_t n = 0;

	while (plug_warning(p, n)) {
		n++;
	}
	make(&m, "io.newer", MK_FACTORY_ADAPTER, &big, NULL);
	m.entry.abi_minor = 4;
	is_int(plug_add(p, &m.entry, "n.so", NULL), ERR_OK,
	       "a newer minor that needs no newer host loads");
	ok(!plug_warning(p, n), "silently, while it uses nothing new");
	big.ad.kind = "Bigger";
	big.newer[1] = &big;
	make(&other, "io.newest", MK_FACTORY_ADAPTER, &big, NULL);
	other.entry.abi_minor = 4;
	is_int(plug_add(p, &other.entry, "n2.so", NULL), ERR_OK, "and with something new");
	is_str(plug_warning(p, n),
	       "n2.so: g/v1, Kind=Bigger: built for abi 1.4 uses a field at offset 144 that this "
	       "host (1.3) does not "
	       "know; it is ignored",
	       "with a warning");
	static struct made later;

	make(&later, "io.later", "mk.queue-policy/1", &big, NULL);
	is_int(plug_add(p, &later.entry, "q.so", NULL), ERR_OK, "an unknown factory is skipped");
	is_str(plug_warning(p, n + 1),
	       "q.so: factory mk.queue-policy/1 is not known to this host (1.3); it is skipped",
	       "with a warning");
}

static void templates(struct plug *p)
{
	static struct made m, again;
	struct mk_err err;
	size_t n = plug_n_adapters(p);

	is_int(plug_add_framework(p, (mk_str){"Foo.v1.ex.io", 12}, &err), ERR_INVALID,
	       "no template");
	is_str(err.msg, "Foo.v1.ex.io: expected a plugin with a template adapter, found none",
	       "says so");
	is_int(plug_add(p, make(&m, "io.generic", MK_FACTORY_ADAPTER, &tmpl, NULL), "g.so", NULL),
	       ERR_OK, "template");
	is_int((int64_t)plug_n_adapters(p), (int64_t)n, "a template is no adapter");
	refused(p, make(&again, "io.generic2", MK_FACTORY_ADAPTER, &tmpl, NULL),
		"adapter 0: expected at most one template, found another (also in g.so)");
	is_int(plug_add_framework(p, (mk_str){"Foo.v1.ex.io", 12}, &err), ERR_OK, "an instance");
	is_int(plug_find_adapter(p, (mk_str){"ex.io/v1, Kind=Foo", 18}), (int64_t)n, "is found");
	is_int(plug_add_framework(p, (mk_str){"Foo.v1.ex.io", 12}, &err), ERR_INVALID, "twice");
	is_str(err.msg, "Foo.v1.ex.io: expected a kind without an adapter, found one", "says so");
	is_int(plug_add_framework(p, (mk_str){"Job.v1.batch", 12}, &err), ERR_INVALID,
	       "a kind of another plugin");
	is_int(plug_add_framework(p, (mk_str){"Foo.v1", 6}, &err), ERR_INVALID, "too few parts");
	is_str(err.msg, "expected Kind.version.group, found \"Foo.v1\"", "says so");
}

static void memory(void)
{
	struct made m;
	bool done = false;

	for (uint64_t n = 1; n < 50 && !done; n++) {
		alloc_fail_after(n);
		struct plug *p = plug_new(NULL);
		enum mk_code code =
			p ? plug_add(p, make(&m, "io.k", MK_FACTORY_ADAPTER, &job, &pod), "k.so",
				     NULL)
			  : ERR_NO_MEMORY;

		alloc_fail_after(0);
		done = code == ERR_OK;
		if (code != ERR_OK && code != ERR_NO_MEMORY && code != ERR_INVALID) {
			ok(false, "another error than out of memory");
		}
		plug_free(p);
	}
	ok(done, "out of memory anywhere is an error and no crash");
}

int main(void)
{
	struct plug *p = plug_new(NULL);

	plug_free(NULL);
	external_names();
	finds(p);
	refuses_entries(p);
	refuses_items(p);
	schemas(p);
	minors(p);
	templates(p);
	plug_free(p);
	memory();
	return done_testing();
}
