// SPDX-License-Identifier: BSD-3-Clause
#include "spread/rounds.hpp"

#include "commands/session.hpp"

#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace cinnabar::tools::spread {
namespace {

struct Step {
    std::size_t file;
    std::size_t server;
};

bool goes_on(const Placed& file) {
    return !file.over && file.done.size() < file.wanted && file.next < file.order.size();
}

std::vector<Step> next_round(std::vector<Placed>& files) {
    std::vector<Step> round;
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (goes_on(files[i])) round.push_back({i, files[i].order[files[i].next++]});
    }
    return round;
}

void settle(Placed& file, std::size_t server, const Result<void>& result, bool another_may) {
    if (result) {
        file.done.push_back(server);
        return;
    }
    if (!file.failed || file.failed->code == Errc::not_found) file.failed = result.error();
    if (!another_may) file.over = true;
}

hl::Task<void> work(const Rounds& rounds, Sessions& sessions, std::vector<Placed>& files,
                    const std::vector<Step>& round, std::size_t& next) {
    while (next < round.size()) {
        const Step step = round[next++];
        auto& file = files[step.file];
        Result<void> result;
        if (auto* const client = sessions.client(step.server)) {
            auto attempt = rounds.attempt(step.file, *client);
            result = co_await std::move(attempt);
            if (!result && ends_all(result.code())) sessions.lose(step.server, result.error());
        } else {
            result = sessions.why_lost(step.server);
        }
        const bool lost = !sessions.client(step.server);
        const bool another_may = result.code() != Errc::canceled && (lost || rounds.another_may(result.code()));
        settle(file, step.server, result, another_may);
        if (!goes_on(file)) rounds.ended(step.file);
    }
}

hl::Task<void> run_all(const Rounds& rounds, Sessions& sessions, std::vector<Placed>& files) {
    for (;;) {
        const auto round = next_round(files);
        if (round.empty()) break;
        std::set<std::size_t> servers;
        for (const auto& step : round) servers.insert(step.server);
        co_await sessions.open(servers);
        std::vector<hl::Task<void>> workers;
        std::size_t next = 0;
        for (std::size_t i = 0; i < std::min<std::size_t>(rounds.jobs, round.size()); ++i)
            workers.push_back(work(rounds, sessions, files, round, next));
        (void)co_await hl::when_all(std::move(workers));
    }
    co_await sessions.close();
}

}  // namespace

void run_rounds(const Rounds& rounds, Sessions& sessions, std::vector<Placed>& files, const Interrupt& interrupt) {
    (void)hl::sync_wait(run_all(rounds, sessions, files), interrupt.token());
}

}  // namespace cinnabar::tools::spread
