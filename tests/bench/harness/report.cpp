// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace cinnabar::bench {
namespace {

std::string number(double value, const char* format) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

std::string json_text(const std::string& text) { return text.empty() ? "null" : quoted(text); }

std::string json_number(std::optional<double> value) {
    return value && std::isfinite(*value) ? number(*value, "%.6g") : "null";
}

std::string text_of(const Bar& bar) {
    return (bar.sense == Sense::at_most ? "<= " : ">= ") + number(bar.value, "%.4g");
}

constexpr std::size_t columns = 9;
using Cells = std::array<std::string, columns>;

Cells cells_of(const Row& row) {
    Cells cells;
    cells[0] = row.name;
    if (std::isfinite(row.value)) cells[1] = number(row.value, "%.4g");
    cells[2] = row.unit;
    if (row.limit) cells[3] = number(*row.limit, "%.4g");
    if (row.ratio) {
        cells[4] = number(row.ratio->median, "%.3f") + " [" + number(row.ratio->low, "%.3f") + " " +
                   number(row.ratio->high, "%.3f") + "]";
    }
    if (row.noise) cells[5] = number(*row.noise * 100, "%.1f%%");
    if (row.bar) cells[6] = text_of(*row.bar);
    if (row.verdict) cells[7] = to_string(*row.verdict);
    cells[8] = row.limit_name + (row.limit_name.empty() || row.remark.empty() ? "" : "; ") + row.remark;
    return cells;
}

}  // namespace

Row count_row(std::string name, double value, std::string unit, double limit) {
    Row row;
    row.name = std::move(name);
    row.value = value;
    row.unit = std::move(unit);
    row.limit_name = "the bar itself";
    row.limit = limit;
    if (limit != 0) row.ratio = Interval{value / limit, value / limit, value / limit};
    row.bar = Bar{Sense::at_most, limit};
    row.verdict = value <= limit ? Verdict::held : Verdict::missed;
    return row;
}

Row skipped_row(std::string name, const std::string& why) {
    Row row;
    row.name = std::move(name);
    row.value = std::numeric_limits<double>::quiet_NaN();
    row.remark = "skipped: " + why;
    return row;
}

std::string to_table(const std::vector<Row>& rows) {
    std::vector<Cells> lines{{"figure", "value", "unit", "limit", "ratio [95%]", "noise", "bar", "verdict", "against"}};
    for (const auto& row : rows) lines.push_back(cells_of(row));
    std::array<std::size_t, columns> width{};
    for (const auto& line : lines) {
        for (std::size_t i = 0; i < columns; ++i) width[i] = std::max(width[i], line[i].size());
    }
    std::string text;
    for (const auto& line : lines) {
        std::string out;
        for (std::size_t i = 0; i < columns; ++i) {
            out += line[i];
            out.append(width[i] - line[i].size() + 2, ' ');
        }
        text += out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

std::string to_json(const std::vector<Row>& rows) {
    std::string text = "[";
    for (const auto& row : rows) {
        const auto bound = [&](double Interval::*which) {
            return row.ratio ? std::optional{(*row.ratio).*which} : std::nullopt;
        };
        text += text.size() > 1 ? ",\n  {" : "\n  {";
        text += "\"name\": " + quoted(row.name) + ", \"value\": " + json_number(row.value) +
                ", \"unit\": " + quoted(row.unit) + ", \"limit_name\": " + json_text(row.limit_name) +
                ", \"limit\": " + json_number(row.limit) + ", \"ratio\": " + json_number(bound(&Interval::median)) +
                ", \"ci_low\": " + json_number(bound(&Interval::low)) +
                ", \"ci_high\": " + json_number(bound(&Interval::high)) + ", \"noise\": " + json_number(row.noise) +
                ", \"bar\": " + json_text(row.bar ? text_of(*row.bar) : "") +
                ", \"verdict\": " + json_text(row.verdict ? std::string{to_string(*row.verdict)} : "") +
                ", \"remark\": " + json_text(row.remark) + "}";
    }
    return text + "\n]\n";
}

}  // namespace cinnabar::bench
