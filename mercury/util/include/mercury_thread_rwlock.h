/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MERCURY_THREAD_RWLOCK_H
#define MERCURY_THREAD_RWLOCK_H

#include "mercury_thread_annotation.h"
#include "mercury_util_config.h"

#include <pthread.h>

typedef pthread_rwlock_t HG_LOCK_CAPABILITY("rwlock") hg_thread_rwlock_t;

#ifdef __cplusplus
extern "C" {
#endif

HG_UTIL_PUBLIC int hg_thread_rwlock_init(hg_thread_rwlock_t* rwlock);
HG_UTIL_PUBLIC int hg_thread_rwlock_destroy(hg_thread_rwlock_t* rwlock);

static HG_UTIL_INLINE void hg_thread_rwlock_rdlock(hg_thread_rwlock_t* rwlock) HG_LOCK_ACQUIRE_SHARED(*rwlock);
static HG_UTIL_INLINE int hg_thread_rwlock_try_rdlock(hg_thread_rwlock_t* rwlock)
    HG_LOCK_TRY_ACQUIRE_SHARED(HG_UTIL_SUCCESS, *rwlock);
static HG_UTIL_INLINE void hg_thread_rwlock_release_rdlock(hg_thread_rwlock_t* rwlock) HG_LOCK_RELEASE_SHARED(*rwlock);
static HG_UTIL_INLINE void hg_thread_rwlock_wrlock(hg_thread_rwlock_t* rwlock) HG_LOCK_ACQUIRE(*rwlock);
static HG_UTIL_INLINE int hg_thread_rwlock_try_wrlock(hg_thread_rwlock_t* rwlock)
    HG_LOCK_TRY_ACQUIRE(HG_UTIL_SUCCESS, *rwlock);
static HG_UTIL_INLINE void hg_thread_rwlock_release_wrlock(hg_thread_rwlock_t* rwlock) HG_LOCK_RELEASE(*rwlock);

static HG_UTIL_INLINE void hg_thread_rwlock_rdlock(hg_thread_rwlock_t* rwlock) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS {
    (void)pthread_rwlock_rdlock(rwlock);
}

static HG_UTIL_INLINE int hg_thread_rwlock_try_rdlock(hg_thread_rwlock_t* rwlock) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS {
    return pthread_rwlock_tryrdlock(rwlock) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

static HG_UTIL_INLINE void hg_thread_rwlock_release_rdlock(hg_thread_rwlock_t* rwlock)
    HG_LOCK_NO_THREAD_SAFETY_ANALYSIS {
    (void)pthread_rwlock_unlock(rwlock);
}

static HG_UTIL_INLINE void hg_thread_rwlock_wrlock(hg_thread_rwlock_t* rwlock) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS {
    (void)pthread_rwlock_wrlock(rwlock);
}

static HG_UTIL_INLINE int hg_thread_rwlock_try_wrlock(hg_thread_rwlock_t* rwlock) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS {
    return pthread_rwlock_trywrlock(rwlock) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

static HG_UTIL_INLINE void hg_thread_rwlock_release_wrlock(hg_thread_rwlock_t* rwlock)
    HG_LOCK_NO_THREAD_SAFETY_ANALYSIS {
    (void)pthread_rwlock_unlock(rwlock);
}

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_THREAD_RWLOCK_H */
