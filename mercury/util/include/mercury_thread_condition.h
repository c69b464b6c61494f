/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MERCURY_THREAD_CONDITION_H
#define MERCURY_THREAD_CONDITION_H

#include "mercury_thread_mutex.h"
#include "mercury_time.h"

typedef pthread_cond_t hg_thread_cond_t;

#ifdef __cplusplus
extern "C" {
#endif

HG_UTIL_PUBLIC int hg_thread_cond_init(hg_thread_cond_t* cond);
HG_UTIL_PUBLIC int hg_thread_cond_destroy(hg_thread_cond_t* cond);

static HG_UTIL_INLINE int hg_thread_cond_signal(hg_thread_cond_t* cond) {
    return pthread_cond_signal(cond) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

static HG_UTIL_INLINE int hg_thread_cond_broadcast(hg_thread_cond_t* cond) {
    return pthread_cond_broadcast(cond) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

static HG_UTIL_INLINE int hg_thread_cond_wait(hg_thread_cond_t* cond, hg_thread_mutex_t* mutex) {
    return pthread_cond_wait(cond, mutex) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

/* Fails after `timeout` (ms). `cond` must have been initialised by hg_thread_cond_init(), which selects the monotonic
 * clock. */
static HG_UTIL_INLINE int hg_thread_cond_timedwait(hg_thread_cond_t* cond, hg_thread_mutex_t* mutex,
                                                   unsigned int timeout) {
    hg_time_t now, until;
    if (hg_time_get_current(&now) != HG_UTIL_SUCCESS) return HG_UTIL_FAIL;
    until = hg_time_add(now, hg_time_from_ms(timeout));
    return pthread_cond_timedwait(cond, mutex, &until) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_THREAD_CONDITION_H */
