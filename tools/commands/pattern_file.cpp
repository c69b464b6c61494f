// SPDX-License-Identifier: BSD-3-Clause
#include "commands/pattern_file.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/file_error.hpp>

#include <cerrno>
#include <fstream>
#include <string_view>

namespace cinnabar::tools {
namespace {

using Verdict = files::Filter::Verdict;

Result<void> add_line(std::string_view line, Verdict verdict, files::Filter& filter) {
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) return {};
    const bool has_verdict = line.starts_with("+ ") || line.starts_with("- ");
    if (has_verdict) verdict = line[0] == '+' ? Verdict::include : Verdict::exclude;
    return filter.add(verdict, has_verdict ? line.substr(2) : line);
}

}  // namespace

Result<void> add_patterns_in(const std::string& path, Verdict verdict, files::Filter& filter) {
    errno = 0;
    std::ifstream file(path);
    if (!file) return files::file_error(errno != 0 ? errno : EIO, "cannot read the patterns", path);
    unsigned number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (const auto added = add_line(line, verdict, filter); !added)
            return Error{added.code(), added.error().hint, printable(path) + ":" + std::to_string(number)};
    }
    if (file.bad()) return files::file_error(errno != 0 ? errno : EIO, "cannot read the patterns", path);
    return {};
}

}  // namespace cinnabar::tools
