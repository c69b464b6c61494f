// SPDX-License-Identifier: BSD-3-Clause
// The Rpcs that a process serves for a group. Any thread.
#pragma once

#include "signal.hpp"

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/group/erased.hpp>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace cinnabar::group {

class ServedRpcs {
  public:
    // exists: the group serves this Rpc already.
    Result<void> add(detail::ServedRpc served) {
        const rpc::RpcId id = served.id;
        std::shared_ptr<Signal> added = std::make_shared<Signal>();
        {
            const std::lock_guard lock(mutex_);
            const bool is_new = by_id_.emplace(id, std::make_shared<detail::ServedRpc>(std::move(served))).second;
            if (!is_new) return Error(Errc::exists, "the group serves this Rpc already");
            added.swap(added_);
        }
        added->set();
        return {};
    }
    // A signal that is set when the next Rpc is added.
    [[nodiscard]] std::shared_ptr<Signal> next_added() const {
        const std::lock_guard lock(mutex_);
        return added_;
    }
    // Null: not served here.
    [[nodiscard]] std::shared_ptr<const detail::ServedRpc> find(rpc::RpcId id) const {
        const std::lock_guard lock(mutex_);
        const auto at = by_id_.find(id);
        return at == by_id_.end() ? nullptr : at->second;
    }

  private:
    mutable std::mutex mutex_;
    std::unordered_map<rpc::RpcId, std::shared_ptr<const detail::ServedRpc>> by_id_;
    std::shared_ptr<Signal> added_ = std::make_shared<Signal>();
};

}  // namespace cinnabar::group
