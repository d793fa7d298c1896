/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof that the running sums of a tree are right: everything is recomputed from the
 * workloads and weights, and compared.
 */
#ifndef MK_T_LIB_QUOTA_PROOF_H
#define MK_T_LIB_QUOTA_PROOF_H

#include "core/quota/quota.h"

/* ERR_BUG with the first difference; ERR_NO_MEMORY. */
enum mk_code proof_check(struct quota *q, struct mk_err *err);

#endif
