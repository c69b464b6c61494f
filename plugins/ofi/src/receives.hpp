// SPDX-License-Identifier: BSD-3-Clause
// The receives that an endpoint has posted for messages from anybody, each into a block. A small message is copied out
// of it into a block of its size, so that keeping it keeps no more; so is every message where the provider must
// know the memory, which then is a slot that is registered once. Owner of the context only.
#pragma once

#include "endpoint.hpp"

#include <cinnabar/na/session/receive_blocks.hpp>

#include <memory>
#include <vector>

namespace cinnabar::ofi {

class OfiPort;

class Receives {
  public:
    Receives(OfiPort& port, std::size_t frame_bytes_max);
    ~Receives();
    // Posts all. Why the provider took none.
    [[nodiscard]] Errc open(Endpoint& endpoint) noexcept;
    // Posts again what could not be posted when it came back. False: some still cannot.
    bool repost() noexcept;
    [[nodiscard]] bool complete() const noexcept { return waiting_ == nullptr; }
    // Before the endpoint's domain goes; it has ended its receives.
    void close() noexcept;

  private:
    struct Receive final : FabricOp {
        Receives* owner = nullptr;
        na::ReceiveBlock* block = nullptr;  // what is received into; null until it is posted
        std::unique_ptr<std::byte[]> slot;  // or this, where memory is registered
        Registration memory;
        Receive* next = nullptr;  // that waits to be posted
    };
    static void came(FabricOp& op, const Done& done) noexcept;
    void hand_out(Receive& receive, const Done& done) noexcept;
    [[nodiscard]] Errc post(Receive& receive) noexcept;
    void post_or_wait(Receive& receive) noexcept;

    OfiPort& port_;
    Endpoint* endpoint_ = nullptr;
    const std::size_t frame_bytes_max_;
    std::vector<Receive> receives_;  // never moves once open
    Receive* waiting_ = nullptr;
};

}  // namespace cinnabar::ofi
