/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads and thread-local keys: pthreads under Mercury's names. */
#ifndef MERCURY_THREAD_H
#define MERCURY_THREAD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* cpu_set_t */
#endif

#include "mercury_util_config.h"

#include <pthread.h>
#include <sched.h>

typedef pthread_t hg_thread_t;
typedef void* (*hg_thread_func_t)(void*);
typedef void* hg_thread_ret_t;
typedef pthread_key_t hg_thread_key_t;
typedef cpu_set_t hg_cpu_set_t;

#define HG_THREAD_RETURN_TYPE hg_thread_ret_t

#ifdef __cplusplus
extern "C" {
#endif

HG_UTIL_PUBLIC void hg_thread_init(hg_thread_t* thread);
HG_UTIL_PUBLIC int hg_thread_create(hg_thread_t* thread, hg_thread_func_t f, void* data);

/* Ends the calling thread. */
HG_UTIL_PUBLIC void hg_thread_exit(hg_thread_ret_t ret);
HG_UTIL_PUBLIC int hg_thread_join(hg_thread_t thread);
HG_UTIL_PUBLIC int hg_thread_cancel(hg_thread_t thread);
HG_UTIL_PUBLIC int hg_thread_yield(void);

HG_UTIL_PUBLIC int hg_thread_key_create(hg_thread_key_t* key);
HG_UTIL_PUBLIC int hg_thread_key_delete(hg_thread_key_t key);

HG_UTIL_PUBLIC int hg_thread_getaffinity(hg_thread_t thread, hg_cpu_set_t* cpu_mask);
HG_UTIL_PUBLIC int hg_thread_setaffinity(hg_thread_t thread, const hg_cpu_set_t* cpu_mask);

static HG_UTIL_INLINE hg_thread_t hg_thread_self(void) { return pthread_self(); }

/* Not 0 when they are the same thread. */
static HG_UTIL_INLINE int hg_thread_equal(hg_thread_t t1, hg_thread_t t2) { return pthread_equal(t1, t2); }

static HG_UTIL_INLINE void* hg_thread_getspecific(hg_thread_key_t key) { return pthread_getspecific(key); }

static HG_UTIL_INLINE int hg_thread_setspecific(hg_thread_key_t key, const void* value) {
    return pthread_setspecific(key, value) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_THREAD_H */
