// SPDX-License-Identifier: BSD-3-Clause
// The local folder that files are fetched into.
#pragma once

#include "commands/commands.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/root.hpp>

#include <optional>

namespace cinnabar::tools {

// Opens the destination folder, and makes it unless this is a dry run. Empty: it is a dry run and the folder does not
// exist. Removes what killed fetches left there and no fetch can resume. Errors of file_error() and Root::open().
[[nodiscard]] Result<std::optional<files::Root>> open_target_folder(const FetchOptions& options);

}  // namespace cinnabar::tools
