/* SPDX-License-Identifier: BSD-3-Clause
 * HG_Core: calls whose bytes the user encodes. */
#ifndef MERCURY_CORE_H
#define MERCURY_CORE_H

#include "mercury_core_types.h"
#include "na.h"

#endif
