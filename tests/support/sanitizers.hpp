// SPDX-License-Identifier: BSD-3-Clause
// The sanitizer of this build. Under ThreadSanitizer an endpoint of libfabric takes hundreds of MiB, and libfabric
// itself is not instrumented, so only `tcp;ofi_rxm` is tested, with fewer peers. AddressSanitizer delays freeing
// memory, so memory use cannot be measured.
#pragma once

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <cstddef>

namespace cinnabar::support {

#ifdef __SANITIZE_THREAD__
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif
// Times say nothing about the library in such a build.
inline constexpr bool sanitized = thread_sanitizer || address_sanitizer;

// Under AddressSanitizer, each access to that memory is an error from now on, until allow_access(). Otherwise nothing.
inline void forbid_access([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef __SANITIZE_ADDRESS__
    ASAN_POISON_MEMORY_REGION(at, bytes);
#endif
}
inline void allow_access([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef __SANITIZE_ADDRESS__
    ASAN_UNPOISON_MEMORY_REGION(at, bytes);
#endif
}

}  // namespace cinnabar::support
