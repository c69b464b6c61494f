// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar save` to a `cinnabar serve` that runs for the whole figure. Work: bytes of the file; a slice is one save.
#pragma once

#include "../harness/subject.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::bench {

// `tool` is the path of the command. The server runs on a core of its own, listens at `listen` and writes to
// `target_root`. `more`: options for the client.
[[nodiscard]] std::unique_ptr<Subject> make_our_save(Cores cores, std::string tool, std::filesystem::path source,
                                                     const std::filesystem::path& target_root,
                                                     const std::string& listen = "tcp://127.0.0.1:0",
                                                     const std::vector<std::string>& more = {});

}  // namespace cinnabar::bench
