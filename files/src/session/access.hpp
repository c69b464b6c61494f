// SPDX-License-Identifier: BSD-3-Clause
// Decides what a client may do: by the server's policy, then by its hook. Any thread.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/access_policy.hpp>
#include <cinnabar/files/server.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace cinnabar::files {

class Access {
  public:
    // `hooks` must outlive this object. `policy` may be null.
    Access(std::shared_ptr<const AccessPolicy> policy, const ServerHooks& hooks) noexcept
        : hooks_(hooks), policy_(std::move(policy)) {}

    void replace_policy(std::shared_ptr<const AccessPolicy> policy) {
        const std::lock_guard lock(mutex_);
        policy_.swap(policy);
    }
    [[nodiscard]] std::shared_ptr<const AccessPolicy> policy() const {
        const std::lock_guard lock(mutex_);
        return policy_;
    }
    [[nodiscard]] Result<void> may(const AccessRequest& access) const {
        if (const auto policy = this->policy()) CINNABAR_TRY_VOID(policy->may(access));
        return hooks_.may_access ? hooks_.may_access(access) : Result<void>();
    }

  private:
    const ServerHooks& hooks_;
    mutable std::mutex mutex_;
    std::shared_ptr<const AccessPolicy> policy_;
};

}  // namespace cinnabar::files
