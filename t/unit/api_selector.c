/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of clusters as lists of "name=value". */
#include "core/api/selector.h"

#include "core/base/str.h"
#include "t/lib/tap.h"

static const char *label(const mk_str *labels, size_t n, const char *name)
{
	static char text[64];
	mk_str value = STR("?");

	if (!api_label_find(labels, n, str_of(name), &value)) {
		return str_is(value, "?") ? "-" : "changed";
	}
	snprintf(text, sizeof(text), "%.*s", STR_ARG(value));
	return text;
}

static void names(void)
{
	mk_str value;

	ok(str_is(api_label_name(STR("region=eu"), &value), "region") && str_is(value, "eu"),
	   "a label is a name and a value");
	ok(str_is(api_label_name(STR("a=b=c"), &value), "a") && str_is(value, "b=c"),
	   "... which begins behind the first sign");
	ok(str_is(api_label_name(STR("a="), &value), "a") && value.n == 0, "no value");
	ok(str_is(api_label_name(STR("a"), &value), "a") && value.n == 0, "no sign");
	ok(api_label_name(STR("=b"), &value).n == 0 && str_is(value, "b"), "no name");
	ok(api_label_name(STR_NONE, &value).n == 0 && value.n == 0, "nothing");
}

static void values(void)
{
	const mk_str labels[] = {STR("a=1"),    STR("a.b/c=2=3"), STR("gpu="),
				 STR("gpus=4"), STR("a=5"),       STR("bare")};

	is_str(label(labels, 6, "a"), "1", "the first of a name");
	is_str(label(labels, 6, "a.b/c"), "2=3", "a value with signs");
	is_str(label(labels, 6, "gpu"), "", "an empty value is one");
	is_str(label(labels, 6, "gpus"), "4", "a name that another begins");
	is_str(label(labels, 6, "gp"), "-", "the beginning of a name is none");
	is_str(label(labels, 6, "bare"), "-", "a text without a sign is no label");
	is_str(label(labels, 6, ""), "-", "no name");
	is_str(label(labels, 6, "a.b/c=2"), "-", "a name has no sign");
	is_str(label(NULL, 0, "a"), "-", "no labels");
}

int main(void)
{
	names();
	values();
	return done_testing();
}
