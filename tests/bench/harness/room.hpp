// SPDX-License-Identifier: BSD-3-Clause
// How much of the memory a figure may use: files on tmpfs are memory, too, and a machine without any left kills
// processes of others.
#pragma once

#include <cstdint>
#include <string>

namespace cinnabar::bench {

// Three fifths of what the system could give to programs now, in bytes.
[[nodiscard]] std::uint64_t memory_to_use();
// The same for files on tmpfs, which may have less room.
[[nodiscard]] std::uint64_t room_for_files();

// `wanted`, or the largest half, quarter, ... of it of which `times` fit into `room`. Throws std::runtime_error if not
// even `least` does.
[[nodiscard]] std::uint64_t size_that_fits(std::uint64_t wanted, std::uint64_t least, std::uint64_t times,
                                           std::uint64_t room);
// "4 GiB", or "1 GiB for lack of room".
[[nodiscard]] std::string size_remark(std::uint64_t bytes, std::uint64_t wanted);

}  // namespace cinnabar::bench
