// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar save --group`
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/entries.hpp"
#include "commands/session.hpp"
#include "commands/transfer.hpp"
#include "spread/placement.hpp"
#include "spread/rounds.hpp"

#include <cinnabar/files/name.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

namespace cinnabar::tools::spread {
namespace {

struct Source {
    Report::File file;
    files::Attributes attributes;
    bool has_copy = false;  // one server has it
    bool changed = false;   // a copy was made
};

// What makes copies equal without reading them.
bool looks_equal(const Source& a, const Source& b) {
    return a.file.bytes == b.file.bytes && same_time_and_mode(a.attributes, b.attributes);
}

Error changed_meanwhile(const Source& source) {
    return {Errc::bad_checksum, "the file changed between its copies: save it again with --replace",
            files::printable(source.file.path)};
}

Result<Source> source_of(const std::string& path, std::string name, const SaveOptions& options) {
    std::error_code unknown;
    if (std::filesystem::is_directory(path, unknown))
        return Error{Errc::invalid_argument, "it is a folder; a group takes files only", files::printable(path)};
    CINNABAR_TRY(const auto opened, files::SourceFile::open(path));
    Source source;
    source.file.name = std::move(name);
    source.file.path = path;
    source.file.bytes = opened.bytes();
    CINNABAR_TRY(source.attributes, opened.attributes(options.extended));
    return source;
}

// Whether another server may take a file that one refused.
bool another_may_take(Errc code) {
    return code == Errc::no_space || code == Errc::overloaded || code == Errc::out_of_memory || code == Errc::io;
}

class GroupSave {
  public:
    GroupSave(const SaveOptions& options, std::vector<Server> servers, const Interrupt& interrupt, Report& report,
              ProgressBar& bar)
        : options_(options),
          report_(report),
          bar_(bar),
          identities_(identities_of(servers)),
          sessions_(std::move(servers), options, interrupt, report) {}

    // Adds the files, and reports those that cannot be read. False: two would have one name, which was reported.
    [[nodiscard]] bool add_all(const std::string& folder) {
        std::map<std::string, std::string> path_by_name;
        for (const auto& path : options_.files) {
            const auto leaf = options_.as.empty() ? files::leaf_of(path) : std::string_view(options_.as);
            auto name = join_name(folder, leaf);
            const auto [other, fresh] = path_by_name.try_emplace(name, path);
            if (!fresh) {
                complain(files::printable(other->second) + " and " + files::printable(path) +
                         " would both be saved as " + files::printable(name));
                return false;
            }
            add(path, std::move(name));
        }
        return true;
    }

    void run(const Interrupt& interrupt) {
        if (options_.dry_run) return tell_plan();
        const Rounds rounds{[this](std::size_t file, files::Client& client) { return save(sources_[file], client); },
                            another_may_take, [this](std::size_t file) { ended(sources_[file], placed_[file]); },
                            options_.jobs};
        run_rounds(rounds, sessions_, placed_, interrupt);
    }

