/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins that are careless with lengths, bytes and times: a fault or a bound, never a crash or
 * a request that no server takes.
 */
#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

#include <sys/mman.h>
#include <unistd.h>

#include "core/plug/plug.h"

static struct arena a;
static struct plug *p;
static char *edge; /* the last byte that may be read */
static void (*deed)(mk_call *c, mk_val draft);
static int64_t wait_ms;

static int do_it(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	deed(c, draft);
	return MK_SET;
}

static int wait_for(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	(void)c;
	(void)d;
	pick->wait_ms = wait_ms;
	return MK_KEEP;
}

static const mk_adapter adapter = {.struct_size = sizeof(mk_adapter),
				   .group = "ex.io",
				   .version = "v1",
				   .kind = "Sloppy",
				   .status = do_it};
static const mk_dispatcher dispatcher = {
	.struct_size = sizeof(mk_dispatcher), .name = "ex.io/sloppy", .nominate = wait_for};
static const void *const kinds[] = {&adapter};
static const void *const names[] = {&dispatcher};
static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, kinds};
static const mk_factory dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER, names};
static const mk_factory *const factories[] = {&adapters, &dispatchers, NULL};
static const mk_entry entry = MK_ENTRY("test.sloppy", "1", factories);

static bool is_utf8(mk_str s)
{
	while (s.n > 0) {
		size_t n = str_utf8(s);

		if (n == 0) {
			return false;
		}
		s = str_sub(s, n, SIZE_MAX);
	}
	return true;
}

static void fault_is(void (*what)(mk_call *, mk_val), const char *want, const char *name)
{
	const struct plug_view v = {.local = parse_json(&a, "{}"),
				    .workload = parse_json(&a, "{}")};
	struct plug_result r;
	struct mk_err err = {0};
	const char *why;

	deed = what;
	is_int(plug_status(p, 0, &v, parse_json(&a, "{}"), &a, &r, &err), ERR_PLUGIN_FAULT, name);
	why = strstr(err.msg, "Kind=Sloppy: ");
	is_str(why ? why + strlen("Kind=Sloppy: ") : err.msg, want, name);
	ok(is_utf8(str_of(err.msg)), "the message is UTF-8");
}

static void long_text(mk_call *c, mk_val draft)
{
	c->host->set(c, draft, "/x", c->host->text(c, (mk_str){edge, SIZE_MAX}));
}

static void long_json(mk_call *c, mk_val draft)
{
	c->host->set(c, draft, "/x", c->host->parse(c, (mk_str){edge, 64 * 1024 * 1024}));
}

static void long_reason(mk_call *c, mk_val draft)
{
	(void)draft;
	c->host->say(c, (mk_str){edge, 4096});
}

static void long_owner(mk_call *c, mk_val draft)
{
	(void)draft;
	(void)c->host->workload_name(c, (mk_str){edge, 4096}, mk_lit("u"), mk_lit(""));
}

static void odd_key(mk_call *c, mk_val draft)
{
	c->host->set(c, draft, "/spec/\xff", c->host->text(c, mk_lit("x")));
}

/* What is shown of the pointer ends within a letter of two bytes. */
static void cut_key(mk_call *c, mk_val draft)
{
	(void)draft;
	(void)c->host->get(c, draft,
			   "no-pointer-----------------------------------------------------"
			   "\xc3\xa9-and-more");
}

static void odd_pointer(mk_call *c, mk_val draft)
{
	(void)c->host->get(c, draft, "spec\xff");
}

static int64_t waits(int64_t said)
{
	const struct plug_question q = {.workload = parse_json(&a, "{}"),
					.clusters = parse_json(&a, "[]")};
	struct plug_pick r = {.wait_ms = -2};

	wait_ms = said;
	return plug_nominate(p, 0, &q, &a, &r, NULL) == ERR_OK ? r.wait_ms : -3;
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	arena_init(&a, 0);
	p = plug_new(NULL);
	if (!p || two == MAP_FAILED || mprotect(two + page, page, PROT_NONE) != 0 ||
	    plug_add(p, &entry, "", NULL) != ERR_OK) {
		printf("Bail out! cannot begin\n");
		return 1;
	}
	edge = two + page - 1;
	*edge = 'x';
	is_int(waits(-1), -1, "on events only");
	is_int(waits(5000), 5000, "a time");
	is_int(waits(0), PLUG_WAIT_MIN_MS,
	       "at once, again and again, would leave time for nothing else");
	is_int(waits(INT64_MAX), PLUG_WAIT_MAX_MS,
	       "for ever is no time that can be added to another");
	fault_is(odd_key, "set: expected UTF-8, found other bytes", "a key that is no UTF-8");
	fault_is(odd_pointer, "get: expected a JSON pointer, found spec",
		 "a pointer that is no UTF-8");
	fault_is(cut_key,
		 "get: expected a JSON pointer, found "
		 "no-pointer-----------------------------------------------------",
		 "a pointer of which a part is shown");
	fault_is(long_reason, "say: expected at most 1024 bytes, found 4096", "a reason's length");
	fault_is(long_owner, "workload_name: expected at most 1024 bytes, found more",
		 "an owner's length");
	fault_is(long_json, "memory: expected at most 16777216 bytes, found more",
		 "the length of JSON");
	fault_is(long_text, "memory: expected at most 16777216 bytes, found more",
		 "a text's length");
	plug_free(p);
	arena_done(&a);
	return tap_done();
}
