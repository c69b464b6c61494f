// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/transfer.hpp"

#include <cinnabar/files/name.hpp>

#include <unistd.h>

#include <filesystem>
#include <map>
#include <system_error>

namespace cinnabar::tools {

ExitCode run_save(const SaveOptions& options) {
    const Interrupt interrupt;
    const auto place = parse_place(options.to);
    if (!place) {
        complain("the last word is where to save: " + place.error().message());
        return ExitCode::usage;
    }
    std::uint64_t bytes = 0;
    for (const auto& path : options.files) {
        std::error_code unknown;  // it is reported when its turn comes
        if (const auto size = std::filesystem::file_size(path, unknown); !unknown) bytes += size;
    }
    const bool wants_bar = !options.json && !options.quiet;
    ProgressBar bar(STDERR_FILENO, wants_bar, options.files.size(), bytes);
    Report report(style_of(options), "saved", bar);
    const files::SaveMode mode{options.replace ? files::Existing::replace : files::Existing::keep, options.push,
                               options.checksum};
    std::vector<Errand> errands;
    std::map<std::string, std::string> path_by_name;
    for (const auto& path : options.files) {
        const std::string_view leaf = options.as.empty() ? files::leaf_of(path) : std::string_view(options.as);
        const auto name = join_name(place->path, leaf);
        if (const auto [other, fresh] = path_by_name.try_emplace(name, path); !fresh) {
            complain(files::printable(other->second) + " and " + files::printable(path) + " would both be saved as " +
                     files::printable(name) + ": save them one by one, with --as or into different folders");
            return ExitCode::usage;
        }
        errands.push_back({Report::File{name, path}, [path, name, mode, &bar](files::Client& session) {
                               return session.save(path, name, mode,
                                                   [&bar](std::uint64_t moved) { bar.add_bytes(moved); });
                           }});
    }
    move_all(place->server, options, std::move(errands), report, bar, interrupt);
    return report.finish();
}

}  // namespace cinnabar::tools
