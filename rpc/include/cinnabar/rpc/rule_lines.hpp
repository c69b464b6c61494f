// SPDX-License-Identifier: BSD-3-Clause
// Splits the text of rules into lines, words and lists, whatever they mean: one rule per line, of words separated by
// blanks; the items of a list are separated by commas. The parsers of Policy and files::AccessPolicy use these
// functions.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::rpc {

inline constexpr std::size_t rule_text_bytes_max = 1u << 20;

// A name has 1 to 64 letters, digits and "-_.".
[[nodiscard]] CINNABAR_API bool is_rule_name(std::string_view name) noexcept;

// Removes the next word from a line; empty: there is none.
[[nodiscard]] CINNABAR_API std::string_view take_word(std::string_view& line) noexcept;
[[nodiscard]] CINNABAR_API std::vector<std::string> items_of(std::string_view list);

// Passes each line, except empty ones and comments ('#'), to `take`, until `take` returns an error. The subject of that
// error then begins with `place` and the number of the line.
[[nodiscard]] CINNABAR_API Result<void> for_each_rule(std::string_view text, const std::string& place,
                                                      const std::function<Result<void>(std::string_view)>& take);

// Reads a file of rules. permission: the file belongs neither to this user nor to root, or others may write to it and
// so change the rules. invalid_argument: not a regular file. too_large: over rule_text_bytes_max. Also errors of the
// system.
[[nodiscard]] CINNABAR_API Result<std::string> read_rules(const std::string& path);

}  // namespace cinnabar::rpc
