// SPDX-License-Identifier: BSD-3-Clause
// A message that came: a view into the transport's memory. Users post no receive buffers. The view is valid inside the
// function that it is delivered to; keep() makes it last. Owner of the context only, but for Kept::bytes().
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/na/op.hpp>
#include <cinnabar/na/peer.hpp>
#include <cinnabar/na/types.hpp>

#include <utility>

namespace cinnabar::na {

class Port;

// A kept arrival: the bytes stay valid until it is given back with Port::release. Move it, never copy it.
struct Kept {
    ConstBytes bytes;         // 8-byte aligned
    Port* port = nullptr;     // null when empty
    void* token = nullptr;    // the transport's own
    std::uint32_t index = 0;  // the transport's own
    bool detached = false;

    explicit operator bool() const noexcept { return port != nullptr; }
};

struct Arrival {
    ConstBytes bytes;  // 8-byte aligned
    Peer* source = nullptr;
    Tag tag = 0;
    Port* port = nullptr;
    void* token = nullptr;    // the transport's own
    std::uint32_t index = 0;  // the transport's own
};

// What stands above na. One per context; called inside progress() by its owner; must not call user code.
class Receiver {
  public:
    virtual void on_unexpected(Arrival& arrival) noexcept = 0;
    virtual void on_expected(Arrival& arrival) noexcept = 0;
    // The value of a put_notify whose bytes are all in place.
    virtual void on_notify(Peer& peer, std::uint32_t value) noexcept = 0;
    // `why` is ok for connected and restarted; else what ended the connection (peer_lost, refused, ...).
    virtual void on_peer(Peer& peer, PeerEvent event, Errc why) noexcept = 0;
    // A message to `peer` had to wait, for the connection or for room, and now leaves, or at least tries to: what it
    // says of time may be put right in place. Not for what is with the kernel or the device already. Inside poll() or
    // flush(); must not post, cancel or disconnect.
    virtual void on_delayed(Peer&, OpKind, Tag, Bytes) noexcept {}

  protected:
    ~Receiver() = default;
};

}  // namespace cinnabar::na
