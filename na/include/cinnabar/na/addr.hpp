// SPDX-License-Identifier: BSD-3-Clause
// The address of a context of a peer: an immutable, shared handle. Addresses are interned: equal addresses made in one
// process are one object, so they are compared and looked up by pointer. Any thread; copying counts references.
//
// There are two kinds of addresses.
// - A name: endpoints, a context, and the wanted incarnation, if any. Anybody may write any name. A name says where to
//   dial; it does not prove who answers there.
// - A connection that a transport accepted (is_connection()). Each connection in a process's lifetime has its own
//   address, whatever identity the other side claims, and that address never equals a name. So two requests whose
//   source address is the same connection came over the same connection. Once the connection is lost, its address
//   reaches no context; a peer that reconnects gets a new address.
//
// The source address of a request over a connection that this process dialled is the name that was dialled.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/types.hpp>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::na {

class Peer;

// The process at the other side of a connection within this host, as the kernel reported it when the connection was
// accepted. The process may have ended since, and its pid may have been reused.
struct HostProcess {
    std::int32_t pid = 0;  // 0: unknown, because the process is in another pid namespace
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
};

// The proven identity of the other side of a connection, on a transport with Caps::proves_peers.
struct ProvenIdentity {
    enum class By : std::uint8_t { key, certificate };
    By by = By::key;
    std::string name;  // the name of the shared key or of the certificate's subject: printable, 1 to 255 bytes
};

// The shared part of an Addr. Immutable except for the reference count and the shortcuts of the contexts.
struct AddrBody {
    std::atomic<std::uint32_t> references{1};
    // Canonical address strings in the peer's order of preference; empty for a connection, and for the name of a
    // process that does not listen.
    std::vector<std::string> endpoints;
    std::string_view session_scheme;  // connections: the scheme of the transport (static storage); otherwise empty
    std::string from;                 // connections: the source that the transport reported, for log lines
    ContextId context = 0;            // 0 if no context is named
    // Names with endpoints: true if they name a context; if false, the peer picks one (TransportOptions::spread).
    bool names_context = false;
    ContextId held_by = 0;  // connections: the context of this process that accepted it
    // Names: the incarnation that is wanted, 0 for any. Connections: the incarnation that the other side claims.
    Incarnation incarnation = 0;
    std::uint8_t parallel = 0;     // of a name: see Addr::in_parallel. Never sent
    std::uint64_t connection = 0;  // serial number of the connection in this process; 0: this is a name. Never sent
    std::optional<HostProcess> process;  // connections: the process at the other side, if the kernel reports it
    // Connections: the proven identity of the other side, if the transport proves identities.
    std::optional<ProvenIdentity> proven;
    bool own = false;  // connections: this process dialled itself; verified, not claimed by the peer
    std::uint64_t hash = 0;

    static constexpr std::size_t shortcuts = 8;
    mutable std::array<Peer*, shortcuts> peers{};  // indexed by context ordinal; see Context::peer
    // A cache for Context::route: the ports that reach this address. Contexts that share a number
    // ContextOptions::routes use entry `routes % shortcuts`, which holds that number, shifted left by 8, and the index
    // of the port. Any thread.
    mutable std::array<std::atomic<std::uint64_t>, shortcuts> routes{};
};

class Addr {
  public:
    Addr() = default;
    Addr(const Addr& other) noexcept : body_(other.body_) { acquire(); }
    Addr(Addr&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
    Addr& operator=(Addr other) noexcept {
        std::swap(body_, other.body_);
        return *this;
    }
    ~Addr() { release(); }

    // Parses one endpoint, or several endpoints of one peer separated by commas, the preferred one first; "?context=N"
    // names a context. The address matches any incarnation. Does not resolve host names. bad_address: the text does not
    // parse.
    [[nodiscard]] CINNABAR_API static Result<Addr> parse(std::string_view text);
    // Context 0 means that no context is named; use with_context(0) to name context 0.
    [[nodiscard]] CINNABAR_API static Addr make(std::vector<std::string> endpoints, ContextId context,
                                                Incarnation incarnation);

    // Makes the address of a connection that the context `held_by` accepted on the transport `scheme` (static storage).
    // Each call returns a new address, even for the same arguments. `own`: the transport has verified that this process
    // dialled the connection. `from`: where the connection came from, as the kernel or the device reports it, for log
    // lines.
    [[nodiscard]] CINNABAR_API static Addr of_connection(std::string_view scheme, ContextId held_by, ContextId context,
                                                         Incarnation claimed, bool own, std::string from = {},
                                                         std::optional<HostProcess> process = {},
                                                         std::optional<ProvenIdentity> proven = {});

    // Returns the address of another context of the same process. If this address is a connection, the result reaches
    // no context, because a connection belongs to one context.
    [[nodiscard]] CINNABAR_API Addr with_context(ContextId context) const;

    // The same name over a connection of its own: names that differ only in this number mean the same context, and each
    // has its own connection to it. 0 is the name itself. The number is not part of the text, and it is never sent. Has
    // no effect on a connection. Transports that have no connections may use what they have for all of them.
    [[nodiscard]] CINNABAR_API Addr in_parallel(std::uint8_t number) const;

    [[nodiscard]] bool empty() const noexcept { return body_ == nullptr; }
    explicit operator bool() const noexcept { return body_ != nullptr; }
    [[nodiscard]] const AddrBody& body() const noexcept { return *body_; }
    [[nodiscard]] bool listens() const noexcept { return body_ && !body_->endpoints.empty(); }
    [[nodiscard]] bool is_connection() const noexcept { return body_ && body_->connection != 0; }
    // The process at the other side of a connection over `shm`; empty for other transports and for names.
    [[nodiscard]] std::optional<HostProcess> process() const noexcept {
        return body_ ? body_->process : std::optional<HostProcess>();
    }
    // Returns the proven identity of the other side of a connection over `tcps`, `ofis` or `verbss`; null for other
    // transports, and for names (a dial fails unless the peer proves to be the one that was named). The identity lives
    // as long as this address.
    [[nodiscard]] const ProvenIdentity* identity() const noexcept {
        return body_ && body_->proven ? &*body_->proven : nullptr;
    }

    // Returns the address as text. A name: its endpoints separated by commas, with "?context=N" if a context is named.
    // A connection: "incoming tcp://10.0.0.5:41234", with " context N". A process that does not listen:
    // "session:INCARNATION/CONTEXT". The last two forms cannot be parsed back: they mean nothing in another process.
    [[nodiscard]] CINNABAR_API std::string to_string() const;
    // As to_string(), for log lines: never fails, and returns "a peer" if out of memory.
    [[nodiscard]] CINNABAR_API std::string log_name() const noexcept;

    // The wire form (docs/wire-format.md, "Addresses"); decode() always returns a name. decode: `protocol` if
    // malformed; at most 8 endpoints of 255 bytes.
    [[nodiscard]] CINNABAR_API std::size_t encoded_bytes() const noexcept;
    CINNABAR_API void encode(ByteWriter& writer) const noexcept;
    [[nodiscard]] CINNABAR_API static Result<Addr> decode(ByteReader& reader);

    friend bool operator==(const Addr& a, const Addr& b) noexcept { return a.body_ == b.body_; }

  private:
    explicit Addr(AddrBody* body) noexcept : body_(body) {}
    void acquire() noexcept {
        if (body_) body_->references.fetch_add(1, std::memory_order_relaxed);
    }
    CINNABAR_API void release() noexcept;
    friend class AddrTable;
    AddrBody* body_ = nullptr;
};

}  // namespace cinnabar::na
