/* SPDX-License-Identifier: Apache-2.0 */
/* Texts told by what differs from a model: the way there and back, and deltas that are wrong. */
#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "core/base/delta.h"
#include "core/base/rng.h"
#include "core/base/str.h"

enum { ROOM = 4096 };

#define OBJECT(name, uid, more)                                                                  \
	"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"" name           \
	"\",\"namespace\":\"default\",\"uid\":\"" uid                                            \
	"\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"user-queue\"}},\"spec\":{\"template\":{" \
	"\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"none\"}]}}}" more "}"

static const mk_str model = {
	OBJECT("live-00001", "4f193c25-cbe4-4175-b029-3b386c76ec73", ""),
	sizeof(OBJECT("live-00001", "4f193c25-cbe4-4175-b029-3b386c76ec73", "")) - 1};

/* Length of the delta, whose way back gave the text; -1: it did not. */
static int there_and_back(const struct delta_index *x, mk_str text)
{
	char *to = mk_malloc(text.n + 64), *back = mk_malloc(text.n + 1);
	size_t n = to ? delta_write(x, text, to, text.n + 64) : 0;
	bool good = n > 0 && back && delta_read(x->model, (mk_str){to, n}, back, text.n) &&
		    str_eq((mk_str){back, text.n}, text);

	mk_free(to);
	mk_free(back);
	return good ? (int)n : -1;
}

static void test_objects(struct delta_index *x)
{
	mk_str other = STR(OBJECT("live-00002", "814d4a1d-3a99-48bc-8330-2fd883e4773b", ""));
	mk_str more = STR(OBJECT("a-longer-name", "814d4a1d-3a99-48bc-8330-2fd883e4773b",
				 ",\"status\":{\"active\":1}"));
	char small[8];

	ok(there_and_back(x, model) < 8, "of the model itself nearly nothing is left");
	ok(there_and_back(x, other) > 0 && there_and_back(x, other) < 64,
	   "of another object its name and uid are");
	ok(there_and_back(x, more) > 0 && there_and_back(x, more) < 100,
	   "lengths may differ, and more may come");
	ok(there_and_back(x, STR("")) == 1 && there_and_back(x, STR("x")) == 2,
	   "texts that are shorter than any stretch");
	is_int(delta_write(x, other, small, sizeof(small)), 0, "what does not fit is not written");
}

static void change(struct rng *r, char *p, size_t n)
{
	for (uint64_t k = rng_below(r, 20); k > 0 && n > 0; k--) {
		size_t at = rng_below(r, n);
		size_t len = rng_below(r, n - at) % 40;
		size_t from = rng_below(r, n - len);

		if (rng_below(r, 2) == 0) {
			memmove(p + at, p + from, len);
		} else {
			p[at] = (char)rng_below(r, 256);
		}
	}
}

static void test_random(const struct delta_index *x)
{
	struct rng r;
	bool good = true;

	rng_init(&r, 7);
	for (int i = 0; i < 5000; i++) {
		char text[2 * sizeof(OBJECT("live-00001", "", ""))] = {0}, back[sizeof(text)],
							      to[ROOM];
		size_t n = rng_below(&r, sizeof(text)), len;

		memcpy(text, model.p, n < model.n ? n : model.n);
		change(&r, text, n);
		good &= there_and_back(x, (mk_str){text, n}) > 0;
		len = delta_write(x, (mk_str){text, n}, to, sizeof(to));
		change(&r, to, len);
		/* Only that it stays within its bounds: what comes back may be anything. */
		(void)delta_read(model, (mk_str){to, len}, back, n);
		(void)delta_read(str_sub(model, 0, 20), (mk_str){to, len}, back, n);
	}
	ok(good, "5000 texts that share this and that with the model");
}

static void test_wrong(const struct delta_index *x)
{
	char to[ROOM], back[ROOM];
	size_t n = delta_write(x, model, to, sizeof(to));
	bool taken = false;

	for (size_t i = 0; i < n; i++) {
		taken |= delta_read(model, (mk_str){to, i}, back, model.n);
	}
	ok(!taken, "a delta that is cut off");
	ok(!delta_read(model, (mk_str){to, n}, back, model.n - 1) &&
		   !delta_read(model, (mk_str){to, n}, back, model.n + 1),
	   "a delta of a text of another length");
	ok(!delta_read(str_sub(model, 0, model.n - 1), (mk_str){to, n}, back, model.n),
	   "a delta of another model");
	ok(!delta_read(model, STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), back, 9),
	   "a number without an end");
	ok(!delta_read(model, STR("\x00\x00\x03"), back, 8), "a place before the model");
}

int main(void)
{
	struct delta_index x;
	char *big = mk_calloc(1, DELTA_MODEL_MAX + 1);

	ok(!delta_index_make(&x, STR("short")), "a model that is too short");
	is_int(there_and_back(&x, model), (int)model.n + 2, "by an index of nothing, all is left");
	ok(big && !delta_index_make(&x, (mk_str){big, DELTA_MODEL_MAX + 1}), "one too long");
	ok(delta_index_make(&x, (mk_str){big, DELTA_MODEL_MAX}), "the longest");
	ok(there_and_back(&x, (mk_str){big, DELTA_MODEL_MAX + 1}) > 0, "... and a longer text");
	delta_index_done(&x);
	alloc_fail_after(1);
	ok(!delta_index_make(&x, model), "no memory");
	alloc_fail_after(0);
	ok(delta_index_make(&x, model), "a model");
	test_objects(&x);
	test_random(&x);
	test_wrong(&x);
	delta_index_done(&x);
	mk_free(big);
	return done_testing();
}
