// SPDX-License-Identifier: BSD-3-Clause
// A received message: a view into the transport's memory. Users post no receive buffers. The view is valid only inside
// the function that gets it, unless keep() extends its life. Owner of the context only, except Kept::bytes().
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/na/op.hpp>
#include <cinnabar/na/peer.hpp>
#include <cinnabar/na/types.hpp>

#include <utility>

namespace cinnabar::na {

class Port;

// An arrival that was kept: its bytes stay valid until Port::release. Move-only by convention: never copy it.
struct Kept {
    ConstBytes bytes;         // 8-byte aligned
    Port* port = nullptr;     // null when empty
    void* token = nullptr;    // private to the transport
    std::uint32_t index = 0;  // private to the transport
    bool detached = false;

    explicit operator bool() const noexcept { return port != nullptr; }
};

struct Arrival {
    ConstBytes bytes;  // 8-byte aligned
    Peer* source = nullptr;
    Tag tag = 0;
    Port* port = nullptr;
    void* token = nullptr;    // private to the transport
    std::uint32_t index = 0;  // private to the transport
};

// Implemented by the layer above na, one per context. Called inside progress() by the owner of the context; must not
// call user code.
class Receiver {
  public:
    virtual void on_unexpected(Arrival& arrival) noexcept = 0;
    virtual void on_expected(Arrival& arrival) noexcept = 0;
    void on_message(bool expected, Arrival& arrival) noexcept {
        expected ? on_expected(arrival) : on_unexpected(arrival);
    }
    // The peer's put_notify with this value has completed: all its bytes are in place.
    virtual void on_notify(Peer& peer, std::uint32_t value) noexcept = 0;
    // `why`: ok for connected and restarted; otherwise what ended the connection (peer_lost, refused, ...).
    virtual void on_peer(Peer& peer, PeerEvent event, Errc why) noexcept = 0;
    // Called just before a delayed message is sent (one that had to wait for the connection or for room); the receiver
    // may correct the times in it in place. Not called for messages that the kernel or the device already has. Runs
    // inside poll() or flush(); must not post, cancel or disconnect.
    virtual void on_delayed(Peer&, OpKind, Tag, Bytes) noexcept {}

  protected:
    ~Receiver() = default;
};

}  // namespace cinnabar::na
