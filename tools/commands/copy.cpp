// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/listings.hpp"
#include "commands/tree_plan.hpp"
#include "commands/tree_walk.hpp"
#include "commands/unique_names.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/copy.hpp>
#include <cinnabar/files/name.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace cinnabar::tools {
namespace {

// A file or a folder to copy.
struct CopySource {
    std::string name;  // on its server; with a trailing '/' the contents of this folder
    std::string as;    // on the destination server; empty: the root
};
// The sources, by the server that has them.
using Sources = std::map<std::string, std::vector<CopySource>>;

// The name on the destination server. A single source takes the name in `to`, unless `to` is a folder.
std::string name_for(const RemotePath& from, const RemotePath& to, bool several) {
    if (from.path.ends_with('/')) return join_name(to.path, {});
    const bool into = several || to.path.empty() || to.path.ends_with('/');
    return into ? join_name(to.path, files::leaf_of(from.path)) : to.path;
}

// Empty: a source is invalid; the error was reported.
std::optional<Sources> sources_of(const CopyOptions& options, const RemotePath& to) {
    Sources sources;
    UniqueNames names("copy them one by one");
    for (const auto& from : options.from) {
        const auto remote = parse_remote_path(from);
        if (!remote || remote->path.empty()) {
            complain(printable(from) + ": give it as SCHEME://HOST:PORT/NAME");
            return std::nullopt;
        }
        auto as = name_for(*remote, to, options.from.size() > 1);
        if (!remote->path.ends_with('/') && !names.add(as, from)) return std::nullopt;
        sources[remote->server].push_back({remote->path, std::move(as)});
    }
    return sources;
}

// Opens the sessions of one command with the servers that it copies from, one after another.
class Copier {
  public:
    Copier(const CopyOptions& options, const RemotePath& to, Report& report, ProgressBar& bar,
           const Interrupt& interrupt)
        : options_(options), to_(to), report_(report), bar_(bar), interrupt_(interrupt) {}

    void copy(const std::string& server, const std::vector<CopySource>& sources) {
        Ends ends{reachable_from(server, to_.server), to_.server, options_, options_};
        if (!options_.from_key_file.empty()) ends.from_options.key_file = options_.from_key_file;
        const Opening open = [&](const SessionWork& work) -> Ended {
            bool from_failed = false;
            auto ended = over_sessions(ends, from_, work, interrupt_, from_failed);
            return {std::move(ended), from_failed ? server : to_.server};
        };
        const Planner planner = [&](files::Client& session, LeftOut& left_out) {
            return plan(session, server, sources, left_out);
        };
        move_over(open, options_, planner, report_, bar_, interrupt_);
    }

  private:
    [[nodiscard]] Errand errand_of_file(const std::string& server, const CopySource& source) const {
        const auto mode = mode_of_file();
        return {Report::File{source.as, server + "/" + source.name},
                [from = &from_, source, mode, &bar = bar_](files::Client& to, bool again) {
                    auto how = mode;
                    how.again = again;
                    return files::copy(
                        **from, source.name, to, source.as, how, [&bar](std::uint64_t moved) { bar.add_bytes(moved); },
                        [&bar](std::uint64_t bytes) { bar.add_total(bytes); });
                }};
    }
    // A small file may be copied in one call with other files.
    [[nodiscard]] Errand errand_of_file(const std::string& server, const CopySource& source,
                                        std::uint64_t bytes) const {
        const auto mode = mode_of_file();
        Report::File file{source.as, server + "/" + source.name};
        file.bytes = bytes;
        Errand errand{std::move(file), [from = &from_, source, mode, &bar = bar_](files::Client& to, bool again) {
                          auto how = mode;
                          how.again = again;
                          return files::copy(**from, source.name, to, source.as, how,
                                             [&bar](std::uint64_t moved) { bar.add_bytes(moved); });
                      }};
        if (bytes <= files::small_file_bytes_max) errand.copied = {source.name, source.as, bytes};
        errand.copy_mode = mode;
        errand.copied_from = &from_;
        return errand;
    }
    [[nodiscard]] files::CopyMode mode_of_file() const noexcept {
        return {options_.replace ? files::Existing::replace : files::Existing::keep,
                options_.preserve,
                options_.extended,
                false,
                options_.sync,
                options_.whole};
    }

