/* SPDX-License-Identifier: BSD-3-Clause */
/* A fixed number of threads that run posted work in the order of posting. */
#ifndef MERCURY_THREAD_POOL_H
#define MERCURY_THREAD_POOL_H

#include "mercury_queue.h"
#include "mercury_thread.h"
#include "mercury_thread_condition.h"

typedef struct hg_thread_pool hg_thread_pool_t;

/* Owned by the poster, who leaves it alone from the post until `func` has begun. */
struct hg_thread_work {
    hg_thread_func_t func;
    void* args;
    STAILQ_ENTRY(hg_thread_work) entry; /* the pool's */
};

#ifdef __cplusplus
extern "C" {
#endif

HG_UTIL_PUBLIC int hg_thread_pool_init(unsigned int thread_count, hg_thread_pool_t** pool);

/* Runs what was posted, joins the threads and frees the pool. Null is allowed. Not from a thread of the pool. */
HG_UTIL_PUBLIC int hg_thread_pool_destroy(hg_thread_pool_t* pool);

/* From any thread. Fails for work without a function, and once the pool is being destroyed. */
HG_UTIL_PUBLIC int hg_thread_pool_post(hg_thread_pool_t* pool, struct hg_thread_work* work);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_THREAD_POOL_H */
