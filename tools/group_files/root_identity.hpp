// SPDX-License-Identifier: BSD-3-Clause
// The identity of a root in a group: 32 hex digits, made once and kept beside the files. So files are still found at
// this root when the server is started again, even at another address or on another host.
#pragma once

#include <cinnabar/base/result.hpp>

#include <string>
#include <string_view>

namespace cinnabar::tools::group_files {

[[nodiscard]] bool is_identity(std::string_view text) noexcept;

// Reads the identity of the root at `path`; makes an identity if the root has none. Requires: the root is open as a
// server's root. protocol: the file with the identity is damaged. Also the errors of Root.
[[nodiscard]] Result<std::string> identity_of_root(const std::string& path);

}  // namespace cinnabar::tools::group_files
