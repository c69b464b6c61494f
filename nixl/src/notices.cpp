// SPDX-License-Identifier: BSD-3-Clause
#include "notices.hpp"

#include <iterator>
#include <utility>

namespace cinnabar::nixl {

Errc Notices::add(std::string agent, std::string message) {
    const std::size_t bytes = sizeof(notif_list_t::value_type) + agent.size() + message.size();
    const std::lock_guard lock(mutex_);
    if (bytes > bytes_max - bytes_) return Errc::overloaded;
    waiting_.emplace_back(std::move(agent), std::move(message));
    bytes_ += bytes;
    return Errc::ok;
}

void Notices::take(notif_list_t& out) {
    const std::lock_guard lock(mutex_);
    std::move(waiting_.begin(), waiting_.end(), std::back_inserter(out));
    waiting_.clear();
    bytes_ = 0;
}

}  // namespace cinnabar::nixl
