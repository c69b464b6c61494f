// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar fetch --group`
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/target_folder.hpp"
#include "commands/transfer.hpp"
#include "commands/unique_names.hpp"
#include "spread/placement.hpp"
#include "spread/rounds.hpp"

#include <cinnabar/files/name.hpp>

#include <chrono>
#include <utility>

namespace cinnabar::tools::spread {
namespace {

// Another server may have the file, or an undamaged copy; but what blocks the file here remains.
bool another_may_give(Errc code) { return code != Errc::exists; }

class GroupFetch {
  public:
    // `into`: null for a dry run without a destination folder.
    GroupFetch(const FetchOptions& options, std::vector<Server> servers, const files::Root* into,
               const Interrupt& interrupt, Report& report, ProgressBar& bar)
        : options_(options),
          into_(into),
          report_(report),
          bar_(bar),
          identities_(identities_of(servers)),
          sessions_(std::move(servers), options, interrupt, report) {}

    void add(std::string name) {
        bar_.add_files(1);
        Placed placed;
        placed.order = placement_of(name, identities_);
        placed_.push_back(std::move(placed));
        auto path = join_path(options_.folder, files::leaf_of(name));
        files_.push_back({std::move(name), std::move(path)});
    }

    void run(const Interrupt& interrupt) {
        if (options_.dry_run) {
            for (const auto& file : files_) report_.planned(file);
            return;
        }
        const Rounds rounds{[this](std::size_t file, files::Client& client) { return fetch(files_[file], client); },
                            another_may_give, [this](std::size_t file) { ended(files_[file], placed_[file]); },
                            options_.jobs};
        run_rounds(rounds, sessions_, placed_, interrupt);
    }

  private:
    hl::Task<Result<files::Moved>> receive(const Report::File& file, files::Client& client) {
        const auto existing = options_.replace ? files::Existing::replace : files::Existing::keep;
        const files::FetchMode mode{existing, {}, options_.preserve, options_.extended, options_.whole};
        return client.fetch(
            file.name, *into_, mode, [this](std::uint64_t moved) { bar_.add_bytes(moved); },
            [this](std::uint64_t bytes) { bar_.add_total(bytes); });
    }

    hl::Task<Result<void>> fetch(Report::File& file, files::Client& client) {
        const auto begin = std::chrono::steady_clock::now();
        bar_.begin_file(file.name);
        auto receiving = receive(file, client);
        Result<files::Moved> moved = co_await std::move(receiving);
        bar_.leave_file(file.name);
        file.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (!moved) co_return std::move(moved).error();
        file.bytes = moved->bytes;
        file.had_bytes = moved->had_bytes;
        file.sent_bytes = moved->sent_bytes;
        file.checksum = moved->checksum;
        co_return Result<void>();
    }

    void ended(const Report::File& file, const Placed& placed) {
        bar_.end_file();
        if (placed.done.empty()) return report_.failed(file, *placed.failed);
        report_.done(file);
    }

    const FetchOptions& options_;
    const files::Root* into_;
    Report& report_;
    ProgressBar& bar_;
    const std::vector<std::string> identities_;  // of the servers
    Sessions sessions_;
    std::vector<Report::File> files_;
    std::vector<Placed> placed_;  // of each file
};

// Whether the names can be fetched into one folder; reports why not.
bool check_names(const FetchOptions& options) {
    UniqueNames names("fetch them into different directories");
    for (const auto& name : options.from) {
        const auto leaf = files::leaf_of(name);
        if (leaf.empty()) {
            complain(files::printable(name) + ": a group fetches files only: name a file");
            return false;
        }
        if (!names.add(leaf, name)) return false;
    }
    return true;
}

}  // namespace

ExitCode run_fetch(const FetchOptions& options) {
    const Interrupt interrupt;
    const auto folder = folder_of(options.group);
    if (!folder) complain(folder.error().message());
    if (!folder || !check_names(options)) return ExitCode::usage;
    ProgressBar bar(Report::shown_in(style_of(options)));
    Report report(style_of(options), "fetched", bar);
    const auto root = open_target_folder(options);
    if (!root) {
        report.failed_at_once(options.folder, root.error());
        return report.finish();
    }
    auto servers = find_servers(options.group, options, interrupt);
    if (!servers) {
        report.failed_at_once(options.group.members.front(), servers.error());
        return report.finish();
    }
    GroupFetch fetch(options, *std::move(servers), *root ? &**root : nullptr, interrupt, report, bar);
    for (const auto& name : options.from) fetch.add(join_name(*folder, name));
    fetch.run(interrupt);
    return report.finish();
}

}  // namespace cinnabar::tools::spread
