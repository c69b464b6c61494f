// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/finding.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::tools::doctor {

std::string_view to_string(Severity severity) noexcept {
    switch (severity) {
        case Severity::good:
            return "good";
        case Severity::note:
            return "note";
        case Severity::warning:
            return "warning";
        case Severity::problem:
            return "problem";
    }
    return "problem";
}

void Findings::good(std::string id, std::string what) {
    all_.push_back({std::move(id), Severity::good, std::move(what), {}, ExitCode::ok});
}
void Findings::note(std::string id, std::string what, std::string remedy) {
    all_.push_back({std::move(id), Severity::note, std::move(what), std::move(remedy), ExitCode::ok});
}
void Findings::warning(std::string id, ExitCode exit, std::string what, std::string remedy) {
    all_.push_back({std::move(id), Severity::warning, std::move(what), std::move(remedy), exit});
}
void Findings::problem(std::string id, ExitCode exit, std::string what, std::string remedy) {
    all_.push_back({std::move(id), Severity::problem, std::move(what), std::move(remedy), exit});
}

const Finding* Findings::find(std::string_view id) const noexcept {
    const auto at = std::ranges::find(all_, id, &Finding::id);
    return at == all_.end() ? nullptr : &*at;
}

ExitCode Findings::exit(bool strict) const noexcept {
    const auto problem = std::ranges::find(all_, Severity::problem, &Finding::severity);
    if (problem != all_.end()) return problem->exit;
    const auto warning = std::ranges::find(all_, Severity::warning, &Finding::severity);
    return strict && warning != all_.end() ? warning->exit : ExitCode::ok;
}

}  // namespace cinnabar::tools::doctor
