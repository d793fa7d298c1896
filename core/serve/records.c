/* SPDX-License-Identifier: Apache-2.0 */
/* Log records of events and operations; see records.h. */
#include "core/serve/records.h"

#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"

#define REFUSES "a cluster refuses a write"

enum { HTTP_UNAUTHORIZED = 401, HTTP_FORBIDDEN = 403, WORDS_MAX = 512 };

/* "batch/v1, Kind=Job" */
static mk_str kind_word(const struct records *r, uint16_t kind)
{
	return r->kinds && kind < r->kinds->n ? r->kinds->k[kind].gvk : STR("unknown");
}

/* --- rights ----------------------------------------------------------------------------------- */

/* What a request needs, in the words of RBAC. */
struct right {
	mk_str verb, resource, group, path; /* 'path': instead of a resource */
};

/* Takes what stands between 'before' and the next quotation mark off *rest. */
static bool take_quoted(mk_str *rest, const char *before, mk_str *ret)
{
	const char *at = rest->n > 0 ? memmem(rest->p, rest->n, before, strlen(before)) : NULL;

	if (!at) {
		return false;
	}
	*rest = str_sub(*rest, (size_t)(at - rest->p) + strlen(before), SIZE_MAX);
	return str_split(rest, '"', ret) && ret->n <= WORDS_MAX;
}

/*
 * From an API server's words: `... cannot list resource "pods" in API group "" ...`, or
 * `... cannot get path "/version"`.
 */
static bool right_of_words(mk_str words, struct right *ret)
{
	static const char cannot[] = " cannot ";
	const char *at = words.n > 0 ? memmem(words.p, words.n, cannot, strlen(cannot)) : NULL;
	mk_str rest;

	if (!at) {
		return false;
	}
	rest = str_sub(words, (size_t)(at - words.p) + strlen(cannot), SIZE_MAX);
	*ret = (struct right){.group = STR("")};
	if (!str_split(&rest, ' ', &ret->verb)) {
		return false;
	}
	if (take_quoted(&rest, "resource \"", &ret->resource)) {
		(void)take_quoted(&rest, "API group \"", &ret->group);
		return true;
	}
	return take_quoted(&rest, "path \"", &ret->path);
}

/* The right, and the rule that gives it. 'right' is that of the request if the words have none. */
static void tell_right(mk_str cluster, const struct right *of_request, mk_str words)
{
	struct right right = {.verb = STR("")};
	char resource[WORDS_MAX], rule[2 * WORDS_MAX];

	if (!right_of_words(words, &right) || (right.path.n > 0 && of_request->resource.n > 0)) {
		right = *of_request; /* a path of a resource is no right of its own */
	}
	if (right.path.n > 0) {
		snprintf(resource, sizeof(resource), "%.*s", STR_ARG(right.path));
		snprintf(rule, sizeof(rule), "{nonResourceURLs: [\"%.*s\"], verbs: [%.*s]}",
			 STR_ARG(right.path), STR_ARG(right.verb));
	} else {
		snprintf(resource, sizeof(resource), "%.*s%s%.*s", STR_ARG(right.resource),
			 right.group.n > 0 ? "." : "", STR_ARG(right.group));
		snprintf(rule, sizeof(rule),
			 "{apiGroups: [\"%.*s\"], resources: [%.*s], verbs: [%.*s]}",
			 STR_ARG(right.group), STR_ARG(right.resource), STR_ARG(right.verb));
	}
	log_write(LOG_WARN, "link", "a right is missing: add the rule to our role there",
		  LOG_STR("cluster", cluster), LOG_STR("verb", right.verb),
		  LOG_CSTR("resource", resource), LOG_CSTR("rule", rule),
		  LOG_STR("err", str_cut(words, WORDS_MAX)), LOG_END);
}

/* An API server's 403 that is not of RBAC has the words of a webhook, a policy or a quota. */
static bool is_of_rights(mk_str words)
{
	struct right r;

	return right_of_words(words, &r) || words.n == 0 || str_starts(words, STR("forbidden"));
}

/* --- operations ------------------------------------------------------------------------------- */

/* Rules that decide where a Workload runs, or that it does not. */
static const struct {
	const char *rule, *words;
} decisions[] = {
	{"win", "a worker admitted the Workload: it runs there"},
	{"ready", "the check is Ready again"},
	{"worker_evicted", "the worker evicted the Workload: it is queued again"},
	{"winner_lost", "the worker was out of reach for too long: the Workload is queued again"},
	{"kind_unserved", "the worker did not show the kind: the Workload is queued again"},
	{"winner_gone", "the copy on the worker is of no use: the Workload is queued again"},
	{"out_of_sync", "the worker's copy is out of sync: the Workload is queued again"},
	{"no_cluster", "no cluster is recorded: the Workload is queued again"},
	{"job_refused", "the worker refuses the job: the Workload is queued again"},
	{"rejected_no_adapter", "the Workload is rejected"},
	{"rejected_not_managed", "the Workload is rejected"},
	{"rejected_wall", "a wall keeps the Workload here"},
	{"placement_timeout", "no worker took the Workload in time: its quota goes to others"},
	{"unplaceable", "the Workload fits on no worker"},
};

