// SPDX-License-Identifier: BSD-3-Clause
// The documents of `cinnabar page`: /, /metrics, /calls.json and /state.json. All documents show the node's state,
// which is read again when it is too old.
#pragma once

#include "watch/history.hpp"
#include "watch/http_server.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace cinnabar::tools::watch {

class PageSite {
  public:
    // The node must outlive this object.
    PageSite(const hl::Connected& node, std::string address, std::chrono::duration<double> every)
        : node_(node), address_(std::move(address)), every_(every) {}
    // Answers a request. Status 503 with the reason if the node does not answer. One thread at a time.
    [[nodiscard]] HttpAnswer answer(const std::string& path);

  private:
    [[nodiscard]] Result<void> refresh();
    [[nodiscard]] std::optional<Error> query();
    const hl::Connected& node_;
    const std::string address_;
    const std::chrono::duration<double> every_;
    std::optional<std::chrono::steady_clock::time_point> asked_at_;
    std::optional<Error> failure_;  // of the last query
    std::optional<State> state_;
    std::vector<RpcRow> rows_;
    History history_;
};

}  // namespace cinnabar::tools::watch
