// SPDX-License-Identifier: BSD-3-Clause
// The file of `serve --policy`. The file is checked for changes while the server runs, and new rules apply at once. If
// a new version cannot be used, the old rules stay in force and the log says why.
#pragma once

#include <cinnabar/base/file_watch.hpp>
#include <cinnabar/files/access_policy.hpp>
#include <cinnabar/files/server.hpp>

#include <memory>
#include <mutex>
#include <string>

namespace cinnabar::tools {

class PolicyFile {
  public:
    // `path` may be empty: no policy.
    explicit PolicyFile(std::string path);

    // Loads the policy; null if no path was given. Errors of AccessPolicy::load().
    [[nodiscard]] Result<std::shared_ptr<const files::AccessPolicy>> load() const;

  private:
    friend class FollowedPolicy;
    std::string path_;
    FileWatch changes_;
};

// Updates the server's policy from the file for as long as this object lives. Destroy it before the server.
class FollowedPolicy {
  public:
    // io: no thread can be started.
    [[nodiscard]] static Result<std::unique_ptr<FollowedPolicy>> make(PolicyFile& file, files::Server& server);
    ~FollowedPolicy();
    FollowedPolicy(const FollowedPolicy&) = delete;
    FollowedPolicy& operator=(const FollowedPolicy&) = delete;

  private:
    struct Follower {
        std::mutex mutex;
        files::Server* server;  // null: the server has ended
        [[nodiscard]] bool load_again(const std::string& path);
    };
    explicit FollowedPolicy(std::shared_ptr<Follower> follower) noexcept;
    std::shared_ptr<Follower> follower_;  // shared with the thread
};

}  // namespace cinnabar::tools