static mk_str name_of(mk_str ns, mk_str name, char out[static WORDS_MAX])
{
	snprintf(out, WORDS_MAX, "%.*s%s%.*s", STR_ARG(ns), ns.n > 0 ? "/" : "", STR_ARG(name));
	return str_of(out);
}

/* The state of the check whose message is the reason of the write; "": the write has none. */
static mk_str state_of(const struct op *op)
{
	struct json_iter it = json_iter(json_at(op->body, "/status/admissionChecks"));

	while (json_next(&it)) {
		mk_str message = json_str(json_get(it.val, "message"));

		if (message.n > 0 && str_starts(op->why, message)) {
			return json_str(json_get(it.val, "state"));
		}
	}
	return STR("");
}

/* Decisions are not rated: each has its record. */
static void tell_decision(const struct records *r, const struct op *op, const char *words)
{
	mk_str winner = json_str_at(op->body, "/status/clusterName");
	char name[WORDS_MAX];

	if (log_enabled(LOG_INFO, "decision")) {
		log_emit(NULL, LOG_INFO, "decision", words,
			 (const struct log_field[]){
				 LOG_STR("workload", name_of(op->ns, op->name, name)),
				 LOG_STR("cluster", winner.n > 0 ? winner : op->about),
				 LOG_CSTR("rule", op->cause), LOG_STR("why", op->why), LOG_END});
	}
	if (r->decisions) {
		decisions_add(r->decisions, clock_wall_ms(),
			      &(struct decision){.ns = op->ns,
						 .name = op->name,
						 .from = op->about,
						 .to = winner,
						 .state = state_of(op),
						 .rule = op->cause,
						 .what = words,
						 .message = op->why});
	}
}

static void on_decision(const struct records *r, const struct op *op)
{
	for (size_t i = 0; i < sizeof(decisions) / sizeof(decisions[0]); i++) {
		if (strcmp(op->cause, decisions[i].rule) == 0) {
			tell_decision(r, op, decisions[i].words);
			return;
		}
	}
}

/* Few operators read Events, which expire after an hour: the log has what is wrong, too. */
static void on_warning(const struct op *op)
{
	log_write(LOG_INFO, "event", "a Warning Event tells what is wrong",
		  LOG_STR("kind", json_str_at(op->body, "/regarding/kind")),
		  LOG_STR("ns", json_str_at(op->body, "/regarding/namespace")),
		  LOG_STR("name", json_str_at(op->body, "/regarding/name")),
		  LOG_STR("reason", json_str_at(op->body, "/reason")),
		  LOG_STR("text", json_str_at(op->body, "/note")), LOG_END);
}

void records_op(const struct records *r, const struct op *op)
{
	char number[16];

	if (op->type == OP_APPLY_STATUS && op->cluster == CLUSTER_MANAGER &&
	    op->kind == KIND_WORKLOAD) {
		on_decision(r, op);
	} else if (op->type == OP_EVENT && str_is(json_str_at(op->body, "/type"), "Warning")) {
		on_warning(op);
	}
	if (log_enabled(LOG_DEBUG, "op")) {
		log_write(LOG_DEBUG, "op", "operation", LOG_CSTR("op", op_type_name(op->type)),
			  LOG_STR("cluster", fleet_name(r->fleet, op->cluster, number)),
			  LOG_STR("kind", kind_word(r, op->kind)), LOG_STR("ns", op->ns),
			  LOG_STR("name", op->name), LOG_STR("uid", op->uid), LOG_INT("rv", op->rv),
			  LOG_CSTR("cause", op->cause), LOG_END);
	}
}

static bool is_refusal(const struct event *ev)
{
	return ev->outcome == OUTCOME_REFUSED && ev->http >= 400 &&
	       (ev->code == ERR_DENIED || ev->code == ERR_INVALID || ev->code == ERR_TOO_BIG);
}

