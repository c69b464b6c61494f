// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar fetch --group`
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/session.hpp"
#include "commands/target_folder.hpp"
#include "commands/transfer.hpp"
#include "commands/unique_names.hpp"
#include "group_files/fetched_tree.hpp"
#include "group_files/group_tree.hpp"
#include "group_files/placement.hpp"
#include "group_files/rounds.hpp"

#include <cinnabar/files/name.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

namespace cinnabar::tools::group_files {
namespace {

// Returns whether another server may succeed after this error: the other server may have the file, or an undamaged
// copy. No server can succeed after `exists`: a local file has the name already.
bool another_may_give(Errc code) { return code != Errc::exists; }

Error incomplete(const Error& lost) {
    return {lost.code, "a server was not asked: what no other one has is missing", lost.message()};
}

class GroupFetch {
  public:
    // `into`: null for a dry run without a destination folder.
    GroupFetch(const FetchOptions& options, std::vector<Server> servers, const files::Root* into,
               const Interrupt& interrupt, Report& report, ProgressBar& bar)
        : options_(options),
          into_(into),
          interrupt_(interrupt),
          report_(report),
          bar_(bar),
          sessions_(std::move(servers), options, interrupt, report),
          here_(options, into, report, interrupt.token()) {}

    // `name` on the servers is a file or a folder, or, if it ends in '/', the contents of a folder.
    void add(const std::string& name) {
        const std::string folder = join_name(name, {});
        const std::string leaf(files::leaf_of(folder));
        if (name.ends_with('/') || folder.empty()) {
            trees_.push_back({{folder, {}, {}, options_.folder}});
        } else if (options_.dry_run) {
            trees_.push_back({{folder, leaf, leaf + "/", join_path(options_.folder, leaf)}});
        } else {
            wanted_.push_back({{name, join_path(options_.folder, leaf)}, leaf});
        }
    }

    // Fetches files first. A name that no server has as a file may be a folder, whose files are fetched next.
    void run() {
        fetch_wanted();
        if (interrupt_.happened()) {
            for (const auto& tree : trees_)
                report_.failed({tree.where.name, tree.where.path}, {Errc::canceled, "interrupted"});
        } else if (!trees_.empty()) {
            fetch_trees();
        }
        (void)hl::sync_wait(sessions_.close(), interrupt_.token());
    }

  private:
    void fetch_wanted() {
        const auto identities = identities_of(sessions_.servers());
        placed_.clear();
        for (const auto& wanted : wanted_) {
            bar_.add_files(1);
            bar_.add_total(wanted.file.bytes);
            Placed placed;
            placed.order = placement_of(wanted.file.name, identities);
            placed_.push_back(std::move(placed));
        }
        const Rounds rounds{
            [this](std::size_t index, std::size_t, files::Client& client) { return fetch(wanted_[index], client); },
            another_may_give, [this](std::size_t index) { ended(wanted_[index], placed_[index]); }, options_.jobs,
            Rounds::Together{[this](std::size_t index) { return packed_bytes(wanted_[index]); },
                             [this](const std::vector<std::size_t>& indices, std::size_t, files::Client& client) {
                                 return fetch_together(indices, client);
                             }}};
        (void)run_rounds(rounds, sessions_, placed_, interrupt_);
    }

    void fetch_trees() {
        auto asked = walk_at_every_server(trees_, sessions_.those_not_lost(), options_, interrupt_, report_);
        if (!asked.lost) asked.lost = sessions_.first_lost();
        wanted_.clear();
        if (asked.ended) report_.failed_at_once(options_.group.members.front(), *asked.ended);
        if (asked.ended) return;
        for (const auto& tree : trees_) {
            if (tree.servers > 0) {
                auto files = here_.make(tree);
                std::move(files.begin(), files.end(), std::back_inserter(wanted_));
                if (asked.lost) report_.failed({tree.where.name, tree.where.path}, incomplete(*asked.lost));
            } else {
                no_folder(tree, asked);
            }
        }
        if (options_.dry_run) {
            for (const auto& wanted : wanted_) report_.planned(wanted.file);
            return;
        }
        fetch_wanted();
        here_.finish();
    }

    // In a dry run, no server was asked whether a name is a file.
    void no_folder(const GroupTree& tree, const Asked& asked) {
        const Report::File file{tree.where.name, tree.where.path};
        if (asked.lost) return report_.failed(file, *asked.lost);
        if (options_.dry_run && !tree.where.base.empty()) return report_.planned(file);
        if (const auto failed = not_a_file_.find(tree.where.name); failed != not_a_file_.end())
            return report_.failed(file, failed->second);
        report_.failed(file, {Errc::not_found, "no server has this folder"});
    }

    hl::Task<Result<files::Moved>> receive(const Wanted& wanted, files::Client& client) {
        const auto existing = options_.replace ? files::Existing::replace : files::Existing::keep;
        const files::FetchMode mode{existing,          wanted.as,      options_.preserve || wanted.entry,
                                    options_.extended, options_.whole, wanted.listed_bytes,
                                    options_.sync};
        std::function<void(std::uint64_t)> announced;
        if (!wanted.entry) announced = [this](std::uint64_t bytes) { bar_.add_total(bytes); };
        auto receiving = client.fetch(
            wanted.file.name, *into_, mode, [this](std::uint64_t moved) { bar_.add_bytes(moved); },
            std::move(announced));
        co_return co_await std::move(receiving);
    }

