// SPDX-License-Identifier: BSD-3-Clause
// Divides the files of a pack among disk threads.
#pragma once

#include "session/disk.hpp"

#include <cinnabar/hl/task.hpp>

#include <cstddef>
#include <functional>

namespace cinnabar::files {

// Handles the files of a pack from `begin` to before `end`. Must not throw.
using PackWork = std::function<void(std::size_t begin, std::size_t end)>;

// Divides `files` files into parts, and calls `work` for each part on a disk thread, for several parts at the same
// time. Ends when all parts have ended. `disk` and `work` must live until then.
[[nodiscard]] hl::Task<void> run_in_parts(Disk& disk, std::size_t files, const PackWork& work);

}  // namespace cinnabar::files
