// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar save --group`
#include "commands/commands.hpp"
#include "commands/entries.hpp"
#include "commands/listings.hpp"
#include "commands/session.hpp"
#include "commands/transfer.hpp"
#include "group_files/placement.hpp"
#include "group_files/rounds.hpp"
#include "group_files/server_folders.hpp"
#include "group_files/source.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/batch.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools::group_files {
namespace {

using files::EntryKind;

Error changed_meanwhile(const Source& source) {
    return {Errc::bad_checksum, "the file changed between its copies: save it again with --replace",
            printable(source.file.path)};
}

// Whether another server may take a file that one refused.
bool another_may_take(Errc code) {
    return code == Errc::no_space || code == Errc::overloaded || code == Errc::out_of_memory || code == Errc::io;
}

class GroupSave {
  public:
    GroupSave(const SaveOptions& options, Sources sources, std::vector<Server> servers, const Interrupt& interrupt,
              Report& report, ProgressBar& bar)
        : options_(options),
          report_(report),
          bar_(bar),
          sources_(std::move(sources.all)),
          folders_(std::move(sources.folders)),
          sessions_(std::move(servers), options, interrupt, report) {
        const auto identities = identities_of(sessions_.servers());
        for (const auto& source : sources_) place(source, identities);
    }

    void run(const Interrupt& interrupt) {
        if (options_.dry_run) return tell_plan();
        const Rounds rounds{
            [this](std::size_t index, std::size_t server, files::Client& client) {
                return save(sources_[index], server, client);
            },
            another_may_take, [this](std::size_t index) { ended(sources_[index], placed_[index]); }, options_.jobs,
            Rounds::Together{[this](std::size_t index) { return entry_bytes(sources_[index]); },
                             [this](const std::vector<std::size_t>& indices, std::size_t server,
                                    files::Client& client) { return save_entries(indices, server, client); }}};
        if (run_rounds(rounds, sessions_, placed_, interrupt))
            (void)hl::sync_wait(folders_.finish(sessions_, report_), interrupt.token());
        (void)hl::sync_wait(sessions_.close(), interrupt.token());
    }

  private:
    void place(const Source& source, const std::vector<std::string>& identities) {
        if (source.entry.kind == EntryKind::file) bar_.add_files(1);
        bar_.add_total(source.file.bytes * options_.replicas);
        Placed placed;
        placed.order = placement_of(source.entry.name, identities);
        placed.wanted = options_.replicas;
        placed_.push_back(std::move(placed));
    }

    void tell_plan() {
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            auto& order = placed_[i].order;
            order.resize(std::min<std::size_t>(order.size(), options_.replicas));
            sources_[i].file.servers = addresses_of(order);
            report_.planned(sources_[i].file);
        }
    }

    [[nodiscard]] std::vector<std::string> addresses_of(const std::vector<std::size_t>& servers) const {
        std::vector<std::string> addresses;
        for (const auto server : servers) addresses.push_back(sessions_.servers()[server].address);
        return addresses;
    }

    // Reads the file's size and attributes again, since it may have changed after the last copy.
    Result<void> refresh(Source& source) {
        if (source.entry.kind != EntryKind::file) return {};
        const auto before = source.entry;
        CINNABAR_TRY_VOID(read_again(source, options_.extended));
        const bool same =
            source.entry.bytes == before.bytes && same_time_and_mode(source.entry.attributes, before.attributes);
        if (source.has_copy && !same) return changed_meanwhile(source);
        return {};
    }

