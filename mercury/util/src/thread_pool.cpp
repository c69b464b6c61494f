// SPDX-License-Identifier: BSD-3-Clause
#include <mercury_thread_pool.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

struct hg_thread_pool {
    std::mutex mutex;
    std::condition_variable posted;
    STAILQ_HEAD(, hg_thread_work) queue = STAILQ_HEAD_INITIALIZER(queue);
    bool closing = false;
    std::vector<std::thread> threads;

    ~hg_thread_pool() {
        {
            const std::lock_guard lock(mutex);
            closing = true;
        }
        posted.notify_all();
        for (std::thread& thread : threads) thread.join();
    }

    void run() {
        for (std::unique_lock lock(mutex);;) {
            posted.wait(lock, [this] { return closing || !STAILQ_EMPTY(&queue); });
            hg_thread_work* const work = STAILQ_FIRST(&queue);
            if (work == nullptr) return;
            STAILQ_REMOVE_HEAD(&queue, entry);
            lock.unlock();
            (void)work->func(work->args);
            lock.lock();
        }
    }
};

int hg_thread_pool_init(unsigned int thread_count, hg_thread_pool_t** pool) try {
    auto made = std::make_unique<hg_thread_pool>();
    made->threads.reserve(thread_count);
    for (unsigned i = 0; i < thread_count; ++i) made->threads.emplace_back(&hg_thread_pool::run, made.get());
    *pool = made.release();
    return HG_UTIL_SUCCESS;
} catch (const std::bad_alloc&) {
    return HG_UTIL_FAIL;
} catch (const std::system_error&) {
    return HG_UTIL_FAIL;
}

int hg_thread_pool_destroy(hg_thread_pool_t* pool) {
    delete pool;
    return HG_UTIL_SUCCESS;
}

int hg_thread_pool_post(hg_thread_pool_t* pool, struct hg_thread_work* work) {
    if (pool == nullptr || work == nullptr || work->func == nullptr) return HG_UTIL_FAIL;
    const std::lock_guard lock(pool->mutex);
    if (pool->closing) return HG_UTIL_FAIL;
    STAILQ_INSERT_TAIL(&pool->queue, work, entry);
    pool->posted.notify_one();
    return HG_UTIL_SUCCESS;
}
