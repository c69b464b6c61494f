// SPDX-License-Identifier: BSD-3-Clause
// Basic types of the network layer: tags, capabilities, limits, segments. Values; any thread.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/smaller.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cinnabar::na {

// Matches an expected message to the receiver that waits for it; unexpected messages have one as well.
using Tag = std::uint64_t;

// Identifies a context within one transport of a process.
using ContextId = std::uint16_t;
// In a Hello or an encoded address, means that the receiving process picks a context. No context has this id.
inline constexpr ContextId any_context = 0xffff;

// A random number, drawn when a transport is opened: tells a restarted process from the one before. 0 means any.
using Incarnation = std::uint64_t;

// What a transport can do beyond messages, put and get. Check before use: na answers `unsupported` to an operation that
// the transport cannot do.
struct Caps {
    bool ordered = false;     // messages between two contexts arrive in the order of posting
    bool put_notify = false;  // OpKind::put_notify: a 32-bit value arrives after the bytes
    bool atomics = false;     // fetch_add and compare_swap on 8 aligned bytes
    // The device carries out atomics, so they are not atomic with respect to the owner's processor. If false, the
    // owner's context carries them out. If `atomics` is also false, only hl offers atomics, as calls to the owner.
    bool atomics_by_device = false;
    // A put or get may span several of the peer's segments, because the owner resolves offsets.
    bool offset_addressing = false;
    bool revocable = false;     // a lease can be revoked at once, even during a transfer
    bool detects_loss = false;  // the fabric reports that a peer has died
    bool wait_fd = false;       // a context can sleep in the kernel (it has a descriptor to wait on)
    // A message without a free receive slot ends the connection, so credits must be respected strictly.
    bool counted_slots = false;
    bool same_host_only = false;  // reaches only processes of this host
    bool views = false;           // peers can map memory that the transport allocated (Port::view)
    bool proves_peers = false;    // both sides of a connection have proven who they are (Addr::identity)
    bool confines = false;        // a lease can be restricted to one peer (Transport::confine)
    bool admits_guests = false;   // and to its guests as well (Lease::guests); requires `confines`
    // A connected peer can guess the key of memory that was lent to another one: only for networks of trusted peers.
    bool guessable_keys = false;
};

struct Limits {
    std::size_t message_bytes_max = 0;    // payload of one message, unexpected or expected
    std::size_t rma_bytes_max = 0;        // bytes of one put or get
    std::size_t segments_max = 0;         // segments of one registration
    std::size_t op_segments_max = 0;      // local segments that one put or get may touch
    std::size_t lease_key_bytes_max = 0;  // the most that describe() writes for a registration of one segment
    std::uint32_t rma_inflight_max = 0;   // having more puts and gets than this in flight to one peer brings no gain
    std::uint32_t receive_slots = 0;      // received messages that can wait; all credits together must stay below it
    std::uint32_t send_slots = 0;         // messages that may be in flight per context; 0: no limit
    std::uint32_t connections_max = 0;    // per context; 0: no limit
    // The limit up to which receive_slots grows with the connections of a context (receive_slots_for); 0: receive_slots
    // does not grow.
    std::uint32_t receive_slots_max = 0;
};

// Returns the number of receive slots of a context with that many connections. Each connection beyond the first few
// adds room for its control messages and for some requests. With this room, many quiet connections leave slots for a
// busy one, and each of many busy connections can have several requests on their way, which then share system calls.
[[nodiscard]] constexpr std::uint32_t receive_slots_for(const Limits& limits, std::uint32_t connections) noexcept {
    constexpr std::uint32_t few = 4;
    constexpr std::uint32_t each_min = 4;
    if (connections <= few || limits.receive_slots_max <= limits.receive_slots) return limits.receive_slots;
    const std::uint64_t each = larger_of(limits.receive_slots / 64, each_min);
    const std::uint64_t wanted = limits.receive_slots + each * (connections - few);
    return static_cast<std::uint32_t>(smaller_of<std::uint64_t>(wanted, limits.receive_slots_max));
}

enum class Access : std::uint8_t { read = 1, write = 2, read_write = 3 };  // what a peer may do with memory
[[nodiscard]] constexpr bool allows(Access have, Access want) noexcept {
    return (static_cast<unsigned>(have) & static_cast<unsigned>(want)) == static_cast<unsigned>(want);
}

// Memory of this process; borrowed.
struct Segment {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
};

// How the two sides of a `tcps`, `ofis` or `verbss` connection prove their identity: with a key that both have, or with
// certificates. All options but peer_name are paths of files, which are read when the transport is opened. Files with
// secrets must belong to this user or root, and others must have no access to them. Each option can also be given in
// the address that is opened, under the name with which the comment of the option begins.
struct TlsOptions {
    // key: the keys of this side and its peers, one NAME:HEX per line, as `cinnabar key new` makes them. A dial uses
    // the first; an incoming connection may use any.
    std::string key_file;
    std::string certificate_file;  // cert: PEM, this side's certificate and the intermediate ones up to the CA's
    std::string private_key_file;  // cert_key: PEM; empty: the key is in certificate_file
    std::string ca_file;           // ca: PEM, the authorities that are trusted
    // name: the name that certificates of dialled peers must have; empty: the host of their address.
    std::string peer_name;
    // crl: PEM, one revocation list for each authority that signs a certificate in a peer's chain; empty: revocation is
    // not checked. Certificates of an authority without a list, or with an expired one, are refused.
    std::string crl_file;
};

// Options for opening a transport, with the defaults of its limits. A plugin ignores options that it does not use.
struct TransportOptions {
    bool listen = false;  // accept peers; otherwise peers reach it only over connections that it dialled
    // Incoming connections that name no context go to the context with the fewest connections, so all contexts must be
    // driven. If false, they go to context 0. Not all plugins support `spread` (docs/guide.md, "Several contexts").
    bool spread = false;
    std::size_t message_bytes_max = 16 * 1024;  // between two peers, the smaller of their limits applies
    std::uint32_t receive_slots = 1024;  // per context; half are reserved for replies, which bounds the calls in flight
    std::uint32_t contexts_max = 64;
    std::uint32_t connections_max = 16'384;  // per context; further ones are refused
    std::uint32_t send_slots_max = 98'304;   // messages that may wait to be sent, per context
    std::size_t registrations_max = 65'536;
    std::uint64_t registered_bytes_max = ~std::uint64_t{0};  // of all registrations; RDMA transports pin them
    Microseconds connect_timeout{5'000'000};
    Microseconds hello_timeout{2'000'000};  // an incoming connection that sends no greeting is dropped after this
    Microseconds keepalive{10'000'000};     // a dead host is noticed within this time; 0: never
    std::uint64_t seed = 0;                 // sim: seeds all random decisions
    TlsOptions tls = {};                    // only for tcps, ofis and verbss
};

}  // namespace cinnabar::na