    // Whether the server has the same folder or link as this side.
    static bool is_same_entry(const files::Entry& there, const files::Entry& here, const files::Client& client) {
        if (there.kind != here.kind) return false;
        if (there.kind == EntryKind::link) return there.target == here.target;
        return client.precision().same_mode_and_time(there.attributes, here.attributes);
    }
    // Whether the server has a copy already.
    hl::Task<Result<bool>> has_copy(const Source& source, files::Client& client) {
        if (options_.ignore_times) co_return false;
        Result<files::Seen> seen = co_await client.look(source.entry.name);
        if (!seen && ends_all(seen.code())) co_return std::move(seen).error();
        if (!seen || seen->entry.kind != source.entry.kind) co_return false;
        const auto& there = seen->entry;
        if (there.kind != EntryKind::file) co_return is_same_entry(there, source.entry, client);
        if (there.bytes != source.entry.bytes) co_return false;
        const auto& precision = client.precision();
        if (!options_.by_content) co_return precision.same_mode_and_time(there.attributes, source.entry.attributes);
        if (!precision.same_mode(there.attributes, source.entry.attributes)) co_return false;
        auto comparing = client.has_content(source.open, source.entry.name);
        Result<bool> same = co_await std::move(comparing);
        co_return same;
    }

    // Makes a copy. Folders have been made before.
    hl::Task<Result<files::Moved>> send(const Source& source, files::Client& client) {
        const auto existing = options_.replace ? files::Existing::replace : files::Existing::keep;
        if (source.entry.kind == EntryKind::folder) co_return files::Moved{};
        if (source.entry.kind == EntryKind::link) {
            Result<void> made =
                co_await client.make_link(source.entry.name, source.entry.target, source.entry.attributes, existing);
            if (!made) co_return std::move(made).error();
            co_return files::Moved{};
        }
        // Copies get the source's mode and time, so that equal copies are recognized.
        const files::SaveMode mode{existing,      options_.push,  options_.checksum,  true, options_.extended, false,
                                   options_.sync, options_.whole, options_.by_content};
        auto saving =
            client.save(source.open, source.entry.name, mode, [this](std::uint64_t moved) { bar_.add_bytes(moved); });
        co_return co_await std::move(saving);
    }

    hl::Task<Result<files::Moved>> copy(Source& source, std::size_t server, files::Client& client) {
        auto making = folders_.make(server, client, source.entry.name);
        const Result<void> made = co_await std::move(making);
        if (!made) co_return made.error();
        auto sending = send(source, client);
        Result<files::Moved> moved = co_await std::move(sending);
        if (!moved || !source.has_copy) co_return moved;
        if (const auto read = refresh(source); !read) co_return read.error();
        co_return moved;
    }

    hl::Task<Result<void>> save(Source& source, std::size_t server, files::Client& client) {
        const auto begin = std::chrono::steady_clock::now();
        bar_.begin_file(source.file.name);
        Result<bool> same = false;
        if (const auto read = refresh(source); !read) same = read.error();
        if (same) same = co_await has_copy(source, client);
        Result<files::Moved> moved = files::Moved{};
        if (same && !*same) {
            auto copying = copy(source, server, client);
            moved = co_await std::move(copying);
        }
        bar_.leave_file(source.file.name);
        source.file.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (!same) co_return std::move(same).error();
        if (!moved) co_return std::move(moved).error();
        const bool had_copy = std::exchange(source.has_copy, true);
        if (*same) {
            folders_.are_there(server, source.entry.name);
            bar_.add_bytes(source.file.bytes);
            co_return Result<void>();
        }
        source.changed = true;
        const auto& before = source.file.checksum;
        if (had_copy && before && moved->checksum && *before != *moved->checksum) co_return changed_meanwhile(source);
        source.file.had_bytes += moved->had_bytes;
        source.file.sent_bytes += moved->sent_bytes;
        source.file.connections = std::max(source.file.connections, moved->connections);
        source.file.checksum = moved->checksum;
        co_return Result<void>();
    }

