// SPDX-License-Identifier: BSD-3-Clause
// Which sanitizer this build has. ThreadSanitizer multiplies what an endpoint of libfabric takes, to hundreds of MiB,
// and libfabric itself is not instrumented: there `tcp;ofi_rxm` stands for all of its providers, with fewer peers.
// AddressSanitizer keeps what was freed, so that memory says little of who takes it.
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

}  // namespace cinnabar::support
