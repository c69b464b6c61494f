// SPDX-License-Identifier: BSD-3-Clause
// Forwards the output of one process line by line, with a label before each line.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace cinnabar::tools::launch {

// Without I/O: takes bytes and returns complete, labelled lines.
class LineLabels {
  public:
    explicit LineLabels(std::string label) : label_(std::move(label)) {}
    // Splits lines longer than line_bytes_max.
    [[nodiscard]] std::string add(std::string_view text);
    // The last line, if it had no newline.
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
    // Forwards what has arrived; closes the descriptor at the end of the stream.
    void pass_on();
    void close();

  private:
    UniqueFd from_;
    int to_;
    LineLabels lines_;
};

}  // namespace cinnabar::tools::launch
