// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"
#include "commands/server_errands.hpp"
#include "commands/tree_plan.hpp"

#include <cinnabar/files/name.hpp>

#include <memory>
#include <utility>

namespace cinnabar::tools {
namespace {

// Adds the errands of one tree.
class SavePlanner {
  public:
    SavePlanner(const SavedTree& saved, const SaveOptions& options, files::SourceTree tree, TreePlan& plan,
                ProgressBar& bar)
        : saved_(saved),
          existing_(options.replace ? files::Existing::replace : files::Existing::keep),
          options_(options),
          mode_{existing_,    options.push,  options.checksum,  true, options.extended, false,
                options.sync, options.whole, options.by_content},
          tree_(std::make_shared<const files::SourceTree>(std::move(tree))),
          plan_(plan),
          bar_(bar) {}

    [[nodiscard]] Report::File named(const std::string& below, Report::Kind kind) const {
        Report::File file;
        file.name = below.empty() ? saved_.base : saved_.base.empty() ? below : saved_.base + "/" + below;
        file.path = below.empty() ? saved_.path : join_path(saved_.path, below);
        file.kind = kind;
        return file;
    }
    // The resulting entry, with its name on the server.
    [[nodiscard]] files::Entry result_of(const files::Entry& entry, std::string target = {}) const {
        files::Entry result = entry;
        result.name = named(entry.name, Report::Kind::file).name;
        if (!target.empty()) result.target = std::move(target);
        return result;
    }
    void add_folder(const std::string& below, const files::Attributes& attributes) {
        const auto folder = named(below, Report::Kind::folder);
        files::Entry result;
        result.name = folder.name;
        result.attributes = attributes;
        plan_.add_folder(make_folder_there(folder, result),
                         finish_folder_there(named(below, Report::Kind::hidden), result));
    }
    void add_file(const files::Entry& entry) {
        auto file = named(entry.name, Report::Kind::file);
        const auto name = file.name;
        if (auto first = plan_.first_of(entry, name); !first.empty()) {
            file.kind = Report::Kind::link;
            return plan_.add_hard_link(make_hard_link_there(std::move(file), result_of(entry, first), existing_));
        }
        file.bytes = entry.bytes;
        const auto open = [tree = tree_, below = entry.name] { return tree->open_file(below); };
        Errand errand{file, [name, open, mode = mode_, &bar = bar_](files::Client& session, bool again) {
                          auto how = mode;
                          how.again = again;
                          return session.save(open, name, how, [&bar](std::uint64_t moved) { bar.add_bytes(moved); });
                      }};
        errand.result = result_of(entry);
        errand.is_there = [name, open](files::Client& session) { return session.has_content(open, name); };
        if (may_be_packed(file, options_)) errand.small = {open, name};
        errand.mode = mode_;
        plan_.add_file(std::move(errand));
    }
    void add_link(const files::Entry& entry) {
        plan_.add_link(make_link_there(named(entry.name, Report::Kind::link), result_of(entry), existing_));
    }

  private:
    const SavedTree& saved_;
    files::Existing existing_;
    const SaveOptions& options_;
    files::SaveMode mode_;
    std::shared_ptr<const files::SourceTree> tree_;
    TreePlan& plan_;
    ProgressBar& bar_;
};

}  // namespace

Result<void> plan_save(const SavedTree& saved, const SaveOptions& options, TreePlan& plan, Report& report,
                       ProgressBar& bar) {
    CINNABAR_TRY(const auto tree, files::SourceTree::open(saved.path));
    const auto scan = tree.scan(options.filter, saved.prefix, options.extended);
    CINNABAR_TRY(const auto attributes, tree.attributes(options.extended));
    SavePlanner planner(saved, options, tree, plan, bar);
    for (const auto& problem : scan.problems)
        report.failed(planner.named(problem.path, Report::Kind::file), problem.error);
    report.filtered(scan.filtered);
    plan.add_base({saved.base, saved.prefix});
    if (!saved.base.empty()) planner.add_folder({}, attributes);
    for (const auto& entry : scan.entries) {
        if (entry.kind == files::EntryKind::folder) planner.add_folder(entry.name, entry.attributes);
        if (entry.kind == files::EntryKind::file) planner.add_file(entry);
        if (entry.kind != files::EntryKind::link) continue;
        if (options.safe_links && leads_out(entry.name, entry.target)) {
            report.failed(planner.named(entry.name, Report::Kind::link),
                          {Errc::invalid_argument, "a link that leads out of the tree: left out"});
        } else {
            planner.add_link(entry);
        }
    }
    return {};
}

}  // namespace cinnabar::tools
