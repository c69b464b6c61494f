// SPDX-License-Identifier: BSD-3-Clause
// Parses text from /proc and /sys. Pure functions.
#pragma once

#include "doctor/host.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools::doctor {

inline constexpr std::uint64_t unlimited = ~std::uint64_t{0};

// Removes blanks and newlines at both ends.
[[nodiscard]] std::string trimmed(std::string_view text);
[[nodiscard]] std::vector<std::string> words_of(std::string_view text);
[[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view text);
// The chosen value: for "[always] madvise never", "always".
[[nodiscard]] std::string chosen_of(std::string_view text);
// Parses a list of processors: "0-2,7" is 0, 1, 2, 7.
[[nodiscard]] std::vector<unsigned> processors_of(std::string_view text);
// The value after "NAME:" in a text such as /proc/self/status.
[[nodiscard]] std::optional<std::string> field_of(std::string_view text, std::string_view name);

// Reads a file that contains one number, or one word.
[[nodiscard]] std::optional<std::uint64_t> read_number(const Host& host, const std::string& path);
[[nodiscard]] std::string read_word(const Host& host, const std::string& path);

struct Limit {
    std::uint64_t soft = unlimited;
    std::uint64_t hard = unlimited;
};
// A line of /proc/self/limits, for example "Max open files".
[[nodiscard]] std::optional<Limit> limit_of(const Host& host, std::string_view name);
// Whether this process has a capability, given by its number in linux/capability.h.
[[nodiscard]] bool is_capable(const Host& host, unsigned capability);
[[nodiscard]] std::optional<std::uint64_t> user_of(const Host& host);

}  // namespace cinnabar::tools::doctor
