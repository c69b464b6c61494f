// SPDX-License-Identifier: BSD-3-Clause
#include "watch/page_site.hpp"

#include "watch/calls_text.hpp"
#include "watch/html_page.hpp"
#include "watch/prometheus.hpp"
#include "watch/state_json.hpp"

#include <algorithm>
#include <cmath>

namespace cinnabar::tools::watch {
namespace {

constexpr Microseconds page_answer_max{2'000'000};

}  // namespace

// Queries the node at most once per `every_`, however many clients ask, and whether it answers or not.
Result<void> PageSite::refresh() {
    const bool due = !asked_at_ || std::chrono::steady_clock::now() - *asked_at_ >= every_;
    if (due) failure_ = query();
    if (failure_) return *failure_;
    return {};
}

std::optional<Error> PageSite::query() {
    auto state = ask(node_, {.histograms = true}, page_answer_max);
    asked_at_ = std::chrono::steady_clock::now();  // the end, because a node that does not answer takes long
    if (!state) return std::move(state).error();
    state_ = *std::move(state);
    rows_ = history_.take(*state_);
    return std::nullopt;
}

HttpAnswer PageSite::answer(const std::string& path) {
    constexpr const char* text = "text/plain; charset=utf-8";
    if (path != "/" && path != "/metrics" && path != "/calls.json" && path != "/state.json")
        return {404, text, "use /, /metrics, /calls.json or /state.json\n"};
    if (const auto fresh = refresh(); !fresh) return {503, text, fresh.error().message() + "\n"};
    if (path == "/metrics") return {200, "text/plain; version=0.0.4; charset=utf-8", prometheus_text(*state_)};
    if (path == "/calls.json") return {200, "application/json", calls_json(*state_, Microseconds{0})};
    if (path == "/state.json") return {200, "application/json", state_json(*state_, rows_, history_) + "\n"};
    const auto refresh_seconds = static_cast<unsigned>(std::ceil(std::max(every_.count(), 1.0)));
    return {200, "text/html; charset=utf-8", html_page(*state_, rows_, history_, address_, refresh_seconds)};
}

}  // namespace cinnabar::tools::watch
