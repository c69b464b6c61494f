// SPDX-License-Identifier: BSD-3-Clause
// Transfers parts of a window between a buffer and lent memory, several at a time.
#pragma once

#include "file/blocks.hpp"
#include "session/buffers.hpp"

#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstdint>
#include <span>

namespace cinnabar::files {

// Pulls the ranges from `window` into the buffer. protocol: a transfer was short. Also the errors of transfers.
[[nodiscard]] hl::Task<Result<void>> pull_ranges(const Buffer& buffer, const hl::Bulk& window,
                                                 std::span<const ByteRange> ranges);
// Pushes the ranges from the buffer to `window`. Errors as above.
[[nodiscard]] hl::Task<Result<void>> push_ranges(const Buffer& buffer, const hl::Bulk& window,
                                                 std::span<const ByteRange> ranges);

}  // namespace cinnabar::files