    // The sizes of the sources that are files; the others are folders, or cannot be looked at.
    using Sizes = std::vector<std::optional<std::uint64_t>>;
    hl::Task<Result<Sizes>> look_at_all(const std::vector<CopySource>& sources) const {
        std::vector<std::string> names;
        std::vector<std::size_t> indices;
        for (std::size_t i = 0; i < sources.size(); ++i) {
            if (sources[i].name.ends_with('/')) continue;  // the contents of a folder
            names.push_back(sources[i].name);
            indices.push_back(i);
        }
        auto looking = look_each(*from_, names);
        const std::vector<Result<files::Seen>> seen = co_await std::move(looking);
        Sizes sizes(sources.size());
        for (std::size_t i = 0; i < seen.size(); ++i) {
            if (!seen[i] && ends_all(seen[i].code())) co_return seen[i].error();
            if (seen[i] && seen[i]->entry.kind == files::EntryKind::file) sizes[indices[i]] = seen[i]->entry.bytes;
        }
        co_return sizes;
    }

    hl::Task<Result<Plan>> plan(files::Client& to, const std::string& server, const std::vector<CopySource>& sources,
                                LeftOut& left_out) {
        TreePlan plan;
        auto looking = look_at_all(sources);
        const Result<Sizes> sizes = co_await std::move(looking);
        if (!sizes) co_return sizes.error();
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const auto& source = sources[i];
            if ((*sizes)[i]) {
                plan.add_file(errand_of_file(server, source, *(*sizes)[i]));
                continue;
            }
            const std::string name = join_name(source.name, {});
            Result<files::Listing> listing = co_await from_->list(name, options_.extended);
            if (!listing && ends_all(listing.code())) co_return std::move(listing).error();
            if (!listing && may_be_file(listing.code())) {
                plan.add_file(errand_of_file(server, source));
                continue;
            }
            const std::string path = server + "/" + name;
            if (!listing) {
                left_out.failed({source.as, path}, listing.error());
                continue;
            }
            CopiedTree copied{name, source.as, std::string(files::leaf_of(name)) + "/", path};
            if (source.name.ends_with('/')) copied.prefix.clear();
            Result<void> planned =
                co_await plan_copy(&from_, copied, *std::move(listing), options_, plan, left_out, bar_);
            if (!planned) co_return std::move(planned).error();
        }
        if (auto unique = plan.check_names(&Report::File::name, &Report::File::path); !unique)
            co_return std::move(unique).error();
        const TreePlan::Lister list = [&to](const std::string& name) { return to.list(name); };
        Result<void> compared;
        std::optional<TreePlan::ByContent> by_content;
        if (options_.by_content) by_content = {&to, options_.jobs};
        const auto same = SameAttributes::at(to);
        if (!options_.ignore_times) compared = co_await plan.leave_out_unchanged(list, same, report_, by_content);
        if (!compared) co_return std::move(compared).error();
        co_return plan.take(bar_);
    }

    const CopyOptions& options_;
    const RemotePath& to_;
    Report& report_;
    ProgressBar& bar_;
    const Interrupt& interrupt_;
    files::Client* from_ = nullptr;  // set while its session is open
};

}  // namespace

ExitCode run_copy(const CopyOptions& options) {
    const Interrupt interrupt;
    const auto to = parse_remote_path(options.to);
    if (!to) {
        complain("the last word must be a URI: " + to.error().message());
        return ExitCode::usage;
    }
    const auto sources = sources_of(options, *to);
    if (!sources) return ExitCode::usage;
    ProgressBar bar(Report::shown_in(style_of(options)));
    Report report(style_of(options), "copied", bar);
    Copier copier(options, *to, report, bar, interrupt);
    for (const auto& [server, names] : *sources) {
        if (interrupt.happened()) {
            report.failed_at_once(server, Error{Errc::canceled, "interrupted"});
        } else {
            copier.copy(server, names);
        }
    }
    return report.finish();
}

}  // namespace cinnabar::tools
