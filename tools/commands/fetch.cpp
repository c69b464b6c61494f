// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/transfer.hpp"

#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/root.hpp>

#include <unistd.h>

#include <filesystem>
#include <map>
#include <system_error>

namespace cinnabar::tools {
namespace {

std::string path_in(const std::string& folder, std::string_view leaf) {
    if (folder == ".") return std::string(leaf);
    return folder.ends_with('/') ? folder + std::string(leaf) : folder + "/" + std::string(leaf);
}

Result<void> make_folder(const std::string& path) {
    std::error_code failed;
    std::error_code ignored;
    std::filesystem::create_directories(path, failed);
    if (failed && !std::filesystem::is_directory(path, ignored))
        return files::file_error(failed.value(), "cannot make the directory", path);
    return {};
}

}  // namespace

ExitCode run_fetch(const FetchOptions& options) {
    const Interrupt interrupt;
    std::map<std::string, std::vector<std::string>> names_by_server;
    std::map<std::string, std::string> from_by_leaf;
    for (const auto& from : options.from) {
        auto place = parse_place(from);
        if (!place || place->path.empty()) {
            complain(files::printable(from) + ": what to fetch is SCHEME://HOST:PORT/NAME");
            return ExitCode::usage;
        }
        if (const auto [other, fresh] = from_by_leaf.try_emplace(std::string(files::leaf_of(place->path)), from);
            !fresh) {
            complain(files::printable(other->second) + " and " + files::printable(from) + " would both become " +
                     files::printable(other->first) + ": fetch them into different directories");
            return ExitCode::usage;
        }
        names_by_server[place->server].push_back(std::move(place->path));
    }
    const bool wants_bar = !options.json && !options.quiet;
    ProgressBar bar(STDERR_FILENO, wants_bar, options.from.size(), 0);
    Report report(style_of(options), "fetched", bar);
    if (const auto made = make_folder(options.folder); !made) {
        report.failed_at_once(options.folder, made.error());
        return report.finish();
    }
    const auto root = files::Root::open(options.folder);
    if (!root) {
        report.failed_at_once(options.folder, root.error());
        return report.finish();
    }
    const auto existing = options.replace ? files::Existing::replace : files::Existing::keep;
    for (const auto& [server, names] : names_by_server) {
        if (interrupt.happened()) {
            report.failed_at_once(server, Error{Errc::canceled, "interrupted"});
            continue;
        }
        std::vector<Errand> errands;
        for (const auto& name : names) {
            errands.push_back({Report::File{name, path_in(options.folder, files::leaf_of(name))},
                               [name, existing, &root, &bar](files::Client& session) {
                                   return session.fetch(
                                       name, *root, existing, [&bar](std::uint64_t moved) { bar.add_bytes(moved); },
                                       [&bar](std::uint64_t bytes) { bar.add_total(bytes); });
                               }});
        }
        move_all(server, options, std::move(errands), report, bar, interrupt);
    }
    return report.finish();
}

}  // namespace cinnabar::tools
