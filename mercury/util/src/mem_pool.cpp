// SPDX-License-Identifier: BSD-3-Clause
#include <mercury_mem.h>
#include <mercury_mem_pool.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace {

struct Block {
    char* memory;
    void* handle;
};

}  // namespace

struct hg_mem_pool {
    std::size_t chunk_size;
    std::size_t chunk_count;
    hg_mem_pool_register_func_t register_func;
    unsigned long flags;
    hg_mem_pool_deregister_func_t deregister_func;
    void* arg;
    std::mutex mutex;
    std::vector<Block> blocks;
    std::vector<char*> free;

    static constexpr std::size_t align = HG_MEM_CACHE_LINE_SIZE;

    [[nodiscard]] std::size_t stride() const { return (chunk_size + align - 1) / align * align; }

    [[nodiscard]] std::size_t block_size() const { return stride() * chunk_count; }

    // Requires: the mutex is held.
    [[nodiscard]] const Block& block_of(const void* chunk) const {
        const auto* const byte = static_cast<const char*>(chunk);
        return *std::find_if(blocks.begin(), blocks.end(), [&](const Block& block) {
            return std::less_equal<>()(block.memory, byte) && std::less<>()(byte, block.memory + block_size());
        });
    }

    // If it throws bad_alloc, nothing has changed. Requires: the mutex is held.
    bool grow() {
        blocks.reserve(blocks.size() + 1);
        free.reserve((blocks.size() + 1) * chunk_count);
        void* const memory = hg_mem_aligned_alloc(static_cast<std::size_t>(hg_mem_get_page_size()), block_size());
        if (memory == nullptr) return false;
        void* handle = nullptr;
        if (register_func != nullptr && register_func(memory, block_size(), flags, &handle, arg) != 0) {
            hg_mem_aligned_free(memory);
            return false;
        }
        blocks.push_back({static_cast<char*>(memory), handle});
        for (std::size_t i = 0; i < chunk_count; ++i) free.push_back(blocks.back().memory + i * stride());
        return true;
    }

    ~hg_mem_pool() {
        for (const Block& block : blocks) {
            if (deregister_func != nullptr) (void)deregister_func(block.handle, arg);
            hg_mem_aligned_free(block.memory);
        }
    }
};

struct hg_mem_pool* hg_mem_pool_create(size_t chunk_size, size_t chunk_count, size_t block_count,
                                       hg_mem_pool_register_func_t register_func, unsigned long flags,
                                       hg_mem_pool_deregister_func_t deregister_func, void* arg) try {
    if (chunk_size == 0 || chunk_count == 0 || chunk_size > SIZE_MAX - hg_mem_pool::align) return nullptr;
    std::unique_ptr<hg_mem_pool> pool(
        new hg_mem_pool{chunk_size, chunk_count, register_func, flags, deregister_func, arg, {}, {}, {}});
    if (pool->stride() > SIZE_MAX / chunk_count) return nullptr;
    for (std::size_t i = 0; i < block_count; ++i) {
        if (!pool->grow()) return nullptr;
    }
    return pool.release();
} catch (const std::bad_alloc&) {
    return nullptr;
}

void hg_mem_pool_destroy(struct hg_mem_pool* hg_mem_pool) { delete hg_mem_pool; }

void* hg_mem_pool_alloc(struct hg_mem_pool* hg_mem_pool, size_t size, void** mr_handle) try {
    if (size > hg_mem_pool->chunk_size) return nullptr;
    const std::lock_guard lock(hg_mem_pool->mutex);
    if (hg_mem_pool->free.empty() && !hg_mem_pool->grow()) return nullptr;
    char* const chunk = hg_mem_pool->free.back();
    hg_mem_pool->free.pop_back();
    if (mr_handle != nullptr) *mr_handle = hg_mem_pool->block_of(chunk).handle;
    return chunk;
} catch (const std::bad_alloc&) {
    return nullptr;
}

void hg_mem_pool_free(struct hg_mem_pool* hg_mem_pool, void* mem_ptr, void* /*mr_handle*/) {
    if (mem_ptr == nullptr) return;
    const std::lock_guard lock(hg_mem_pool->mutex);
    hg_mem_pool->free.push_back(static_cast<char*>(mem_ptr));  // grow() reserved room for every chunk
}

size_t hg_mem_pool_chunk_offset(struct hg_mem_pool* hg_mem_pool, void* mem_ptr, void* /*mr_handle*/) {
    const std::lock_guard lock(hg_mem_pool->mutex);
    return static_cast<std::size_t>(static_cast<char*>(mem_ptr) - hg_mem_pool->block_of(mem_ptr).memory);
}
