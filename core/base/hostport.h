/* SPDX-License-Identifier: Apache-2.0 */
/* "host:port" taken apart: the form in which the configuration gives our servers' addresses. */
#ifndef MK_BASE_HOSTPORT_H
#define MK_BASE_HOSTPORT_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/str.h"

enum { HOSTPORT_HOST_SIZE = 64 };

/*
 * The parts of "host:port" or ":port": 'host' without brackets and NUL-terminated, "" for all
 * addresses. It does not check whether the host is an IP address. ERR_INVALID.
 */
enum mk_code hostport_split(mk_str address, char host[static HOSTPORT_HOST_SIZE],
			    uint16_t *ret_port, struct mk_err *err);

#endif
