// SPDX-License-Identifier: BSD-3-Clause
// A port's event channel of the connection manager (rdma_cm). Passes each event to its session. Owner of the context
// only.
#pragma once

#include "device.hpp"

#include <cinnabar/na/session/fd_watch.hpp>

namespace cinnabar::verbs {

class VerbsPort;

class ConnectionManager {
  public:
    explicit ConnectionManager(VerbsPort& port) noexcept;

    // unsupported, permission: as make_event_channel(); otherwise why the kernel refused to watch the channel.
    [[nodiscard]] Result<void> open();
    // Stops watching: no further event is delivered.
    void stop() noexcept { watch_.stop(); }
    // Requires: no id still uses the channel.
    void close() noexcept { channel_.reset(); }
    [[nodiscard]] rdma_event_channel* channel() const noexcept { return channel_.get(); }

  private:
    void ready() noexcept;

    VerbsPort& port_;
    EventChannel channel_;
    na::FdWatch<ConnectionManager> watch_;
};

}  // namespace cinnabar::verbs
