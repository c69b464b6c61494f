/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MERCURY_PARAM_H
#define MERCURY_PARAM_H

#include "mercury_util_config.h"

#include <sys/param.h> /* MIN, MAX, powerof2 */

#endif /* MERCURY_PARAM_H */
