// SPDX-License-Identifier: BSD-3-Clause
// Whether the kernel supports TLS. Any thread.
#pragma once

namespace cinnabar::tls {

// Whether sockets can encrypt and decrypt (kTLS). Asking may load the kernel module.
[[nodiscard]] bool kernel_has_tls() noexcept;

}  // namespace cinnabar::tls
