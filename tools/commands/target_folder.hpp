// SPDX-License-Identifier: BSD-3-Clause
// The local folder that files are fetched into.
#pragma once

#include "commands/commands.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/root.hpp>
#include <cinnabar/hl/task.hpp>

#include <optional>
#include <string>

namespace cinnabar::tools {

// Opens the destination folder. Unless this is a dry run, makes the folder if it does not exist, and removes from it
// the remains of killed fetches that no fetch can resume. Empty: this is a dry run, and the folder does not exist.
// Errors: those of file_error() and Root::open().
[[nodiscard]] Result<std::optional<files::Root>> open_target_folder(const FetchOptions& options);

// Lists all entries of a folder below `into`, which must live until the task ends. `no_links_below`, and the errors: as
// in Root::list().
[[nodiscard]] hl::Task<Result<files::Listing>> list_here(const files::Root& into, std::string name,
                                                         std::optional<std::string> no_links_below = {});

}  // namespace cinnabar::tools
