/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* CPU_SET and related macros */
#include "check.h"

#include <mercury_thread.h>
#include <unistd.h>

static hg_thread_key_t key;

static void* in_the_thread(void* data) {
    int mine = 1;
    CHECK(hg_thread_getspecific(key) == NULL);
    CHECK(hg_thread_setspecific(key, &mine) == HG_UTIL_SUCCESS && hg_thread_getspecific(key) == &mine);
    CHECK(hg_thread_yield() == HG_UTIL_SUCCESS);
    *(hg_thread_t*)data = hg_thread_self();
    hg_thread_exit(NULL);
    CHECK(0);
    return NULL;
}

static void threads_have_names_and_keys(void) {
    hg_thread_t thread, seen;
    hg_thread_init(&thread);
    hg_thread_init(&seen);
    CHECK(hg_thread_key_create(&key) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_create(&thread, in_the_thread, &seen) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_join(thread) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_equal(thread, seen) && !hg_thread_equal(seen, hg_thread_self()));
    CHECK(hg_thread_getspecific(key) == NULL && hg_thread_key_delete(key) == HG_UTIL_SUCCESS);
}

static void* wait_to_be_canceled(void* data) {
    for (;;) pause();
    return data;
}

static void threads_can_be_canceled(void) {
    hg_thread_t thread;
    CHECK(hg_thread_create(&thread, wait_to_be_canceled, NULL) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_cancel(thread) == HG_UTIL_SUCCESS && hg_thread_join(thread) == HG_UTIL_SUCCESS);
}

static void threads_stay_on_their_cores(void) {
    hg_cpu_set_t before, one, after;
    int core = 0;
    CHECK(hg_thread_getaffinity(hg_thread_self(), &before) == HG_UTIL_SUCCESS);
    while (!CPU_ISSET(core, &before)) ++core;
    CPU_ZERO(&one);
    CHECK(hg_thread_setaffinity(hg_thread_self(), &one) == HG_UTIL_FAIL);
    CPU_SET(core, &one);
    CHECK(hg_thread_setaffinity(hg_thread_self(), &one) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_getaffinity(hg_thread_self(), &after) == HG_UTIL_SUCCESS && CPU_EQUAL(&one, &after));
    CHECK(hg_thread_setaffinity(hg_thread_self(), &before) == HG_UTIL_SUCCESS);
}

int main(void) {
    threads_have_names_and_keys();
    threads_can_be_canceled();
    threads_stay_on_their_cores();
    return EXIT_SUCCESS;
}
