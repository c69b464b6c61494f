// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"
#include "commands/server_errands.hpp"
#include "commands/tree_plan.hpp"
#include "commands/tree_walk.hpp"

#include <cinnabar/files/copy.hpp>
#include <cinnabar/files/name.hpp>

#include <utility>

namespace cinnabar::tools {
namespace {

hl::Task<Result<bool>> same_content(files::Client& from, const std::string& name, files::Client& to,
                                    const std::string& as) {
    Result<files::Verified> here = co_await from.verify(name);
    if (!here) co_return std::move(here).error();
    Result<files::Verified> there = co_await to.verify(as);
    if (!there) co_return std::move(there).error();
    co_return here->bytes == there->bytes && here->checksum == there->checksum;
}

// Adds the errands of one tree. Its files go from server to server; the destination server makes folders and links.
class CopyPlanner {
  public:
    CopyPlanner(files::Client* const* from, const CopiedTree& copied, const CopyOptions& options, TreePlan& plan,
                ProgressBar& bar)
        : from_(from),
          copied_(copied),
          options_(options),
          mode_{options.replace ? files::Existing::replace : files::Existing::keep,
                true,
                options.extended,
                false,
                options.sync,
                options.whole},
          plan_(plan),
          bar_(bar) {}

    [[nodiscard]] Report::File named(const std::string& below, Report::Kind kind) const {
        Report::File file;
        file.name = join_name(copied_.base, below);
        file.path = below.empty() ? copied_.path : join_path(copied_.path, below);
        file.kind = kind;
        return file;
    }
    [[nodiscard]] files::Entry result_of(const files::Entry& entry, std::string target = {}) const {
        files::Entry result = entry;
        result.name = join_name(copied_.base, entry.name);
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
        const auto as = file.name;
        if (auto first = plan_.first_of(entry, as); !first.empty()) {
            file.kind = Report::Kind::link;
            return plan_.add_hard_link(make_hard_link_there(std::move(file), result_of(entry, first), mode_.existing));
        }
        file.bytes = entry.bytes;
        const auto name = join_name(copied_.name, entry.name);
        Errand errand{std::move(file),
                      [from = from_, name, as, mode = mode_, &bar = bar_](files::Client& to, bool again) {
                          auto how = mode;
                          how.again = again;
                          return files::copy(**from, name, to, as, how,
                                             [&bar](std::uint64_t moved) { bar.add_bytes(moved); });
                      },
                      result_of(entry)};
        errand.is_there = [from = from_, name, as](files::Client& to) { return same_content(**from, name, to, as); };
        if (entry.bytes <= files::small_file_bytes_max) errand.copied = {name, as, entry.bytes};
        errand.copy_mode = mode_;
        errand.copied_from = from_;
        plan_.add_file(std::move(errand));
    }
    void add(const files::Entry& entry, LeftOut& left_out) {
        if (entry.kind == files::EntryKind::file) return add_file(entry);
        if (entry.kind == files::EntryKind::folder) return add_folder(entry.name, entry.attributes);
        if (entry.kind == files::EntryKind::other)
            return left_out.failed(named(entry.name, Report::Kind::file),
                                   {Errc::invalid_argument, "a device, socket or pipe: left out"});
        if (options_.safe_links && leads_out(entry.name, entry.target))
            return left_out.failed(named(entry.name, Report::Kind::link),
                                   {Errc::invalid_argument, "a link that leads out of the tree: left out"});
        plan_.add_link(make_link_there(named(entry.name, Report::Kind::link), result_of(entry), mode_.existing));
    }

  private:
    files::Client* const* from_;
    const CopiedTree& copied_;
    const CopyOptions& options_;
    files::CopyMode mode_;
    TreePlan& plan_;
    ProgressBar& bar_;
};

}  // namespace

hl::Task<Result<void>> plan_copy(files::Client* const* from, const CopiedTree& copied, files::Listing first,
                                 const CopyOptions& options, TreePlan& plan, LeftOut& left_out, ProgressBar& bar) {
    CopyPlanner planner(from, copied, options, plan, bar);
    plan.add_base({copied.base, copied.prefix});
    if (!copied.base.empty()) planner.add_folder({}, first.attributes);
    const Walk walk{copied.name,
                    copied.prefix,
                    options.filter,
                    options.extended,
                    [&](const files::Entry& entry) {
                        const auto possible = files::check_name(join_name(copied.base, entry.name));
                        if (possible) {
                            planner.add(entry, left_out);
                        } else {
                            left_out.failed(planner.named(entry.name, Report::Kind::file), possible.error());
                        }
                        return possible.ok();
                    },
                    [&](const std::string& below, const Error& error) {
                        left_out.failed(planner.named(below, Report::Kind::folder), error);
                    },
                    [&] { left_out.filtered(); }};
    co_return co_await walk_tree(**from, walk, std::move(first));
}

}  // namespace cinnabar::tools
