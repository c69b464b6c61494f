// SPDX-License-Identifier: BSD-3-Clause
// The lanes whose guard has already read bytes from the socket. epoll does not report these bytes, so the lanes are
// read without an event. Owner of the context only.
#pragma once

#include "lane.hpp"

namespace cinnabar::tcp {

class UnreadLanes {
  public:
    [[nodiscard]] bool empty() const noexcept { return list_.empty(); }
    void add(Lane& lane) noexcept {
        if (!List::linked(lane)) list_.push_back(lane);
    }
    void remove(Lane& lane) noexcept {
        if (List::linked(lane)) list_.remove(lane);
    }
    // Reads each once; those that are added meanwhile are read by the next call. Returns the work done.
    unsigned receive() noexcept {
        List now;
        now.splice_back(list_);
        unsigned did = 0;
        while (Lane* lane = now.pop_front()) did += lane->receive();
        return did;
    }

  private:
    using List = IntrusiveList<Lane, &Lane::unread_link>;
    List list_;
};

}  // namespace cinnabar::tcp
