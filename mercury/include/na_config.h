/* SPDX-License-Identifier: BSD-3-Clause
 * Basics for all headers of NA: C types, the export macro, and the version. */
#ifndef NA_CONFIG_H
#define NA_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NA_VERSION_MAJOR 6
#define NA_VERSION_MINOR 0
#define NA_VERSION_PATCH 0

#define NA_PUBLIC __attribute__((visibility("default")))
#define NA_PRIVATE __attribute__((visibility("hidden")))
#define NA_WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#define NA_UNUSED __attribute__((unused))
#define NA_INLINE __inline__

/* The shared-memory class is always part of the library. */
#define NA_HAS_SM

#endif
