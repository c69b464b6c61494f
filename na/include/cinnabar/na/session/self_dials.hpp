// SPDX-License-Identifier: BSD-3-Clause
// SelfDials: detects that this process has dialled itself. SelfDials holds the local and remote addresses of the TCP
// connections that this process is dialling. If an accepted socket has the same two addresses, both ends belong to this
// process, since no other process can have such a socket, whatever incarnation it claims. Such a connection is
// accepted. A dial of this process that an attacker has led back to this process has other addresses, and is refused
// (reflected_dial.hpp). Any thread.
#pragma once

#include <cinnabar/na/session/socket_address.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace cinnabar::na {

class SelfDials {
  public:
    // Call before the dialling side sends its greeting, and remove() when the answer has arrived. False: out of memory.
    [[nodiscard]] bool add(const SocketAddress& local, const SocketAddress& remote) noexcept {
        const std::lock_guard lock(mutex_);
        try {
            dials_.emplace_back(local, remote);
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }
    void remove(const SocketAddress& local, const SocketAddress& remote) noexcept {
        const std::lock_guard lock(mutex_);
        const auto at = std::find(dials_.begin(), dials_.end(), std::pair(local, remote));
        if (at != dials_.end()) dials_.erase(at);
    }
    // Whether this process itself dialled the connection of an accepted socket. Requires: the socket has received the
    // greeting and has not been answered.
    [[nodiscard]] bool has(int accepted) const noexcept {
        const std::pair ends(SocketAddress::peer_of(accepted), SocketAddress::local_of(accepted));
        const std::lock_guard lock(mutex_);
        return std::find(dials_.begin(), dials_.end(), ends) != dials_.end();
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::pair<SocketAddress, SocketAddress>> dials_;
};

}  // namespace cinnabar::na
