// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar save` of a folder to a `cinnabar serve` that runs for the whole figure. Work: files; a slice is one save.
#pragma once

#include "../harness/subject.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::bench {

// The server runs on a core of its own and writes to `target_root`. `more`: options for the client.
[[nodiscard]] std::unique_ptr<Subject> make_our_tree_save(Cores cores, std::string tool,
                                                          const std::filesystem::path& source,
                                                          const std::filesystem::path& target_root,
                                                          const std::vector<std::string>& more);

}  // namespace cinnabar::bench
