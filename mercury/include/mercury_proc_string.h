/* SPDX-License-Identifier: BSD-3-Clause
 * Procs of strings. A string is encoded as a 64-bit length, the text with its null byte, and two flags. NULL can be
 * sent. */
#ifndef MERCURY_PROC_STRING_H
#define MERCURY_PROC_STRING_H

#include "mercury_proc.h"
#include "mercury_string_object.h"

typedef const char* hg_const_string_t;
typedef char* hg_string_t;

#ifdef __cplusplus
extern "C" {
#endif

/* `data` points to the string. Decoding allocates memory, which HG_FREE frees. HG_PROTOCOL_ERROR: no null byte at the
 * end. */
HG_PUBLIC hg_return_t hg_proc_hg_const_string_t(hg_proc_t proc, void* data);
HG_PUBLIC hg_return_t hg_proc_hg_string_t(hg_proc_t proc, void* data);
HG_PUBLIC hg_return_t hg_proc_hg_string_object_t(hg_proc_t proc, void* string);

#ifdef __cplusplus
}
#endif
#endif
