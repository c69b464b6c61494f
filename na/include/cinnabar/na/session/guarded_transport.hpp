// SPDX-License-Identifier: BSD-3-Clause
// The base of transports that exist with and without guards of their connections, such as tcp and tcps. Any thread.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/port_table.hpp>
#include <cinnabar/na/session/session_transport.hpp>
#include <cinnabar/na/session/stream_guards.hpp>

#include <memory>
#include <utility>

namespace cinnabar::na {

// `OwnPort` has withdrawn_credentials() and the functions that PortTable needs.
template <typename OwnPort>
class GuardedTransport : public SocketTransport {
  public:
    ~GuardedTransport() override {
        if (guards_) guards_->tell_of_renewals(nullptr, nullptr);
        CINNABAR_ASSERT(ports_.empty());
    }

    [[nodiscard]] PortTable<OwnPort>& ports() noexcept { return ports_; }
    // Null: connections are not protected.
    [[nodiscard]] const StreamGuards* guards() const noexcept { return guards_.get(); }

  protected:
    // `guards` may be null.
    GuardedTransport(const TransportOptions& options, std::unique_ptr<StreamGuards> guards)
        : SocketTransport(options), guards_(std::move(guards)) {
        caps_.proves_peers = guards_ != nullptr;
        if (guards_) guards_->tell_of_renewals(&GuardedTransport::renewed, this);
    }

  private:
    static void renewed(void* self) {
        static_cast<GuardedTransport*>(self)->ports_.each(
            [](OwnPort& port) { port.withdrawn_credentials().renewed(); });
    }

    const std::unique_ptr<StreamGuards> guards_;
    PortTable<OwnPort> ports_;
};

}  // namespace cinnabar::na
