// SPDX-License-Identifier: BSD-3-Clause
#include "perf/outcomes.hpp"

#include "terminal/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace cinnabar::tools::perf {

void Outcomes::add(const Outcomes& other) noexcept {
    done += other.done;
    wrong += other.wrong;
    unsent += other.unsent;
    for (std::size_t i = 0; i < failed_by.size(); ++i) failed_by[i] += other.failed_by[i];
    if (first_failure == Errc::ok) first_failure = other.first_failure;
}

std::uint64_t Outcomes::failed() const noexcept {
    return std::accumulate(failed_by.begin(), failed_by.end(), std::uint64_t{0});
}

ExitCode Outcomes::exit() const noexcept {
    if (wrong > 0) return ExitCode::damaged;
    return nothing() ? ExitCode::overloaded : exit_code(first_failure);
}

std::string Outcomes::text() const {
    std::string text;
    const auto tell = [&text](std::uint64_t count, std::string_view what) {
        if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
    };
    for (std::size_t i = 0; i < failed_by.size(); ++i) tell(failed_by[i], to_string(static_cast<Errc>(i)));
    tell(wrong, "with wrong bytes");
    tell(unsent, "never sent");
    if (nothing()) text += text.empty() ? "nothing was measured in that time" : "; nothing was measured in that time";
    return text;
}

std::string Outcomes::failed_json() const {
    JsonObject object;
    for (std::size_t i = 0; i < failed_by.size(); ++i) {
        if (failed_by[i] == 0) continue;
        std::string name(to_string(static_cast<Errc>(i)));
        std::ranges::replace(name, ' ', '_');
        object.number(name, failed_by[i]);
    }
    return object.line();
}

}  // namespace cinnabar::tools::perf
