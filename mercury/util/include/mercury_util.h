/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MERCURY_UTIL_H
#define MERCURY_UTIL_H

#include "mercury_util_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each pointer may be null. */
HG_UTIL_PUBLIC void HG_Util_version_get(unsigned int* major, unsigned int* minor, unsigned int* patch);

/* Sets the log level to `level` ("error", "warning", ...) and enables the outlet "hg_util". */
HG_UTIL_PUBLIC void HG_Util_set_log_level(const char* level);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_UTIL_H */
