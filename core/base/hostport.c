/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of servers; see hostport.h. */
#include "core/base/hostport.h"

#include <stdio.h>

enum mk_code hostport_split(mk_str address, char host[static HOSTPORT_HOST_SIZE],
			    uint16_t *ret_port, struct mk_err *err)
{
	size_t colon = address.n;
	mk_str name;
	uint64_t port = 0;

	while (colon > 0 && address.p[colon - 1] != ':') {
		colon--;
	}
	if (colon == 0 || !str_u64(str_sub(address, colon, address.n), &port) || port > 65535) {
		return err_set(err, ERR_INVALID, "address: expected host:port or :port, found %.*s",
			       STR_ARG(address));
	}
	name = str_sub(address, 0, colon - 1);
	if (name.n >= 2 && name.p[0] == '[' && name.p[name.n - 1] == ']') {
		name = str_sub(name, 1, name.n - 2);
	}
	if (name.n >= HOSTPORT_HOST_SIZE || str_index(name, '\0') >= 0) {
		return err_set(err, ERR_INVALID, "address: host is too long or has a NUL");
	}
	snprintf(host, HOSTPORT_HOST_SIZE, "%.*s", STR_ARG(name));
	*ret_port = (uint16_t)port;
	return ERR_OK;
}
