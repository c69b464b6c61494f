/* SPDX-License-Identifier: BSD-3-Clause
 * Bulk handles among arguments and results. */
#ifndef MERCURY_PROC_BULK_H
#define MERCURY_PROC_BULK_H

#include "mercury_bulk.h"
#include "mercury_proc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `data` points to a hg_bulk_t; HG_BULK_NULL travels as well. A decoded handle is freed by HG_FREE. */
HG_PUBLIC hg_return_t hg_proc_hg_bulk_t(hg_proc_t proc, void* data);

#ifdef __cplusplus
}
#endif
#endif
