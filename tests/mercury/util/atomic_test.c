/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <mercury_atomic.h>
#include <mercury_atomic_queue.h>
#include <mercury_thread.h>

enum { threads_count = 4, rounds = 10000, queue_size = 16 };

static hg_atomic_int32_t small = HG_ATOMIC_VAR_INIT(0);
static hg_atomic_int64_t large = HG_ATOMIC_VAR_INIT(0);

static void* count_up(void* data) {
    int i;
    for (i = 0; i < rounds; ++i) {
        hg_atomic_incr32(&small);
        hg_atomic_incr64(&large);
        hg_atomic_decr64(&large);
    }
    return data;
}

static void counts_from_many_threads(void) {
    hg_thread_t threads[threads_count];
    int i;
    for (i = 0; i < threads_count; ++i) CHECK(hg_thread_create(&threads[i], count_up, NULL) == HG_UTIL_SUCCESS);
    for (i = 0; i < threads_count; ++i) CHECK(hg_thread_join(threads[i]) == HG_UTIL_SUCCESS);
    CHECK(hg_atomic_get32(&small) == threads_count * rounds);
    CHECK(hg_atomic_get64(&large) == 0);
}

static void returns_what_mercury_says(void) {
    hg_atomic_int32_t a;
    hg_atomic_int64_t b;
    hg_atomic_init32(&a, 6);
    hg_atomic_init64(&b, 6);
    CHECK(hg_atomic_incr32(&a) == 7 && hg_atomic_decr32(&a) == 6);
    CHECK(hg_atomic_incr64(&b) == 7 && hg_atomic_decr64(&b) == 6);
    CHECK(hg_atomic_or32(&a, 1) == 6 && hg_atomic_xor32(&a, 2) == 7 && hg_atomic_and32(&a, 4) == 5);
    CHECK(hg_atomic_or64(&b, 1) == 6 && hg_atomic_xor64(&b, 2) == 7 && hg_atomic_and64(&b, 4) == 5);
    CHECK(!hg_atomic_cas32(&a, 5, 9) && hg_atomic_get32(&a) == 4);
    CHECK(hg_atomic_cas32(&a, 4, 9) && hg_atomic_get32(&a) == 9);
    CHECK(!hg_atomic_cas64(&b, 5, 9) && hg_atomic_cas64(&b, 4, 9) && hg_atomic_get64(&b) == 9);
    hg_atomic_set32(&a, -1);
    hg_atomic_set64(&b, INT64_MIN);
    hg_atomic_fence();
    CHECK(hg_atomic_get32(&a) == -1 && hg_atomic_get64(&b) == INT64_MIN);
}

static void queue_keeps_order_and_size(void) {
    int entries[queue_size + 1];
    int lap, i;
    struct hg_atomic_queue* queue = hg_atomic_queue_alloc(queue_size);
    CHECK(queue != NULL);
    CHECK(hg_atomic_queue_alloc(queue_size + 1) == NULL);
    CHECK(hg_atomic_queue_is_empty(queue) && hg_atomic_queue_pop_mc(queue) == NULL);
    for (lap = 0; lap < 3; ++lap) {
        for (i = 0; i < queue_size; ++i) CHECK(hg_atomic_queue_push(queue, &entries[i]) == HG_UTIL_SUCCESS);
        CHECK(hg_atomic_queue_push(queue, &entries[queue_size]) == HG_UTIL_FAIL);
        CHECK(hg_atomic_queue_count(queue) == queue_size);
        for (i = 0; i < queue_size; i += 2) {
            CHECK(hg_atomic_queue_pop_mc(queue) == &entries[i]);
            CHECK(hg_atomic_queue_pop_sc(queue) == &entries[i + 1]);
        }
        CHECK(hg_atomic_queue_is_empty(queue) && hg_atomic_queue_pop_sc(queue) == NULL);
    }
    hg_atomic_queue_free(queue);
    hg_atomic_queue_free(NULL);
}

static struct hg_atomic_queue* shared;
static hg_atomic_int32_t seen[threads_count * rounds];
static hg_atomic_int32_t taken;

static void* push_some(void* first) {
    int i;
    for (i = 0; i < rounds; ++i) {
        while (hg_atomic_queue_push(shared, (hg_atomic_int32_t*)first + i) != HG_UTIL_SUCCESS) hg_thread_yield();
    }
    return NULL;
}

static void* pop_some(void* data) {
    while (hg_atomic_get32(&taken) < threads_count * rounds) {
        hg_atomic_int32_t* entry = (hg_atomic_int32_t*)hg_atomic_queue_pop_mc(shared);
        if (entry == NULL) {
            hg_thread_yield();
            continue;
        }
        hg_atomic_incr32(entry);
        hg_atomic_incr32(&taken);
    }
    return data;
}

static void every_entry_comes_out_once(void) {
    hg_thread_t pushers[threads_count], poppers[threads_count];
    int i;
    shared = hg_atomic_queue_alloc(queue_size);
    CHECK(shared != NULL);
    for (i = 0; i < threads_count; ++i) {
        CHECK(hg_thread_create(&pushers[i], push_some, &seen[i * rounds]) == HG_UTIL_SUCCESS);
        CHECK(hg_thread_create(&poppers[i], pop_some, NULL) == HG_UTIL_SUCCESS);
    }
    for (i = 0; i < threads_count; ++i) {
        CHECK(hg_thread_join(pushers[i]) == HG_UTIL_SUCCESS);
        CHECK(hg_thread_join(poppers[i]) == HG_UTIL_SUCCESS);
    }
    for (i = 0; i < threads_count * rounds; ++i) CHECK(hg_atomic_get32(&seen[i]) == 1);
    CHECK(hg_atomic_queue_is_empty(shared));
    hg_atomic_queue_free(shared);
}

int main(void) {
    counts_from_many_threads();
    returns_what_mercury_says();
    queue_keeps_order_and_size();
    every_entry_comes_out_once();
    return EXIT_SUCCESS;
}
