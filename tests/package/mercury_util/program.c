/* SPDX-License-Identifier: BSD-3-Clause */
/* A C program that uses Mercury's utilities, and no C++ linker. */
#include <mercury_thread_pool.h>
#include <stdio.h>

static void* say(void* word) { return puts((const char*)word) < 0 ? NULL : word; }

int main(void) {
    hg_thread_pool_t* pool = NULL;
    struct hg_thread_work work = {say, (void*)"posted", {NULL}};
    if (hg_thread_pool_init(1, &pool) != HG_UTIL_SUCCESS) return 1;
    return hg_thread_pool_post(pool, &work) == HG_UTIL_SUCCESS && hg_thread_pool_destroy(pool) == HG_UTIL_SUCCESS ? 0
                                                                                                                  : 1;
}
