// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar remove`, `stat` and `verify`.
#include "commands/address.hpp"
#include "commands/entries.hpp"
#include "commands/session.hpp"
#include "commands/transfer.hpp"
#include "terminal/json.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/name.hpp>

#include <fmt/format.h>

#include <map>
#include <utility>

namespace cinnabar::tools {
namespace {

// Applies one step to each name, over one session per server. The exit code is that of the first failure.
class Manager {
  public:
    explicit Manager(const ManageOptions& options) : options_(options) {}

    // `name` stays valid until the task ends.
    using Step = std::function<hl::Task<Result<void>>(files::Client& session, const std::string& name)>;
    ExitCode run(const Step& step) {
        const Interrupt interrupt;
        std::map<std::string, std::vector<std::string>> names_by_server;
        for (const auto& uri : options_.names) {
            auto place = parse_place(uri);
            if (!place || place->path.empty()) {
                complain(files::printable(uri) + ": a name on a server is SCHEME://HOST:PORT/NAME");
                return ExitCode::usage;
            }
            names_by_server[place->server].push_back(join_name(place->path, {}));
        }
        for (const auto& [server, names] : names_by_server) {
            const SessionWork work = [&, &all = names](files::Client& session) { return each(session, all, step); };
            const auto key = find_key(server, options_);
            const auto done = key ? over_session(server, *key, options_, work, interrupt) : Result<void>(key.error());
            if (!done) fail(server, done.error());
        }
        return exit_;
    }
    void print(const std::string& text, const JsonObject& object) const {
        print_line(options_.json ? object.line() : text);
    }
    void fail(const std::string& name, const Error& error) {
        if (exit_ == ExitCode::ok) exit_ = exit_code(error.code);
        if (!options_.json) return complain(files::printable(name) + ": " + explain(error, name));
        JsonObject object;
        print_line(object.text("event", "failed").name("name", name).failure(error).line());
    }
    [[nodiscard]] const ManageOptions& options() const { return options_; }

    // Applies `step` to everything below a folder and finally to the folder itself. The error of one entry is reported
    // and the others continue, unless it ends the session.
    hl::Task<Result<void>> below(files::Client& session, const std::string& name, const Step& step) {
        Result<files::Listing> listing = co_await session.list(name);
        if (!listing) co_return std::move(listing).error();
        for (const auto& entry : listing->entries) {
            const auto full = name + "/" + entry.name;
            Result<void> done;
            if (entry.kind == files::EntryKind::folder) {
                done = co_await below(session, full, step);
            } else {
                done = co_await step(session, full);
            }
            if (done) continue;
            if (ends_all(done.code())) co_return done;
            fail(full, done.error());
        }
        co_return co_await step(session, name);
    }

  private:
    hl::Task<Result<void>> each(files::Client& session, const std::vector<std::string>& names, const Step& step) {
        for (const auto& name : names) {
            Result<void> done = co_await step(session, name);
            if (done) continue;
            if (ends_all(done.code())) co_return done;
            fail(name, done.error());
        }
        co_return Result<void>();
    }

    const ManageOptions& options_;
    ExitCode exit_ = ExitCode::ok;
};

hl::Task<Result<void>> remove_one(Manager& manager, files::Client& session, const std::string& name) {
    Result<void> removed = co_await session.remove(name);
    if (!removed || !manager.options().json) co_return removed;
    JsonObject object;
    manager.print({}, object.text("event", "removed").name("name", name));
    co_return removed;
}

hl::Task<Result<void>> remove(Manager& manager, files::Client& session, const std::string& name) {
    const Manager::Step step = [&manager](files::Client& over, const std::string& one) {
        return remove_one(manager, over, one);
    };
    if (!manager.options().recursive) co_return co_await step(session, name);
    Result<files::Seen> seen = co_await session.look(name);
    if (!seen) co_return std::move(seen).error();
    if (seen->entry.kind != files::EntryKind::folder) co_return co_await step(session, name);
    co_return co_await manager.below(session, name, step);
}

std::string checksum_text(std::uint64_t checksum) { return fmt::format("xxh3:{:016x}", checksum); }

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
        co_return Error{Errc::bad_checksum, "damaged: what is on the server's disk is not what was saved"};
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
    const Manager::Step step = [&manager](files::Client& over, const std::string& one) {
        return verify_if_file(manager, over, one);
    };
    co_return co_await manager.below(session, name, step);
}

}  // namespace

ExitCode run_remove(const ManageOptions& options) {
    Manager manager(options);
    return manager.run([&](files::Client& session, const std::string& name) { return remove(manager, session, name); });
}

ExitCode run_stat(const ManageOptions& options) {
    Manager manager(options);
    return manager.run([&](files::Client& session, const std::string& name) { return stat(manager, session, name); });
}

ExitCode run_verify(const ManageOptions& options) {
    Manager manager(options);
    return manager.run([&](files::Client& session, const std::string& name) { return verify(manager, session, name); });
}

}  // namespace cinnabar::tools
