// SPDX-License-Identifier: BSD-3-Clause
// Files that contain secrets. Any thread.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/secret_bytes.hpp>

#include <string>

namespace cinnabar::tls {

// Reads a whole file that only this user or root can have written, and that nobody else can read. Errors of the
// system, and:
//   permission        others may read or write it, or it belongs neither to this user nor to root
//   invalid_argument  it is not a regular file, or is longer than 64 KiB
[[nodiscard]] Result<SecretBytes> read_secret_file(const std::string& path);

}  // namespace cinnabar::tls
