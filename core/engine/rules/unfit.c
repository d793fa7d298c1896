/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses that are too large; see unfit.h. */
#include "core/engine/rules/unfit.h"

#include "core/base/hash.h"
#include "core/engine/rules/fault.h"

static uint32_t hash_of(const struct record *remote)
{
	return (uint32_t)hash64(str_of(remote->uid)) | 1u;
}

mk_str unfit_words(struct pass *p, const struct record *remote)
{
	const struct facts *f = remote && remote->present ? remote->facts : NULL;
	struct arena *a = &p->e->scratch;
	mk_str why = STR("");

	if (facts_is(f, F_UNUSABLE)) {
		why = f->s[S_REASON];
	} else if (f && p->pace->unfit_of == hash_of(remote)) {
		why = arena_printf(a, "it is larger than %zu KiB (multiKueue.jobStatusSize)",
				   p->e->o.job_status_size / 1024);
	}
	return why.n == 0 ? why
			  : arena_printf(a,
					 "the status of its copy on worker cluster \"%s\" cannot "
					 "be copied: %.*s",
					 cluster_get(p->e, remote->table->cluster)->name,
					 STR_ARG(why));
}

static void tell(struct pass *p, const struct record *remote)
{
	p->status_unfit = true;
	fault_tell(p, ERR_OK, NULL, MK_E_INPUT, unfit_words(p, remote));
}

bool unfit_text(struct pass *p, const struct record *remote)
{
	if (!remote->present || !facts_is(remote->facts, F_UNUSABLE)) {
		return false;
	}
	tell(p, remote);
	return true;
}

bool unfit_size(struct pass *p, const struct record *remote, size_t n)
{
	if (p->e->o.job_status_size == 0 || n <= p->e->o.job_status_size) {
		return false;
	}
	p->pace->unfit_of = hash_of(remote);
	tell(p, remote);
	return true;
}

void unfit_ends(struct pass *p)
{
	p->pace->unfit_of = 0;
}
