// SPDX-License-Identifier: BSD-3-Clause
// The sources of `cinnabar save --group`: the files on the command line, and the contents of its folders.
#pragma once

#include "commands/commands.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/entry.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools::group_files {

struct Source {
    Report::File file;
    files::Entry entry;      // with its name on the servers
    files::OpenSource open;  // of a file
    bool has_copy = false;   // one server has it
    bool changed = false;    // a copy was made
};

// Opens a file and reads its size and attributes again.
[[nodiscard]] Result<void> read_again(Source& source, const files::ExtendedKinds& extended);

struct Sources {
    std::vector<Source> all;
    std::map<std::string, files::Attributes> folders;  // of the trees, by name on the servers
};

// Finds the sources, which are to be saved below `folder` on the servers. Reports sources that cannot be read, and
// continues. Empty: two sources would get the same name, which was reported.
[[nodiscard]] std::optional<Sources> find_sources(const SaveOptions& options, const std::string& folder,
                                                  Report& report);

}  // namespace cinnabar::tools::group_files
