// SPDX-License-Identifier: BSD-3-Clause
// A `cinnabar serve` of a figure, and the clients' command lines.
#pragma once

#include "../harness/child.hpp"
#include "../harness/usage.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cinnabar::bench {

// Serves `root` over tcp on a core of its own as long as this object. `tool`: the path of the command.
class SaveServer {
  public:
    SaveServer(Cores cores, std::string tool, const std::filesystem::path& root);

    // Of a `cinnabar save` of that file or folder into the root. `more`: further options.
    [[nodiscard]] std::vector<std::string> save(const std::filesystem::path& source,
                                                const std::vector<std::string>& more = {}) const;
    // Of a `cinnabar fetch` of that name in the root, into the folder `to`.
    [[nodiscard]] std::vector<std::string> fetch(const std::string& name, const std::filesystem::path& to,
                                                 const std::vector<std::string>& more = {}) const;
    [[nodiscard]] const std::string& uri() const noexcept { return uri_; }
    [[nodiscard]] pid_t pid() const noexcept { return daemon_.pid(); }

  private:
    std::string tool_;
    Daemon daemon_;
    std::string uri_;
};

// The words as one line for a shell. Requires: none has a quotation mark.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

}  // namespace cinnabar::bench
