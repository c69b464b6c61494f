// SPDX-License-Identifier: BSD-3-Clause
#include "commands/delete.hpp"

#include "commands/address.hpp"
#include "commands/batched_errands.hpp"
#include "commands/server_errands.hpp"
#include "commands/target_folder.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace cinnabar::tools {
namespace {

Report::Kind kind_of(files::EntryKind kind) {
    if (kind == files::EntryKind::folder) return Report::Kind::folder;
    return kind == files::EntryKind::link ? Report::Kind::link : Report::Kind::file;
}

hl::Task<Result<files::Moved>> remove_there(files::Client& session, std::string name, std::string given) {
    Result<void> removed = co_await session.remove(name, given);
    removed = unless_gone(std::move(removed));
    if (!removed) co_return std::move(removed).error();
    co_return files::Moved{};
}

// Puts steps into phases, in their order: steps of equal depth are independent of each other.
class StepsByDepth {
  public:
    void add(const std::string& name, Errand errand) {
        const auto depth = std::ranges::count(name, '/');
        if (depth_ != depth) plan_.emplace_back();
        depth_ = depth;
        plan_.back().push_back(std::move(errand));
    }
    // Steps that are added later come after all others.
    void end_phase() { depth_.reset(); }
    [[nodiscard]] Plan take() { return std::move(plan_); }

  private:
    Plan plan_;
    std::optional<std::ptrdiff_t> depth_;
};

Report::File hidden_step(const std::string& name) {
    Report::File file;
    file.name = name;
    file.kind = Report::Kind::hidden;
    return file;
}

files::Entry folder_entry(const std::string& name, files::Attributes attributes) {
    files::Entry entry;
    entry.name = name;
    entry.kind = files::EntryKind::folder;
    entry.attributes = std::move(attributes);
    return entry;
}

Plan plan_of(const Deletion& deletion) {
    StepsByDepth steps;
    for (const auto& name : deletion.closed)
        steps.add(name, make_folder_there(hidden_step(name), folder_entry(name, {})));
    steps.end_phase();
    for (const auto& entry : deletion.entries) {
        Report::File file;
        file.name = entry.name;
        file.kind = kind_of(entry.kind);
        file.extraneous = true;
        Errand errand{std::move(file), [name = entry.name, given = entry.given](files::Client& session, bool) {
                          return remove_there(session, name, given);
                      }};
        errand.removed = {entry.name, entry.given};
        steps.add(entry.name, std::move(errand));
    }
    steps.end_phase();
    for (const auto& folder : deletion.changed)
        steps.add(folder.name,
                  finish_folder_there(hidden_step(folder.name), folder_entry(folder.name, folder.attributes)));
    return steps.take();
}

// The outcome of the search.
struct Searched {
    bool failed = false;
    std::uint64_t left = 0;
};

hl::Task<Result<Plan>> plan_deletion(files::Client& session, const SaveOptions& options, const SourceNames& names,
                                     LeftOut& left_out, Searched& searched) {
    const ListBelow list = [&session](const std::string& name, const std::string& given) {
        return session.list(name, {}, given);
    };
    const CannotList failed = [&left_out, &searched](const std::string& name, const Error& error) {
        left_out.failed({name, {}}, error);
        searched.failed = true;
    };
    Result<Deletion> deletion = co_await find_extraneous(names, options.filter, options.deletions_max, list, failed);
    if (!deletion) co_return std::move(deletion).error();
    searched.left = deletion->left;
    co_return plan_of(*deletion);
}

void tell_of(const Searched& searched, Report& report) {
    if (searched.failed) report.deletes_nothing();
    if (searched.left > 0) report.deletes_no_more(searched.left);
}

// The deletion in the folder of a fetch.
class DeletionHere {
  public:
    DeletionHere(const files::Root& into, const FetchOptions& options, Report& report, const Interrupt& interrupt)
        : into_(into), options_(options), report_(report), interrupt_(interrupt) {}

    void run(const Deletion& deletion) {
        if (!options_.dry_run) {
            for (const auto& name : deletion.closed) expect(into_.make_folder(name), name);
        }
        for (const auto& entry : deletion.entries) remove(entry);
        if (options_.dry_run) return;
        for (const auto& [name, attributes] : deletion.changed) expect(into_.finish_folder(name, attributes), name);
    }
    [[nodiscard]] Report::File file_of(const std::string& name, Report::Kind kind) const {
        Report::File file;
        file.path = join_path(options_.folder, name);
        file.kind = kind;
        return file;
    }

  private:
    void expect(const Result<void>& done, const std::string& name) {
        if (!done) report_.failed(file_of(name, Report::Kind::hidden), done.error());
    }
    void remove(const Extraneous& entry) {
        auto file = file_of(entry.name, kind_of(entry.kind));
        file.extraneous = true;
        if (options_.dry_run) return report_.planned(file);
        if (interrupt_.happened()) return report_.skipped(file, Error{Errc::canceled, "interrupted"});
        const auto removed = unless_gone(into_.remove(entry.name, entry.given));
        removed ? report_.done(file) : report_.failed(file, removed.error());
    }

    const files::Root& into_;
    const FetchOptions& options_;
    Report& report_;
    const Interrupt& interrupt_;
};

}  // namespace

void delete_there(const std::string& server, const SaveOptions& options, const SourceNames& names, Report& report,
                  ProgressBar& bar, const Interrupt& interrupt) {
    if (report.has_failed()) return report.deletes_nothing();
    if (names.given.empty()) return;
    Searched searched;
    const Planner planner = [&](files::Client& session, LeftOut& left_out) {
        return plan_deletion(session, options, names, left_out, searched);
    };
    move_all(server, options, planner, report, bar, interrupt);
    tell_of(searched, report);
}

void delete_here(const files::Root* into, const FetchOptions& options, const SourceNames& names, Report& report,
                 const Interrupt& interrupt) {
    if (report.has_failed()) return report.deletes_nothing();
    if (!into || names.given.empty()) return;
    DeletionHere here(*into, options, report, interrupt);
    Searched searched;
    const ListBelow list = [into](const std::string& name, const std::string& given) {
        return list_here(*into, name, given);
    };
    const CannotList failed = [&](const std::string& name, const Error& error) {
        report.failed(here.file_of(name, Report::Kind::folder), error);
        searched.failed = true;
    };
    const auto deletion =
        hl::sync_wait(find_extraneous(names, options.filter, options.deletions_max, list, failed), interrupt.token());
    if (!deletion) return report.failed_at_once(options.folder, deletion.error());
    searched.left = deletion->left;
    here.run(*deletion);
    tell_of(searched, report);
}

}  // namespace cinnabar::tools
