/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds, lists of operations, and the one-line forms. */
#include "core/base/alloc.h"
#include "core/model/op.h"
#include "t/lib/tap.h"

static struct arena arena;
static struct kinds ks;

static void test_kinds(void)
{
	uint16_t id = 0;
	uint16_t again = 0;
	char api[320];
	enum mk_code code = ERR_OK;

	kinds_init(&ks);
	is_int(ks.n, KIND_FIRST_JOB, "the fixed kinds");
	for (uint16_t i = 0; i < ks.n; i++) {
		mk_str want = arena_printf(&arena, "%.*s/%.*s, Kind=%.*s", STR_ARG(ks.k[i].group),
					   STR_ARG(ks.k[i].version), STR_ARG(ks.k[i].kind));

		ok(str_eq(ks.k[i].gvk, want) && ks.k[i].plural.n > 0, want.p);
		is_int(kinds_find(&ks, want), i, "is found by it");
	}
	is_int(kinds_add(&ks, STR("batch"), STR("v1"), STR("Job"), STR("batch/v1, Kind=Job"), &id),
	       ERR_OK, "a job kind");
	is_int(id, KIND_FIRST_JOB, "gets the next number");
	is_int(kinds_add(&ks, STR("batch"), STR("v1"), STR("Job"), STR("batch/v1, Kind=Job"),
			 &again),
	       ERR_OK, "once more");
	is_int(again, id, "is the same");
	is_int(kinds_find(&ks, STR("no/v1, Kind=X")), -1, "unknown");
	is_str(kind_api_version(&ks.k[KIND_SECRET], api).p, "v1", "the core group");
	for (int i = 0; code == ERR_OK && i < 300; i++) {
		code = kinds_add(&ks, STR("g"), STR("v"), arena_printf(&arena, "K%d", i), STR("x"),
				 &again);
	}
	is_int(code, ERR_TOO_BIG, "the table ends");
	is_int(ks.n, KIND_MAX, "when it is full");
}

static const char *op(struct op o)
{
	return op_text(&o, &ks, &arena).p;
}

static const char *event(struct event ev)
{
	return event_text(&ev, &ks, &arena).p;
}

static void test_ops(void)
{
	struct json *body = NULL;

	json_parse(&arena, STR("{\"b\":1,\"a\":[\"x\"]}"), &body, NULL);
	is_str(op((struct op){.type = OP_CREATE,
			      .cluster = 2,
			      .kind = KIND_FIRST_JOB,
			      .ns = STR("n"),
			      .name = STR("j"),
			      .cause = "clone_create",
			      .body = body}),
	       "create 2 Job.batch n/j cause=clone_create {\"b\":1,\"a\":[\"x\"]}", "create");
	is_str(op((struct op){.type = OP_CREATE,
			      .cluster = 2,
			      .kind = KIND_FIRST_JOB,
			      .ns = STR("n"),
			      .name = STR("j"),
			      .as = STR("system:serviceaccount:n:a"),
			      .cause = "job_create"}),
	       "create 2 Job.batch n/j as=system:serviceaccount:n:a cause=job_create",
	       "in another's name");
	is_str(op((struct op){.type = OP_APPLY_STATUS,
			      .kind = KIND_WORKLOAD,
			      .ns = STR("n"),
			      .name = STR("w"),
			      .uid = STR("u"),
			      .rv = 7,
			      .subresource = "status",
			      .field_manager = "kueue-admission",
			      .cause = "c"}),
	       "apply_status 0 Workload n/w sub=status manager=kueue-admission uid=u rv=7 cause=c",
	       "apply_status");
	is_str(op((struct op){.type = OP_WATCH_OPEN,
			      .cluster = 1,
			      .kind = KIND_WORKLOAD,
			      .selector = STR("a=b"),
			      .metadata_only = true}),
	       "watch_open 1 Workload selector=a=b metadata_only", "watch_open");
	is_str(op((struct op){.type = OP_CONNECT,
			      .cluster = 1,
			      .ns = STR("k"),
			      .name = STR("east"),
			      .secret = STR("s 1")}),
	       "connect 1 k/east secret=\"s 1\"", "connect");
	is_str(op((struct op){.type = OP_GET, .kind = 999, .name = STR("x")}), "get 0 kind999 x",
	       "an unknown kind");
	is_str(op_type_name(OP_N_TYPES), "?", "no operation");
	for (int t = 0; t < OP_N_TYPES; t++) {
		ok(op_type_name((enum op_type)t)[0] >= 'a', op_type_name((enum op_type)t));
	}
	ok(op_is_mutating(OP_CREATE) && op_is_mutating(OP_APPLY_STATUS) &&
		   op_is_mutating(OP_MERGE) && op_is_mutating(OP_DELETE) &&
		   op_is_mutating(OP_EVENT),
	   "what changes a cluster");
	ok(!op_is_mutating(OP_GET) && !op_is_mutating(OP_WATCH_OPEN) &&
		   !op_is_mutating(OP_CONNECT) && !op_is_mutating(OP_DISCONNECT) &&
		   !op_is_mutating(OP_WATCH_CLOSE),
	   "what does not");
}

