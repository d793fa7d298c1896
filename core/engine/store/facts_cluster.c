/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a MultiKueueCluster; see facts_cluster.h. */
#include "core/engine/store/facts_cluster.h"

#include "core/api/names.h"

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

/* The name in "name=value". */
static mk_str name_in(mk_str pair)
{
	size_t n = 0;

	while (n < pair.n && pair.p[n] != '=') {
		n++;
	}
	return str_sub(pair, 0, n);
}

uint32_t facts_labels(const struct json *map, const char *prefix, mk_str *to, uint32_t max,
		      struct arena *a)
{
	struct json_iter it = json_iter(map);
	uint32_t n = 0;

	while (n < max && json_next(&it)) {
		mk_str name = it.key, pair;
		uint32_t i = n;

		if (!str_starts(name, str_of(prefix))) {
			continue;
		}
		name = str_sub(name, strlen(prefix), name.n - strlen(prefix));
		pair = arena_printf(a, "%.*s=%.*s", STR_ARG(name), STR_ARG(json_str(it.val)));
		for (; i > 0 && str_cmp(name_in(to[i - 1]), name) > 0; i--) {
			to[i] = to[i - 1];
		}
		to[i] = pair;
		n++;
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
	draw_cordon(f, annotations, a);
}
