// SPDX-License-Identifier: BSD-3-Clause
// The sanitizer of this build. Under ThreadSanitizer an endpoint of libfabric takes hundreds of MiB, and libfabric
// itself is not instrumented, so only `tcp;ofi_rxm` is tested, with fewer peers. AddressSanitizer delays freeing
// memory, so memory use cannot be measured.
#pragma once

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

}  // namespace cinnabar::support
