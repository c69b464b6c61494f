// SPDX-License-Identifier: BSD-3-Clause
// Removes a folder of a server and all below it, many entries in one call. One thread.
#pragma once

#include "commands/manager.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <string>
#include <vector>

namespace cinnabar::tools {

// Removes one entry, and prints that it is gone.
[[nodiscard]] hl::Task<Result<void>> remove_one(Manager& manager, files::Client& session, const std::string& name);

class TreeRemoval {
  public:
    // Removes the folder `name`. The references must stay valid until run() ends.
    TreeRemoval(Manager& manager, files::Client& session, const std::string& name)
        : manager_(manager), session_(session), top_(name) {}

    // Removes what is in the folder, and finally the folder itself. Below it no symbolic link is followed, even if a
    // folder becomes one meanwhile. The error of one entry is reported and the others are removed, unless it ends the
    // session. Returns the error that ended the session, or that of the folder.
    [[nodiscard]] hl::Task<Result<void>> run();

  private:
    [[nodiscard]] hl::Task<Result<void>> remove_below(const std::string& folder);
    [[nodiscard]] hl::Task<Result<void>> remove_entry(const std::string& folder, const files::Entry& entry);
    // Adds an entry that comes after everything in it.
    [[nodiscard]] hl::Task<Result<void>> add(const std::string& name);
    // Removes what was added.
    [[nodiscard]] hl::Task<Result<void>> flush();

    Manager& manager_;
    files::Client& session_;
    const std::string& top_;
    std::vector<std::string> names_;
};

}  // namespace cinnabar::tools
