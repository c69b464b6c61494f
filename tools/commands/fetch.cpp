// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/delete.hpp"
#include "commands/same_file.hpp"
#include "commands/target_folder.hpp"
#include "commands/tree_plan.hpp"
#include "commands/tree_walk.hpp"
#include "commands/unique_names.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/root.hpp>

#include <map>
#include <optional>
#include <utility>

namespace cinnabar::tools {
namespace {

Errand errand_of_file(const std::string& name, const FetchOptions& options, const files::Root* into, ProgressBar& bar) {
    const auto existing = options.replace ? files::Existing::replace : files::Existing::keep;
    const files::FetchMode mode{existing, {}, options.preserve, options.extended, options.whole, {}, options.sync};
    Errand errand{Report::File{name, join_path(options.folder, files::leaf_of(name))},
                  [name, mode, into, &bar](files::Client& session, bool) {
                      return session.fetch(
                          name, *into, mode, [&bar](std::uint64_t moved) { bar.add_bytes(moved); },
                          [&bar](std::uint64_t bytes) { bar.add_total(bytes); });
                  }};
    const SameBy how{options.preserve, options.by_content};
    if (!options.ignore_times) {
        errand.is_same = [name, into, how](files::Client& session) {
            return is_same_file(
                session, [into, name] { return into->open_source(files::leaf_of(name)); }, name, how,
                SameAttributes::in(into));
        };
        errand.ask_first = options.replace && into && tells_before(how);
    }
    return errand;
}

hl::Task<Result<Plan>> plan_all(files::Client& session, const std::vector<std::string>& names,
                                const FetchOptions& options, const files::Root* into, SourceNames& all_names,
                                LeftOut& left_out, Report& report, ProgressBar& bar) {
    TreePlan plan;
    for (const auto& given : names) {
        const bool contents = given.ends_with('/');
        const std::string name = join_name(given, {});
        auto listing = co_await session.list(name, options.extended);
        if (!listing && ends_all(listing.code())) co_return std::move(listing).error();
        if (!listing && may_be_file(listing.code())) {
            plan.add_named_file(errand_of_file(given, options, into, bar), std::string(files::leaf_of(given)));
            continue;
        }
        if (!listing) {
            left_out.failed({given, join_path(options.folder, files::leaf_of(name))}, listing.error());
            continue;
        }
        FetchedTree fetched{name, std::string(files::leaf_of(name)), std::string(files::leaf_of(name)) + "/",
                            join_path(options.folder, files::leaf_of(name))};
        if (contents) fetched = {name, {}, {}, options.folder};
        Result<void> planned =
            co_await plan_fetch(session, fetched, *std::move(listing), options, into, plan, left_out, bar);
        if (!planned) co_return std::move(planned).error();
    }
    if (auto unique = plan.check_names(&Report::File::path, &Report::File::name); !unique)
        co_return std::move(unique).error();
    SourceNames planned;
    if (options.delete_extraneous) planned = plan.names();
    const TreePlan::Lister list = [into](const std::string& name) { return list_here(*into, name); };
    Result<void> compared;
    std::optional<TreePlan::ByContent> by_content;
    if (options.by_content) by_content = {&session, options.jobs};
    const auto same = SameAttributes::in(into);
    if (into && !options.ignore_times) compared = co_await plan.leave_out_unchanged(list, same, report, by_content);
    if (!compared) co_return std::move(compared).error();
    all_names.merge(std::move(planned));
    co_return plan.take(bar);
}

}  // namespace

ExitCode run_fetch(const FetchOptions& options) {
    const Interrupt interrupt;
    std::map<std::string, std::vector<std::string>> names_by_server;
    UniqueNames leaves("fetch them into different directories");
    for (const auto& from : options.from) {
        auto remote = parse_remote_path(from);
        if (!remote || remote->path.empty()) {
            complain(printable(from) + ": give it as SCHEME://HOST:PORT/NAME");
            return ExitCode::usage;
        }
        if (remote->path.ends_with('/')) {
            names_by_server[remote->server].push_back(std::move(remote->path));
            continue;
        }
        if (!leaves.add(files::leaf_of(remote->path), from)) return ExitCode::usage;
        names_by_server[remote->server].push_back(std::move(remote->path));
    }
    ProgressBar bar(Report::shown_in(style_of(options)));
    Report report(style_of(options), "fetched", bar);
    const auto root = open_target_folder(options);
    if (!root) {
        report.failed_at_once(options.folder, root.error());
        return report.finish();
    }
    const auto* const into = *root ? &**root : nullptr;
    SourceNames all_names;
    for (const auto& of_server : names_by_server) {
        const auto& server = of_server.first;
        const auto& names = of_server.second;
        if (interrupt.happened()) {
            report.failed_at_once(server, Error{Errc::canceled, "interrupted"});
            continue;
        }
        const Planner planner = [&](files::Client& session, LeftOut& left_out) {
            return plan_all(session, names, options, into, all_names, left_out, report, bar);
        };
        move_all(server, options, planner, report, bar, interrupt);
    }
    if (options.delete_extraneous) delete_here(into, options, all_names, report, interrupt);
    return report.finish();
}

}  // namespace cinnabar::tools
