// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/delete.hpp"
#include "commands/same_file.hpp"
#include "commands/tree_plan.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/name.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

namespace cinnabar::tools {
namespace {

Errand errand_of_file(const std::string& path, const std::string& name, const SaveOptions& options, ProgressBar& bar) {
    Report::File file{name, path};
    std::error_code unknown;  // an error is reported when the file is saved
    if (const auto size = std::filesystem::file_size(path, unknown); !unknown) file.bytes = size;
    const auto existing = options.replace ? files::Existing::replace : files::Existing::keep;
    const files::SaveMode mode{existing, options.push, options.checksum, options.preserve,  options.extended,
                               false,    options.sync, options.whole,    options.by_content};
    Errand errand{file, [path, name, mode, &bar](files::Client& session, bool again) {
                      auto how = mode;
                      how.again = again;
                      return session.save(path, name, how, [&bar](std::uint64_t moved) { bar.add_bytes(moved); });
                  }};
    if (may_be_packed(file, options)) errand.small = {[path] { return files::SourceFile::open(path); }, name};
    errand.mode = mode;
    const SameBy how{options.preserve, options.by_content, options.checksum};
    if (!options.ignore_times) {
        errand.is_same = [path, name, how](files::Client& session) {
            return is_same_file(
                session, [path] { return files::SourceFile::open(path); }, name, how, SameAttributes::at(session));
        };
        errand.ask_first = options.replace && tells_before(how);
    }
    return errand;
}

// Empty: two files would get the same name; the error was reported.
std::optional<TreePlan> plan_all(const SaveOptions& options, const std::string& folder, Report& report,
                                 ProgressBar& bar) {
    TreePlan plan;
    std::map<std::string, std::string> path_by_name;
    for (const auto& path : options.files) {
        std::error_code unknown;
        const bool tree = std::filesystem::is_directory(path, unknown);
        const bool contents = tree && options.as.empty() && means_contents(path);
        const std::string_view leaf = options.as.empty() ? files::leaf_of(path) : std::string_view(options.as);
        const auto name = contents ? join_name(folder, {}) : join_name(folder, leaf);
        const auto [other, fresh] = path_by_name.try_emplace(name, path);
        if (!fresh && !contents) {
            complain(printable(other->second) + " and " + printable(path) + " would both be saved as " +
                     printable(name) + ": save them one by one, with --as or into different folders");
            return std::nullopt;
        }
        if (!tree) {
            plan.add_named_file(errand_of_file(path, name, options, bar), name);
            continue;
        }
        const SavedTree saved{path, name, contents ? std::string() : std::string(files::leaf_of(path)) + "/"};
        if (const auto planned = plan_save(saved, options, plan, report, bar); !planned)
            report.failed({name, path}, planned.error());
    }
    if (const auto unique = plan.check_names(&Report::File::name, &Report::File::path); !unique) {
        complain(unique.error().message());
        return std::nullopt;
    }
    return plan;
}

}  // namespace

ExitCode run_save(const SaveOptions& options) {
    const Interrupt interrupt;
    const auto remote = parse_remote_path(options.to);
    if (!remote) {
        complain("the last word must be a URI: " + remote.error().message());
        return ExitCode::usage;
    }
    ProgressBar bar(Report::shown_in(style_of(options)));
    Report report(style_of(options), "saved", bar);
    auto plan = plan_all(options, remote->path, report, bar);
    if (!plan) return ExitCode::usage;
    SourceNames names;
    if (options.delete_extraneous) names = plan->names();
    const Planner planner = [&](files::Client& session, LeftOut&) -> hl::Task<Result<Plan>> {
        const TreePlan::Lister list = [&session](const std::string& name) { return session.list(name); };
        Result<void> compared;
        std::optional<TreePlan::ByContent> by_content;
        if (options.by_content) by_content = {&session, options.jobs};
        const auto same = SameAttributes::at(session);
        if (!options.ignore_times) compared = co_await plan->leave_out_unchanged(list, same, report, by_content);
        if (!compared) co_return std::move(compared).error();
        co_return plan->take(bar);
    };
    move_all(remote->server, options, planner, report, bar, interrupt);
    if (options.delete_extraneous) delete_there(remote->server, options, names, report, bar, interrupt);
    return report.finish();
}

}  // namespace cinnabar::tools
