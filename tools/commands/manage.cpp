// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar remove`, `stat` and `verify`.
#include "commands/address.hpp"
#include "commands/entries.hpp"
#include "commands/manager.hpp"
#include "commands/session.hpp"
#include "spread/manage_group.hpp"
#include "terminal/json.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/name.hpp>

#include <fmt/format.h>

#include <map>
#include <utility>

namespace cinnabar::tools {
namespace {

hl::Task<Result<void>> remove_one(Manager& manager, files::Client& session, const std::string& name) {
    Result<void> removed = co_await session.remove(name);
    if (!removed || !manager.options().json) co_return removed;
    JsonObject object;
    manager.print({}, object.text("event", "removed").name("name", name));
    co_return removed;
}

hl::Task<Result<void>> remove(Manager& manager, files::Client& session, const std::string& name) {
    if (!manager.options().recursive) co_return co_await remove_one(manager, session, name);
    Result<files::Seen> seen = co_await session.look(name);
    if (!seen) co_return std::move(seen).error();
    if (seen->entry.kind != files::EntryKind::folder) co_return co_await remove_one(manager, session, name);
    co_return co_await manager.below(session, name, remove_one);
}

std::string_view name_of(files::StoredChecksum::State state) {
    using State = files::StoredChecksum::State;
    return state == State::good ? "good" : state == State::outdated ? "outdated" : "none";
}

hl::Task<Result<void>> stat(Manager& manager, files::Client& session, const std::string& name) {
    Result<files::Seen> seen = co_await session.look(name);
    if (!seen) co_return std::move(seen).error();
    const auto& entry = seen->entry;
    JsonObject object;
    add_entry(object.text("event", "stat").name("name", name), entry);
    std::string text = fmt::format("{}: {}, {}, {}", files::printable(name), tools::name_of(entry.kind),
                                   permissions_of(entry.attributes.mode), time_of(entry.attributes));
    if (entry.kind == files::EntryKind::link) text += " -> " + files::printable(entry.target);
    if (entry.kind == files::EntryKind::file) {
        text += fmt::format(", {} bytes", entry.bytes);
        object.text("stored", name_of(seen->stored.state));
        if (seen->stored.state == files::StoredChecksum::State::good) {
            text += ", saved with " + checksum_text(seen->stored.checksum);
            object.text("checksum", checksum_text(seen->stored.checksum));
        }
    }
    manager.print(text, object);
    co_return Result<void>();
}

std::string_view verdict_of(const files::Verified& verified) {
    using State = files::StoredChecksum::State;
    if (verified.stored.state == State::outdated) return "changed since it was saved";
    return verified.stored.state == State::none ? "saved without a checksum" : "ok";
}

hl::Task<Result<void>> verify_one(Manager& manager, files::Client& session, const std::string& name) {
    Result<files::Verified> verified = co_await session.verify(name);
    if (!verified) co_return std::move(verified).error();
    if (verified->damaged())
        co_return Error{Errc::bad_checksum,
                        "the file differs from its stored checksum: save it again with --replace -c"};
    manager.note_checksum(name, verified->checksum);
    if (manager.options().quiet) co_return Result<void>();
    JsonObject object;
    object.text("event", "verified").name("name", name).number("bytes", verified->bytes);
    object.text("checksum", checksum_text(verified->checksum)).text("stored", name_of(verified->stored.state));
    manager.print(fmt::format("{}: {}", files::printable(name), verdict_of(*verified)), object);
    co_return Result<void>();
}

// Links and folders have no checksum to verify.
hl::Task<Result<void>> verify_if_file(Manager& manager, files::Client& session, const std::string& name) {
    Result<files::Seen> seen = co_await session.look(name);
    if (!seen) co_return std::move(seen).error();
    if (seen->entry.kind != files::EntryKind::file) co_return Result<void>();
    co_return co_await verify_one(manager, session, name);
}

hl::Task<Result<void>> verify(Manager& manager, files::Client& session, const std::string& name) {
    Result<files::Seen> seen = co_await session.look(name);
    if (!seen) co_return std::move(seen).error();
    if (seen->entry.kind != files::EntryKind::folder) co_return co_await verify_one(manager, session, name);
    co_return co_await manager.below(session, name, verify_if_file);
}

// Over one session per server.
ExitCode manage_each(const ManageOptions& options, Step step) {
    const Interrupt interrupt;
    Manager manager(options);
    std::map<std::string, std::vector<std::string>> names_by_server;
    for (const auto& uri : options.names) {
        auto place = parse_place(uri);
        if (!place || place->path.empty()) {
            complain(files::printable(uri) + ": give it as SCHEME://HOST:PORT/NAME");
            return ExitCode::usage;
        }
        names_by_server[place->server].push_back(join_name(place->path, {}));
    }
    for (const auto& [server, names] : names_by_server) {
        const SessionWork work = [&, &all = names](files::Client& session) { return manager.each(session, all, step); };
        const auto key = find_key(server, options);
        const auto done = key ? over_session(server, *key, options, work, interrupt) : Result<void>(key.error());
        if (!done) manager.fail(server, done.error());
    }
    return manager.exit();
}

ExitCode manage(const ManageOptions& options, Step step) {
    return options.group.members.empty() ? manage_each(options, step) : spread::manage_group(options, step);
}

}  // namespace

ExitCode run_remove(const ManageOptions& options) { return manage(options, remove); }
ExitCode run_stat(const ManageOptions& options) { return manage(options, stat); }
ExitCode run_verify(const ManageOptions& options) { return manage(options, verify); }

}  // namespace cinnabar::tools
