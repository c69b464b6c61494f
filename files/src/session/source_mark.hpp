// SPDX-License-Identifier: BSD-3-Clause
// The mark of a source file lets a server recognise, when a save is repeated, that the client has the same file in the
// same state as before. The mark tells the server nothing else.
#pragma once

#include <cinnabar/files/source_file.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace cinnabar::files {

// HMAC-SHA256 of the file's stamp, the server and the name on the server; the key is a number that this host chose at
// its last start. So a server cannot use a mark at another server, and cannot tell which of its names have the same
// source. All zeros: no mark.
using SourceMark = std::array<std::uint8_t, 32>;

// `server`: the server's address, as it was dialled. No mark if changes of the file cannot be detected.
[[nodiscard]] SourceMark mark_of(const SourceFile& source, std::string_view server, std::string_view name);

}  // namespace cinnabar::files
