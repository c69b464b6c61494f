// SPDX-License-Identifier: BSD-3-Clause
// Detects a dial of this process that an attacker on the path has reflected back to this process. Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/session/stream.hpp>

#include <string_view>

namespace cinnabar::na {

// Whether an incoming connection is a dial of this process that was reflected; `own` is the incarnation of this
// process. With a shared key, both ends prove the same identity, so only the incarnation reveals the reflection (RFC
// 9257, section 4.1). With certificates, the dialling side detects the reflection, because the certificate does not
// have the name that was dialled. Requires: the connection is no self-dial (self_dials.hpp).
[[nodiscard]] inline bool is_reflected(const Hello& theirs, const ProvenIdentity* proven, Incarnation own) noexcept {
    return proven && proven->by == ProvenIdentity::By::key && theirs.incarnation == own;
}
// Logs a reflected connection over `scheme` whose socket is `fd`.
CINNABAR_API void log_reflected(std::string_view scheme, int fd) noexcept;

}  // namespace cinnabar::na
