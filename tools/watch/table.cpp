// SPDX-License-Identifier: BSD-3-Clause
#include "watch/table.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::tools::watch {
namespace {

std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string fit(std::string_view text, std::size_t columns) {
    const std::size_t has = columns_of(text);
    if (has <= columns) return std::string(text) + std::string(columns - has, ' ');
    if (columns == 0) return {};
    std::size_t bytes = 0;
    for (std::size_t taken = 0; bytes < text.size(); ++bytes) {
        const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xc0) != 0x80;
        if (begins && taken++ == columns - 1) break;
    }
    return std::string(text.substr(0, bytes)) + "~";
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
    std::vector<std::string> names;
    for (const Column& column : columns_) names.emplace_back(column.name);
    add(std::move(names));
}

std::vector<std::string> Table::lines(std::size_t width) const {
    std::vector<std::size_t> widths;
    std::size_t taken = 0;
    for (const Column& column : columns_) {
        widths.push_back(column.width);
        taken += column.width + 1;
    }
    for (std::size_t i = 0; i < widths.size(); ++i) {
        if (widths[i] != 0) continue;
        widths[i] = width > taken ? width - taken + 1 : 1;
        if (width != 0) continue;
        for (const auto& cells : rows_) widths[i] = std::max(widths[i], columns_of(cells[i]));
    }
    std::vector<std::string> lines;
    for (const auto& cells : rows_) {
        std::string line;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::size_t spaces = widths[i] - std::min(widths[i], cells[i].size());
            line += i == 0 ? "" : " ";
            line +=
                columns_[i].right ? std::string(spaces, ' ') + cells[i].substr(0, widths[i]) : fit(cells[i], widths[i]);
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace cinnabar::tools::watch
