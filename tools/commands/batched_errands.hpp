// SPDX-License-Identifier: BSD-3-Clause
// Errands that one call does: small files, and folders, links and removals. One thread.
#pragma once

#include "commands/transfer.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <vector>

namespace cinnabar::tools {

// Whether the errand may be done in one call with others.
[[nodiscard]] bool may_go_together(const Errand& errand) noexcept;
// Whether both may be done in one call.
[[nodiscard]] bool go_together(const Errand& one, const Errand& other);

// Does errands in one call. Requires: at most files::small_files_max errands, each of which may share a call with the
// first. Returns one result for each errand, in order. The errands must live until the task ends.
[[nodiscard]] hl::Task<std::vector<Result<files::Moved>>> move_in_one_call(files::Client& session,
                                                                           const std::vector<Errand*>& errands);

// Ignores that a removed entry was gone already, for example because the answer to an earlier attempt was lost.
[[nodiscard]] Result<void> unless_gone(Result<void> removed);

}  // namespace cinnabar::tools
