/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary form of a Namespace, in which `kubectl create namespace` sends it; other kinds come as
 * JSON. Used by store_write.c alone.
 */
#ifndef MK_T_KUBESIM_PROTOBUF_H
#define MK_T_KUBESIM_PROTOBUF_H

#include "core/base/json.h"

#define KS_PROTOBUF "application/vnd.kubernetes.protobuf"

/*
 * The object with apiVersion, kind, and of metadata name, generateName, labels and annotations; in
 * 'a'. NULL: the bytes are cut or no such message.
 */
struct json *ks_protobuf_read(struct arena *a, mk_str bytes);

#endif
