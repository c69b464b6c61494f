// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinnabar/base/export.hpp>

#include <string>
#include <string_view>

namespace cinnabar {

// Escapes text from outside, such as the names of files, for messages and terminals: control characters and bytes that
// are not UTF-8 become \xNN, and each backslash is doubled. Thread-safe.
[[nodiscard]] CINNABAR_API std::string printable(std::string_view text);

}  // namespace cinnabar
