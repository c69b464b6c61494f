// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/print.hpp"

#include "terminal/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cinnabar::tools::doctor {

std::string text_of(const Findings& found, bool all) {
    std::string text;
    std::array<std::size_t, 4> counts{};
    for (const auto severity : {Severity::problem, Severity::warning, Severity::note, Severity::good}) {
        for (const auto& finding : found.all()) {
            if (finding.severity != severity) continue;
            ++counts.at(static_cast<std::size_t>(severity));
            if (severity == Severity::good && !all) continue;
            text += fmt::format("{:<9} {:<20} {}\n", to_string(severity), finding.id, finding.what);
            if (!finding.remedy.empty()) text += fmt::format("{:<31}do: {}\n", "", finding.remedy);
        }
    }
    const auto plural = [](std::size_t count, const char* what) {
        return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    return text + fmt::format("{}, {}, {}; {} as they should be", plural(counts[3], "problem"),
                              plural(counts[2], "warning"), plural(counts[1], "note"), counts[0]);
}

std::string json_of(const Findings& found, const std::string& version, ExitCode exit) {
    std::string list = "[";
    for (const auto& finding : found.all()) {
        JsonObject object;
        object.text("id", finding.id).text("severity", to_string(finding.severity)).text("what", finding.what);
        object.text("remedy", finding.remedy).number("exit", static_cast<std::uint64_t>(finding.exit));
        list += (list.size() > 1 ? ", " : "") + object.line();
    }
    JsonObject object;
    object.text("version", version).raw("findings", list + "]").number("exit", static_cast<std::uint64_t>(exit));
    return object.line();
}

}  // namespace cinnabar::tools::doctor
