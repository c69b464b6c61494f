// SPDX-License-Identifier: BSD-3-Clause
// Files of patterns for trees: --include-from, --exclude-from.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/filter.hpp>

#include <string>

namespace cinnabar::tools {

// Adds the patterns in a file, one per line. The verdict of a pattern is given by the line's prefix, "+ " or "- ";
// without a prefix, by `verdict`. Empty lines and lines that begin with '#' or ';' are skipped. Errors: those of
// file_error(); invalid_argument: a pattern is empty, and the patterns before it were added.
[[nodiscard]] Result<void> add_patterns_in(const std::string& path, files::Filter::Verdict verdict,
                                           files::Filter& filter);

}  // namespace cinnabar::tools
