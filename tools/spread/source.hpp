// SPDX-License-Identifier: BSD-3-Clause
// What `cinnabar save --group` saves: the files of the command line, and what is in its folders.
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

namespace cinnabar::tools::spread {

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

// Finds what is to be saved below `folder` of the servers. Reports what cannot be read, and goes on. Empty: two would
// get one name, which was reported.
[[nodiscard]] std::optional<Sources> find_sources(const SaveOptions& options, const std::string& folder,
                                                  Report& report);

}  // namespace cinnabar::tools::spread
