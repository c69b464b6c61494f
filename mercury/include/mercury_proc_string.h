/* SPDX-License-Identifier: BSD-3-Clause
 * Strings among arguments and results: a 64-bit length, the text with its null byte, and two flags. NULL travels. */
#ifndef MERCURY_PROC_STRING_H
#define MERCURY_PROC_STRING_H

#include "mercury_proc.h"
#include "mercury_string_object.h"

typedef const char* hg_const_string_t;
typedef char* hg_string_t;

#ifdef __cplusplus
extern "C" {
#endif

/* `data` points to the string. Decoding allocates, HG_FREE frees. HG_PROTOCOL_ERROR: no null byte at its end. */
HG_PUBLIC hg_return_t hg_proc_hg_const_string_t(hg_proc_t proc, void* data);
HG_PUBLIC hg_return_t hg_proc_hg_string_t(hg_proc_t proc, void* data);
HG_PUBLIC hg_return_t hg_proc_hg_string_object_t(hg_proc_t proc, void* string);

#ifdef __cplusplus
}
#endif
#endif
