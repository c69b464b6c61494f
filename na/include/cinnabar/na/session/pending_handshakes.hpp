// SPDX-License-Identifier: BSD-3-Clause
// The pending handshakes of a port: incoming connections whose greeting has not arrived. Owner of the context only.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/session/acceptor.hpp>
#include <cinnabar/na/session/pending_sources.hpp>

#include <utility>

namespace cinnabar::na {

// A Handshake is a PoolSlot with `ListLink<Handshake> link`, start(OwnPort&, UniqueFd) and drop(), which calls left().
template <typename OwnPort, typename Handshake>
class PendingHandshakes final : public Acceptor {
  public:
    // The maximum number of pending handshakes of a port. At this limit, the source that has the most handshakes loses
    // its oldest one, so that neither silent connections nor a host that connects again and again can keep others out.
    static constexpr std::uint32_t pending_max = PendingSources::pending_max;

    PendingHandshakes(OwnPort& port, PortHost& host, const char* scheme) noexcept
        : Acceptor(host, scheme), port_(port), pool_(ThreadUse::one, pending_max) {}

    void close() noexcept {
        stop();
        while (make_room()) continue;
    }
    // Call when the handshake was dropped, or when its greeting has arrived.
    void left(Handshake& handshake) noexcept {
        pending_.remove(handshake);
        sources_.leave(handshake.slot_index);
        pool_.release(handshake);
    }

  private:
    void admit(UniqueFd fd) noexcept override {
        if (pool_.taken() == pending_max) (void)make_room();
        Handshake* handshake = pool_.acquire();
        if (!handshake) return no_memory();
        pending_.push_back(*handshake);
        sources_.enter(handshake->slot_index, source_of_connection(fd.get()));
        handshake->start(port_, std::move(fd));
    }
    [[nodiscard]] bool may_accept() const noexcept override { return port_.may_accept(); }
    [[nodiscard]] bool make_room() noexcept override {
        const std::uint32_t most = sources_.most();
        Handshake* oldest = pending_.front();
        while (oldest && sources_.beside(oldest->slot_index) != most) oldest = pending_.next(*oldest);
        if (oldest) oldest->drop();
        return oldest != nullptr;
    }

    OwnPort& port_;
    SlotPool<Handshake> pool_;
    IntrusiveList<Handshake, &Handshake::link> pending_;  // oldest first
    PendingSources sources_;
};

}  // namespace cinnabar::na
