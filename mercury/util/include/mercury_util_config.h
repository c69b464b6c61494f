/* SPDX-License-Identifier: BSD-3-Clause */
/* The version, the return codes and the linkage of mercury_util, for Linux with glibc. */
#ifndef MERCURY_UTIL_CONFIG_H
#define MERCURY_UTIL_CONFIG_H

#include <mercury_compiler_attributes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of mercury_util in Mercury 2.4. */
#define HG_UTIL_VERSION_MAJOR 4
#define HG_UTIL_VERSION_MINOR 1
#define HG_UTIL_VERSION_PATCH 0

#define HG_UTIL_SUCCESS 0
#define HG_UTIL_FAIL -1

#define HG_UTIL_INLINE __inline__
#define HG_UTIL_ALIGNED(x, a) HG_ATTR_ALIGNED(x, a)
#define HG_UTIL_PRINTF(format, first_argument) HG_ATTR_PRINTF(format, first_argument)

#define HG_UTIL_BUILD_SHARED_LIBS
#define HG_UTIL_PUBLIC HG_ATTR_ABI_EXPORT
#define HG_UTIL_PRIVATE HG_ATTR_ABI_HIDDEN
#define HG_UTIL_PLUGIN HG_ATTR_ABI_EXPORT

/* Macros that Mercury's configuration step defines and some programs test. */
#define HG_UTIL_HAS_ATTR_CONSTRUCTOR_PRIORITY
#define HG_UTIL_HAS_CLOCK_GETTIME
#define HG_UTIL_HAS_CLOCK_MONOTONIC_COARSE
#define HG_UTIL_HAS_EVENTFD_T
#define HG_UTIL_HAS_PTHREAD_CONDATTR_SETCLOCK
#define HG_UTIL_HAS_PTHREAD_MUTEX_ADAPTIVE_NP
#define HG_UTIL_HAS_PTHREAD_SPINLOCK_T
#define HG_UTIL_HAS_STDATOMIC_H
#define HG_UTIL_ATOMIC_LONG_WIDTH __SIZEOF_LONG__
#define HG_UTIL_HAS_SYSEPOLL_H
#define HG_UTIL_HAS_SYSEVENTFD_H
#define HG_UTIL_HAS_SYSPARAM_H
#define HG_UTIL_HAS_SYSQUEUE_H
#define HG_UTIL_HAS_SYSTIME_H
#define HG_UTIL_HAS_TIME_H

#endif /* MERCURY_UTIL_CONFIG_H */
