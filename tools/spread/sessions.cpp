// SPDX-License-Identifier: BSD-3-Clause
#include "spread/sessions.hpp"

#include "commands/session.hpp"

#include <cinnabar/hl/when_all.hpp>

#include <utility>

namespace cinnabar::tools::spread {

Sessions::Sessions(std::vector<Server> servers, const SessionOptions& options, Report& report)
    : servers_(std::move(servers)), options_(options), report_(report), sessions_(servers_.size()) {}

Sessions::~Sessions() = default;

Result<void> Sessions::connect(std::size_t server) {
    auto& session = sessions_[server];
    CINNABAR_TRY(session.key, find_key(servers_[server].address, options_));
    CINNABAR_TRY(auto reached, reach_by(servers_[server].address, options_));
    session.reached.emplace(std::move(reached));
    session.client = std::make_unique<files::Client>(session.reached->node, session.reached->peer,
                                                     session.key ? &*session.key : nullptr,
                                                     keyless_with(*session.reached, options_));
    return {};
}

hl::Task<void> Sessions::open_one(std::size_t server) {
    Result<void> opened = connect(server);
    if (opened) opened = co_await sessions_[server].client->open();
    if (!opened) lose(server, opened.error());
}

hl::Task<void> Sessions::open(const std::set<std::size_t>& wanted) {
    std::vector<hl::Task<void>> opening;
    for (const auto server : wanted) {
        if (!sessions_[server].client && !sessions_[server].lost) opening.push_back(open_one(server));
    }
    if (!opening.empty()) (void)co_await hl::when_all(std::move(opening));
}

hl::Task<void> Sessions::close() {
    for (auto& session : sessions_) {
        if (session.client) co_await session.client->close();
    }
}

files::Client* Sessions::client(std::size_t server) noexcept {
    return sessions_[server].lost ? nullptr : sessions_[server].client.get();
}

void Sessions::lose(std::size_t server, const Error& why) {
    auto& session = sessions_[server];
    if (session.lost) return;
    session.lost = why;
    if (why.code != Errc::canceled) report_.lost(servers_[server].address, why);
}

}  // namespace cinnabar::tools::spread
