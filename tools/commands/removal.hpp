// SPDX-License-Identifier: BSD-3-Clause
// Removes a folder of a server and all below it: lists several folders at once, and removes many entries in one call.
// One thread.
#pragma once

#include "commands/manager.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <deque>
#include <memory>
#include <optional>
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

    // Removes the contents of the folder, and finally the folder itself. Follows no symbolic link below the folder,
    // even if a folder is replaced by a link meanwhile. Reports the error of an entry and removes the other entries,
    // unless the error ends the session. Returns the error that ended the session, or the error of the folder itself.
    [[nodiscard]] hl::Task<Result<void>> run();

  private:
    // A folder that was found, until everything in it has been added.
    struct Found {
        std::string name;
        std::shared_ptr<Found> in;  // null: the top
        std::size_t left = 0;       // how many folders in it are still to be added
    };
    // Lists the next folders, and adds what is in them.
    [[nodiscard]] hl::Task<void> list_some();
    void take(const std::shared_ptr<Found>& folder, const files::Listing& listing);
    // Adds the folder itself, unless it failed, and then each parent folder whose contents have now all been added.
    // Call close() when all that is in the folder has been added, or when the folder could not be listed (`failed`).
    void close(const Found& folder, bool failed);
    // Removes added entries, one full batch with each call; entries that do not fill a batch stay for the next time.
    // `all`: removes the rest as well.
    [[nodiscard]] hl::Task<void> remove_added(bool all);
    [[nodiscard]] hl::Task<void> remove_together(std::vector<std::string> names);
    // Ends the removal.
    void end(const Error& why) {
        if (!end_) end_ = why;
    }

    Manager& manager_;
    files::Client& session_;
    const std::string& top_;
    // Found folders. The folders found last are listed first, so that only few folders are unfinished at once.
    std::vector<std::shared_ptr<Found>> unlisted_;
    // Added entries: each folder comes after everything in it. They are removed in this order, one call after another.
    std::deque<std::string> added_;
    std::optional<Error> end_;
};

}  // namespace cinnabar::tools
