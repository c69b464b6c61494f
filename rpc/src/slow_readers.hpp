// SPDX-License-Identifier: BSD-3-Clause
// Refuses requests for which there is no slot. A control record, which needs no slot, tells the origin, and the credit
// of the request is destroyed. If slots stay scarce, the peer with the most unread replies is disconnected, rather than
// the peers whose requests are refused. Owner of the context only.
#pragma once

#include "context_base.hpp"
#include "peer_book.hpp"

#include <cinnabar/base/timer_of.hpp>

#include <cstdint>

namespace cinnabar::rpc {

class Control;
class CreditPool;
class Peers;
class Target;

class SlowReaders {
  public:
    SlowReaders(ContextBase& base, const Target& target, CreditPool& credits, Peers& peers, Control& control) noexcept;

    // `flags`: of the request's header; 0 if the header is malformed.
    void refuse(PeerBook& book, std::uint64_t id, std::uint16_t flags) noexcept;
    void close() noexcept;

  private:
    void watch() noexcept;
    void disconnect_worst() noexcept;

    ContextBase& base_;
    const Target& target_;
    CreditPool& credits_;
    Peers& peers_;
    Control& control_;
    TimerOf<SlowReaders> look_;  // armed when a request was refused
};

}  // namespace cinnabar::rpc
