// SPDX-License-Identifier: BSD-3-Clause
// The small words of the network layer: tags, capabilities, limits, segments. Values; any thread.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/slot_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cinnabar::na {

// Matches an expected message to what waits for it; carried by unexpected messages as well.
using Tag = std::uint64_t;

// Which context of a transport a message is for.
using ContextId = std::uint16_t;
// In a Hello and in an encoded address: none is named, the process that is meant picks one. No context has this id.
inline constexpr ContextId any_context = 0xffff;

// A number drawn at random when a transport is opened: tells a restarted process from the one before it. 0 means "any".
using Incarnation = std::uint64_t;

// What a transport can do beyond messages, put and get. Ask before use: an operation that needs a missing capability
// is answered `unsupported` by na itself.
struct Caps {
    bool ordered = false;            // messages of a pair arrive in the order of their posts
    bool put_notify = false;         // put_notify: a 32-bit value arrives after the bytes
    bool atomics = false;            // fetch_add and compare_swap on 8 aligned bytes
    bool offset_addressing = false;  // an RMA may cross the peer's segment borders; the owner resolves offsets
    bool revocable = false;          // a lease can be taken back at once, even in mid-transfer
    bool detects_loss = false;       // the fabric tells when a peer dies
    bool wait_fd = false;            // a context can sleep in the kernel
    bool counted_slots = false;      // a message that finds no receive slot ends the connection: credits are strict
    bool same_host_only = false;     // reaches processes of this host only
    bool views = false;              // peers can read in place what it allocates (Port::view)
    bool proves_peers = false;       // both sides of a connection have proven who they are (Addr::identity)
};

struct Limits {
    std::size_t message_bytes_max = 0;    // payload of one message, either kind
    std::size_t rma_bytes_max = 0;        // bytes of one put or get
    std::size_t segments_max = 0;         // segments of one registration
    std::size_t op_segments_max = 0;      // local segments that one put or get may touch
    std::size_t lease_key_bytes_max = 0;  // what describe() writes at most, for a registration of one segment
    std::uint32_t rma_inflight_max = 0;   // puts and gets worth having in flight to one peer
    std::uint32_t receive_slots = 0;      // messages that can wait unread; the sum of all credits stays below it
    std::uint32_t send_slots = 0;         // messages that can be taken at once, per context; 0: no limit
    std::uint32_t connections_max = 0;    // per context; 0: as many as there may be
};

enum class Access : std::uint8_t { read = 1, write = 2, read_write = 3 };  // what the peer may do
[[nodiscard]] constexpr bool allows(Access have, Access want) noexcept {
    return (static_cast<unsigned>(have) & static_cast<unsigned>(want)) == static_cast<unsigned>(want);
}

// Memory of this process; borrowed.
struct Segment {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
};

// How the two sides of a connection prove to each other who they are on `tcps`: by a key that both have, or by
// certificates. Paths of files, which are read when the transport is opened. Those with secrets belong to this user or
// root and are closed to others. The same may stand in the address that is opened, by the names behind the slashes.
struct TlsOptions {
    // key: keys of this side and its peers, a line NAME:HEX each, as `cinnabar key new` makes them. A dial proves the
    // first, an incoming connection may prove any.
    std::string key_file;
    std::string certificate_file;  // cert: PEM, the own certificate and those between it and the CA's
    std::string private_key_file;  // cert_key: PEM; empty: it is in certificate_file
    std::string ca_file;           // ca: PEM, whose certificates are believed
    std::string peer_name;         // name: what certificates of dialled peers are for; empty: the host of their address
    // crl: PEM, what the authorities have revoked, a list of each that signed a certificate of a peer's chain; empty:
    // nothing is looked up. Certificates whose authority has no list there, or one that is out of date, are refused.
    std::string crl_file;
};

// Options of a transport; every limit has its default here. A plugin ignores what it has no use for.
struct TransportOptions {
    bool listen = false;  // accept peers; otherwise only reachable over own connections
    // Incoming connections that name no context go to the one with the fewest, so that all must be driven; otherwise
    // they go to context 0. Plugins say which of them can (docs/guide.md, "Several contexts").
    bool spread = false;
    std::size_t message_bytes_max = 16 * 1024;  // the smaller of both sides holds for a pair
    std::uint32_t receive_slots = 1024;         // per context; half are for answers, so many calls are under way
    std::uint32_t contexts_max = 64;
    std::uint32_t connections_max = 16'384;  // per context; more are refused
    std::uint32_t send_slots_max = 98'304;   // messages that may wait to be sent, per context
    std::size_t registrations_max = 65'536;
    std::uint64_t registered_bytes_max = ~std::uint64_t{0};  // all together; where there is RDMA, they are pinned
    Microseconds connect_timeout{5'000'000};
    Microseconds hello_timeout{2'000'000};  // an incoming connection that stays silent is dropped after this
    Microseconds keepalive{10'000'000};     // a dead host is noticed within this; 0 turns it off
    std::uint64_t seed = 0;                 // sim: the seed of everything random
    TlsOptions tls = {};                    // tcps
};

}  // namespace cinnabar::na
