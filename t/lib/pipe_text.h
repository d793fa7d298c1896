/* SPDX-License-Identifier: Apache-2.0 */
/* What was written to a pipe. */
#ifndef MK_T_LIB_PIPE_TEXT_H
#define MK_T_LIB_PIPE_TEXT_H

/* Everything that is in the pipe, up to 128 KiB; valid until the next call. */
const char *pipe_text(int fd);

#endif
