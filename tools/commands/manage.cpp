// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar remove`, `stat` and `verify`.
#include "commands/address.hpp"
#include "commands/entries.hpp"
#include "commands/manager.hpp"
#include "commands/removal.hpp"
#include "commands/session.hpp"
#include "commands/tree_walk.hpp"
#include "group_files/manage_group.hpp"
#include "terminal/json.hpp"
#include "terminal/report.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/filter.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools {
namespace {

hl::Task<Result<void>> remove(Manager& manager, files::Client& session, const std::string& name) {
    if (!manager.options().recursive) co_return co_await remove_one(manager, session, name);
    Result<files::Seen> seen = co_await session.look(name);
    if (!seen) co_return std::move(seen).error();
    if (seen->entry.kind != files::EntryKind::folder) co_return co_await remove_one(manager, session, name);
    TreeRemoval removal(manager, session, name);
    co_return co_await removal.run();
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
    std::string text = fmt::format("{}: {}, {}, {}", printable(name), tools::name_of(entry.kind),
                                   permissions_of(entry.attributes.mode), time_of(entry.attributes));
    if (entry.kind == files::EntryKind::link) text += " -> " + printable(entry.target);
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

void tell(Manager& manager, const std::string& name, const Result<files::Verified>& verified) {
    if (!verified) return manager.fail(name, verified.error());
    if (verified->damaged())
        return manager.fail(
            name, {Errc::bad_checksum, "the file differs from its stored checksum: save it again with --replace -c"});
    manager.note_checksum(name, verified->checksum);
    if (manager.options().quiet) return;
    JsonObject object;
    object.text("event", "verified").name("name", name).number("bytes", verified->bytes);
    object.text("checksum", checksum_text(verified->checksum)).text("stored", name_of(verified->stored.state));
    manager.print(fmt::format("{}: {}", printable(name), verdict_of(*verified)), object);
}

// Verifies files, several at once, and reports them in their order.
class Verification {
  public:
    Verification(Manager& manager, files::Client& session, std::vector<std::string> names)
        : manager_(manager), session_(session), names_(std::move(names)) {}

    hl::Task<Result<void>> run() {
        std::vector<hl::Task<void>> lanes;
        for (std::size_t i = 0; i < std::min<std::size_t>(manager_.options().jobs, names_.size()); ++i)
            lanes.push_back(verify_some());
        if (!lanes.empty()) (void)co_await hl::when_all(std::move(lanes));
        for (const auto& [index, verified] : waiting_) tell(manager_, names_[index], verified);
        if (end_) co_return *end_;
        co_return Result<void>();
    }

  private:
    hl::Task<void> verify_some() {
        while (next_ < names_.size() && !end_) {
            const std::size_t index = next_++;
            Result<files::Verified> verified = co_await session_.verify(names_[index]);
            if (!verified && ends_all(verified.code())) {
                if (!end_) end_ = verified.error();
                break;
            }
            waiting_.emplace(index, std::move(verified));
            for (; !waiting_.empty() && waiting_.begin()->first == told_; ++told_) {
                tell(manager_, names_[told_], waiting_.begin()->second);
                waiting_.erase(waiting_.begin());
            }
        }
    }

    Manager& manager_;
    files::Client& session_;
    const std::vector<std::string> names_;
    std::size_t next_ = 0;
    std::size_t told_ = 0;
    std::map<std::size_t, Result<files::Verified>> waiting_;  // until those before them have been reported
    std::optional<Error> end_;                                // the error that ended the session
};

// Links and other entries of a folder have no checksum to verify.
hl::Task<Result<void>> find_files_below(Manager& manager, files::Client& session, const std::string& folder) {
    Result<files::Listing> listing = co_await session.list(folder);
    if (!listing) co_return std::move(listing).error();
    std::vector<std::string> found;
    const files::Filter all;
    const Walk walk{folder,
                    {},
                    all,
                    {},
                    [&](const files::Entry& entry) {
                        auto name = join_name(folder, entry.name);
                        const auto possible = files::check_name(name);
                        if (!possible) manager.fail(name, possible.error());
                        if (possible && entry.kind == files::EntryKind::file) found.push_back(std::move(name));
                        return possible.ok();
                    },
                    [&](const std::string& below, const Error& why) { manager.fail(join_name(folder, below), why); },
                    [] {}};
    Result<void> walked = co_await walk_tree(session, walk, *std::move(listing));
    std::ranges::sort(found);
    for (auto& file : found) manager.add_file(std::move(file));
    co_return walked;
}

hl::Task<Result<void>> find_files(Manager& manager, files::Client& session, const std::string& name) {
    Result<files::Seen> seen = co_await session.look(name);
    if (!seen) co_return std::move(seen).error();
    if (seen->entry.kind == files::EntryKind::folder) co_return co_await find_files_below(manager, session, name);
    manager.add_file(name);
    co_return Result<void>();
}

hl::Task<Result<void>> verify(Manager& manager, files::Client& session, const std::vector<std::string>& names) {
    Result<void> found = co_await manager.each(session, names, find_files);
    if (!found) co_return found;
    Verification verification(manager, session, manager.take_files());
    co_return co_await verification.run();
}

template <Step step>
hl::Task<Result<void>> each(Manager& manager, files::Client& session, const std::vector<std::string>& names) {
    return manager.each(session, names, step);
}

// Runs `work` at each server, in one session per server.
ExitCode manage_each(const ManageOptions& options, ManageWork work) {
    const Interrupt interrupt;
    Manager manager(options);
    std::map<std::string, std::vector<std::string>> names_by_server;
    for (const auto& uri : options.names) {
        auto remote = parse_remote_path(uri);
        if (!remote || remote->path.empty()) {
            complain(printable(uri) + ": give it as SCHEME://HOST:PORT/NAME");
            return ExitCode::usage;
        }
        names_by_server[remote->server].push_back(join_name(remote->path, {}));
    }
    for (const auto& [server, names] : names_by_server) {
        const SessionWork at_server = [&, &all = names](files::Client& session) { return work(manager, session, all); };
        const auto key = find_key(server, options);
        const auto done = key ? over_session(server, *key, options, at_server, interrupt) : Result<void>(key.error());
        if (!done) manager.fail(server, done.error());
    }
    return manager.exit();
}

ExitCode manage(const ManageOptions& options, ManageWork work) {
    return options.group.members.empty() ? manage_each(options, work) : group_files::manage_group(options, work);
}

}  // namespace

ExitCode run_remove(const ManageOptions& options) { return manage(options, each<remove>); }
ExitCode run_stat(const ManageOptions& options) { return manage(options, each<stat>); }
ExitCode run_verify(const ManageOptions& options) { return manage(options, verify); }

}  // namespace cinnabar::tools
