// SPDX-License-Identifier: BSD-3-Clause
// The output of one process, passed on in whole lines, with a label before each.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace cinnabar::tools::launch {

// A pure part: takes what was read, and gives the lines that are whole, with their labels.
class LineLabels {
  public:
    explicit LineLabels(std::string label) : label_(std::move(label)) {}
    // A line of more than line_bytes_max goes in parts.
    [[nodiscard]] std::string add(std::string_view text);
    // What is left at the end, as a line.
    [[nodiscard]] std::string rest();
    [[nodiscard]] bool unfinished() const noexcept { return !line_.empty(); }
    static constexpr std::size_t line_bytes_max = 64u << 10;

  private:
    std::string label_;
    std::string line_;
};

class LabelledStream {
  public:
    LabelledStream(UniqueFd from, int to, const std::string& label) : from_(std::move(from)), to_(to), lines_(label) {}

    [[nodiscard]] int fd() const noexcept { return from_.get(); }
    [[nodiscard]] bool open() const noexcept { return static_cast<bool>(from_); }
    // Passes on what is there; closes at the end.
    void pass_on();
    void close();

  private:
    UniqueFd from_;
    int to_;
    LineLabels lines_;
};

}  // namespace cinnabar::tools::launch
