/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MERCURY_THREAD_MUTEX_H
#define MERCURY_THREAD_MUTEX_H

#include "mercury_thread_annotation.h"
#include "mercury_util_config.h"

#include <pthread.h>

#define HG_THREAD_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
typedef pthread_mutex_t HG_LOCK_CAPABILITY("mutex") hg_thread_mutex_t;

#ifdef __cplusplus
extern "C" {
#endif

HG_UTIL_PUBLIC int hg_thread_mutex_init(hg_thread_mutex_t* mutex);

/* A mutex that spins briefly before it sleeps, for short critical sections. */
HG_UTIL_PUBLIC int hg_thread_mutex_init_fast(hg_thread_mutex_t* mutex);
HG_UTIL_PUBLIC int hg_thread_mutex_destroy(hg_thread_mutex_t* mutex);

static HG_UTIL_INLINE void hg_thread_mutex_lock(hg_thread_mutex_t* mutex) HG_LOCK_ACQUIRE(*mutex);
static HG_UTIL_INLINE int hg_thread_mutex_try_lock(hg_thread_mutex_t* mutex)
    HG_LOCK_TRY_ACQUIRE(HG_UTIL_SUCCESS, *mutex);
static HG_UTIL_INLINE void hg_thread_mutex_unlock(hg_thread_mutex_t* mutex) HG_LOCK_RELEASE(*mutex);

static HG_UTIL_INLINE void hg_thread_mutex_lock(hg_thread_mutex_t* mutex) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS {
    (void)pthread_mutex_lock(mutex);
}

static HG_UTIL_INLINE int hg_thread_mutex_try_lock(hg_thread_mutex_t* mutex) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS {
    return pthread_mutex_trylock(mutex) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

static HG_UTIL_INLINE void hg_thread_mutex_unlock(hg_thread_mutex_t* mutex) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS {
    (void)pthread_mutex_unlock(mutex);
}

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_THREAD_MUTEX_H */
