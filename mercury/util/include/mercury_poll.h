/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of file descriptors to wait for, by epoll. */
#ifndef MERCURY_POLL_H
#define MERCURY_POLL_H

#include "mercury_util_config.h"

typedef struct hg_poll_set hg_poll_set_t;

typedef union hg_poll_data {
    void* ptr;
    int fd;
    uint32_t u32;
    uint64_t u64;
} hg_poll_data_t;

struct hg_poll_event {
    uint32_t events;     /* HG_POLL... */
    hg_poll_data_t data; /* the user's data, returned with the event */
};

#define HG_POLLIN (1 << 0)
#define HG_POLLOUT (1 << 1)
#define HG_POLLERR (1 << 2)  /* reported only */
#define HG_POLLHUP (1 << 3)  /* reported only */
#define HG_POLLINTR (1 << 4) /* reported only: a signal ended the wait */

#ifdef __cplusplus
extern "C" {
#endif

/* Null when it fails. */
HG_UTIL_PUBLIC hg_poll_set_t* hg_poll_create(void);

/* Fails and keeps the set if it still has descriptors. Null is allowed. */
HG_UTIL_PUBLIC int hg_poll_destroy(hg_poll_set_t* poll_set);

/* A file descriptor that is readable when the set has events. */
HG_UTIL_PUBLIC int hg_poll_get_fd(const hg_poll_set_t* poll_set);

HG_UTIL_PUBLIC int hg_poll_add(hg_poll_set_t* poll_set, int fd, struct hg_poll_event* event);
HG_UTIL_PUBLIC int hg_poll_remove(hg_poll_set_t* poll_set, int fd);

/* Waits `timeout` (ms) for at least one event; no event is a success too. A signal is reported as one event,
 * HG_POLLINTR, without data. */
HG_UTIL_PUBLIC int hg_poll_wait(hg_poll_set_t* poll_set, unsigned int timeout, unsigned int max_events,
                                struct hg_poll_event events[], unsigned int* actual_events);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_POLL_H */
