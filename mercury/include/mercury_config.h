/* SPDX-License-Identifier: BSD-3-Clause
 * Basics for all headers of HG: C types, the export macro, and the version. */
#ifndef MERCURY_CONFIG_H
#define MERCURY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of Mercury's interface, not of Cinnabar. */
#define HG_VERSION_MAJOR 2
#define HG_VERSION_MINOR 4
#define HG_VERSION_PATCH 1

/* Older names of the C types. */
typedef int8_t hg_int8_t;
typedef int16_t hg_int16_t;
typedef int32_t hg_int32_t;
typedef int64_t hg_int64_t;
typedef uint8_t hg_uint8_t;
typedef uint16_t hg_uint16_t;
typedef uint32_t hg_uint32_t;
typedef uint64_t hg_uint64_t;
typedef uint64_t hg_ptr_t;
typedef uint8_t hg_bool_t;
#define HG_TRUE 1
#define HG_FALSE 0

#define HG_PUBLIC __attribute__((visibility("default")))
#define HG_PRIVATE __attribute__((visibility("hidden")))
#define HG_WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#define HG_UNUSED __attribute__((unused))
#define HG_PACKED(x) x __attribute__((packed))
#define HG_FALLTHROUGH __attribute__((fallthrough))
#define HG_INLINE __inline__

/* Several threads may call HG_Progress on one context. */
#define HG_HAS_MULTI_PROGRESS
/* Counters are always on. */
#define HG_HAS_DIAG
/* The macros that define structures and their procs are available. */
#if defined(__has_include)
#if __has_include(<boost/preprocessor.hpp>)
#define HG_HAS_BOOST
#endif
#endif

#endif
