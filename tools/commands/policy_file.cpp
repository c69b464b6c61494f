// SPDX-License-Identifier: BSD-3-Clause
#include "commands/policy_file.hpp"

#include <cinnabar/base/log.hpp>

#include <utility>

namespace cinnabar::tools {

PolicyFile::PolicyFile(std::string path) : path_(std::move(path)), changes_({path_}) {}

Result<std::shared_ptr<const files::AccessPolicy>> PolicyFile::load() const {
    if (path_.empty()) return std::shared_ptr<const files::AccessPolicy>();
    return files::AccessPolicy::load(path_);
}

Result<std::unique_ptr<FollowedPolicy>> FollowedPolicy::make(PolicyFile& file, files::Server& server) {
    auto follower = std::make_shared<Follower>();
    follower->server = &server;
    if (!file.path_.empty())
        CINNABAR_TRY_VOID(file.changes_.start([follower, path = file.path_] { return follower->load_again(path); }));
    return std::unique_ptr<FollowedPolicy>(new FollowedPolicy(std::move(follower)));
}

FollowedPolicy::FollowedPolicy(std::shared_ptr<Follower> follower) noexcept : follower_(std::move(follower)) {}

FollowedPolicy::~FollowedPolicy() {
    const std::lock_guard lock(follower_->mutex);
    follower_->server = nullptr;
}

bool FollowedPolicy::Follower::load_again(const std::string& path) {
    auto loaded = files::AccessPolicy::load(path);
    if (!loaded) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, "files", {error_field(loaded.error().code)},
                    "the new policy cannot be used, the old rules stay: %s", loaded.error().message().c_str());
        return false;
    }
    const std::lock_guard lock(mutex);
    if (!server) return true;
    server->replace_policy(*std::move(loaded));
    log(LogLevel::info, "files", "the new policy is in use from now on");
    return true;
}

}  // namespace cinnabar::tools
