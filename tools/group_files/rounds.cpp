// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/rounds.hpp"

#include "commands/session.hpp"

#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace cinnabar::tools::group_files {
namespace {

// How many later steps are searched for files that may share a call with the present one.
constexpr std::size_t ahead_max = 1024;

struct Step {
    std::size_t file;
    std::size_t server;
    bool taken = false;
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

// Takes the file of step number `at` and, if it may go with others, further files that are tried at the same server.
std::vector<std::size_t> take_files(const Running& running, std::vector<Step>& round, std::size_t at) {
    Step& first = round[at];
    first.taken = true;
    std::vector<std::size_t> taken{first.file};
    const auto& together = running.rounds.together;
    const auto* const client = running.sessions.client(first.server);
    std::optional<std::uint64_t> bytes;
    if (together && client) bytes = together->bytes_of(first.file);
    if (!bytes) return taken;
    const auto end = std::min(round.size(), at + ahead_max);
    for (std::size_t i = at + 1; i < end && taken.size() < files::small_files_max; ++i) {
        Step& step = round[i];
        if (step.taken || step.server != first.server) continue;
        const auto more = together->bytes_of(step.file);
        if (!more || *bytes + *more > client->window_bytes()) continue;
        *bytes += *more;
        step.taken = true;
        taken.push_back(step.file);
    }
    return taken;
}

hl::Task<void> work(const Running& running, std::vector<Step>& round, std::size_t& next) {
    while (next < round.size()) {
        const std::size_t at = next++;
        if (round[at].taken) continue;
        const auto server = round[at].server;
        const auto taken = take_files(running, round, at);
        auto* const client = running.sessions.client(server);
        std::vector<Result<void>> results;
        if (!client) {
            results.assign(taken.size(), running.sessions.why_lost(server));
        } else if (taken.size() > 1) {
            auto attempt = running.rounds.together->attempt(taken, server, *client);
            results = co_await std::move(attempt);
        } else {
            auto attempt = running.rounds.attempt(taken.front(), server, *client);
            Result<void> result = co_await std::move(attempt);
            results.push_back(std::move(result));
        }
        for (std::size_t i = 0; i < taken.size(); ++i) {
            // In this attempt; an attempt with another file may lose the server meanwhile.
            const bool lost = !client || (!results[i] && ends_all(results[i].code()));
            if (lost && client) running.sessions.lose(server, results[i].error());
            auto& file = running.files[taken[i]];
            settle(file, server, results[i], another_server_may(running, results[i], lost));
            if (!goes_on(file)) running.end(taken[i]);
        }
    }
}

hl::Task<void> run_round(const Running& running, std::vector<Step>& round, const std::set<std::size_t>& servers) {
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
        auto round = next_round(files);
        if (round.empty()) return !interrupt.happened();
        const auto servers = servers_of(round);
        sessions.connect(servers);
        const auto ran = hl::sync_wait(run_round(running, round, servers), interrupt.token());
        if (ran) continue;
        fail_rest(running, ran.error());
        return false;
    }
}

}  // namespace cinnabar::tools::group_files
