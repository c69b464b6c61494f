/* SPDX-License-Identifier: BSD-3-Clause
 * The proc of bulk handles. */
#ifndef MERCURY_PROC_BULK_H
#define MERCURY_PROC_BULK_H

#include "mercury_bulk.h"
#include "mercury_proc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `data` points to a hg_bulk_t, which may be HG_BULK_NULL. HG_FREE frees a decoded handle. */
HG_PUBLIC hg_return_t hg_proc_hg_bulk_t(hg_proc_t proc, void* data);

#ifdef __cplusplus
}
#endif
#endif
