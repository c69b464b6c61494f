// SPDX-License-Identifier: BSD-3-Clause
// Bytes as a word of an announcement.
#pragma once

#include <cinnabar/base/bytes.hpp>

#include <string>
#include <vector>

namespace cinnabar::bench {

[[nodiscard]] std::string to_hex(ConstBytes bytes);
// Requires: `text` was returned by to_hex().
[[nodiscard]] std::vector<std::byte> from_hex(const std::string& text);

}  // namespace cinnabar::bench
