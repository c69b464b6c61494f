// SPDX-License-Identifier: BSD-3-Clause
// A table of text, for a screen of some width or for a pipe. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools::watch {

// Pads or cuts text to `columns`; a cut text ends with "~". Each character counts as one column.
[[nodiscard]] std::string fit(std::string_view text, std::size_t columns);

// One column takes the width that the others leave.
class Table {
  public:
    struct Column {
        std::string_view name;
        std::size_t width;  // 0: what the others leave; exactly one column has this
        bool right = true;
    };
    // The names must outlive the table.
    explicit Table(std::vector<Column> columns);
    // A cell for each column.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    // The heading and the rows. `width` 0: the remaining column is as wide as its longest cell.
    [[nodiscard]] std::vector<std::string> lines(std::size_t width) const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;  // the first one is the heading
};

}  // namespace cinnabar::tools::watch
