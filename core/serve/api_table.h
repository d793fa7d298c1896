/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the aggregated API as the Table of meta.k8s.io/v1, which kubectl prints. */
#ifndef MK_SERVE_API_TABLE_H
#define MK_SERVE_API_TABLE_H

#include "core/serve/api_paths.h"

/* What a row has of its object: its metadata, all, or nothing. */
enum api_include { API_METADATA, API_OBJECT, API_NONE };

/* The Table of 'objects', an array of 'r', with the metadata of their list. In 'a'. */
struct json *api_table(struct arena *a, const struct api_resource *r, const struct json *objects,
		       const struct json *metadata, enum api_include include);

#endif