void records_done(const struct records *r, const struct event *ev)
{
	const struct kind *k = r->kinds && ev->kind < r->kinds->n ? &r->kinds->k[ev->kind] : NULL;
	char number[16], name[WORDS_MAX], resource[WORDS_MAX];
	mk_str cluster = fleet_name(r->fleet, ev->cluster, number);
	const char *sub = ev->subresource ? ev->subresource : "";
	mk_str word;

	if (!is_refusal(ev)) {
		return;
	}
	word = !k ? STR("object") : k->plural.n > 0 ? k->plural : k->kind;
	if (ev->http == HTTP_FORBIDDEN && is_of_rights(ev->text)) {
		snprintf(resource, sizeof(resource), "%.*s%s%s", STR_ARG(word), *sub ? "/" : "",
			 sub);
		tell_right(cluster,
			   &(struct right){.verb = str_of(ev->verb),
					   .resource = str_of(resource),
					   .group = k ? k->group : STR("")},
			   ev->text);
		return;
	}
	log_write(LOG_INFO, "decision", REFUSES,
		  LOG_STR(ev->kind == KIND_WORKLOAD ? "workload" : "object",
			  name_of(ev->ns, ev->name, name)),
		  LOG_STR("cluster", cluster), LOG_CSTR("rule", ev->cause),
		  LOG_STR("kind", kind_word(r, ev->kind)), LOG_INT("http", ev->http),
		  LOG_STR("why", str_cut(ev->text, WORDS_MAX)), LOG_END);
	if (r->decisions) {
		decisions_add(r->decisions, clock_wall_ms(),
			      &(struct decision){.kind = ev->kind == KIND_WORKLOAD
								 ? STR("")
								 : kind_word(r, ev->kind),
						 .ns = ev->ns,
						 .name = ev->name,
						 .refused = cluster,
						 .rule = ev->cause,
						 .what = REFUSES,
						 .message = ev->text});
	}
}

/* --- links ------------------------------------------------------------------------------------ */

/* What an operator can do about the loss; "" when the words say all. */
static const char *advice(const struct event *ev)
{
	if (ev->http == HTTP_UNAUTHORIZED) {
		return "the API server does not accept the credentials: make a new token or "
		       "certificate, and put it into the source";
	}
	if (str_is(ev->reason, "InsecureKubeConfig") && ev->text.n > 0 &&
	    memmem(ev->text.p, ev->text.n, "failed to parse", strlen("failed to parse"))) {
		return "the source is no kubeconfig that can be read; Kueue has this reason for "
		       "that, too";
	}
	return "";
}

void records_link(const struct records *r, const struct event *ev)
{
	const struct fleet_cluster *c = fleet_find(r->fleet, ev->cluster);
	const struct right none = {.verb = STR("get"), .path = STR("/version")};
	char number[16];
	mk_str name = fleet_name(r->fleet, ev->cluster, number);

	if (ev->link == LINK_UP) {
		log_write(LOG_INFO, "link", "cluster is connected", LOG_STR("cluster", name),
			  LOG_END);
		return;
	}
	if (ev->link != LINK_DOWN) {
		return;
	}
	log_write(LOG_WARN, "link", "cluster is not connected; trying again",
		  LOG_STR("cluster", name), LOG_STR("reason", ev->reason),
		  LOG_CSTR("code", err_code_name(ev->code)), LOG_INT("http", ev->http),
		  LOG_STR("err", ev->text), LOG_CSTR("source", c ? c->source : ""),
		  *advice(ev) ? LOG_CSTR("do", advice(ev)) : LOG_END, LOG_END);
	if (ev->http == HTTP_FORBIDDEN) {
		tell_right(name, &none, ev->text);
	}
}

void records_rest(struct fleet_cluster *c, int64_t mono_ms, int64_t us)
{
	enum { MINUTE_MS = 60 * 1000 };

	if (mono_ms - c->rest_ms >= MINUTE_MS) {
		c->rest_ms = mono_ms;
		c->rest_us = 0;
	}
	if (c->rest_us < MINUTE_MS * 500 && c->rest_us + us >= MINUTE_MS * 500) {
		log_write(LOG_WARN, "link",
			  "cluster sends more than its share; it is heard for a quarter of the "
			  "time",
			  LOG_CSTR("cluster", c->name), LOG_END);
	}
	c->rest_us += us;
}

void records_unserved(const struct records *r, const struct event *ev, bool matters)
{
	const struct kind *k = r->kinds && ev->kind < r->kinds->n ? &r->kinds->k[ev->kind] : NULL;
	char number[16];
	mk_str name = fleet_name(r->fleet, ev->cluster, number);

	log_write(matters ? LOG_WARN : LOG_INFO, "link",
		  "cluster does not serve a kind; it is left out there", LOG_STR("cluster", name),
		  LOG_STR("kind", kind_word(r, ev->kind)),
		  LOG_CSTR("code", err_code_name(ev->code)), LOG_STR("err", ev->text), LOG_END);
	if (ev->code == ERR_DENIED && k) {
		tell_right(name,
			   &(struct right){.verb = STR("list, watch"),
					   .resource = k->plural.n > 0 ? k->plural : k->kind,
					   .group = k->group},
			   ev->text);
	}
}

void records_in_use(const struct records *r, const struct fleet_cluster *c, uint16_t kind)
{
	log_write(LOG_WARN, "link", "cluster does not serve a kind that a workload has",
		  LOG_CSTR("cluster", c->name), LOG_STR("kind", kind_word(r, kind)), LOG_END);
}
