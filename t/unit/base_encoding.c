/* SPDX-License-Identifier: Apache-2.0 */
/* Base64, digests, canonical form. */
#include "t/lib/tap.h"

#include "core/base/base64.h"
#include "core/base/canon.h"
#include "core/base/hash.h"
#include "core/base/rng.h"

static struct arena a;

static void decodes(const char *text, const char *want)
{
	mk_str got = {NULL, 0};

	is_int(base64_decode(&a, str_of(text), &got, NULL), ERR_OK, text);
	is_str(got.p, want, "... decoded");
}

static void illegal(const char *text, int byte)
{
	mk_str got = STR("untouched");
	struct mk_err err = {.msg = ""};
	char want[80];

	snprintf(want, sizeof(want), "illegal base64 data at input byte %d", byte);
	is_int(base64_decode(&a, str_of(text), &got, &err), ERR_INVALID, text);
	is_str(err.msg, want, "... says where");
	is_str(got.p, "untouched", "... touches nothing");
}

static void test_base64(void)
{
	struct rng r;
	bool good = true;

	decodes("", "");
	decodes("Zg==", "f");
	decodes("Zm8=", "fo");
	decodes("Zm9v", "foo");
	decodes("Zm9\nvYmFy\r\n", "foobar");
	decodes("Zg=\n=\n", "f");
	/* What Go's decoder says to the same input. */
	illegal("!", 0);
	illegal("Zm9v!", 4);
	illegal("Zg", 0);
	illegal("Zm9vZg", 4);
	illegal("Zg=", 3);
	illegal("Zg=x", 2);
	illegal("Z===", 1);
	illegal("=", 0);
	illegal("Zg==Zg==", 4);
	illegal("Zm8=x", 4);
	illegal("Zm-v", 2);
	rng_init(&r, 9);
	for (size_t n = 0; n < 300; n++) {
		char raw[300];
		mk_str back = {NULL, 0};

		for (size_t i = 0; i < n; i++) {
			raw[i] = (char)rng_range(&r, -128, 127);
		}
		good = good &&
		       base64_decode(&a, base64_encode(&a, (mk_str){raw, n}), &back, NULL) ==
			       ERR_OK &&
		       str_eq(back, (mk_str){raw, n});
	}
	ok(good, "any bytes there and back");
}

static void test_digests(void)
{
	is_str(sha1_hex(&a, STR("abc")).p, "a9993e364706816aba3e25717850c26c9cd0d89d", "SHA-1");
	is_str(sha256_hex(&a, STR("")).p,
	       "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	       "SHA-256 of nothing");
	is_str(sha256_hex(&a, STR("abc")).p,
	       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "SHA-256");
	ok(hash64(STR("")) != hash64(STR("a")) && hash64(STR("a")) == hash64(STR("a")) &&
		   hash64((mk_str){"a\0", 2}) != hash64(STR("a")),
	   "64-bit hash");
	/* Pinned: recordings may carry it. */
	ok(hash64(STR("multikueue")) == UINT64_C(0x88666c01c394b844), "the hash does not change");
}

static struct json *parse(const char *text)
{
	struct json *v = NULL;

	json_parse(&a, str_of(text), &v, NULL);
	return v;
}

static void canon(const char *text, const char *want)
{
	is_str(canon_text(&a, parse(text)).p, want, text);
}

static void quantity(const char *text, const char *want)
{
	is_str(canon_quantity(&a, str_of(text)).p, want, *text ? text : "the empty quantity");
}

static void test_canon(void)
{
	quantity("1", "1e0");
	quantity("1000m", "1e0");
	quantity("+1.0", "1e0");
	quantity("1.", "1e0");
	quantity("100", "1e2");
	quantity("1e2", "1e2");
	quantity("1E+2", "1e2");
	quantity("0.1k", "1e2");
	quantity("1Ki", "1024e0");
	quantity("1.5Gi", "1610612736e0");
	quantity("1610612736", "1610612736e0");
	quantity("1E", "1e18");
	quantity("1Ei", "1152921504606846976e0");
	quantity("999999999999999999Ei", "1152921504606846974847078495393153024e0");
	quantity("-500m", "-5e-1");
	quantity("0", "0e0");
	quantity("0.000", "0e0");
	quantity("-0Gi", "0e0");
	quantity("100n", "1e-7");
	quantity("", NULL);
	quantity("m", NULL);
	quantity("1x", NULL);
	quantity("1.2.3", NULL);
	quantity("1 Gi", NULL);
	quantity("1e99999", NULL);
	quantity("1234567890123456789", NULL);

	canon("{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}");
	canon("{\"a\":null,\"b\":[],\"c\":{},\"d\":{\"e\":{\"f\":null}},\"g\":\"\",\"h\":0,\"i\":"
	      "false}",
	      "{\"g\":\"\",\"h\":0,\"i\":false}");
	canon("[{},null,[],1]", "[{},null,[],1]");
	canon("{\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\",\"x\":1},"
	      "\"limits\":{\"cpu\":0.5}}}",
	      "{\"resources\":{\"limits\":{\"cpu\":\"5e-1\"},\"requests\":{\"cpu\":\"5e-1\","
	      "\"memory\":"
	      "\"1073741824e0\",\"x\":\"1e0\"}}}");
	canon("{\"requests\":{\"cpu\":\"500m\"}}", "{\"requests\":{\"cpu\":\"500m\"}}");
	canon("{\"emptyDir\":{\"sizeLimit\":\"1Ki\"},\"overhead\":{\"cpu\":\"1000m\"}}",
	      "{\"emptyDir\":{\"sizeLimit\":\"1024e0\"},\"overhead\":{\"cpu\":\"1e0\"}}");
	canon("{\"resources\":{\"requests\":{\"cpu\":\"what\"}}}",
	      "{\"resources\":{\"requests\":{\"cpu\":\"what\"}}}");
	ok(str_eq(canon_hash(&a, parse("{\"a\":1,\"b\":{\"c\":null}}")),
		  canon_hash(&a, parse("{\"b\":{},\"a\":1}"))),
	   "equal meaning, equal hash");
	ok(!str_eq(canon_hash(&a, parse("{\"a\":1}")), canon_hash(&a, parse("{\"a\":2}"))),
	   "else not");
	is_int(canon_hash(&a, parse("{}")).n, 35, "v1: and 32 digits");
	ok(str_starts(canon_hash(&a, NULL), STR("v1:")), "of nothing");
}

int main(void)
{
	arena_init(&a, 0);
	test_base64();
	test_digests();
	test_canon();
	arena_done(&a);
	return done_testing();
}
