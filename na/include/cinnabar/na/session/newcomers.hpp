// SPDX-License-Identifier: BSD-3-Clause
// The bounded crowd that came in at a port and has not said who it is. Owner of the context only.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/session/acceptor.hpp>

#include <utility>

namespace cinnabar::na {

// A Newcomer is a PoolSlot with `ListLink<Newcomer> link`, start(OwnPort&, UniqueFd), and drop(), which ends in left().
template <typename OwnPort, typename Newcomer>
class Newcomers final : public Acceptor {
  public:
    // More at once, and the oldest are dropped: a scanner that stays silent cannot keep others out.
    static constexpr std::uint32_t unknown_max = 256;

    Newcomers(OwnPort& port, PortHost& host, const char* scheme) noexcept
        : Acceptor(host, scheme), port_(port), pool_(Threads::one, unknown_max) {}

    void close() noexcept {
        stop();
        while (make_room()) continue;
    }
    // It was dropped, or its Hello is done.
    void left(Newcomer& newcomer) noexcept {
        waiting_.remove(newcomer);
        pool_.release(newcomer);
    }

  private:
    void admit(UniqueFd fd) noexcept override {
        // What has been silent longest makes room.
        if (pool_.taken() == unknown_max) (void)make_room();
        Newcomer* newcomer = pool_.acquire();
        if (!newcomer) return;
        waiting_.push_back(*newcomer);
        newcomer->start(port_, std::move(fd));
    }
    [[nodiscard]] bool make_room() noexcept override {
        Newcomer* oldest = waiting_.front();
        if (oldest) oldest->drop();
        return oldest != nullptr;
    }

    OwnPort& port_;
    SlotPool<Newcomer> pool_;
    IntrusiveList<Newcomer, &Newcomer::link> waiting_;
};

}  // namespace cinnabar::na
