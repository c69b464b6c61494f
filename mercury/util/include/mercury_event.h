/* SPDX-License-Identifier: BSD-3-Clause */
/* An eventfd: a descriptor that one thread sets and another polls. */
#ifndef MERCURY_EVENT_H
#define MERCURY_EVENT_H

#include "mercury_util_config.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The descriptor, or -1. */
HG_UTIL_PUBLIC int hg_event_create(void);
HG_UTIL_PUBLIC int hg_event_destroy(int fd);

static HG_UTIL_INLINE int hg_event_set(int fd) { return eventfd_write(fd, 1) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL; }

/* Reports whether the event was set since the last call, and clears it. */
static HG_UTIL_INLINE int hg_event_get(int fd, bool* notified) {
    eventfd_t count;
    *notified = eventfd_read(fd, &count) == 0;
    return *notified || errno == EAGAIN ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_EVENT_H */
