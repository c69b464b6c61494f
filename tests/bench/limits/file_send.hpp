// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "../harness/subject.hpp"

#include <filesystem>
#include <memory>

namespace cinnabar::bench {

// `sendfile` of the whole file to a process that receives it into memory of `room_bytes`, reusing it from the
// beginning. Both ends block. A slice is one file. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_bare_sendfile(Cores cores, std::filesystem::path source,
                                                          std::size_t room_bytes);

}  // namespace cinnabar::bench
