// SPDX-License-Identifier: BSD-3-Clause
// How a session sends: what it says is copied into a message of the transport below and encrypted there, so operations
// and the memory of others are free at once. Owner of the context only.
#pragma once

#include "sealed/frame.hpp"
#include "sealed/shipments.hpp"

#include <cstddef>
#include <cstdint>

namespace cinnabar::tls {

class Outlet {
  public:
    // The messages of one session that the transport below may have at a time, also while shipments are scarce; and how
    // many of them may be data of puts and gets, so that a message waits for no more than those.
    static constexpr std::uint32_t shipped_max = 128;
    static constexpr std::uint32_t shipped_max_if_scarce = 16;
    static constexpr std::uint32_t data_shipped_max = 16;

    // A message that was taken and not sent.
    struct Draft {
        Shipment* shipment = nullptr;
        std::byte* bytes = nullptr;
        // Of a sealed message: where its body and data are written.
        [[nodiscard]] std::byte* contents() const noexcept { return bytes + envelope_bytes + sealed_head_bytes; }
    };

    explicit Outlet(SealedSession& session) noexcept : session_(session) {}

    // A session begins. Requires: idle().
    void begin() noexcept;
    // What seals; must live until null is set.
    void set_guard(na::MessageGuard* guard) noexcept { guard_ = guard; }

    [[nodiscard]] bool has_room(bool data) const noexcept;
    // False: no room. A message that comes back goes on; if the transport below has no room, the session is blocked.
    [[nodiscard]] bool draft(Draft& out, bool data) noexcept;
    void discard(const Draft& draft) noexcept;
    // Sends the first `bytes` of the draft. False: the draft is discarded, and the session has failed or is blocked.
    [[nodiscard]] bool ship(const Draft& draft, std::size_t bytes) noexcept;
    // Seals and sends it. `bytes`: of body and data, which are in place. False: as ship().
    [[nodiscard]] bool seal(const Draft& draft, const SealedHead& head, std::size_t bytes) noexcept;

    void returned(bool data) noexcept;
    // Whether the transport below has nothing of the session.
    [[nodiscard]] bool idle() const noexcept { return shipped_ == 0; }

  private:
    SealedSession& session_;
    na::MessageGuard* guard_ = nullptr;
    std::uint64_t sealed_ = 0;  // messages so far
    std::uint32_t shipped_ = 0;
    std::uint32_t data_shipped_ = 0;
};

}  // namespace cinnabar::tls
