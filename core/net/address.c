/* SPDX-License-Identifier: Apache-2.0 */
/* The address check; see address.h. IPv6 forms that carry an IPv4 address are judged by the address
 * inside. */
#include "core/net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *refusal4(uint32_t a, bool allow_loopback, bool allow_link_local)
{
	if (a >> 24 == 0) {
		return "an unspecified address";
	}
	if (a >> 24 == 127 && !allow_loopback) {
		return "a loopback address";
	}
	if (a >> 16 == 0xa9fe && !allow_link_local) {
		return "a link-local address";
	}
	if (a >> 28 == 14) {
		return "a multicast address";
	}
	if (a == UINT32_MAX) {
		return "the broadcast address";
	}
	return NULL;
}

static uint32_t load4(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static const char *refusal6(const uint8_t *a, bool allow_loopback, bool allow_link_local)
{
	static const uint8_t zero[16];
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
	/* The metadata service of a large cloud: as dangerous as its IPv4 twin, which is
	 * link-local. */
	static const uint8_t metadata[16] = {0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54};

	if (memcmp(a, zero, 16) == 0) {
		return "an unspecified address";
	}
	if (memcmp(a, zero, 15) == 0 && a[15] == 1) {
		return allow_loopback ? NULL : "a loopback address";
	}
	if (memcmp(a, mapped, 12) == 0 || memcmp(a, nat64, 12) == 0 || memcmp(a, zero, 12) == 0) {
		return refusal4(load4(a + 12), allow_loopback, allow_link_local);
	}
	if (a[0] == 0x20 && a[1] == 0x02) { /* 6to4 */
		return refusal4(load4(a + 2), allow_loopback, allow_link_local);
	}
	if (a[0] == 0xfe && (a[1] & 0xc0) == 0x80 && !allow_link_local) {
		return "a link-local address";
	}
	if (memcmp(a, metadata, 16) == 0 && !allow_link_local) {
		return "a cloud metadata address";
	}
	if (a[0] == 0xff) {
		return "a multicast address";
	}
	return NULL;
}

const char *address_refusal(const struct sockaddr *sa, size_t len, bool allow_loopback,
			    bool allow_link_local)
{
	if (sa->sa_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
		struct sockaddr_in in;

		memcpy(&in, sa, sizeof(in));
		return refusal4(ntohl(in.sin_addr.s_addr), allow_loopback, allow_link_local);
	}
	if (sa->sa_family == AF_INET6 && len >= sizeof(struct sockaddr_in6)) {
		struct sockaddr_in6 in6;

		memcpy(&in6, sa, sizeof(in6));
		return refusal6(in6.sin6_addr.s6_addr, allow_loopback, allow_link_local);
	}
	return "not an IP address";
}

void address_text(const struct sockaddr *sa, size_t len, char out[static 64])
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (sa->sa_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
		struct sockaddr_in in;

		memcpy(&in, sa, sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
		snprintf(out, 64, "%s:%u", host, (unsigned)ntohs(in.sin_port));
	} else if (sa->sa_family == AF_INET6 && len >= sizeof(struct sockaddr_in6)) {
		struct sockaddr_in6 in6;

		memcpy(&in6, sa, sizeof(in6));
		inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
		snprintf(out, 64, "[%s]:%u", host, (unsigned)ntohs(in6.sin6_port));
	} else {
		snprintf(out, 64, "?");
	}
}
