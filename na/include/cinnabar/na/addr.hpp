// SPDX-License-Identifier: BSD-3-Clause
// Where a context of a peer can be reached: an immutable, shared handle. Equal addresses made in one process are one
// object (they are interned), so comparing and looking up is by pointer. Any thread; copying counts references.
//
// There are two kinds.
// - A name: endpoints, a context, and the incarnation that is meant, if any. Anybody may write any name. It says where
//   to dial; it does not prove that a process which says it is the one that it names.
// - A connection that a transport accepted (is_connection()). No two connections of a process's lifetime have the same
//   address, whatever their other sides claim to be, and a name is never equal to one. So equal source addresses of
//   two requests, one of which is a connection, mean: both came by that one connection. When it is lost, the address
//   reaches no context any more; the same peer has another address once it has connected again.
// A request over a connection that this process dialled has the name that was dialled as its source.
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

// The process at the other side of a connection within this host, as the kernel said when it was accepted. Another
// process may have its number once it has ended; user and group are those that it had.
struct HostProcess {
    std::int32_t pid = 0;  // 0: it cannot be seen from here (another pid namespace)
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
};

// Who the other side of a connection has proven to be, on a transport with Caps::proves_peers.
struct ProvenIdentity {
    enum class By : std::uint8_t { key, certificate };
    By by = By::key;
    std::string name;  // of the shared key, or of the certificate's subject: printable, 1 to 255 bytes
};

// The shared part of an Addr. Immutable but for the references and for `peers`, a shortcut that each context writes
// for itself alone.
struct AddrBody {
    std::atomic<std::uint32_t> references{1};
    std::vector<std::string> endpoints;    // canonical address strings, the peer's own order of preference; empty for a
                                           // connection, and for the name of a process that does not listen
    std::string_view session_scheme;       // the transport of a connection; static storage; else empty
    std::string from;                      // where a connection came from, as the transport saw it; for people
    ContextId context = 0;                 // 0 as well where none is named
    bool names_context = false;            // of a name with endpoints; otherwise a peer that spreads picks one
    ContextId held_by = 0;                 // of a connection: the context of this process that has it
    Incarnation incarnation = 0;           // of a connection: what its other side claims
    std::uint64_t connection = 0;          // which connection, counted by this process; 0: a name. It never travels
    std::optional<HostProcess> process;    // of a connection: its other side, where the kernel tells it
    std::optional<ProvenIdentity> proven;  // of a connection: its other side, where the transport has it prove that
    bool own = false;                      // a connection that this process dialled to itself, and not by claim alone
    std::uint64_t hash = 0;

    static constexpr std::size_t shortcuts = 8;
    mutable std::array<Peer*, shortcuts> peers{};  // by context ordinal; see Context::peer
    // By context ordinal as well, any thread: its serial number << 8 | which port leads there; see Context::route.
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

    // One endpoint, or several of one peer between commas, the preferred one first; "?context=N" names a context; any
    // incarnation. Host names are not resolved here. bad_address when it does not parse.
    [[nodiscard]] CINNABAR_API static Result<Addr> parse(std::string_view text);
    // Context 0 means that none is named; with_context(0) names it.
    [[nodiscard]] CINNABAR_API static Addr make(std::vector<std::string> endpoints, ContextId context,
                                                Incarnation incarnation);

    // A connection that the context `held_by` accepted on the transport of that scheme (static storage): another
    // address each time, also for the same claims. `own`: the transport has seen that this process dialled it. `from`:
    // where it came from, as the kernel or the device says; for people.
    [[nodiscard]] CINNABAR_API static Addr of_connection(std::string_view scheme, ContextId held_by, ContextId context,
                                                         Incarnation claimed, bool own, std::string from = {},
                                                         std::optional<HostProcess> process = {},
                                                         std::optional<ProvenIdentity> proven = {});

    // The same process, another of its contexts. Of a connection it is the name of a process that does not listen,
    // which reaches no context: another context has another connection.
    [[nodiscard]] CINNABAR_API Addr with_context(ContextId context) const;

    [[nodiscard]] bool empty() const noexcept { return body_ == nullptr; }
    explicit operator bool() const noexcept { return body_ != nullptr; }
    [[nodiscard]] const AddrBody& body() const noexcept { return *body_; }
    [[nodiscard]] bool listens() const noexcept { return body_ && !body_->endpoints.empty(); }
    [[nodiscard]] bool is_connection() const noexcept { return body_ && body_->connection != 0; }
    // Who is at the other side of a connection over `shm`; none of any other transport, nor of a name.
    [[nodiscard]] std::optional<HostProcess> process() const noexcept {
        return body_ ? body_->process : std::optional<HostProcess>();
    }
    // Who is at the other side of a connection over `tcps`, as it has proven; null for any other transport, and for a
    // name, whose own part is what was proven when it was dialled. Lives as long as this address.
    [[nodiscard]] const ProvenIdentity* identity() const noexcept {
        return body_ && body_->proven ? &*body_->proven : nullptr;
    }

    // The endpoints between commas, with "?context=N" when one is named; "incoming tcp://10.0.0.5:41234" of a
    // connection, with " context N"; "session:INCARNATION/CONTEXT" of a process that does not listen. The latter two
    // cannot be parsed back: they mean nothing elsewhere.
    [[nodiscard]] CINNABAR_API std::string to_string() const;
    // The same for a line of the log, which must not fail: "a peer" when memory is out.
    [[nodiscard]] CINNABAR_API std::string log_name() const noexcept;

    // The wire form (docs/wire-format.md, "Addresses"): always a name. decode: `protocol` on anything malformed, at
    // most 8 endpoints of 255 bytes.
    [[nodiscard]] CINNABAR_API std::size_t encoded_bytes() const noexcept;
    CINNABAR_API void encode(Writer& writer) const noexcept;
    [[nodiscard]] CINNABAR_API static Result<Addr> decode(Reader& reader);

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
