// SPDX-License-Identifier: BSD-3-Clause
#include "allocation_count.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace {
std::atomic<std::uint64_t> count{0};
std::atomic<std::int64_t> in_use{0};
thread_local bool memory_is_out = false;
thread_local std::uint64_t* allocations_spared = nullptr;
// libfabric's hash tables call exit() when an allocation fails.
bool is_libfabric(void* code) noexcept {
    Dl_info found{};
    return ::dladdr(code, &found) != 0 && found.dli_fname && std::strstr(found.dli_fname, "libfabric") != nullptr;
}
// False: the allocation must fail.
bool counted(void* caller) noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    if (!memory_is_out || is_libfabric(caller)) return true;
    if (allocations_spared && *allocations_spared > 0) return --*allocations_spared, true;
    errno = ENOMEM;
    return false;
}
[[maybe_unused]] void* taken(void* block) noexcept {
    if (block) in_use.fetch_add(1, std::memory_order_relaxed);
    return block;
}
}  // namespace

namespace cinnabar::support {
std::uint64_t allocations() noexcept { return count.load(std::memory_order_relaxed); }
std::int64_t blocks_in_use() noexcept { return in_use.load(std::memory_order_relaxed); }
NoMemory::NoMemory() noexcept { memory_is_out = true; }
NoMemory::NoMemory(std::uint64_t& spared) noexcept {
    allocations_spared = &spared;
    memory_is_out = true;
}
NoMemory::~NoMemory() {
    memory_is_out = false;
    allocations_spared = nullptr;
}
}  // namespace cinnabar::support

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CINNABAR_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CINNABAR_SANITIZED
#endif
#endif

#ifdef CINNABAR_SANITIZED

bool cinnabar::support::NoMemory::works() noexcept { return false; }

// Weak in the sanitizer's runtime, which calls it after each allocation.
extern "C" void __sanitizer_malloc_hook(const volatile void*, size_t);
extern "C" void __sanitizer_free_hook(const volatile void*);
void __sanitizer_malloc_hook(const volatile void*, size_t) { (void)counted(nullptr); }
void __sanitizer_free_hook(const volatile void*) {}

#else

bool cinnabar::support::NoMemory::works() noexcept { return true; }

// The C library allows a program to replace all malloc functions together; these are the originals under their other
// names.
extern "C" {
void* __libc_malloc(size_t) noexcept;
void* __libc_calloc(size_t, size_t) noexcept;
void* __libc_realloc(void*, size_t) noexcept;
void* __libc_memalign(size_t, size_t) noexcept;
void __libc_free(void*) noexcept;

__attribute__((visibility("default"))) void* malloc(size_t size) noexcept {
    return counted(__builtin_return_address(0)) ? taken(__libc_malloc(size)) : nullptr;
}
__attribute__((visibility("default"))) void* calloc(size_t items, size_t size) noexcept {
    return counted(__builtin_return_address(0)) ? taken(__libc_calloc(items, size)) : nullptr;
}
__attribute__((visibility("default"))) void* realloc(void* block, size_t size) noexcept {
    if (!counted(__builtin_return_address(0))) return nullptr;
    if (block && size == 0) return free(block), nullptr;
    void* const moved = __libc_realloc(block, size);
    return block ? moved : taken(moved);
}
__attribute__((visibility("default"))) void free(void* block) noexcept {
    if (block) in_use.fetch_sub(1, std::memory_order_relaxed);
    __libc_free(block);
}
__attribute__((visibility("default"))) void* memalign(size_t alignment, size_t size) noexcept {
    return counted(__builtin_return_address(0)) ? taken(__libc_memalign(alignment, size)) : nullptr;
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t size) noexcept {
    return counted(__builtin_return_address(0)) ? taken(__libc_memalign(alignment, size)) : nullptr;
}
__attribute__((visibility("default"))) int posix_memalign(void** out, size_t alignment, size_t size) noexcept {
    if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    void* block = counted(__builtin_return_address(0)) ? taken(__libc_memalign(alignment, size)) : nullptr;
    if (block == nullptr) return ENOMEM;
    *out = block;
    return 0;
}
}

#endif
