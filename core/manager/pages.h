/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's answers in parts, for those who have a manager: they take what manager_answers
 * gives, as those of manager.h.
 */
#ifndef MK_MANAGER_PAGES_H
#define MK_MANAGER_PAGES_H

#include "core/engine/answers/pages.h"
#include "core/manager/manager.h"

#endif
