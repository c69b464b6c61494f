// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar list --group`: what the servers of a group have together, and in how many copies.
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/entries.hpp"
#include "spread/sessions.hpp"
#include "spread/union.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/json.hpp"

#include <cinnabar/files/name.hpp>
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

namespace cinnabar::tools::spread {
namespace {

struct Answers {
    Union entries;
    std::size_t answered = 0;      // servers that have the folder
    std::optional<Error> failed;   // the first server that could not be asked
    std::optional<Error> missing;  // the first server that has no such folder
};

void tell_failure(const ListOptions& options, std::string_view about, const Error& error) {
    if (options.json) {
        JsonObject object;
        return print_line(object.text("event", "failed").name("name", about).failure(error).line());
    }
    complain(files::printable(about) + ": " + explain(error, about));
}

hl::Task<void> ask(Sessions& sessions, std::size_t server, const std::string& folder, Answers& answers) {
    Result<files::Listing> listing = files::Listing{};
    if (auto* const client = sessions.client(server)) {
        listing = co_await client->list(folder);
        if (!listing && listing.code() != Errc::not_found) sessions.lose(server, listing.error());
    } else {
        listing = sessions.why_lost(server);
    }
    if (!listing) {
        auto& first = listing.code() == Errc::not_found ? answers.missing : answers.failed;
        if (!first) first = listing.error();
        co_return;
    }
    ++answers.answered;
    for (auto& entry : listing->entries) answers.entries.add(std::move(entry), answers.answered);
}

hl::Task<void> ask_some(Sessions& sessions, const std::set<std::size_t>& servers, const std::string& folder,
                        Answers& answers) {
    co_await sessions.open(servers);
    std::vector<hl::Task<void>> asking;
    for (const auto server : servers) asking.push_back(ask(sessions, server, folder, answers));
    (void)co_await hl::when_all(std::move(asking));
}

// Asks some servers at once, then the next ones, so that a large group does not take all descriptors.
void ask_all(const std::vector<Server>& servers, const std::string& folder, const ListOptions& options,
             const Interrupt& interrupt, Report& report, Answers& answers) {
    constexpr std::size_t at_once = 32;
    for (std::size_t begin = 0; begin < servers.size(); begin += at_once) {
        const auto first = servers.begin() + static_cast<std::ptrdiff_t>(begin);
        const std::vector<Server> some(first,
                                       first + static_cast<std::ptrdiff_t>(std::min(at_once, servers.size() - begin)));
        std::set<std::size_t> all;
        for (std::size_t i = 0; i < some.size(); ++i) all.insert(i);
        Sessions sessions(some, options, interrupt, report);
        sessions.connect(all);
        const auto asked = hl::sync_wait(ask_some(sessions, all, folder, answers), interrupt.token());
        (void)hl::sync_wait(sessions.close(), interrupt.token());
        if (asked) continue;
        if (!answers.failed) answers.failed = asked.error();
        tell_failure(options, options.group.members.front(), asked.error());
        return;
    }
}

bool has_too_few(const Found& found, const ListOptions& options) {
    return found.entry.kind != files::EntryKind::folder && found.copies < options.replicas;
}

std::string text_of(const Found& found, const ListOptions& options) {
    auto text = fmt::format("{:>3}  ", found.copies);
    const auto& entry = found.entry;
    if (options.details)
        text += fmt::format("{}{} {:>15} {} ", letter_of(entry.kind), permissions_of(entry.attributes.mode),
                            entry.bytes, time_of(entry.attributes));
    text += files::printable(entry.name);
    if (entry.kind == files::EntryKind::folder) text += '/';
    if (options.details && entry.kind == files::EntryKind::link) text += " -> " + files::printable(entry.target);
    if (has_too_few(found, options)) text += "  (too few copies)";
    if (found.differ) text += "  (the copies differ)";
    return text;
}

std::string json_of(const Found& found, const ListOptions& options) {
    JsonObject object;
    add_entry(object.text("event", "entry").name("name", found.entry.name), found.entry);
    object.number("copies", std::uint64_t{found.copies});
    if (has_too_few(found, options)) object.flag("too_few", true);
    if (found.differ) object.flag("differ", true);
    return object.line();
}

ExitCode tell(const Answers& answers, const ListOptions& options) {
    std::size_t too_few = 0;
    for (const auto& [name, found] : answers.entries.by_name()) {
        print_line(options.json ? json_of(found, options) : text_of(found, options));
        too_few += has_too_few(found, options) ? 1 : 0;
    }
    if (answers.failed) return exit_code(answers.failed->code);
    if (answers.answered == 0) {
        tell_failure(options, options.group.members.front(), *answers.missing);
        return exit_code(answers.missing->code);
    }
    if (too_few == 0) return ExitCode::ok;
    if (!options.json) complain(fmt::format("{} have fewer than {} copies", too_few, options.replicas));
    return ExitCode::not_found;
}

}  // namespace

ExitCode run_list(const ListOptions& options) {
    const Interrupt interrupt;
    const auto folder = folder_of(options.group);
    if (!folder) {
        complain(folder.error().message());
        return ExitCode::usage;
    }
    auto servers = find_servers(options.group, options, interrupt);
    if (!servers) {
        tell_failure(options, options.group.members.front(), servers.error());
        return exit_code(servers.code());
    }
    ProgressBar none;
    Report report(options.json ? Report::Style::json : Report::Style::people, "listed", none);
    Answers answers;
    ask_all(*servers, join_name(*folder, {}), options, interrupt, report, answers);
    return tell(answers, options);
}

}  // namespace cinnabar::tools::spread
