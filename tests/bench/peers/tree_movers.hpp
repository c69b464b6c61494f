// SPDX-License-Identifier: BSD-3-Clause
// Other programs that move a folder: `rsync -a` to its own daemon, and `tar` through a socket of the loopback. Work:
// files; a slice is one complete move.
#pragma once

#include "../harness/subject.hpp"

#include <filesystem>
#include <memory>

namespace cinnabar::bench {

// The daemon runs on a core of its own for the whole figure, and writes below `target_root`.
[[nodiscard]] std::unique_ptr<Subject> make_rsync(Cores cores, const std::filesystem::path& source,
                                                  const std::filesystem::path& target_root);
[[nodiscard]] std::unique_ptr<Subject> make_tar(const std::filesystem::path& source,
                                                const std::filesystem::path& target_root);

}  // namespace cinnabar::bench
