// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar list`: lists folders of a server and the remains of interrupted saves.
#include "commands/address.hpp"
#include "commands/entries.hpp"
#include "commands/session.hpp"
#include "terminal/json.hpp"
#include "terminal/report.hpp"
#include "terminal/units.hpp"

#include <cinnabar/base/printable.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cinnabar::tools {
namespace {

void print_entry(const files::Entry& entry, const ListOptions& options) {
    if (options.json) {
        JsonObject object;
        add_entry(object.text("event", "entry").name("name", entry.name), entry);
        return print_line(object.line());
    }
    std::string line = printable(entry.name);
    if (entry.kind == files::EntryKind::folder) line += '/';
    if (options.details) {
        line = fmt::format("{}{} {:>15} {} {}", letter_of(entry.kind), permissions_of(entry.attributes.mode),
                           entry.bytes, time_of(entry.attributes), line);
        if (entry.kind == files::EntryKind::link) line += " -> " + printable(entry.target);
    }
    print_line(line);
}

void print_remains(const files::Remains& remains, const ListOptions& options) {
    if (options.json) {
        JsonObject object;
        object.text("event", "staged").name("name", remains.name).number("bytes", remains.bytes);
        object.number("kept_bytes", remains.kept_bytes).number("disk_bytes", remains.disk_bytes);
        return print_line(object.number("age_seconds", remains.age_seconds).line());
    }
    const auto age = human_duration(std::chrono::seconds(remains.age_seconds));
    print_line(fmt::format("{}: {} of {}, for {}", printable(remains.name), human_bytes(remains.kept_bytes),
                           human_bytes(remains.bytes), age));
}

hl::Task<Result<void>> list_folder(files::Client& session, const std::string& folder, const ListOptions& options) {
    const auto name = join_name(folder, {});
    Result<files::Listing> listing = co_await session.list(name);
    if (!listing) co_return std::move(listing).error();
    std::ranges::sort(listing->entries, {}, &files::Entry::name);
    for (const auto& entry : listing->entries) print_entry(entry, options);
    co_return Result<void>();
}

hl::Task<Result<void>> list_staged(files::Client& session, const ListOptions& options) {
    Result<std::vector<files::Remains>> all = co_await session.list_remains();
    if (!all) co_return std::move(all).error();
    for (const auto& remains : *all) print_remains(remains, options);
    co_return Result<void>();
}

hl::Task<Result<void>> clean_staged(files::Client& session, const std::string& name, const ListOptions& options) {
    Result<std::uint32_t> removed = co_await session.remove_remains(name);
    if (!removed) co_return std::move(removed).error();
    if (options.json) {
        JsonObject object;
        print_line(object.text("event", "cleaned").number("removed", std::uint64_t{*removed}).line());
    } else {
        print_line(fmt::format("removed what {} interrupted save{} left", *removed, *removed == 1 ? "" : "s"));
    }
    co_return Result<void>();
}

}  // namespace

ExitCode run_list(const ListOptions& options) {
    const Interrupt interrupt;
    const auto remote = parse_remote_path(options.from);
    if (!remote) {
        complain(remote.error().message());
        return ExitCode::usage;
    }
    const SessionWork work = [&](files::Client& session) {
        if (options.clean) return clean_staged(session, remote->path, options);
        if (options.staged) return list_staged(session, options);
        return list_folder(session, remote->path, options);
    };
    const auto key = find_key(remote->server, options);
    const auto done = key ? over_session(remote->server, *key, options, work, interrupt) : Result<void>(key.error());
    if (done) return ExitCode::ok;
    const auto about = remote->path.empty() ? remote->server : options.from;
    if (options.json) {
        JsonObject object;
        print_line(object.text("event", "failed").name("name", about).failure(done.error()).line());
    } else {
        complain(printable(about) + ": " + explain(done.error(), remote->path));
    }
    return exit_code(done.code());
}

}  // namespace cinnabar::tools
