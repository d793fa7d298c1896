/* SPDX-License-Identifier: Apache-2.0 */
/* Several `kubectl logs` at once, whose lines become one output. */
#ifndef MK_CLI_PODS_STREAMS_H
#define MK_CLI_PODS_STREAMS_H

#include "core/base/map.h"
#include "core/cli/kubectl.h"

enum { STREAMS_MAX = 64 };

/* One kubectl, and the line that it has begun. */
struct stream {
	struct kubectl kubectl;
	char *label; /* what stands before each line */
	struct buf line;
	bool returned; /* the last line ended with a carriage return */
};

struct streams {
	struct cli *c;
	struct stream v[STREAMS_MAX];
	size_t n;
	struct map seen; /* keys of all that were ever begun */
};

/* None yet; 'c' gets their lines. */
void streams_init(struct streams *s, struct cli *c);
/* Ends the kubectls that are left. */
void streams_done(struct streams *s);

/* May another one begin now? */
static inline bool streams_has_room(const struct streams *s)
{
	return s->n < STREAMS_MAX;
}
/* Was one with that key begun? */
bool streams_seen(const struct streams *s, mk_str key);
/*
 * Starts kubectl with all words of 'argv' ("kubectl" first); 'label' stands before each of its
 * lines. There is room. False: the error was printed.
 */
bool streams_begin(struct streams *s, mk_str key, mk_str label, const char *const *argv);

/*
 * Waits for output, at most 'ms', and puts the whole lines into c->out. *ret_bad: how many ended,
 * and not well; kubectl has said why. False: out of memory.
 */
bool streams_read(struct streams *s, int ms, size_t *ret_bad);

#endif
