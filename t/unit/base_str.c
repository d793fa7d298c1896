/* SPDX-License-Identifier: Apache-2.0 */
/* String views, buffers, errors. */
#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "core/base/err.h"
#include "core/base/str.h"

static void test_views(void)
{
	mk_str rest = STR("a,,b,");
	mk_str part;
	uint64_t u = 7;
	int64_t i = 7;
	char joined[64] = "";

	ok(str_cmp(STR("a"), STR("b")) < 0 && str_cmp(STR("ab"), STR("a")) > 0 &&
		   str_cmp(STR(""), str_of(NULL)) == 0 && str_cmp(STR("\xff"), STR("a")) > 0,
	   "bytewise order");
	ok(str_eq(STR(""), str_of(NULL)), "empty is empty");
	ok(str_starts(STR("abc"), STR("ab")) && !str_starts(STR("a"), STR("ab")), "starts");
	ok(str_ends(STR("abc"), STR("bc")) && !str_ends(STR("c"), STR("bc")), "ends");
	ok(str_index(STR("abc"), 'c') == 2 && str_index(STR("abc"), 'x') == -1 &&
		   str_index(str_of(NULL), 'x') == -1,
	   "index");
	ok(str_is(str_sub(STR("hello"), 1, 3), "ell") && str_sub(STR("hello"), 9, 3).n == 0 &&
		   str_is(str_sub(STR("hello"), 3, SIZE_MAX), "lo"),
	   "parts");
	while (str_split(&rest, ',', &part)) {
		snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "[%.*s]",
			 STR_ARG(part));
	}
	is_str(joined, "[a][][b]", "split; the separator at the end ends");
	ok(str_is(str_trim(STR(" \t a b\n")), "a b") && str_trim(STR("  ")).n == 0, "trimmed");

	ok(str_u64(STR("18446744073709551615"), &u) && u == UINT64_MAX, "largest");
	ok(!str_u64(STR("18446744073709551616"), &u) && !str_u64(STR(""), &u) &&
		   !str_u64(STR("-1"), &u) && !str_u64(STR("1 "), &u) && u == UINT64_MAX,
	   "no unsigned numbers");
	ok(str_i64(STR("-9223372036854775808"), &i) && i == INT64_MIN, "smallest");
	ok(!str_i64(STR("9223372036854775808"), &i) && !str_i64(STR("-"), &i) &&
		   !str_i64(STR("+1"), &i) && i == INT64_MIN,
	   "no signed numbers");
	ok(str_i64(STR("-0"), &i) && i == 0, "minus zero");
	ok(str_is(str_cut(STR("ab\xc3\xa9z"), 3), "ab") && str_is(str_cut(STR("abc"), 2), "ab") &&
		   str_is(str_cut(STR("ab\xf0\x9f\x98\x80"), 5), "ab") &&
		   str_is(str_cut(STR("abc"), 3), "abc"),
	   "cut between characters");
	is_int(str_cut((mk_str){"\x80\x80\x80\x80\x80\x80\x80\x80", 8}, 6).n, 3,
	       "cutting rubbish gives up after three bytes");
	ok(str_utf8(STR("a")) == 1 && str_utf8(STR("\xc3\xa9")) == 2 &&
		   str_utf8(STR("\xe2\x82\xac")) == 3 && str_utf8(STR("\xf0\x9f\x98\x80")) == 4,
	   "UTF-8 of every length");
	ok(str_utf8(STR("")) == 0 && str_utf8(STR("\xc0\xaf")) == 0 && str_utf8(STR("\xc3")) == 0 &&
		   str_utf8(STR("\xe0\x80\x80")) == 0 && str_utf8(STR("\xed\xa0\x80")) == 0 &&
		   str_utf8(STR("\xf4\x90\x80\x80")) == 0 &&
		   str_utf8(STR("\xf8\x88\x80\x80")) == 0 && str_utf8(STR("\x80")) == 0,
	   "no UTF-8");
	ok(str_is_utf8(STR("")) && str_is_utf8(STR("a\xc3\xa9")) && !str_is_utf8(STR("a\xc3")),
	   "a string is UTF-8 as a whole or not");
	rest = STR("\xc3\xa9\xffz");
	ok(str_is(str_take_utf8(&rest), "\xc3\xa9") &&
		   str_is(str_take_utf8(&rest), "\xef\xbf\xbd") &&
		   str_is(str_take_utf8(&rest), "z") && rest.n == 0,
	   "character by character, a replacement for each byte that is none");
}