  private:
    void add(const std::string& path, std::string name) {
        auto source = source_of(path, name, options_);
        if (!source) return report_.failed({std::move(name), path}, source.error());
        bar_.add_files(1);
        bar_.add_total(source->file.bytes * options_.replicas);
        Placed placed;
        placed.order = placement_of(source->file.name, identities_);
        placed.wanted = options_.replicas;
        placed_.push_back(std::move(placed));
        sources_.push_back(*std::move(source));
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

    // Looks at the file again, which may have changed since the last copy.
    Result<void> refresh(Source& source) {
        CINNABAR_TRY(const auto now, source_of(source.file.path, source.file.name, options_));
        if (source.has_copy && !looks_equal(now, source)) return changed_meanwhile(source);
        source.file.bytes = now.file.bytes;
        source.attributes = now.attributes;
        return {};
    }

    // Whether the server has a copy already.
    hl::Task<Result<bool>> has_copy(const Source& source, files::Client& client) {
        if (options_.ignore_times) co_return false;
        Result<files::Seen> seen = co_await client.look(source.file.name);
        if (!seen && ends_all(seen.code())) co_return std::move(seen).error();
        if (!seen || seen->entry.kind != files::EntryKind::file || seen->entry.bytes != source.file.bytes)
            co_return false;
        const auto& there = seen->entry.attributes;
        if (!options_.by_content) co_return same_time_and_mode(there, source.attributes);
        if (there.mode != source.attributes.mode) co_return false;
        const files::OpenSource open = [&source] { return files::SourceFile::open(source.file.path); };
        auto comparing = client.has_content(open, source.file.name);
        Result<bool> same = co_await std::move(comparing);
        co_return same;
    }

    hl::Task<Result<files::Moved>> send(const Source& source, files::Client& client) {
        const auto existing = options_.replace ? files::Existing::replace : files::Existing::keep;
        // With the source's mode and time, the copies of a file are known to be equal.
        const files::SaveMode mode{existing,          options_.push, options_.checksum, true,
                                   options_.extended, false,         options_.sync,     options_.whole};
        return client.save(source.file.path, source.file.name, mode,
                           [this](std::uint64_t moved) { bar_.add_bytes(moved); });
    }

    hl::Task<Result<void>> save(Source& source, files::Client& client) {
        const auto begin = std::chrono::steady_clock::now();
        bar_.begin_file(source.file.name);
        Result<bool> same = false;
        if (const auto read = refresh(source); !read) same = read.error();
        if (same) same = co_await has_copy(source, client);
        Result<files::Moved> moved = files::Moved{};
        if (same && !*same) {
            auto sending = send(source, client);
            moved = co_await std::move(sending);
            if (moved && source.has_copy) {
                if (const auto read = refresh(source); !read) moved = read.error();
            }
        }
        bar_.leave_file(source.file.name);
        source.file.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (!same) co_return std::move(same).error();
        if (!moved) co_return std::move(moved).error();
        const bool had_copy = std::exchange(source.has_copy, true);
        if (*same) {
            bar_.add_bytes(source.file.bytes);
            co_return Result<void>();
        }
        source.changed = true;
        const auto& before = source.file.checksum;
        if (had_copy && before && moved->checksum && *before != *moved->checksum) co_return changed_meanwhile(source);
        source.file.had_bytes += moved->had_bytes;
        source.file.sent_bytes += moved->sent_bytes;
        source.file.checksum = moved->checksum;
        co_return Result<void>();
    }

    void ended(Source& source, const Placed& placed) {
        bar_.end_file();
        source.file.servers = addresses_of(placed.done);
        if (placed.done.size() < placed.wanted) return report_.failed(source.file, too_few(source, placed));
        if (source.changed) return report_.done(source.file);
        report_.unchanged(source.file);
    }

    [[nodiscard]] static Error too_few(const Source& source, const Placed& placed) {
        if (placed.done.empty()) return *placed.failed;
        auto text = fmt::format("{} of {} copies:", placed.done.size(), placed.wanted);
        for (const auto& server : source.file.servers) text += " " + files::printable(server);
        if (!placed.failed) return {Errc::invalid_argument, "too few servers in the group: lower --replicas", text};
        return {placed.failed->code, "too few copies", text + "; " + placed.failed->message()};
    }

    const SaveOptions& options_;
    Report& report_;
    ProgressBar& bar_;
    const std::vector<std::string> identities_;  // of the servers
    Sessions sessions_;
    std::vector<Source> sources_;
    std::vector<Placed> placed_;  // of each source
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
    auto servers = find_servers(options.group, options, interrupt);
    if (!servers) {
        report.failed_at_once(options.group.members.front(), servers.error());
        return report.finish();
    }
    GroupSave save(options, *std::move(servers), interrupt, report, bar);
    if (!save.add_all(*folder)) return ExitCode::usage;
    save.run(interrupt);
    return report.finish();
}

}  // namespace cinnabar::tools::spread
