// SPDX-License-Identifier: BSD-3-Clause
// Rules as text: one a line, of words between blanks, and lists of items between commas.
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

// Of 1 to 64 letters, digits and "-_.".
[[nodiscard]] CINNABAR_API bool is_rule_name(std::string_view name) noexcept;

// Takes the next word off a line; empty: there is none.
[[nodiscard]] CINNABAR_API std::string_view take_word(std::string_view& line) noexcept;
[[nodiscard]] CINNABAR_API std::vector<std::string> items_of(std::string_view list);

// Hands each line but those that are empty or begin with '#' to `take`, up to its first error, whose subject then
// begins with `place` and the number of the line.
[[nodiscard]] CINNABAR_API Result<void> for_each_rule(std::string_view text, const std::string& place,
                                                      const std::function<Result<void>(std::string_view)>& take);

// A file of rules, since whoever can write it says who may do what: permission: it is neither ours nor root's, or
// others may write it; invalid_argument: not a regular file; too_large; and what the system says.
[[nodiscard]] CINNABAR_API Result<std::string> read_rules(const std::string& path);

}  // namespace cinnabar::rpc
