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

std::set<std::size_t> servers_of(const std::vector<Step>& round) {
    std::set<std::size_t> servers;
    for (const auto& step : round) servers.insert(step.server);
    return servers;
}

void settle(Placed& file, std::size_t server, const Result<void>& result, bool another_may) {
    if (result) {
        file.done.push_back(server);
        return;
    }
    if (!another_may || !file.failed || file.failed->code == Errc::not_found) file.failed = result.error();
    if (!another_may) file.over = true;
}

// Shared by all tasks of a command.
struct Running {
    const Rounds& rounds;
    Sessions& sessions;
    std::vector<Placed>& files;
    const Interrupt& interrupt;

    void end(std::size_t file) const {
        files[file].ended = true;
        rounds.ended(file);
    }
};

// `lost`: the server did not answer, so another one may succeed, whatever the error is.
bool another_server_may(const Running& running, const Result<void>& result, bool lost) {
    return !running.interrupt.happened() && (lost || running.rounds.another_may(result.code()));
}

hl::Task<void> work(const Running& running, const std::vector<Step>& round, std::size_t& next) {
    while (next < round.size()) {
        const Step step = round[next++];
        Result<void> result;
        bool lost = false;  // in this attempt; an attempt with another file may lose the server meanwhile
        if (auto* const client = running.sessions.client(step.server)) {
            auto attempt = running.rounds.attempt(step.file, step.server, *client);
            result = co_await std::move(attempt);
            lost = !result && ends_all(result.code());
            if (lost) running.sessions.lose(step.server, result.error());
        } else {
            result = running.sessions.why_lost(step.server);
            lost = true;
        }
        auto& file = running.files[step.file];
        settle(file, step.server, result, another_server_may(running, result, lost));
        if (!goes_on(file)) running.end(step.file);
    }
}

hl::Task<void> run_round(const Running& running, const std::vector<Step>& round, const std::set<std::size_t>& servers) {
    co_await running.sessions.open(servers);
    std::vector<hl::Task<void>> workers;
    std::size_t next = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(running.rounds.jobs, round.size()); ++i)
        workers.push_back(work(running, round, next));
    (void)co_await hl::when_all(std::move(workers));
}

void fail_rest(const Running& running, const Error& why) {
    for (std::size_t i = 0; i < running.files.size(); ++i) {
        auto& file = running.files[i];
        if (file.ended) continue;
        if (!file.failed) file.failed = why;
        running.end(i);
    }
}

}  // namespace

bool run_rounds(const Rounds& rounds, Sessions& sessions, std::vector<Placed>& files, const Interrupt& interrupt) {
    const Running running{rounds, sessions, files, interrupt};
    for (;;) {
        const auto round = next_round(files);
        if (round.empty()) return !interrupt.happened();
        const auto servers = servers_of(round);
        sessions.connect(servers);
        const auto ran = hl::sync_wait(run_round(running, round, servers), interrupt.token());
        if (ran) continue;
        fail_rest(running, ran.error());
        return false;
    }
}

}  // namespace cinnabar::tools::spread
