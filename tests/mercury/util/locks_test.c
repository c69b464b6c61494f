/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <mercury_thread.h>
#include <mercury_thread_condition.h>
#include <mercury_thread_rwlock.h>
#include <mercury_thread_spin.h>

enum { threads_count = 4, rounds = 5000 };

static hg_thread_mutex_t mutex = HG_THREAD_MUTEX_INITIALIZER, fast;
static hg_thread_spin_t spin;
static hg_thread_rwlock_t rwlock;
static hg_thread_cond_t cond;
static int by_mutex, by_fast, by_spin, by_rwlock, arrived;

static void* work(void* data) {
    int i;
    for (i = 0; i < rounds; ++i) {
        hg_thread_mutex_lock(&mutex);
        ++by_mutex;
        hg_thread_mutex_unlock(&mutex);
        hg_thread_mutex_lock(&fast);
        ++by_fast;
        hg_thread_mutex_unlock(&fast);
        hg_thread_spin_lock(&spin);
        ++by_spin;
        hg_thread_spin_unlock(&spin);
        hg_thread_rwlock_wrlock(&rwlock);
        ++by_rwlock;
        hg_thread_rwlock_release_wrlock(&rwlock);
        hg_thread_rwlock_rdlock(&rwlock);
        CHECK(by_rwlock > 0);
        hg_thread_rwlock_release_rdlock(&rwlock);
    }
    /* The last thread wakes all others. */
    hg_thread_mutex_lock(&mutex);
    if (++arrived == threads_count) CHECK(hg_thread_cond_broadcast(&cond) == HG_UTIL_SUCCESS);
    while (arrived < threads_count) CHECK(hg_thread_cond_wait(&cond, &mutex) == HG_UTIL_SUCCESS);
    hg_thread_mutex_unlock(&mutex);
    return data;
}

static void one_at_a_time(void) {
    hg_thread_t threads[threads_count];
    int i;
    for (i = 0; i < threads_count; ++i) CHECK(hg_thread_create(&threads[i], work, NULL) == HG_UTIL_SUCCESS);
    for (i = 0; i < threads_count; ++i) CHECK(hg_thread_join(threads[i]) == HG_UTIL_SUCCESS);
    CHECK(by_mutex == threads_count * rounds && by_fast == by_mutex);
    CHECK(by_spin == by_mutex && by_rwlock == by_mutex);
}

static void* try_all(void* data) {
    CHECK(hg_thread_mutex_try_lock(&mutex) == HG_UTIL_FAIL && hg_thread_mutex_try_lock(&fast) == HG_UTIL_FAIL);
    CHECK(hg_thread_spin_try_lock(&spin) == HG_UTIL_FAIL);
    CHECK(hg_thread_rwlock_try_wrlock(&rwlock) == HG_UTIL_FAIL);
    CHECK(hg_thread_rwlock_try_rdlock(&rwlock) == HG_UTIL_SUCCESS);
    hg_thread_rwlock_release_rdlock(&rwlock);
    return data;
}

static void trying_does_not_wait(void) {
    hg_thread_t thread;
    CHECK(hg_thread_mutex_try_lock(&mutex) == HG_UTIL_SUCCESS && hg_thread_mutex_try_lock(&fast) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_spin_try_lock(&spin) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_rwlock_try_rdlock(&rwlock) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_create(&thread, try_all, NULL) == HG_UTIL_SUCCESS && hg_thread_join(thread) == HG_UTIL_SUCCESS);
    hg_thread_rwlock_release_rdlock(&rwlock);
    hg_thread_spin_unlock(&spin);
    hg_thread_mutex_unlock(&fast);
    hg_thread_mutex_unlock(&mutex);
    CHECK(hg_thread_rwlock_try_wrlock(&rwlock) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_rwlock_try_rdlock(&rwlock) == HG_UTIL_FAIL);
    hg_thread_rwlock_release_wrlock(&rwlock);
}

static void* signal_once(void* data) {
    hg_thread_mutex_lock(&mutex);
    *(int*)data = 1;
    CHECK(hg_thread_cond_signal(&cond) == HG_UTIL_SUCCESS);
    hg_thread_mutex_unlock(&mutex);
    return NULL;
}

static void waits_for_so_long(void) {
    hg_thread_t thread;
    hg_time_t before, after;
    int signaled = 0;
    hg_thread_mutex_lock(&mutex);
    CHECK(hg_time_get_current(&before) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_cond_timedwait(&cond, &mutex, 30) == HG_UTIL_FAIL);
    CHECK(hg_time_get_current(&after) == HG_UTIL_SUCCESS && hg_time_diff(after, before) >= 0.03);
    CHECK(hg_thread_create(&thread, signal_once, &signaled) == HG_UTIL_SUCCESS);
    while (!signaled) CHECK(hg_thread_cond_timedwait(&cond, &mutex, 60000) == HG_UTIL_SUCCESS);
    hg_thread_mutex_unlock(&mutex);
    CHECK(hg_thread_join(thread) == HG_UTIL_SUCCESS);
}

int main(void) {
    CHECK(hg_thread_mutex_init(&mutex) == HG_UTIL_SUCCESS && hg_thread_mutex_init_fast(&fast) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_spin_init(&spin) == HG_UTIL_SUCCESS && hg_thread_rwlock_init(&rwlock) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_cond_init(&cond) == HG_UTIL_SUCCESS);
    one_at_a_time();
    trying_does_not_wait();
    waits_for_so_long();
    CHECK(hg_thread_cond_destroy(&cond) == HG_UTIL_SUCCESS && hg_thread_rwlock_destroy(&rwlock) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_spin_destroy(&spin) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_mutex_destroy(&fast) == HG_UTIL_SUCCESS && hg_thread_mutex_destroy(&mutex) == HG_UTIL_SUCCESS);
    return EXIT_SUCCESS;
}
