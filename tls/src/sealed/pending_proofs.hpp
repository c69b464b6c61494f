// SPDX-License-Identifier: BSD-3-Clause
// Incoming connections that have not proven their identity yet: at most 256. If there are 256 and one more arrives, the
// source that has the most of these connections (na::Source: an address, or the hash of a host name) loses its oldest
// one. Pending handshakes on sockets have the same rule (na/session/pending_sources.hpp). Owner of the context only.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/session/pending_sources.hpp>

#include <string_view>

namespace cinnabar::tls {

class SealedSession;

struct PendingProof : PoolSlot {
    ListLink<PendingProof> link;  // oldest first
    SealedSession* session = nullptr;
};

// The source of a connection from "scheme://HOST:PORT", as na::source_of for a numeric host.
[[nodiscard]] na::Source source_of_endpoint(std::string_view from) noexcept;

class PendingProofs {
  public:
    static constexpr std::uint32_t pending_max = na::PendingSources::pending_max;

    PendingProofs() : pool_(ThreadUse::one, pending_max) {}

    [[nodiscard]] bool full() const noexcept { return pool_.taken() == pending_max; }
    // The session to end so that another one has room; null: there is none.
    [[nodiscard]] SealedSession* to_drop() const noexcept;
    // Null: full, or out of memory.
    [[nodiscard]] PendingProof* enter(SealedSession& session, na::Source source) noexcept;
    void leave(PendingProof& pending) noexcept;

  private:
    SlotPool<PendingProof> pool_;
    IntrusiveList<PendingProof, &PendingProof::link> pending_;
    na::PendingSources sources_;
};

}  // namespace cinnabar::tls
