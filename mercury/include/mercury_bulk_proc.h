/* SPDX-License-Identifier: BSD-3-Clause
 * The older name of mercury_proc_bulk.h. */
#ifndef MERCURY_BULK_PROC_H
#define MERCURY_BULK_PROC_H

#include "mercury_proc_bulk.h"

#endif
