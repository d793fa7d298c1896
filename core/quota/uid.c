/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uids as workloads keep them. Those of Kubernetes are UUIDs of 36 letters, which are 16 bytes of
 * content: they are kept as those, in an order that is the same. Any other text is kept as it is.
 */
#include "core/quota/quota_impl.h"

static const char digits[] = "0123456789abcdef";

/* 1 more than the value of a digit. */
static const uint8_t values[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/* Where the two digits of each byte stand; hyphens are between. */
static const uint8_t places[QUOTA_PACKED_UID] = {0,  2,  4,  6,  9,  11, 14, 16,
						 19, 21, 24, 26, 28, 30, 32, 34};

bool quota_uid_pack(mk_str uid, unsigned char ret[QUOTA_PACKED_UID])
{
	const unsigned char *p = (const unsigned char *)uid.p;
	bool good = true;

	if (uid.n != QUOTA_UUID || p[8] != '-' || p[13] != '-' || p[18] != '-' || p[23] != '-') {
		return false;
	}
	for (size_t i = 0; i < QUOTA_PACKED_UID; i++) {
		unsigned int hi = values[p[places[i]]];
		unsigned int lo = values[p[places[i] + 1]];

		good = good && hi > 0 && lo > 0;
		ret[i] = (unsigned char)((hi - 1) << 4 | (lo - 1));
	}
	return good;
}

mk_str quota_work_uid(const struct quota_work *w, char buf[QUOTA_MAX_UID + 1])
{
	const unsigned char *bytes = quota_uid(w);

	if (!w->packed) {
		memcpy(buf, bytes, w->uid_len);
		buf[w->uid_len] = '\0';
		return (mk_str){buf, w->uid_len};
	}
	memset(buf, '-', QUOTA_UUID);
	for (size_t i = 0; i < QUOTA_PACKED_UID; i++) {
		buf[places[i]] = digits[bytes[i] >> 4];
		buf[places[i] + 1] = digits[bytes[i] & 15];
	}
	buf[QUOTA_UUID] = '\0';
	return (mk_str){buf, QUOTA_UUID};
}

int quota_uid_cmp(const struct quota_work *a, const struct quota_work *b)
{
	char text_a[QUOTA_MAX_UID + 1] QUOTA_RAW;
	char text_b[QUOTA_MAX_UID + 1] QUOTA_RAW;

	if (a->packed && b->packed) {
		return memcmp(quota_uid(a), quota_uid(b), QUOTA_PACKED_UID);
	}
	return str_cmp(quota_work_uid(a, text_a), quota_work_uid(b, text_b));
}

bool quota_uid_is(const struct quota_work *w, mk_str uid)
{
	unsigned char bytes[QUOTA_PACKED_UID];

	if (quota_uid_pack(uid, bytes)) {
		return w->packed && memcmp(quota_uid(w), bytes, sizeof(bytes)) == 0;
	}
	return !w->packed && w->uid_len == uid.n && memcmp(quota_uid(w), uid.p, uid.n) == 0;
}
