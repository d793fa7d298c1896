/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of tests; see parse_json.h. */
#include "t/lib/parse_json.h"

#include <stdio.h>
#include <stdlib.h>

struct json *parse_json(struct arena *a, const char *text)
{
	struct json *v = NULL;
	struct mk_err err;

	if (json_parse(a, str_of(text), &v, &err) != ERR_OK) {
		printf("Bail out! %s in %s\n", err.msg, text);
		exit(1);
	}
	return v;
}
