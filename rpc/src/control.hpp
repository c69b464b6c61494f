// SPDX-License-Identifier: BSD-3-Clause
// Control messages: grants, cancels, releases, pings. Records that are queued while a message is unacknowledged are
// sent together. A message with records must be acknowledged before the next one is sent, so that two receive slots per
// connection are enough: one for that message and one for an acknowledgement. If a peer acknowledges nothing, the
// number of queued records stays bounded (control_queue.hpp). Owner of the context only.
#pragma once

#include "context_base.hpp"
#include "peer_book.hpp"

#include <cstdint>

namespace cinnabar::rpc {

class CallFences;
class CreditPool;
class LargeValues;
class Origin;
class Peers;
class SendQueue;
class Target;

class Control {
  public:
    // The parts that records are for.
    struct Parts {
        Origin& origin;
        CallFences& call_fences;
        Target& target;
        CreditPool& credits;
        SendQueue& queue;
        LargeValues& large_values;
        Peers& peers;
    };
    Control(ContextBase& base, const Parts& parts) noexcept : base_(base), parts_(parts) {}

    void send(PeerBook& book, const ControlRecord& record) noexcept;
    // Sends the queued records, if a message may be sent now.
    void flush(PeerBook& book) noexcept;
    void on_message(PeerBook& book, ConstBytes bytes) noexcept;
    // Disconnects a peer that breaks the protocol, or for which there is no memory. `why` follows the peer's name in
    // the log.
    [[gnu::noinline]] void end_session(PeerBook& book, const char* why) noexcept;
    [[nodiscard]] std::uint64_t sessions_ended() const noexcept { return sessions_ended_; }

  private:
    void sent(PeerBook& book) noexcept;
    void apply(PeerBook& book, const ControlRecord& record) noexcept;
    void released(PeerBook& book, std::uint64_t id) noexcept;

    ContextBase& base_;
    const Parts parts_;
    std::uint64_t sessions_ended_ = 0;
};

}  // namespace cinnabar::rpc
