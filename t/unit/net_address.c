/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses may be connected to, and how they are written. */
#include "t/lib/tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "core/net/address.h"

static const char *judge(const char *text, bool loopback, bool link_local)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(443)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
	const char *why;

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
		why = address_refusal((const struct sockaddr *)&in, sizeof(in), loopback,
				      link_local);
	} else if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1) {
		why = address_refusal((const struct sockaddr *)&in6, sizeof(in6), loopback,
				      link_local);
	} else {
		why = "not parsed";
	}
	return why ? why : "allowed";
}

int main(void)
{
	static const struct {
		const char *address, *verdict;
	} rows[] = {
		{"10.0.0.1", "allowed"},
		{"192.168.1.1", "allowed"},
		{"8.8.8.8", "allowed"},
		{"128.0.0.1", "allowed"},
		{"126.255.255.255", "allowed"},
		{"127.0.0.1", "a loopback address"},
		{"127.255.0.3", "a loopback address"},
		{"169.254.169.254", "a link-local address"},
		{"169.253.255.255", "allowed"},
		{"0.0.0.0", "an unspecified address"},
		{"0.1.2.3", "an unspecified address"},
		{"224.0.0.1", "a multicast address"},
		{"239.255.255.255", "a multicast address"},
		{"255.255.255.255", "the broadcast address"},
		{"2001:db8::1", "allowed"},
		{"fd12::1", "allowed"},
		{"::1", "a loopback address"},
		{"::", "an unspecified address"},
		{"fe80::1", "a link-local address"},
		{"febf::1", "a link-local address"},
		{"fec0::1", "allowed"},
		{"ff02::1", "a multicast address"},
		{"fd00:ec2::254", "a cloud metadata address"},
		{"::ffff:127.0.0.1", "a loopback address"},
		{"::ffff:10.0.0.1", "allowed"},
		{"::127.0.0.1", "a loopback address"},
		{"64:ff9b::a9fe:a9fe", "a link-local address"},
		{"2002:7f00:1::", "a loopback address"},
	};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(6443)};
	struct sockaddr other = {.sa_family = AF_UNIX};
	char text[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_str(judge(rows[i].address, false, false), rows[i].verdict, rows[i].address);
	}
	is_str(judge("127.0.0.1", true, false), "allowed", "loopback when allowed");
	is_str(judge("::ffff:127.0.0.1", true, false), "allowed", "also mapped");
	is_str(judge("169.254.1.1", true, false), "a link-local address", "that allows no more");
	is_str(judge("fe80::1", false, true), "allowed", "link-local when allowed");
	is_str(judge("224.0.0.1", true, true), "a multicast address", "multicast never");
	is_str(address_refusal(&other, sizeof(other), true, true), "not an IP address",
	       "other families");
	is_str(address_refusal((const struct sockaddr *)&in6, 4, true, true), "not an IP address",
	       "a short address");
	inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr);
	address_text((const struct sockaddr *)&in6, sizeof(in6), text);
	is_str(text, "[2001:db8::1]:6443", "text of IPv6");
	address_text(&other, sizeof(other), text);
	is_str(text, "?", "text of others");
	return done_testing();
}
