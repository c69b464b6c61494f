/* SPDX-License-Identifier: BSD-3-Clause */
/* A fixed number of threads that run posted work in FIFO order. */
#ifndef MERCURY_THREAD_POOL_H
#define MERCURY_THREAD_POOL_H

#include "mercury_queue.h"
#include "mercury_thread.h"
#include "mercury_thread_condition.h"

typedef struct hg_thread_pool hg_thread_pool_t;

/* Owned by the caller, who must not touch it from the post until `func` has started. */
struct hg_thread_work {
    hg_thread_func_t func;
    void* args;
    STAILQ_ENTRY(hg_thread_work) entry; /* used by the pool */
};

#ifdef __cplusplus
extern "C" {
#endif

HG_UTIL_PUBLIC int hg_thread_pool_init(unsigned int thread_count, hg_thread_pool_t** pool);

/* Runs all posted work, joins the threads and frees the pool. Null is allowed. Do not call it on a thread of the
 * pool. */
HG_UTIL_PUBLIC int hg_thread_pool_destroy(hg_thread_pool_t* pool);

/* Posts work. Any thread. Fails if the work has no function or the pool is being destroyed. */
HG_UTIL_PUBLIC int hg_thread_pool_post(hg_thread_pool_t* pool, struct hg_thread_work* work);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_THREAD_POOL_H */