    // Whether the local file has the same content; false if it cannot be read.
    hl::Task<Result<bool>> is_here(const Wanted& wanted, files::Client& client) {
        if (!wanted.entry || !options_.by_content || !here_.looks_same(wanted)) co_return false;
        if (!into_->open_source(wanted.as)) co_return false;
        const files::OpenSource open = [this, &wanted] { return into_->open_source(wanted.as); };
        auto comparing = client.has_content(open, wanted.file.name);
        Result<bool> same = co_await std::move(comparing);
        co_return same;
    }

    hl::Task<Result<void>> fetch(Wanted& wanted, files::Client& client) {
        const auto begin = std::chrono::steady_clock::now();
        Report::File& file = wanted.file;
        bar_.begin_file(file.name);
        auto comparing = is_here(wanted, client);
        const Result<bool> same = co_await std::move(comparing);
        Result<files::Moved> moved = files::Moved{};
        if (same && !*same) {
            auto receiving = receive(wanted, client);
            moved = co_await std::move(receiving);
        }
        bar_.leave_file(file.name);
        file.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (!same) co_return same.error();
        if (moved.code() == Errc::invalid_argument) wanted.may_be_folder = true;
        if (!moved) co_return std::move(moved).error();
        wanted.unchanged = *same;
        if (*same) {
            bar_.add_bytes(file.bytes);
            co_return Result<void>();
        }
        note(file, *moved);
        co_return Result<void>();
    }
    static void note(Report::File& file, const files::Moved& moved) {
        file.bytes = moved.bytes;
        file.had_bytes = moved.had_bytes;
        file.sent_bytes = moved.sent_bytes;
        file.connections = moved.connections;
        file.checksum = moved.checksum;
    }

    // Returns the size of a small file of a tree, which may share a call with other files. Empty: the file has a call
    // of its own, because it is large or not of a tree, or because its content is compared first.
    [[nodiscard]] std::optional<std::uint64_t> packed_bytes(const Wanted& wanted) const {
        if (!wanted.entry || !wanted.listed_bytes || *wanted.listed_bytes > files::small_file_bytes_max)
            return std::nullopt;
        if (options_.by_content && here_.looks_same(wanted)) return std::nullopt;
        return wanted.listed_bytes;
    }
    hl::Task<std::vector<Result<void>>> fetch_together(const std::vector<std::size_t>& indices, files::Client& client) {
        const auto begin = std::chrono::steady_clock::now();
        files::FetchMode mode;
        mode.existing = options_.replace ? files::Existing::replace : files::Existing::keep;
        mode.exact = true;
        mode.extended = options_.extended;
        mode.sync = options_.sync;
        std::vector<files::ListedFile> listed;
        for (const auto index : indices) {
            const auto& wanted = wanted_[index];
            bar_.begin_file(wanted.file.name);
            listed.push_back({wanted.file.name, wanted.as, *wanted.listed_bytes});
        }
        auto fetching = client.fetch_small(listed, *into_, mode);
        const std::vector<Result<files::Moved>> moved = co_await std::move(fetching);
        const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        std::vector<Result<void>> results;
        for (std::size_t i = 0; i < indices.size(); ++i) {
            auto& file = wanted_[indices[i]].file;
            bar_.leave_file(file.name);
            file.seconds += took;
            if (moved[i]) {
                bar_.add_bytes(moved[i]->bytes);
                note(file, *moved[i]);
                results.emplace_back();
            } else {
                results.emplace_back(moved[i].error());
            }
        }
        co_return results;
    }

    void ended(const Wanted& wanted, const Placed& placed) {
        if (placed.done.empty() && !wanted.entry && wanted.may_be_folder) {
            bar_.drop_file();
            not_a_file_.emplace(wanted.file.name, *placed.failed);
            trees_.push_back({{wanted.file.name, wanted.as, wanted.as + "/", wanted.file.path}});
            return;
        }
        bar_.end_file();
        if (wanted.unchanged) return report_.unchanged(wanted.file);
        if (placed.done.empty()) return report_.failed(wanted.file, *placed.failed);
        if (!wanted.entry) (void)here_.claim(wanted.as, files::EntryKind::file);
        report_.done(wanted.file);
    }

    const FetchOptions& options_;
    const files::Root* into_;
    const Interrupt& interrupt_;
    Report& report_;
    ProgressBar& bar_;
    Sessions sessions_;
    FetchedTree here_;
    std::vector<Wanted> wanted_;
    std::vector<Placed> placed_;  // for each of wanted_
    std::vector<GroupTree> trees_;
    std::map<std::string, Error> not_a_file_;  // why a name that may be a folder could not be fetched as a file
};

// Whether the names can be fetched into one folder; if not, reports why.
bool check_names(const FetchOptions& options) {
    UniqueNames names("fetch them into different directories");
    for (const auto& name : options.from) {
        if (!name.ends_with('/') && !names.add(files::leaf_of(name), name)) return false;
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
    fetch.run();
    return report.finish();
}

}  // namespace cinnabar::tools::group_files
