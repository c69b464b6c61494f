// SPDX-License-Identifier: BSD-3-Clause
// Whether this is a build with ThreadSanitizer. That multiplies what an endpoint of libfabric takes, to hundreds of
// MiB, and libfabric itself is not instrumented: there `tcp;ofi_rxm` stands for all of its providers, with fewer peers.
#pragma once

namespace cinnabar::support {

#ifdef __SANITIZE_THREAD__
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif

}  // namespace cinnabar::support
