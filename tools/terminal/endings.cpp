// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/endings.hpp"

#include "terminal/report.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::tools {

void Endings::add(const std::string& server, const Error& why) {
    ++sessions_;
    auto text = explain(why, server);
    const auto same = std::ranges::find_if(kept_, [&](const Ending& ending) {
        return ending.code == why.code && ending.server == server && ending.text == text;
    });
    if (same != kept_.end()) {
        ++same->count;
    } else if (kept_.size() < kept_max) {
        kept_.push_back({server, why.code, std::move(text), 1});
    } else {
        ++others_;
    }
}

}  // namespace cinnabar::tools