    // Folders and links may be made together; files are saved by themselves.
    static std::optional<std::uint64_t> entry_bytes(const Source& source) {
        if (source.entry.kind == EntryKind::file) return std::nullopt;
        return std::uint64_t{0};
    }
    // Makes folders and links at one server, many in one call.
    hl::Task<std::vector<Result<void>>> save_entries(const std::vector<std::size_t>& indices, std::size_t server,
                                                     files::Client& client) {
        const auto begin = std::chrono::steady_clock::now();
        std::vector<std::string> names;
        for (const auto index : indices) names.push_back(sources_[index].entry.name);
        std::vector<Result<files::Seen>> seen;
        if (!options_.ignore_times) {
            auto looking = look_each(client, names);
            seen = co_await std::move(looking);
        }
        std::vector<Result<void>> results(indices.size());
        std::vector<std::size_t> missing;  // of `indices`, those that have to be made
        for (std::size_t i = 0; i < indices.size(); ++i) {
            const auto& entry = sources_[indices[i]].entry;
            if (!seen.empty() && !seen[i] && ends_all(seen[i].code())) {
                results[i] = seen[i].error();
            } else if (!seen.empty() && seen[i] && is_same_entry(seen[i]->entry, entry, client)) {
                folders_.are_there(server, entry.name);
            } else {
                missing.push_back(i);
            }
        }
        auto making = make_entries(indices, missing, server, client, results);
        co_await std::move(making);
        const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        for (std::size_t i = 0; i < indices.size(); ++i) {
            auto& source = sources_[indices[i]];
            source.file.seconds += took;
            if (results[i]) source.has_copy = true;
        }
        for (const auto i : missing) {
            if (results[i]) sources_[indices[i]].changed = true;
        }
        co_return results;
    }
    // Sets the results of the entries that are made: their folders first, and then the links.
    hl::Task<void> make_entries(const std::vector<std::size_t>& indices, const std::vector<std::size_t>& missing,
                                std::size_t server, files::Client& client, std::vector<Result<void>>& results) {
        std::vector<std::string> names;
        for (const auto i : missing) names.push_back(sources_[indices[i]].entry.name);
        auto making = folders_.make_all(server, client, names);
        const std::vector<Result<void>> folders = co_await std::move(making);
        std::vector<files::NewEntry> links;
        std::vector<std::size_t> made;
        for (std::size_t at = 0; at < missing.size(); ++at) {
            const auto& entry = sources_[indices[missing[at]]].entry;
            results[missing[at]] = folders[at];
            if (!folders[at] || entry.kind != EntryKind::link) continue;
            links.push_back({files::MakeKind::link, entry.name, entry.target, entry.attributes, options_.replace});
            made.push_back(missing[at]);
        }
        auto linking = client.make_many(links);
        const std::vector<Result<void>> linked = co_await std::move(linking);
        for (std::size_t at = 0; at < made.size(); ++at) results[made[at]] = linked[at];
    }

    void ended(Source& source, const Placed& placed) {
        if (source.entry.kind == EntryKind::file) bar_.end_file();
        source.file.servers = addresses_of(placed.done);
        if (placed.done.size() < placed.wanted) return report_.failed(source.file, too_few(source, placed));
        if (source.changed) return report_.done(source.file);
        report_.unchanged(source.file);
    }

    [[nodiscard]] static Error too_few(const Source& source, const Placed& placed) {
        if (placed.done.empty()) return *placed.failed;
        auto text = fmt::format("{} of {} copies:", placed.done.size(), placed.wanted);
        for (const auto& server : source.file.servers) text.append(" ").append(printable(server));
        if (!placed.failed) return {Errc::invalid_argument, "too few servers in the group: lower --replicas", text};
        return {placed.failed->code, "too few copies", text + "; " + placed.failed->message()};
    }

    const SaveOptions& options_;
    Report& report_;
    ProgressBar& bar_;
    std::vector<Source> sources_;
    std::vector<Placed> placed_;  // of each source
    ServerFolders folders_;
    Sessions sessions_;
};

}  // namespace

ExitCode run_save(const SaveOptions& options) {
    const Interrupt interrupt;
    const auto folder = folder_of(options.group);
    if (!folder) {
        complain(folder.error().message());
        return ExitCode::usage;
    }
    ProgressBar bar(Report::shown_in(style_of(options)));
    Report report(style_of(options), "saved", bar);
    auto sources = find_sources(options, *folder, report);
    if (!sources) return ExitCode::usage;
    auto servers = find_servers(options.group, options, interrupt);
    if (!servers) {
        report.failed_at_once(options.group.members.front(), servers.error());
        return report.finish();
    }
    GroupSave save(options, *std::move(sources), *std::move(servers), interrupt, report, bar);
    save.run(interrupt);
    return report.finish();
}

}  // namespace cinnabar::tools::group_files
