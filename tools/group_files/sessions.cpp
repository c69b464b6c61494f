// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/sessions.hpp"

#include "commands/reach.hpp"
#include "commands/session.hpp"

#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace cinnabar::tools::group_files {
namespace {

constexpr std::size_t opened_at_once = 32;

}  // namespace

Sessions::Sessions(std::vector<Server> servers, const SessionOptions& options, const Interrupt& interrupt,
                   Report& report)
    : servers_(std::move(servers)),
      options_(options),
      interrupt_(interrupt),
      report_(report),
      sessions_(servers_.size()) {}

Sessions::~Sessions() = default;

Result<void> Sessions::connect_one(std::size_t server) {
    auto& session = sessions_[server];
    try {
        CINNABAR_TRY(session.key, find_key(servers_[server].address, options_));
        CINNABAR_TRY(auto reached, reach_by(servers_[server].address, options_));
        if (servers_[server].must_prove && !session.key && !keeps_strangers_out(reached))
            return Error{Errc::permission,
                         "no transport to it proves its identity, though the member that "
                         "named it was proven: give --key-file, or have it listen on tcps://, ofis:// or shm:// only"};
        session.reached.emplace(std::move(reached));
        session.client = std::make_unique<files::Client>(session.reached->node, session.reached->peer,
                                                         session.key ? &*session.key : nullptr,
                                                         keyless_with(*session.reached, options_));
    } catch (const std::exception& failure) {
        return Error{Errc::overloaded, "this process has no room for a session with the server", failure.what()};
    }
    return {};
}

void Sessions::connect(const std::set<std::size_t>& wanted) {
    for (const auto server : wanted) {
        if (sessions_[server].client || sessions_[server].lost) continue;
        const auto connected = connect_one(server);
        if (!connected) lose(server, connected.error());
    }
}

hl::Task<void> Sessions::open_some(const std::vector<std::size_t>& closed, std::size_t& next) {
    while (next < closed.size()) {
        const std::size_t server = closed[next++];
        sessions_[server].opened = true;
        Result<void> opened = co_await sessions_[server].client->open();
        if (!opened) lose(server, opened.error());
    }
}

hl::Task<void> Sessions::open(const std::set<std::size_t>& wanted) {
    std::vector<std::size_t> closed;
    for (const auto server : wanted) {
        if (!sessions_[server].opened && !sessions_[server].lost) closed.push_back(server);
    }
    std::size_t next = 0;
    std::vector<hl::Task<void>> opening;
    for (std::size_t i = 0; i < std::min(opened_at_once, closed.size()); ++i)
        opening.push_back(open_some(closed, next));
    if (!opening.empty()) (void)co_await hl::when_all(std::move(opening));
}

hl::Task<void> Sessions::close() {
    for (auto& session : sessions_) {
        if (session.opened) co_await session.client->close();
    }
}

files::Client* Sessions::client(std::size_t server) noexcept {
    return sessions_[server].lost ? nullptr : sessions_[server].client.get();
}

std::vector<Server> Sessions::those_not_lost() const {
    std::vector<Server> left;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        if (!sessions_[i].lost) left.push_back(servers_[i]);
    }
    return left;
}

std::optional<Error> Sessions::first_lost() const {
    const auto lost = std::ranges::find_if(sessions_, [](const Session& session) { return session.lost.has_value(); });
    return lost == sessions_.end() ? std::nullopt : lost->lost;
}

void Sessions::lose(std::size_t server, const Error& why) {
    auto& session = sessions_[server];
    if (session.lost) return;
    session.lost = why;
    if (!interrupt_.happened()) report_.lost(servers_[server].address, why);
}

}  // namespace cinnabar::tools::group_files
