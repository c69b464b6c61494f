// SPDX-License-Identifier: BSD-3-Clause
// Where a context of a peer can be reached: an immutable, shared handle. Equal addresses made in one process are one
// object (they are interned), so comparing and looking up is by pointer. Any thread; copying counts references.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/types.hpp>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::na {

class Peer;

// The shared part of an Addr. Immutable but for the references and for `peers`, a shortcut that each context writes
// for itself alone.
struct AddrBody {
    std::atomic<std::uint32_t> references{1};
    std::vector<std::string> endpoints;  // canonical address strings, the peer's own order of preference; empty for a
                                         // peer that does not listen: then it is reached over its session only
    std::string_view session_scheme;     // whose session; static storage; empty when not known, or with endpoints
    ContextId context = 0;
    Incarnation incarnation = 0;
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

    // One endpoint, or several of one peer between commas, the preferred one first; context 0 unless "?context=N" says
    // otherwise, any incarnation. Host names are not resolved here. bad_address when it does not parse.
    [[nodiscard]] CINNABAR_API static Result<Addr> parse(std::string_view text);
    [[nodiscard]] CINNABAR_API static Addr make(std::vector<std::string> endpoints, ContextId context,
                                                Incarnation incarnation);

    // A peer that does not listen: reached over its session on the transport of that scheme (static storage).
    [[nodiscard]] CINNABAR_API static Addr make_session(std::string_view scheme, ContextId context,
                                                        Incarnation incarnation);

    // The same process, another of its contexts.
    [[nodiscard]] CINNABAR_API Addr with_context(ContextId context) const;

    [[nodiscard]] bool empty() const noexcept { return body_ == nullptr; }
    explicit operator bool() const noexcept { return body_ != nullptr; }
    [[nodiscard]] const AddrBody& body() const noexcept { return *body_; }
    [[nodiscard]] bool listens() const noexcept { return body_ && !body_->endpoints.empty(); }

    // The endpoints between commas, with "?context=N" when N is not 0; "session:INCARNATION/CONTEXT" for a peer that
    // does not listen (such a string cannot be parsed back: it means nothing elsewhere).
    [[nodiscard]] CINNABAR_API std::string to_string() const;

    // The wire form (docs/wire-format.md, "Addresses"). decode: `protocol` on anything malformed, at most 8 endpoints
    // of 255 bytes.
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
