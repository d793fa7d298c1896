/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol Buffers, as far as a Namespace needs them; see protobuf.h. The numbers are those of the
 * fields in runtime.Unknown, TypeMeta, Namespace and ObjectMeta.
 */
#include "t/kubesim/protobuf.h"

enum {
	WIRE_VARINT = 0,
	WIRE_BYTES = 2,
	UNKNOWN_TYPE = 1,
	UNKNOWN_RAW = 2,
	TYPE_API_VERSION = 1,
	TYPE_KIND = 2,
	OBJECT_META = 1,
	META_NAME = 1,
	META_GENERATE_NAME = 2,
	META_LABELS = 11,
	META_ANNOTATIONS = 12,
	ENTRY_KEY = 1,
	ENTRY_VALUE = 2,
};

static bool varint(mk_str *rest, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && rest->n > 0; shift += 7) {
		unsigned char c = (unsigned char)rest->p[0];

		*rest = str_sub(*rest, 1, SIZE_MAX);
		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80) {
			*ret = v;
			return true;
		}
	}
	return false;
}

/* Takes the next field off '*rest': its number, and its bytes when it has some. */
static bool field(mk_str *rest, uint64_t *ret_number, mk_str *ret_bytes)
{
	uint64_t key, n;

	*ret_bytes = STR("");
	if (!varint(rest, &key)) {
		return false;
	}
	*ret_number = key >> 3;
	if ((key & 7) == WIRE_VARINT) {
		return varint(rest, &n);
	}
	if ((key & 7) != WIRE_BYTES || !varint(rest, &n) || n > rest->n) {
		return false;
	}
	*ret_bytes = str_sub(*rest, 0, n);
	*rest = str_sub(*rest, n, SIZE_MAX);
	return true;
}

static bool read_entry(struct arena *a, struct json *meta, const char *key, mk_str rest)
{
	mk_str bytes, name = STR(""), value = STR("");
	uint64_t number;

	while (rest.n > 0) {
		if (!field(&rest, &number, &bytes)) {
			return false;
		}
		name = number == ENTRY_KEY ? bytes : name;
		value = number == ENTRY_VALUE ? bytes : value;
	}
	if (!json_get(meta, key)) {
		json_set(a, meta, str_of(key), json_new_obj(a));
	}
	json_set(a, json_get(meta, key), name, json_new_str(a, value));
	return true;
}

static bool read_meta(struct arena *a, struct json *meta, mk_str rest)
{
	mk_str bytes;
	uint64_t number;

	while (rest.n > 0) {
		if (!field(&rest, &number, &bytes)) {
			return false;
		}
		if (number == META_NAME && bytes.n > 0) {
			json_set_str(a, meta, "name", bytes);
		} else if (number == META_GENERATE_NAME && bytes.n > 0) {
			json_set_str(a, meta, "generateName", bytes);
		} else if ((number == META_LABELS && !read_entry(a, meta, "labels", bytes)) ||
			   (number == META_ANNOTATIONS &&
			    !read_entry(a, meta, "annotations", bytes))) {
			return false;
		}
	}
	return true;
}

static bool read_type(struct arena *a, struct json *o, mk_str rest)
{
	mk_str bytes;
	uint64_t number;

	while (rest.n > 0) {
		if (!field(&rest, &number, &bytes)) {
			return false;
		}
		if (number == TYPE_API_VERSION) {
			json_set_str(a, o, "apiVersion", bytes);
		} else if (number == TYPE_KIND) {
			json_set_str(a, o, "kind", bytes);
		}
	}
	return true;
}

static bool read_object(struct arena *a, struct json *o, mk_str rest)
{
	struct json *meta = json_new_obj(a);
	mk_str bytes;
	uint64_t number;

	json_set(a, o, STR("metadata"), meta);
	while (rest.n > 0) {
		if (!field(&rest, &number, &bytes) ||
		    (number == OBJECT_META && !read_meta(a, meta, bytes))) {
			return false;
		}
	}
	return true;
}

struct json *ks_protobuf_read(struct arena *a, mk_str bytes)
{
	const mk_str magic = {"k8s\0", 4};
	struct json *o = json_new_obj(a);
	mk_str rest = str_sub(bytes, magic.n, SIZE_MAX), part;
	uint64_t number;

	if (!str_starts(bytes, magic)) {
		return NULL;
	}
	while (rest.n > 0) {
		if (!field(&rest, &number, &part) ||
		    (number == UNKNOWN_TYPE && !read_type(a, o, part)) ||
		    (number == UNKNOWN_RAW && !read_object(a, o, part))) {
			return NULL;
		}
	}
	return arena_failed(a) ? NULL : o;
}
