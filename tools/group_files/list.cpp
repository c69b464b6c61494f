// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar list --group`: lists the merged entries of all servers of a group, with their numbers of copies.
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/entries.hpp"
#include "group_files/every_server.hpp"
#include "group_files/union.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/json.hpp"

#include <cinnabar/base/printable.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <utility>

namespace cinnabar::tools::group_files {
namespace {

struct Answers {
    Union entries;
    std::size_t answered = 0;      // number of servers that have the folder
    std::optional<Error> failed;   // the error of the first server that could not be asked
    std::optional<Error> missing;  // the error of the first server that has no such folder
};

void tell_failure(const ListOptions& options, std::string_view about, const Error& error) {
    if (options.json) {
        JsonObject object;
        return print_line(object.text("event", "failed").name("name", about).failure(error).line());
    }
    complain(printable(about) + ": " + explain(error, about));
}

hl::Task<Result<void>> list_at(files::Client& session, const std::string& folder, Answers& answers) {
    Result<files::Listing> listing = co_await session.list(folder);
    if (!listing) {
        if (listing.code() != Errc::not_found) co_return std::move(listing).error();
        if (!answers.missing) answers.missing = listing.error();
        co_return Result<void>();
    }
    ++answers.answered;
    for (auto& entry : listing->entries) answers.entries.add(std::move(entry), answers.answered);
    co_return Result<void>();
}

void ask_all(const std::vector<Server>& servers, const std::string& folder, const ListOptions& options,
             const Interrupt& interrupt, Report& report, Answers& answers) {
    const ServerWork work = [&](const Server&, files::Client& session) { return list_at(session, folder, answers); };
    auto asked = at_every_server(servers, options, interrupt, report, work);
    if (asked.ended) tell_failure(options, options.group.members.front(), *asked.ended);
    answers.failed = asked.ended ? std::move(asked.ended) : std::move(asked.lost);
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
    text += printable(entry.name);
    if (entry.kind == files::EntryKind::folder) text += '/';
    if (options.details && entry.kind == files::EntryKind::link) text += " -> " + printable(entry.target);
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

}  // namespace cinnabar::tools::group_files
