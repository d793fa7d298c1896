/* SPDX-License-Identifier: Apache-2.0 */
/* Names by chance and by the machine; see identity.h. */
#include "core/daemon/identity.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

/* `multikueued/<version> (<os>/<arch>) <identity>`, with Go's names of systems. */
static void make_agents(struct identity *id)
{
	static const struct {
		const char *machine, *arch;
	} names[] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}, {"i686", "386"}, {"armv7l", "arm"}};
	struct utsname u;
	const char *arch = "unknown";

	if (uname(&u) == 0) {
		arch = u.machine;
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			if (strcmp(u.machine, names[i].machine) == 0) {
				arch = names[i].arch;
			}
		}
	}
	snprintf(id->agent, sizeof(id->agent), "multikueued/" MK_VERSION " (linux/%.65s) %s", arch,
		 id->name);
	snprintf(id->lease_agent, sizeof(id->lease_agent), "%s/leader-election", id->agent);
}

enum mk_code identity_make(struct identity *id, struct mk_err *err)
{
	unsigned char r[16];
	char host[128] = "";

	if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0') {
		snprintf(host, sizeof(host), "multikueued");
	}
	if (getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r) ||
	    getrandom(&id->seed, sizeof(id->seed), 0) != (ssize_t)sizeof(id->seed)) {
		return err_set(err, ERR_UNAVAILABLE, "no random numbers");
	}
	r[6] = (unsigned char)((r[6] & 0x0f) | 0x40);
	r[8] = (unsigned char)((r[8] & 0x3f) | 0x80);
	snprintf(id->name, sizeof(id->name),
		 "%s_%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", host,
		 r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12],
		 r[13], r[14], r[15]);
	make_agents(id);
	return ERR_OK;
}
