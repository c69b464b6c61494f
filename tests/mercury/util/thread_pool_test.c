/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <mercury_atomic.h>
#include <mercury_thread_pool.h>

enum { works_count = 1000 };

static hg_atomic_int32_t done;
static int order[works_count];

static void* work(void* data) {
    *(int*)data = hg_atomic_incr32(&done);
    return NULL;
}

static struct hg_thread_work works[works_count];

static void run_with(unsigned int threads) {
    hg_thread_pool_t* pool = NULL;
    int i;
    hg_atomic_set32(&done, 0);
    CHECK(hg_thread_pool_init(threads, &pool) == HG_UTIL_SUCCESS && pool != NULL);
    for (i = 0; i < works_count; ++i) {
        works[i].func = work;
        works[i].args = &order[i];
        CHECK(hg_thread_pool_post(pool, &works[i]) == HG_UTIL_SUCCESS);
    }
    CHECK(hg_thread_pool_destroy(pool) == HG_UTIL_SUCCESS);
    CHECK(hg_atomic_get32(&done) == works_count);
}

int main(void) {
    struct hg_thread_work nothing = {NULL, NULL, {NULL}};
    hg_thread_pool_t* pool = NULL;
    int i;
    run_with(4);
    run_with(1);
    for (i = 0; i < works_count; ++i) CHECK(order[i] == i + 1); /* in the order of posting */
    CHECK(hg_thread_pool_init(1, &pool) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_pool_post(pool, &nothing) == HG_UTIL_FAIL && hg_thread_pool_post(pool, NULL) == HG_UTIL_FAIL);
    CHECK(hg_thread_pool_post(NULL, &works[0]) == HG_UTIL_FAIL);
    CHECK(hg_thread_pool_destroy(pool) == HG_UTIL_SUCCESS && hg_thread_pool_destroy(NULL) == HG_UTIL_SUCCESS);
    return EXIT_SUCCESS;
}
