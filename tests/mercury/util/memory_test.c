/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <mercury_mem.h>
#include <mercury_mem_pool.h>
#include <mercury_thread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { threads_count = 4, rounds = 2000, chunk_size = 100, chunk_count = 3 };

static void memory_is_aligned(void) {
    const size_t page = (size_t)hg_mem_get_page_size();
    char* memory = (char*)hg_mem_aligned_alloc(page, 4 * page);
    CHECK(page > 0 && memory != NULL && (uintptr_t)memory % page == 0);
    memset(memory, 1, 4 * page);
    hg_mem_aligned_free(memory);
    CHECK(hg_mem_aligned_alloc(3, 64) == NULL);
}

static void header_lies_before(void) {
    static const size_t aligns[] = {0, 1, 8, 64, 4096};
    size_t i, header;
    for (i = 0; i < sizeof(aligns) / sizeof(aligns[0]); ++i) {
        for (header = 0; header <= 100; header += 25) {
            char* payload = (char*)hg_mem_header_alloc(header, aligns[i], 50);
            CHECK(payload != NULL && (aligns[i] == 0 || (uintptr_t)payload % aligns[i] == 0));
            memset(payload - header, 2, header + 50); /* a sanitizer checks both ends */
            hg_mem_header_free(header, aligns[i], payload);
        }
    }
    hg_mem_header_free(16, 64, NULL);
}

static void huge_pages_if_there_are_any(void) {
    const long size = hg_mem_get_hugepage_size();
    char* memory;
    CHECK(size >= 0 && (size & (size - 1)) == 0);
    memory = (char*)hg_mem_huge_alloc((size_t)size);
    if (memory == NULL) return;
    memory[size - 1] = 1;
    CHECK(hg_mem_huge_free(memory, (size_t)size) == HG_UTIL_SUCCESS);
}

static void shared_memory_has_a_name(void) {
    char name[64], *mine, *theirs;
    (void)snprintf(name, sizeof(name), "/mercury_util_memory_test-%d", (int)getpid());
    CHECK(hg_mem_shm_map(name, 4096, false) == NULL);
    mine = (char*)hg_mem_shm_map(name, 4096, true);
    theirs = (char*)hg_mem_shm_map(name, 4096, false);
    CHECK(mine != NULL && theirs != NULL && mine != theirs);
    mine[4095] = 'x';
    CHECK(theirs[4095] == 'x');
    CHECK(hg_mem_shm_map(name, 1 << 20, false) == NULL); /* longer than the object is */
    CHECK(hg_mem_shm_unmap(NULL, theirs, 4096) == HG_UTIL_SUCCESS);
    CHECK(hg_mem_shm_unmap(name, mine, 4096) == HG_UTIL_SUCCESS);
    CHECK(hg_mem_shm_unmap(name, NULL, 0) == HG_UTIL_FAIL);
}

struct Registrations {
    int count;
    int allowed;
    const char* buffers[8];
    size_t size;
};

static int reg(const void* buf, size_t size, unsigned long flags, void** handle, void* arg) {
    struct Registrations* all = (struct Registrations*)arg;
    CHECK(flags == 42);
    if (all->count == all->allowed) return HG_UTIL_FAIL;
    all->buffers[all->count] = (const char*)buf;
    all->size = size;
    *handle = &all->buffers[all->count++];
    return HG_UTIL_SUCCESS;
}

static int dereg(void* handle, void* arg) {
    CHECK(handle != NULL);
    --((struct Registrations*)arg)->count;
    return HG_UTIL_SUCCESS;
}

static void chunks_know_their_blocks(void) {
    struct Registrations all = {0, 2, {NULL}, 0};
    char* chunks[2 * chunk_count];
    void* handles[2 * chunk_count];
    int i;
    struct hg_mem_pool* pool = hg_mem_pool_create(chunk_size, chunk_count, 1, reg, 42, dereg, &all);
    CHECK(pool != NULL && all.count == 1);
    CHECK(hg_mem_pool_alloc(pool, chunk_size + 1, NULL) == NULL);
    for (i = 0; i < 2 * chunk_count; ++i) {
        chunks[i] = (char*)hg_mem_pool_alloc(pool, chunk_size, &handles[i]);
        CHECK(chunks[i] != NULL && handles[i] != NULL);
        memset(chunks[i], i, chunk_size);
        CHECK(chunks[i] == *(const char**)handles[i] + hg_mem_pool_chunk_offset(pool, chunks[i], handles[i]));
        CHECK(hg_mem_pool_chunk_offset(pool, chunks[i], handles[i]) + chunk_size <= all.size);
    }
    CHECK(all.count == 2 && handles[0] != handles[2 * chunk_count - 1]);
    CHECK(hg_mem_pool_alloc(pool, 1, NULL) == NULL); /* no third registration */
    for (i = 0; i < 2 * chunk_count; ++i) {
        CHECK(chunks[i][0] == i && chunks[i][chunk_size - 1] == i);
        hg_mem_pool_free(pool, chunks[i], handles[i]);
    }
    CHECK(hg_mem_pool_alloc(pool, 1, NULL) != NULL && all.count == 2);
    hg_mem_pool_free(pool, NULL, NULL);
    hg_mem_pool_destroy(pool);
    CHECK(all.count == 0);
    all.allowed = 1;
    CHECK(hg_mem_pool_create(chunk_size, chunk_count, 2, reg, 42, dereg, &all) == NULL && all.count == 0);
    CHECK(hg_mem_pool_create(chunk_size, 0, 1, NULL, 0, NULL, NULL) == NULL);
    CHECK(hg_mem_pool_create(0, chunk_count, 1, NULL, 0, NULL, NULL) == NULL);
    CHECK(hg_mem_pool_create(SIZE_MAX, 1, 1, NULL, 0, NULL, NULL) == NULL);
    CHECK(hg_mem_pool_create(SIZE_MAX / 2 + 1, 2, 1, NULL, 0, NULL, NULL) == NULL);
    CHECK(hg_mem_pool_create(chunk_size, SIZE_MAX, 0, NULL, 0, NULL, NULL) == NULL);
    hg_mem_pool_destroy(NULL);
}

static void* take_and_give(void* pool) {
    int i;
    for (i = 0; i < rounds; ++i) {
        char* chunk = (char*)hg_mem_pool_alloc((struct hg_mem_pool*)pool, chunk_size, NULL);
        CHECK(chunk != NULL);
        memset(chunk, i, chunk_size);
        hg_mem_pool_free((struct hg_mem_pool*)pool, chunk, NULL);
    }
    return NULL;
}

static void chunks_for_many_threads(void) {
    hg_thread_t threads[threads_count];
    int i;
    struct hg_mem_pool* pool = hg_mem_pool_create(chunk_size, 1, 1, NULL, 0, NULL, NULL);
    CHECK(pool != NULL);
    for (i = 0; i < threads_count; ++i) CHECK(hg_thread_create(&threads[i], take_and_give, pool) == HG_UTIL_SUCCESS);
    for (i = 0; i < threads_count; ++i) CHECK(hg_thread_join(threads[i]) == HG_UTIL_SUCCESS);
    hg_mem_pool_destroy(pool);
}

int main(void) {
    memory_is_aligned();
    header_lies_before();
    huge_pages_if_there_are_any();
    shared_memory_has_a_name();
    chunks_know_their_blocks();
    chunks_for_many_threads();
    return EXIT_SUCCESS;
}
