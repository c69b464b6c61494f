// SPDX-License-Identifier: BSD-3-Clause
// The connections of a port that have something to send: ready (the next flush sends) or blocked (the last send found
// no room). Owner of the context only.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>

namespace cinnabar::na {

// T has `ListLink<T> output_link`, `bool blocked` and transmit(), which sends what it can and adds itself again if
// something is left.
template <typename T>
class OutputLists {
  public:
    using List = IntrusiveList<T, &T::output_link>;

    // Whether none is ready; some may be blocked.
    [[nodiscard]] bool empty() const noexcept { return ready_.empty(); }
    [[nodiscard]] const List& blocked() const noexcept { return blocked_; }

    // Call when a connection has something to send. A blocked connection stays blocked.
    void add(T& each) noexcept {
        if (!List::linked(each)) ready_.push_back(each);
    }
    void add_first(T& each) noexcept {
        if (!List::linked(each)) ready_.push_front(each);
    }
    // As add(), but a blocked connection becomes ready.
    void retry(T& each) noexcept {
        if (each.blocked) remove(each);
        add(each);
    }
    // Call when a connection has something to send, but there is no room.
    void block(T& each) noexcept {
        remove(each);
        each.blocked = true;
        blocked_.push_back(each);
    }
    // Takes a connection out of its list, because it has nothing to send or is about to send.
    void remove(T& each) noexcept {
        if (List::linked(each)) (each.blocked ? blocked_ : ready_).remove(each);
        each.blocked = false;
    }

    // Calls transmit() for each ready connection. Those that become ready meanwhile wait for the next call.
    void transmit() noexcept {
        List now;
        now.splice_back(ready_);
        while (T* each = now.pop_front()) each->transmit();
    }
    // Retries at most `tries_max` blocked connections, in turn. Returns how many are no longer blocked.
    unsigned transmit_blocked(unsigned tries_max) noexcept {
        unsigned did = 0;
        const T* const last = blocked_.back();
        for (unsigned i = 0; i < tries_max && !blocked_.empty(); ++i) {
            T& each = *blocked_.pop_front();
            each.blocked = false;
            each.transmit();
            did += each.blocked ? 0 : 1;
            if (&each == last) break;
        }
        return did;
    }

  private:
    List ready_;
    List blocked_;
};

}  // namespace cinnabar::na
