// SPDX-License-Identifier: BSD-3-Clause
// The pending handshakes of a port: incoming connections whose greeting has not arrived. Owner of the context only.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/session/acceptor.hpp>

#include <utility>

namespace cinnabar::na {

// A Handshake is a PoolSlot with `ListLink<Handshake> link`, start(OwnPort&, UniqueFd) and drop(), which calls left().
template <typename OwnPort, typename Handshake>
class PendingHandshakes final : public Acceptor {
  public:
    // Beyond this number the oldest is dropped, so that silent connections cannot keep others out.
    static constexpr std::uint32_t pending_max = 256;

    PendingHandshakes(OwnPort& port, PortHost& host, const char* scheme) noexcept
        : Acceptor(host, scheme), port_(port), pool_(Threads::one, pending_max) {}

    void close() noexcept {
        stop();
        while (make_room()) continue;
    }
    // The handshake was dropped, or its greeting has arrived.
    void left(Handshake& handshake) noexcept {
        pending_.remove(handshake);
        pool_.release(handshake);
    }

  private:
    void admit(UniqueFd fd) noexcept override {
        if (pool_.taken() == pending_max) (void)make_room();
        Handshake* handshake = pool_.acquire();
        if (!handshake) return no_memory();
        pending_.push_back(*handshake);
        handshake->start(port_, std::move(fd));
    }
    [[nodiscard]] bool may_accept() const noexcept override { return port_.may_accept(); }
    // Drops the oldest.
    [[nodiscard]] bool make_room() noexcept override {
        Handshake* oldest = pending_.front();
        if (oldest) oldest->drop();
        return oldest != nullptr;
    }

    OwnPort& port_;
    SlotPool<Handshake> pool_;
    IntrusiveList<Handshake, &Handshake::link> pending_;
};

}  // namespace cinnabar::na