static void test_list(void)
{
	struct op_list l = {.arena = &arena};
	struct arena tiny;

	for (uint64_t i = 0; i < 100; i++) {
		struct op o = {.id = i};

		op_list_add(&l, &o);
	}
	ok(l.n == 100 && l.v[99].id == 99 && l.v[0].id == 0, "a list grows");
	arena_init(&tiny, 64);
	l = (struct op_list){.arena = &tiny};
	ok(!op_list_add(&l, &(struct op){.id = 1}) && l.n == 0, "or says that it cannot");
	arena_done(&tiny);
}

static void test_events(void)
{
	is_str(event((struct event){.type = EV_OBSERVED,
				    .cluster = 3,
				    .kind = KIND_WORKLOAD,
				    .ns = STR("n"),
				    .name = STR("w"),
				    .uid = STR("u"),
				    .rv = 9,
				    .epoch = 2,
				    .via = VIA_REPLY}),
	       "observed 3 Workload n/w uid=u rv=9 epoch=2 via=reply", "observed");
	is_str(event((struct event){.type = EV_GONE, .kind = KIND_CLUSTER, .name = STR("c")}),
	       "gone 0 MultiKueueCluster c", "gone");
	is_str(event((struct event){.type = EV_LIST_END, .kind = KIND_WORKLOAD, .rv = 5}),
	       "list_end 0 Workload rv=5", "list_end");
	is_str(event((struct event){
		       .type = EV_FAILING, .kind = KIND_FIRST_JOB, .text = STR("no leader")}),
	       "failing 0 Job.batch text=\"no leader\"", "failing");
	is_str(event((struct event){.type = EV_UNSERVED,
				    .kind = KIND_FIRST_JOB,
				    .code = ERR_DENIED,
				    .text = STR("no \"x\"\n\001")}),
	       "unserved 0 Job.batch code=denied text=\"no \\\"x\\\"\\n\\x01\"",
	       "unserved, with what a terminal must not see");
	is_str(event((struct event){.type = EV_LINK,
				    .cluster = 1,
				    .link = LINK_DOWN,
				    .code = ERR_TIMEOUT,
				    .reason = STR("R"),
				    .text = STR("t"),
				    .at_wall_ms = 4}),
	       "link 1 down code=timeout reason=R text=t at=4", "link");
	is_str(event((struct event){.type = EV_LINK,
				    .cluster = 1,
				    .link = LINK_UP,
				    .name = STR("id"),
				    .epoch = 1}),
	       "link 1 up identity=id epoch=1", "link up");
	is_str(event((struct event){.type = EV_OP_DONE,
				    .op_id = 8,
				    .outcome = OUTCOME_REFUSED,
				    .code = ERR_CONFLICT,
				    .http = 409,
				    .retry_after_ms = 1000}),
	       "op_done 8 refused http=409 code=conflict retry_after_ms=1000", "op_done");
	is_str(event((struct event){.type = EV_LEADER, .may_write = true}), "leader may_write=true",
	       "leader");
	is_str(event((struct event){.type = EV_LEADER}), "leader may_write=false", "no leader");
	is_str(event((struct event){.type = EV_N_TYPES}), "?", "no event");
	alloc_fail_after(1);
	{
		struct arena a;
		struct event ev = {.type = EV_LEADER};

		arena_init(&a, 0);
		ok(!event_text(&ev, &ks, &a).p, "out of memory");
		arena_done(&a);
	}
	alloc_fail_after(0);
}

int main(void)
{
	arena_init(&arena, 0);
	test_kinds();
	test_ops();
	test_list();
	test_events();
	arena_done(&arena);
	return done_testing();
}
