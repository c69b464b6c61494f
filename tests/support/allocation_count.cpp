// SPDX-License-Identifier: BSD-3-Clause
#include "allocation_count.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {
std::atomic<std::uint64_t> count{0};
thread_local bool memory_is_out = false;
// False: the allocation must fail.
bool counted() noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    if (memory_is_out) errno = ENOMEM;
    return !memory_is_out;
}
}  // namespace

namespace cinnabar::support {
std::uint64_t allocations() noexcept { return count.load(std::memory_order_relaxed); }
NoMemory::NoMemory() noexcept { memory_is_out = true; }
NoMemory::~NoMemory() { memory_is_out = false; }
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
void __sanitizer_malloc_hook(const volatile void*, size_t) { (void)counted(); }
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
    return counted() ? __libc_malloc(size) : nullptr;
}
__attribute__((visibility("default"))) void* calloc(size_t items, size_t size) noexcept {
    return counted() ? __libc_calloc(items, size) : nullptr;
}
__attribute__((visibility("default"))) void* realloc(void* block, size_t size) noexcept {
    return counted() ? __libc_realloc(block, size) : nullptr;
}
__attribute__((visibility("default"))) void free(void* block) noexcept { __libc_free(block); }
__attribute__((visibility("default"))) void* memalign(size_t alignment, size_t size) noexcept {
    return counted() ? __libc_memalign(alignment, size) : nullptr;
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t size) noexcept {
    return counted() ? __libc_memalign(alignment, size) : nullptr;
}
__attribute__((visibility("default"))) int posix_memalign(void** out, size_t alignment, size_t size) noexcept {
    if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    void* block = counted() ? __libc_memalign(alignment, size) : nullptr;
    if (block == nullptr) return ENOMEM;
    *out = block;
    return 0;
}
}

#endif
