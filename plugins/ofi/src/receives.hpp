// SPDX-License-Identifier: BSD-3-Clause
// The receives that an endpoint posts for messages, each with a block to receive into. A small message is copied into a
// block of its own size: otherwise a kept message would hold a large block. If the provider needs registered memory,
// messages are received into registered slots and always copied. Owner of the context only.
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
    // Posts all receives. An error: the provider took none.
    [[nodiscard]] Errc open(Endpoint& endpoint) noexcept;
    // Posts the receives that could not be posted before. False: some still cannot.
    bool repost() noexcept;
    [[nodiscard]] bool complete() const noexcept { return waiting_ == nullptr; }
    // Requires: the endpoint has ended its receives, and its domain is still open.
    void close() noexcept;

  private:
    struct Receive final : FabricOp {
        Receives* owner = nullptr;
        na::ReceiveBlock* block = nullptr;  // the memory to receive into; null while not posted
        std::unique_ptr<std::byte[]> slot;  // used instead of `block`, if memory must be registered
        Registration memory;
        Receive* next = nullptr;  // the next receive that waits to be posted
    };
    static void came(FabricOp& op, const Done& done) noexcept;
    void hand_out(Receive& receive, const Done& done) noexcept;
    [[nodiscard]] Errc post(Receive& receive) noexcept;
    void post_or_wait(Receive& receive) noexcept;

    OfiPort& port_;
    Endpoint* endpoint_ = nullptr;
    const std::size_t frame_bytes_max_;
    std::vector<Receive> receives_;  // elements never move after open()
    Receive* waiting_ = nullptr;
};

}  // namespace cinnabar::ofi
