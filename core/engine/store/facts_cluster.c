/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a MultiKueueCluster and a MultiKueueConfig; see facts_cluster.h. */
#include "core/engine/store/facts_cluster.h"

#include "core/api/names.h"
#include "core/api/selector.h"
#include "core/base/timefmt.h"

/* A word that is not known cordons, too: who set it wants less to run there, not more. */
static void draw_cordon(struct facts *f, const struct json *annotations, struct arena *a)
{
	const struct json *cordon = json_get(annotations, NAME_CORDON);
	mk_str word = json_str(cordon);

	if (!cordon) {
		return;
	}
	f->flags |= F_CORDONED;
	if (str_is(word, "Evict")) {
		f->flags |= F_DRAINED;
	} else if (!str_is(word, "Cordon")) {
		f->s[S_PROBLEM] = arena_printf(a, "\"%.*s\"", STR_ARG(str_cut(word, CORDON_BYTES)));
	}
	f->s[S_CORDON_REASON] =
		str_cut(json_str(json_get(annotations, NAME_CORDON_REASON)), CORDON_BYTES);
}

/* As str_cmp, of the names before the first "=". */
static int compare_names(mk_str x, mk_str y)
{
	mk_str value;

	return str_cmp(api_label_name(x, &value), api_label_name(y, &value));
}

uint32_t facts_labels(const struct json *map, const char *prefix, mk_str *to, uint32_t max,
		      struct arena *a)
{
	struct json_iter it = json_iter(map);
	uint32_t n = 0;

	while (max > 0 && json_type(map) == JSON_OBJ && json_next(&it)) {
		mk_str name = it.key, pair;
		uint32_t i;

		if (!str_starts(name, str_of(prefix))) {
			continue;
		}
		name = str_sub(name, strlen(prefix), name.n - strlen(prefix));
		pair = arena_printf(a, "%.*s=%.*s", STR_ARG(name), STR_ARG(json_str(it.val)));
		if (n == max && compare_names(to[n - 1], pair) <= 0) {
			continue; /* it comes after those that there is room for */
		}
		i = n == max ? n - 1 : n++;
		for (; i > 0 && compare_names(to[i - 1], pair) > 0; i--) {
			to[i] = to[i - 1];
		}
		to[i] = pair;
	}
	return n;
}

void facts_of_mk_cluster(struct facts *f, const struct json *spec, const struct json *annotations,
			 struct arena *a)
{
	const struct json *source = json_get(spec, "clusterSource");
	const struct json *config = json_get(source, "kubeConfig");
	const struct json *profile = json_get(source, "clusterProfileRef");
	mk_str type = json_str(json_get(config, "locationType"));
	bool secret = str_is(type, "Secret") || (!json_get(config, "locationType") && config);

	f->flags |= secret ? F_SECRET : config ? F_PATH : profile ? F_PROFILE : 0;
	f->s[S_LOCATION] =
		json_str(config ? json_get(config, "location") : json_get(profile, "name"));
	f->s[S_SERVER_LOST] = json_str(json_get(annotations, NAME_SERVER_LOST));
	draw_cordon(f, annotations, a);
}

/* From there to the next text 'end', or to the end. */
static mk_str text_until(mk_str s, size_t from, const char *end)
{
	mk_str rest = str_sub(s, from, SIZE_MAX);
	const char *at = rest.n > 0 ? memmem(rest.p, rest.n, end, strlen(end)) : NULL;

	return at ? str_sub(rest, 0, (size_t)(at - rest.p)) : rest;
}

void facts_of_server(struct facts *f, const struct json *condition)
{
	mk_str text = text_until(json_str(json_get(condition, "message")), 0, ": "), rest;

	if (!str_starts(text, STR(SERVER_LEADS_TO))) {
		return;
	}
	f->s[S_SERVER] = text_until(text, strlen(SERVER_LEADS_TO), SERVER_NEXT);
	rest = str_sub(text, strlen(SERVER_LEADS_TO) + f->s[S_SERVER].n, SIZE_MAX);
	if (str_starts(rest, STR(SERVER_BEFORE)) &&
	    time_parse(json_str(json_get(condition, "lastTransitionTime")), &f->moved_ms)) {
		f->flags |= F_MOVED;
		f->s[S_SERVERS_BEFORE] = str_sub(rest, strlen(SERVER_BEFORE), SIZE_MAX);
	}
}

bool facts_next_server(mk_str *list, mk_str *ret_id, int64_t *ret_since_ms)
{
	mk_str one = text_until(*list, 0, SERVER_NEXT);

	*list = str_sub(*list, one.n + strlen(SERVER_NEXT), SIZE_MAX);
	*ret_id = text_until(one, 0, SERVER_SINCE);
	if (!time_parse(str_sub(one, ret_id->n + strlen(SERVER_SINCE), SIZE_MAX), ret_since_ms)) {
		*ret_since_ms = -1;
	}
	return ret_id->n > 0;
}

void facts_of_mk_config(struct facts *f, const struct json *spec, const struct json *annotations)
{
	const struct json *selector = json_get(annotations, NAME_SELECTOR);

	f->flags |=
		str_is(json_str(json_get(spec, "quotaManagement")), "Automated") ? F_AUTOMATED : 0;
	if (selector) {
		f->flags |= F_SELECTS;
		f->s[S_SELECTOR] = str_sub(json_str(selector), 0, API_SELECTOR_BYTES + 1);
	}
}
