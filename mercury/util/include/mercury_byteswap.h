/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MERCURY_BYTESWAP_H
#define MERCURY_BYTESWAP_H

#include "mercury_util_config.h"

#include <byteswap.h> /* bswap_16, bswap_32, bswap_64 */

#endif /* MERCURY_BYTESWAP_H */
