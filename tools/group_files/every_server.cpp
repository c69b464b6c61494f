// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/every_server.hpp"

#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace cinnabar::tools::group_files {
namespace {

constexpr std::size_t asked_at_once = 32;

hl::Task<void> ask(Sessions& sessions, std::size_t server, const ServerWork& work, Asked& asked) {
    Result<void> done;
    if (auto* const client = sessions.client(server)) {
        done = co_await work(sessions.servers()[server], *client);
        if (!done) sessions.lose(server, done.error());
    } else {
        done = sessions.why_lost(server);
    }
    if (!done && !asked.lost) asked.lost = done.error();
}

hl::Task<void> ask_some(Sessions& sessions, const std::set<std::size_t>& servers, const ServerWork& work,
                        Asked& asked) {
    co_await sessions.open(servers);
    std::vector<hl::Task<void>> asking;
    for (const auto server : servers) asking.push_back(ask(sessions, server, work, asked));
    (void)co_await hl::when_all(std::move(asking));
}

}  // namespace

Asked at_every_server(const std::vector<Server>& servers, const SessionOptions& options, const Interrupt& interrupt,
                      Report& report, const ServerWork& work) {
    Asked asked;
    for (std::size_t begin = 0; begin < servers.size() && !asked.ended; begin += asked_at_once) {
        const auto first = servers.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto count = std::min(asked_at_once, servers.size() - begin);
        Sessions sessions({first, first + static_cast<std::ptrdiff_t>(count)}, options, interrupt, report);
        std::set<std::size_t> all;
        for (std::size_t i = 0; i < count; ++i) all.insert(i);
        sessions.connect(all);
        const auto done = hl::sync_wait(ask_some(sessions, all, work, asked), interrupt.token());
        (void)hl::sync_wait(sessions.close(), interrupt.token());
        if (!done)
            asked.ended = done.error();
        else if (interrupt.happened())
            asked.ended = Error{Errc::canceled, "interrupted before it was done"};
    }
    return asked;
}

}  // namespace cinnabar::tools::group_files
