// SPDX-License-Identifier: BSD-3-Clause
// Requests for which there is no slot, and who pays for it. The origin is told by a control record, which needs none,
// and its credit comes back. If slots stay scarce, the peer with the most replies that it does not read is
// disconnected: it pays, and not those whose requests are refused. Owner of the context only.
#pragma once

#include "peer_book.hpp"

#include <cinnabar/base/timer_of.hpp>

namespace cinnabar::rpc {

class Debtors {
  public:
    explicit Debtors(ContextCore& core) noexcept;

    // `flags`: of the request's header; 0 where that makes no sense.
    void refuse(PeerBook& book, std::uint64_t id, std::uint16_t flags) noexcept;
    void close() noexcept;

  private:
    void watch() noexcept;
    void disconnect_worst() noexcept;

    ContextCore& core_;
    TimerOf<Debtors> look_;  // armed since a request was refused
};

}  // namespace cinnabar::rpc
