/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MERCURY_THREAD_SPIN_H
#define MERCURY_THREAD_SPIN_H

#include "mercury_thread_annotation.h"
#include "mercury_util_config.h"

#include <pthread.h>

typedef pthread_spinlock_t HG_LOCK_CAPABILITY("spin") hg_thread_spin_t;

#ifdef __cplusplus
extern "C" {
#endif

HG_UTIL_PUBLIC int hg_thread_spin_init(hg_thread_spin_t* lock);
HG_UTIL_PUBLIC int hg_thread_spin_destroy(hg_thread_spin_t* lock);

static HG_UTIL_INLINE void hg_thread_spin_lock(hg_thread_spin_t* lock) HG_LOCK_ACQUIRE(*lock);
static HG_UTIL_INLINE int hg_thread_spin_try_lock(hg_thread_spin_t* lock) HG_LOCK_TRY_ACQUIRE(HG_UTIL_SUCCESS, *lock);
static HG_UTIL_INLINE void hg_thread_spin_unlock(hg_thread_spin_t* lock) HG_LOCK_RELEASE(*lock);

static HG_UTIL_INLINE void hg_thread_spin_lock(hg_thread_spin_t* lock) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS {
    (void)pthread_spin_lock(lock);
}

static HG_UTIL_INLINE int hg_thread_spin_try_lock(hg_thread_spin_t* lock) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS {
    return pthread_spin_trylock(lock) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

static HG_UTIL_INLINE void hg_thread_spin_unlock(hg_thread_spin_t* lock) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS {
    (void)pthread_spin_unlock(lock);
}

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_THREAD_SPIN_H */
