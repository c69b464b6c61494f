// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"
#include "commands/tree_plan.hpp"
#include "commands/tree_walk.hpp"

#include <cinnabar/files/name.hpp>

#include <utility>

namespace cinnabar::tools {
namespace {

using Moving = hl::Task<Result<files::Moved>>;

// Adds the errands of one tree. All entries are made below `into`, whatever names the server sends.
class FetchPlanner {
  public:
    FetchPlanner(const FetchedTree& fetched, const FetchOptions& options, const files::Root* into, TreePlan& plan,
                 ProgressBar& bar)
        : fetched_(fetched),
          options_(options),
          existing_(options.replace ? files::Existing::replace : files::Existing::keep),
          into_(into),
          plan_(plan),
          bar_(bar) {}

    [[nodiscard]] std::string name_of(const std::string& below) const { return join_name(fetched_.name, below); }
    [[nodiscard]] std::string here(const std::string& below) const {
        if (below.empty()) return fetched_.base;
        return fetched_.base.empty() ? below : fetched_.base + "/" + below;
    }
    [[nodiscard]] Report::File named(const std::string& below, Report::Kind kind) const {
        Report::File file;
        file.name = below.empty() ? fetched_.name : name_of(below);
        file.path = below.empty() ? fetched_.path : join_path(fetched_.path, below);
        file.kind = kind;
        return file;
    }
    // The resulting entry, with its name below `into`.
    [[nodiscard]] files::Entry result_of(const files::Entry& entry, std::string target = {}) const {
        files::Entry result = entry;
        result.name = here(entry.name);
        if (!target.empty()) result.target = std::move(target);
        return result;
    }
    // Local steps block the thread that drives the session, but no file is in progress at that time.
    template <typename Make>
    Errand made_here(Report::File file, files::Entry result, Make make) {
        return {std::move(file),
                [make](files::Client&, bool) -> Moving {
                    auto made = make();
                    if (!made) co_return std::move(made).error();
                    co_return files::Moved{};
                },
                std::move(result)};
    }
    void add_folder(const std::string& below, const files::Attributes& attributes) {
        const auto name = here(below);
        files::Entry result;
        result.name = name;
        result.attributes = attributes;
        plan_.add_folder(made_here(named(below, Report::Kind::folder), result,
                                   [into = into_, name]() -> Result<void> { return into->make_folder(name); }),
                         made_here(named(below, Report::Kind::hidden), result,
                                   [into = into_, name, attributes] { return into->finish_folder(name, attributes); }));
    }
    void add_file(const files::Entry& entry) {
        auto file = named(entry.name, Report::Kind::file);
        const auto as = here(entry.name);
        if (auto first = plan_.first_of(entry, as); !first.empty()) {
            file.kind = Report::Kind::link;
            return plan_.add_hard_link(made_here(
                std::move(file), result_of(entry, first),
                [into = into_, as, first, existing = existing_] { return into->make_hard_link(as, first, existing); }));
        }
        file.bytes = entry.bytes;
        const files::FetchMode mode{existing_, {}, true, options_.extended, options_.whole, entry.bytes, options_.sync};
        Errand errand{file,
                      [name = file.name, as, mode, into = into_, &bar = bar_](files::Client& session, bool) {
                          auto under = mode;
                          under.as = as;
                          return session.fetch(name, *into, under,
                                               [&bar](std::uint64_t moved) { bar.add_bytes(moved); });
                      },
                      result_of(entry)};
        errand.is_there = [name = file.name, as, into = into_](files::Client& session) {
            return session.has_content([into, as] { return into->open_source(as); }, name);
        };
        if (into_ && entry.bytes <= files::small_file_bytes_max) errand.listed = {errand.file.name, as, entry.bytes};
        errand.fetch_mode = mode;
        errand.into = into_;
        plan_.add_file(std::move(errand));
    }
    void add_link(const files::Entry& entry) {
        plan_.add_link(made_here(named(entry.name, Report::Kind::link), result_of(entry),
                                 [into = into_, as = here(entry.name), entry, existing = existing_] {
                                     return into->make_link(as, entry.target, entry.attributes, existing);
                                 }));
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
        add_link(entry);
    }

  private:
    const FetchedTree& fetched_;
    const FetchOptions& options_;
    files::Existing existing_;
    const files::Root* into_;
    TreePlan& plan_;
    ProgressBar& bar_;
};

}  // namespace

hl::Task<Result<void>> plan_fetch(files::Client& session, const FetchedTree& fetched, files::Listing first,
                                  const FetchOptions& options, const files::Root* into, TreePlan& plan,
                                  LeftOut& left_out, ProgressBar& bar) {
    FetchPlanner planner(fetched, options, into, plan, bar);
    plan.add_base({fetched.base, fetched.prefix});
    if (!fetched.base.empty()) planner.add_folder({}, first.attributes);
    const Walk walk{fetched.name,
                    fetched.prefix,
                    options.filter,
                    options.extended,
                    [&](const files::Entry& entry) {
                        const auto possible = files::check_name(planner.here(entry.name));
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
    co_return co_await walk_tree(session, walk, std::move(first));
}

}  // namespace cinnabar::tools
