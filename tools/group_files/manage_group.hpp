// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar remove`, `stat` and `verify` with --group.
#pragma once

#include "commands/manager.hpp"

namespace cinnabar::tools::group_files {

// Does `work` with each name at every server of the group that has the name, even at servers that placement would not
// choose. A name that no server has is a failure, and so are copies whose checksums differ.
[[nodiscard]] ExitCode manage_group(const ManageOptions& options, ManageWork work);

}  // namespace cinnabar::tools::group_files
