// SPDX-License-Identifier: BSD-3-Clause
// What the kernel could do of TLS. Any thread.
#pragma once

namespace cinnabar::tcp {

// Whether it can encrypt and decrypt on a socket (kTLS). It may load its module for the answer.
[[nodiscard]] bool kernel_has_tls() noexcept;

}  // namespace cinnabar::tcp
