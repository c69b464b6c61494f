// SPDX-License-Identifier: BSD-3-Clause
// By its mark a server recognises, when a save is repeated, that the client has the same file in the same state as
// before. The mark tells the server nothing else.
#pragma once

#include <cinnabar/files/source_file.hpp>

#include <array>
#include <cstdint>

namespace cinnabar::files {

// HMAC-SHA256 of the file's stamp, with a number that this host chose at its last start. All zeros: no mark.
using SourceMark = std::array<std::uint8_t, 32>;

// No mark if changes of the file cannot be told.
[[nodiscard]] SourceMark mark_of(const SourceFile& source);

}  // namespace cinnabar::files
