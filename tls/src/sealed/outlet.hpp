// SPDX-License-Identifier: BSD-3-Clause
// The sending side of one session: each message, and each piece of data, is copied into a message of the transport
// below and encrypted there. So the source memory is free at once, and messages complete at once. Owner of the context
// only.
#pragma once

#include "sealed/frame.hpp"
#include "sealed/shipments.hpp"

#include <cstddef>
#include <cstdint>

namespace cinnabar::tls {

class Outlet {
  public:
    // The maximum number of messages of one session that the transport below may have at a time: of all; of all while
    // shipments are scarce; and of those with data of puts and gets, so that another message need not wait for more
    // than data_shipped_max.
    static constexpr std::uint32_t shipped_max = 128;
    static constexpr std::uint32_t shipped_max_if_scarce = 16;
    static constexpr std::uint32_t data_shipped_max = 16;

    // A shipment that was taken and has not been sent yet.
    struct Draft {
        Shipment* shipment = nullptr;
        std::byte* bytes = nullptr;
        // Where to write the body and data of a sealed message.
        [[nodiscard]] std::byte* contents() const noexcept { return bytes + envelope_bytes + sealed_head_bytes; }
    };

    explicit Outlet(SealedSession& session) noexcept : session_(session) {}

    // Call when a session begins. Requires: idle().
    void begin() noexcept;
    // Sets the guard that seals the messages. The guard must live until null is set.
    void set_guard(na::MessageGuard* guard) noexcept { guard_ = guard; }

    [[nodiscard]] bool has_room(bool data) const noexcept;
    // Takes a shipment for a message. False: no room. If the session has reached its limit, it resumes sending when the
    // transport below returns a message; if that transport has no room, the session is blocked.
    [[nodiscard]] bool draft(Draft& out, bool data) noexcept;
    void discard(const Draft& draft) noexcept;
    // Sends the first `bytes` of the draft. False: the draft is discarded, and the session has failed or is blocked.
    [[nodiscard]] bool ship(const Draft& draft, std::size_t bytes) noexcept;
    // Seals and sends the draft. `bytes`: the size of body and data, which must be in place. False: as ship().
    [[nodiscard]] bool seal(const Draft& draft, const SealedHead& head, std::size_t bytes) noexcept;

    void returned(bool data) noexcept;
    // Whether the transport below has no message of the session.
    [[nodiscard]] bool idle() const noexcept { return shipped_ == 0; }

  private:
    SealedSession& session_;
    na::MessageGuard* guard_ = nullptr;
    std::uint64_t sealed_ = 0;  // messages so far
    std::uint32_t shipped_ = 0;
    std::uint32_t data_shipped_ = 0;
};

}  // namespace cinnabar::tls
