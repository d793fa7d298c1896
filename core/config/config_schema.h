/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of the file as data: which keys there are, of which type, in which version. */
#ifndef MK_CONFIG_CONFIG_SCHEMA_H
#define MK_CONFIG_CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

enum config_type {
	CT_STR,
	CT_WORD, /* a string; false stands for "Off", as YAML reads that word without quotes */
	CT_BOOL,
	CT_INT,
	CT_INT32,
	CT_FLOAT32,
	CT_FLOAT64,
	CT_DURATION, /* a Go duration in a string */
	CT_NANOS,    /* a whole number of nanoseconds */
	CT_QUANTITY, /* string or number */
	CT_OBJ,      /* of 'sub' */
	CT_ANY_OBJ,  /* an object that we do not look into */
	CT_LIST,     /* of 'elem' (and 'sub') */
	CT_MAP,      /* of 'elem' by any key */
};

enum { CV_V1BETA1 = 1, CV_V1BETA2 = 2, CV_BOTH = 3, CV_OURS = 4 };

struct config_schema;

struct config_field {
	const char *name;
	enum config_type type;
	enum config_type elem;           /* of CT_LIST and CT_MAP */
	const struct config_schema *sub; /* of CT_OBJ and lists of it */
	unsigned int in;                 /* CV_... */
	bool embedded;                   /* Go has it in an embedded struct, ControllerManager */
};

struct config_schema {
	const char *go_type; /* for messages: "MultiKueue" */
	const struct config_field *fields;
	size_t n;
};

extern const struct config_schema config_root_schema;

#endif
