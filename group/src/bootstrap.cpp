// SPDX-License-Identifier: BSD-3-Clause
// bootstrap(): makes a process a member by a folder, a host name, the records of a service, a roster or seeds.
#include "back_off.hpp"
#include "bootstrap_dns.hpp"
#include "bootstrap_folder.hpp"
#include "off_loop.hpp"

#include <cinnabar/base/parse_number.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/group/announcement.hpp>
#include <cinnabar/group/bootstrap.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace cinnabar::group {
namespace {

constexpr Rank size_max = 65'536;

// Returns the lines of the roster; empty: there is no roster yet. Each member has written its line to a file. Rank 0
// collects the lines and writes the roster; the others only look for the roster, so that a thousand members do not read
// a thousand files each.
Result<std::vector<std::string>> look_into(const std::string& folder, const std::string& run, Rank rank,
                                           std::vector<std::string>& known) {
    const auto size = static_cast<Rank>(known.size());
    CINNABAR_TRY(std::vector<std::string> roster, find_roster(folder, run, size));
    if (!roster.empty() || rank != 0) return roster;
    CINNABAR_TRY(const bool complete, collect(folder, run, known));
    if (!complete) return roster;
    CINNABAR_TRY_VOID(write_roster(folder, run, known));
    return known;
}

hl::Task<Result<std::vector<std::string>>> gather_in(hl::NodeRef node, Source source, std::string folder,
                                                     std::string line, std::uint64_t seed) {
    auto announcing = off_loop(
        node, [folder, source, line = std::move(line)] { return announce(folder, source.run, source.rank, line); });
    const Result<void> written = co_await announcing;
    if (!written) co_return written.error();
    auto known = std::make_shared<std::vector<std::string>>(source.size);
    Random random(seed);
    BackOff pauses(random, Microseconds(10'000), Microseconds(500'000));
    for (;;) {
        auto looking =
            off_loop(node, [folder, source, known] { return look_into(folder, source.run, source.rank, *known); });
        Result<std::vector<std::string>> roster = co_await looking;
        if (!roster || !roster->empty()) co_return roster;
        const Errc slept = co_await node.sleep_for(pauses.next());
        if (slept != Errc::ok) co_return slept;
    }
}

hl::Task<Result<Group>> meet_in(hl::NodeRef node, Source source, std::string folder, GroupOptions options) {
    if (source.rank >= source.size || source.size > size_max)
        co_return Error(Errc::invalid_argument, "a folder needs the rank and the size of the group, up to 65,536");
    const std::uint64_t seed = options.seed != 0 ? options.seed + source.rank : secret_u64();
    const std::string place = folder;
    const Microseconds join_time = options.join_time;
    auto announcement = Announcement::make(node, std::move(options));
    if (!announcement) co_return std::move(announcement).error();
    auto gathering = with_deadline(gather_in(node, source, std::move(folder), announcement->line(), seed), join_time);
    Result<std::vector<std::string>> roster = co_await gathering;
    if (roster.code() == Errc::timed_out)
        co_return Error(Errc::timed_out, "not all members came to the folder in time: GroupOptions::join_time", place);
    if (!roster) co_return std::move(roster).error();
    co_return std::move(*announcement).start(*roster, source.rank);
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end != 0) words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

// A number from 0 to 65,536; `otherwise` if the variable is not set.
Result<Rank> number_of(const char* name, Rank otherwise) {
    const char* const text = std::getenv(name);
    if (!text) return otherwise;
    if (const auto number = parse_number<Rank>(text); number && *number <= size_max) return *number;
    return Error(Errc::invalid_argument, "this variable must be a number up to 65,536", name);
}

}  // namespace

Result<Source> Source::from_environment() {
    Source source;
    const char* const text = std::getenv("CINNABAR_GROUP_SOURCE");
    if (!text) return Error(Errc::not_found, "not started by cinnabar launch: CINNABAR_GROUP_SOURCE is not set");
    source.text = text;
    if (const char* const run = std::getenv("CINNABAR_GROUP_RUN")) source.run = run;
    CINNABAR_TRY(source.rank, number_of("CINNABAR_GROUP_RANK", no_rank));
    CINNABAR_TRY(source.size, number_of("CINNABAR_GROUP_SIZE", 0));
    return source;
}

hl::Task<Result<Group>> bootstrap(hl::NodeRef node, Source source, GroupOptions options) {
    const std::string_view text = source.text;
    if (source.run.find('\n') != std::string::npos)
        co_return Error(Errc::invalid_argument, "the name of a run is one line");
    if (text.starts_with("folder:")) {
        auto starting = meet_in(node, source, std::string(text.substr(7)), std::move(options));
        co_return co_await starting;
    }
    if (text.starts_with("roster:")) {
        auto reading = with_deadline(off_loop(node, [path = std::string(text.substr(7))] { return read_roster(path); }),
                                     options.join_time);
        Result<Roster> roster = co_await reading;
        if (!roster) co_return std::move(roster).error();
        roster->self = source.rank;
        co_return Group::start(node, *std::move(roster), std::move(options));
    }
    if (source.rank == 0) co_return Group::create(node, std::move(options));
    if (text.starts_with("dns:")) {
        auto joining = join_by_host(node, std::string(text.substr(4)), std::move(options));
        co_return co_await joining;
    }
    if (text.starts_with("srv:")) {
        auto joining = join_by_service(node, std::string(text.substr(4)), std::move(options));
        co_return co_await joining;
    }
    auto joining = Group::join(node, words_of(text), std::move(options));
    co_return co_await joining;
}

}  // namespace cinnabar::group
