/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes which call of a plugin goes on, so that the crash handler and other threads can name it.
 * Copies only: what is read after a crash must not depend on memory that the plugin overwrote.
 */
#include "core/plug/internal.h"

static void keep(char *to, size_t size, mk_str s)
{
	mk_str part = str_cut(s, size - 1);

	memcpy(to, part.n ? part.p : "", part.n);
	to[part.n] = '\0';
}

void running_begin(struct plug *p, const struct plug_source *source, const char *hook,
		   const struct running_object *o)
{
	struct plug_running *r = p->running;

	pthread_mutex_lock(&p->running_lock);
	keep(r->plugin, sizeof(r->plugin), str_of(source->id));
	keep(r->version, sizeof(r->version), str_of(source->version));
	keep(r->hook, sizeof(r->hook), str_of(hook));
	keep(r->item, sizeof(r->item), o->item);
	keep(r->ns, sizeof(r->ns), json_str_at(o->object, "/metadata/namespace"));
	keep(r->name, sizeof(r->name), json_str_at(o->object, "/metadata/name"));
	keep(r->workload, sizeof(r->workload), o->workload);
	keep(r->cluster, sizeof(r->cluster), o->cluster);
	p->running_thread = pthread_self();
	/* last: a handler on this thread believes the rest when this is set */
	atomic_store(&r->is_on, true);
	pthread_mutex_unlock(&p->running_lock);
}

void running_end(struct plug *p)
{
	atomic_store(&p->running->is_on, false);
}

void plug_keep_running(struct plug *p, struct plug_running *r)
{
	p->running = r;
}

/* Memory that a plugin can reach may hold anything. */
static void close_texts(struct plug_running *r)
{
	r->plugin[sizeof(r->plugin) - 1] = '\0';
	r->version[sizeof(r->version) - 1] = '\0';
	r->hook[sizeof(r->hook) - 1] = '\0';
	r->item[sizeof(r->item) - 1] = '\0';
	r->ns[sizeof(r->ns) - 1] = '\0';
	r->name[sizeof(r->name) - 1] = '\0';
	r->workload[sizeof(r->workload) - 1] = '\0';
	r->cluster[sizeof(r->cluster) - 1] = '\0';
}

bool plug_get_running(struct plug *p, struct plug_running *ret)
{
	bool on = false;

	/* Held for some copies only; if not free, no call has gone on for long. */
	if (pthread_mutex_trylock(&p->running_lock) == 0) {
		on = atomic_load(&p->running->is_on);
		if (on) {
			memcpy(ret, p->running, sizeof(*ret));
			close_texts(ret);
		}
		pthread_mutex_unlock(&p->running_lock);
	}
	return on;
}

const struct plug_running *plug_running_here(const struct plug *p)
{
	return atomic_load(&p->running->is_on) && pthread_equal(p->running_thread, pthread_self())
		       ? p->running
		       : NULL;
}
