// SPDX-License-Identifier: BSD-3-Clause
// The sessions of a port with operations to copy, which take turns. Owner of the context only.
#pragma once

#include "session.hpp"

#include <algorithm>

namespace cinnabar::shm {

class CopyQueue {
  public:
    [[nodiscard]] bool empty() const noexcept { return sessions_.empty(); }
    void add(Session& session) noexcept {
        if (!Sessions::linked(session)) sessions_.push_back(session);
    }
    void remove(Session& session) noexcept {
        if (Sessions::linked(session)) sessions_.remove(session);
    }
    // Copies about `bytes`. Returns the number of windows.
    unsigned copy(std::uint64_t bytes) noexcept {
        unsigned did = 0;
        for (; bytes > 0; ++did) {
            Session* const session = sessions_.pop_front();
            if (!session) break;
            // An operation of 0 bytes counts as well, so that the loop ends.
            bytes -= std::min(bytes, std::max<std::uint64_t>(session->copier().copy_next(bytes), 4096));
            if (session->copier().copies()) sessions_.push_back(*session);
        }
        return did;
    }

  private:
    using Sessions = IntrusiveList<Session, &Session::copy_link>;
    Sessions sessions_;
};

}  // namespace cinnabar::shm
