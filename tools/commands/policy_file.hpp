// SPDX-License-Identifier: BSD-3-Clause
// The file of `serve --policy`. It is looked at while the server runs, and its rules hold as soon as it has changed;
// one that cannot be used is told in the log, and the rules from before stay.
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
    // `path`: empty: there is none.
    explicit PolicyFile(std::string path);

    // Errors of AccessPolicy::load. Null: there is no file.
    [[nodiscard]] Result<std::shared_ptr<const files::AccessPolicy>> load() const;

  private:
    friend class FollowedPolicy;
    std::string path_;
    FileWatch changes_;
};

// From its making on the server goes by the file, until this is destroyed, which is before the server is.
class FollowedPolicy {
  public:
    // io: no thread can be made.
    [[nodiscard]] static Result<std::unique_ptr<FollowedPolicy>> make(PolicyFile& file, files::Server& server);
    ~FollowedPolicy();
    FollowedPolicy(const FollowedPolicy&) = delete;
    FollowedPolicy& operator=(const FollowedPolicy&) = delete;

  private:
    struct Follower {
        std::mutex mutex;
        files::Server* server;  // null: it has ended
        [[nodiscard]] bool load_again(const std::string& path);
    };
    explicit FollowedPolicy(std::shared_ptr<Follower> follower) noexcept;
    std::shared_ptr<Follower> follower_;  // also the thread's
};

}  // namespace cinnabar::tools
