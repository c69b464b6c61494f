// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and atomics of a sealed session. They are sent as messages to the owner of the memory, which carries them
// out. Owner of the context only.
#pragma once

#include "sealed/frame.hpp"
#include "sealed/outlet.hpp"

#include <cinnabar/na/session/remote_access.hpp>

#include <cstddef>

namespace cinnabar::tls {

class SealedPeer;
class SealedSession;

class SealedAccess final : private na::RemoteAccess {
  public:
    explicit SealedAccess(SealedSession& session) noexcept : session_(session) {}

    void begin(SealedPeer& peer) noexcept;
    // Completes, with `why`, the operations that have begun. Does nothing if begin() was not called.
    void end(Errc why) noexcept;
    using RemoteAccess::cancel;

    [[nodiscard]] bool has_output() const noexcept {
        return !answers_.empty() || !requests_.empty() || !puts_.empty() || !gets_.empty();
    }
    // Sends as much as there is room for: answers and requests, then data.
    void send() noexcept;
    // Handles a message from the peer whose kind is_access().
    void take(const SealedHead& head, ConstBytes rest) noexcept;

  private:
    [[nodiscard]] bool seal(const Outlet::Draft& draft, const na::AccessHead& head, std::size_t bytes) noexcept;
    // The functions that send return false if there is no room for more.
    [[nodiscard]] bool send_frame(const na::AccessHead& head, const na::AccessBody& body) noexcept;
    [[nodiscard]] bool send_answers() noexcept;
    [[nodiscard]] bool send_requests() noexcept;
    [[nodiscard]] bool send_data() noexcept;
    [[nodiscard]] bool send_data_of_get() noexcept;
    [[nodiscard]] bool send_data_of_put() noexcept;
    [[nodiscard]] std::size_t data_bytes_max() const noexcept;

    // Overrides of na::RemoteAccess.
    void access_to_send() noexcept override;
    void access_over(na::PostedOp& posted, Errc result) noexcept override;
    void access_failed(Errc why) noexcept override;

    SealedSession& session_;
    bool begun_ = false;
};

}  // namespace cinnabar::tls
