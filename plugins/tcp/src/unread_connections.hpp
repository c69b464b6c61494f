// SPDX-License-Identifier: BSD-3-Clause
// The connections of a port whose guard has already read bytes from the socket: epoll no longer reports these bytes.
// Owner of the context only.
#pragma once

#include "connection.hpp"

namespace cinnabar::tcp {

class UnreadConnections {
  public:
    [[nodiscard]] bool empty() const noexcept { return list_.empty(); }
    void add(Connection& connection) noexcept {
        if (!List::linked(connection)) list_.push_back(connection);
    }
    void remove(Connection& connection) noexcept {
        if (List::linked(connection)) list_.remove(connection);
    }
    // Reads each once; those that are added meanwhile are read by the next call. Returns the work done.
    unsigned receive() noexcept {
        List now;
        now.splice_back(list_);
        unsigned did = 0;
        while (Connection* connection = now.pop_front()) did += connection->receive();
        return did;
    }

  private:
    using List = IntrusiveList<Connection, &Connection::unread_link>;
    List list_;
};

}  // namespace cinnabar::tcp
