// SPDX-License-Identifier: BSD-3-Clause
// A file that one node lends and another pulls.
#pragma once

#include "../harness/subject.hpp"
#include "endpoint.hpp"

#include <filesystem>
#include <memory>

namespace cinnabar::bench {

// The client lends the whole file, and the server pulls it over tcp, piece by piece, into `room_bytes` of memory. Nodes
// with default options. A slice is one file. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_file_send(Cores cores, std::filesystem::path source,
                                                      std::size_t room_bytes);

// The client lends the whole file, and the server pulls it over `wire` into a new file in `folder`. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_file_copy(Cores cores, std::filesystem::path source,
                                                      std::filesystem::path folder, Wire wire);

}  // namespace cinnabar::bench