static void test_buf(void)
{
	struct buf b;

	buf_init(&b, 10);
	ok(buf_add(&b, STR("hello")), "added");
	ok(buf_printf(&b, "%d", 12345), "printed up to the cap");
	is_str(b.p, "hello12345", "content");
	ok(!buf_add(&b, STR("x")) && b.failed, "over the cap");
	ok(!buf_add(&b, STR("")), "stays failed");
	buf_clear(&b);
	ok(b.n == 0 && b.p[0] == '\0' && !b.failed, "cleared");
	ok(!buf_printf(&b, "%011d", 1), "printing over the cap");
	is_str(b.p, "", "... adds nothing");
	buf_clear(&b);
	buf_done(&b);
	buf_init(&b, 1 << 20);
	alloc_fail_after(1);
	ok(!buf_add(&b, STR("x")) && b.failed, "out of memory");
	alloc_fail_after(0);
	buf_clear(&b);
	for (int i = 0; i < 1 << 20; i++) {
		buf_add(&b, STR("x"));
	}
	ok(!b.failed && b.n == 1 << 20, "a MiB byte by byte");
	ok(!buf_add(&b, STR("x")), "not one more");
	buf_done(&b);
	buf_init(&b, 0);
	ok(!buf_add(&b, STR("x")), "a buffer of nothing");
	buf_done(&b);
}

static void test_err(void)
{
	struct mk_err err;
	char big[1200];
	bool same = true;

	is_int(err_set(&err, ERR_GONE, "list of %s", "pods"), ERR_GONE, "returns the code");
	err_wrap(&err, "cluster %s", "east");
	is_str(err.msg, "cluster east: list of pods", "wrapped");
	err_set(&err, ERR_BUG, "again: %s", err.msg);
	is_str(err.msg, "again: cluster east: list of pods", "a message from itself");
	memset(big, 'a', sizeof(big));
	memcpy(big + sizeof(err.msg) - 2, "\xc3\xa9", 2);
	big[sizeof(big) - 1] = '\0';
	err_set(&err, ERR_BUG, "%s", big);
	is_int(strlen(err.msg), sizeof(err.msg) - 2, "cut before a character that does not fit");
	memcpy(big + sizeof(err.msg) - 3, "\xc3\xa9z", 3);
	err_set(&err, ERR_BUG, "%s", big);
	is_int(strlen(err.msg), sizeof(err.msg) - 1, "cut behind a character that fits");
	err_set(NULL, ERR_BUG, "nobody listens");
	err_wrap(NULL, "x");
	for (int i = 0; i < ERR_N_CODES; i++) {
		same = same && strlen(err_code_name((enum mk_code)i)) > 0;
	}
	ok(same, "every code has its word");
	is_str(err_code_name(ERR_NO_MEMORY), "no_memory", "a word");
	ok(err_code_name((enum mk_code)999) != NULL, "a code out of range");
}

static void test_distance(void)
{
	char long_text[200];

	is_int(str_distance(STR("policy"), STR("policy")), 0, "the same");
	is_int(str_distance(STR("POLICY"), STR("policy")), 0, "but for the case");
	is_int(str_distance(STR("polcy"), STR("policy")), 1, "a letter left out");
	is_int(str_distance(STR("min_weight"), STR("min-weight")), 1, "another letter");
	is_int(str_distance(STR(""), STR("abc")), 3, "nothing");
	memset(long_text, 'a', sizeof(long_text));
	is_int(str_distance((mk_str){long_text, 200}, (mk_str){long_text, 63}), 1, "a long text");
	is_int(str_distance((mk_str){long_text, 200}, (mk_str){long_text, 200}), 2, "two of them");
}

static const char *guess(const char *word)
{
	struct str_guess g = {.word = str_of(word)};

	str_guess_try(&g, STR("net"));
	str_guess_try(&g, STR("webhook"));
	str_guess_try(&g, STR("externalFrameworks"));
	str_guess_try(&g, STR("x"));
	return g.best.p;
}

static void test_guess(void)
{
	is_str(guess("webhok"), "webhook", "a slip: the word that was meant");
	is_str(guess("nett"), "net", "... of a short word");
	is_str(guess("externalframework"), "externalFrameworks", "... and of a long one");
	ok(!guess("nonet") && !guess("y") && !guess(""), "what is not near is no slip");
}

int main(void)
{
	test_views();
	test_buf();
	test_err();
	test_distance();
	test_guess();
	return done_testing();
}
