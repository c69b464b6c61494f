// SPDX-License-Identifier: BSD-3-Clause
// Control messages: grants, cancels, releases, pings; what gathers while one is out leaves together. A message that
// carries records wants an acknowledgement before the next one goes, so that two receive slots for each connection are
// enough: one for it and one for an acknowledgement. A peer that acknowledges nothing cannot make this side gather more
// than a bounded number of records (control_queue.hpp). Owner of the context only.
#pragma once

#include "peer_book.hpp"

namespace cinnabar::rpc {

class Control {
  public:
    explicit Control(ContextCore& core) noexcept : core_(core) {}

    void send(PeerBook& book, const ControlRecord& record) noexcept;
    // Sends what has gathered, if it may leave now.
    void flush(PeerBook& book) noexcept;
    void on_message(PeerBook& book, ConstBytes bytes) noexcept;
    // For a peer that breaks the rules, or that this side has no memory for.
    [[gnu::noinline]] void end_session(PeerBook& book, const char* why) noexcept;
    [[nodiscard]] std::uint64_t sessions_ended() const noexcept { return sessions_ended_; }

  private:
    void sent(PeerBook& book) noexcept;
    void apply(PeerBook& book, const ControlRecord& record) noexcept;
    void released(PeerBook& book, std::uint64_t id) noexcept;

    ContextCore& core_;
    std::uint64_t sessions_ended_ = 0;
};

}  // namespace cinnabar::rpc
