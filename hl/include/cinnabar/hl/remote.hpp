// SPDX-License-Identifier: BSD-3-Clause
// Remote and RemoteSpan: one object, or an array, in memory that another node shares (share.hpp). They are tokens,
// plain values that travel in calls. Each operation on them is sent like a call, in one of four ways (call.hpp):
//
//     std::uint64_t before = *co_await counter.fetch_add(node, 1);          // Remote<std::uint64_t> counter
//     Result<std::uint64_t> moved = co_await table.read(node, local);       // RemoteSpan<double> table
//     table.subspan(100, 50).write(node, changed).wait();
//
// The owner's context executes all operations; for operations that need no action of the owner, on one host, see
// direct_span.hpp. The context checks the seal, the bounds, the access right and the version atomically with the access
// itself; an operation with an old version ends with `stale`. Up to remote_inline_bytes_max bytes travel in the call
// and are read or written atomically, unless the owner allows direct access; larger amounts are moved in bulk, while
// others may access the same bytes. Operations in progress at the same time have no order. The effect of a completed
// operation is visible to the owner's threads, and to operations that start later.
//
// Files and the memory of devices (far memory) are read and written by spans, lists of blocks and plans. The bytes of
// far memory always move in bulk. A token of far memory that names a version is for reading only, because a write that
// arrives after the contents were renewed could not be kept out.
//
// With RemoteOptions::checked, each chunk is compared after it has arrived, as in a checked transfer (bulk.hpp).
//
// Errors: those of a call; stale (the contents were renewed, or the memory is no longer shared); permission (the grant
// does not allow the operation, or was forged); invalid_argument (a wrong size, a word that is not aligned);
// unsupported (far memory has no such operation). A failed operation may have moved some of its bytes. Far memory adds
// io, no_space, and stale (a file has become shorter).
#pragma once

#include <cinnabar/hl/remote_op.hpp>
#include <cinnabar/hl/remote_token.hpp>

#include <bit>
#include <concepts>
#include <span>
#include <type_traits>

namespace cinnabar::hl {

template <typename T>
concept RemoteObject = std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> && !std::is_const_v<T>;
// The types that fetch_add, compare_swap and exchange work on.
template <typename T>
concept RemoteWord = std::integral<T> && !std::same_as<T, bool> && (sizeof(T) == 4 || sizeof(T) == 8);

namespace detail {

// If the two sides use different types for the same token, the call ends with bad_signature.
template <typename T>
consteval std::uint64_t remote_shape(std::uint64_t kind) {
    std::uint64_t number = kind ^ sizeof(T) << 32;
    if constexpr (std::is_arithmetic_v<T>)
        number ^= (std::uint64_t{std::is_floating_point_v<T>} << 1 | std::uint64_t{std::is_signed_v<T>}) << 60;
    return number;
}

template <typename T>
struct WordOutcome {
    using Out = T;
    Result<T> operator()(const RemoteReply& reply) const noexcept {
        auto word = ReadValue<std::uint64_t>{}(reply);
        if (!word) return std::move(word).error();
        return static_cast<T>(*word);
    }
};

}  // namespace detail

template <RemoteObject T>
class Remote {
  public:
    using value_type = T;
    static constexpr std::uint64_t proc_shape = detail::remote_shape<T>(0x65627574);
    static constexpr bool proc_borrows = false;

    Remote() = default;
    // Requires: the token has sizeof(T) bytes.
    explicit Remote(RemoteBytes token) noexcept : token_(std::move(token)) {
        CINNABAR_ASSERT(token_.bytes() == sizeof(T));
    }

    [[nodiscard]] const RemoteBytes& token() const noexcept { return token_; }
    [[nodiscard]] bool empty() const noexcept { return token_.empty(); }
    [[nodiscard]] Remote at(na::Addr peer) const { return Remote(token_.at(std::move(peer))); }

    [[nodiscard]] auto read(const NodeRef& node, const RemoteOptions& options = {}) const {
        static_assert(sizeof(T) <= remote_inline_bytes_max, "cinnabar: read an object so large into a span of one");
        return RemoteOp(detail::make_look(node, token_, sizeof(T), options), detail::ReadValue<T>{});
    }
    // Returns the number of bytes written. The value may be a temporary.
    [[nodiscard]] auto write(const NodeRef& node, const T& value, const RemoteOptions& options = {}) const {
        static_assert(sizeof(T) <= remote_inline_bytes_max, "cinnabar: write an object so large from a span of one");
        const ConstBytes from = std::as_bytes(std::span(&value, 1));
        return RemoteOp(detail::make_put(node, token_, from, options), detail::Wrote{sizeof(T)});
    }

    // fetch_add, compare_swap and exchange return the old value. They are atomic with respect to each other and to
    // std::atomic_ref at the owner, and need a grant for both reading and writing.
    [[nodiscard]] auto fetch_add(const NodeRef& node, T value,
                                 const RemoteOptions& options = {}) const requires RemoteWord<T> {
        return word(node, detail::WordOp::fetch_add, value, T{}, options);
    }
    // Writes `desired` if the value is `expected`.
    [[nodiscard]] auto compare_swap(const NodeRef& node, T expected, T desired,
                                    const RemoteOptions& options = {}) const requires RemoteWord<T> {
        return word(node, detail::WordOp::compare_swap, desired, expected, options);
    }
    [[nodiscard]] auto exchange(const NodeRef& node, T value,
                                const RemoteOptions& options = {}) const requires RemoteWord<T> {
        return word(node, detail::WordOp::exchange, value, T{}, options);
    }

    template <class P>
    void proc(P& p) {
        p(token_);
        if constexpr (P::decoding)
            if (!token_.empty() && token_.bytes() != sizeof(T)) p.fail(Errc::protocol);
    }

  private:
    [[nodiscard]] auto word(const NodeRef& node, detail::WordOp op, T value, T expected,
                            const RemoteOptions& options) const {
        using Bits = std::make_unsigned_t<T>;
        return RemoteOp(
            detail::make_word(node, token_, op, static_cast<Bits>(value), static_cast<Bits>(expected), options),
            detail::WordOutcome<T>{});
    }
    RemoteBytes token_;
};

template <RemoteObject T>
class RemoteSpan {
  public:
    using value_type = T;
    static constexpr std::uint64_t proc_shape = detail::remote_shape<T>(0x6e617073);
    static constexpr bool proc_borrows = false;

    RemoteSpan() = default;
    // Requires: the token's bytes are a whole number of T.
    explicit RemoteSpan(RemoteBytes token) noexcept : token_(std::move(token)) {
        CINNABAR_ASSERT(token_.bytes() % sizeof(T) == 0);
    }

    [[nodiscard]] const RemoteBytes& token() const noexcept { return token_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return token_.bytes() / sizeof(T); }
    [[nodiscard]] bool empty() const noexcept { return token_.empty(); }
    [[nodiscard]] RemoteSpan at(na::Addr peer) const { return RemoteSpan(token_.at(std::move(peer))); }
    // Requires: the elements lie inside.
    [[nodiscard]] RemoteSpan subspan(std::uint64_t first, std::uint64_t count) const {
        CINNABAR_ASSERT(first <= size() && count <= size() - first);
        return RemoteSpan(token_.part(first * sizeof(T), count * sizeof(T)));
    }
    [[nodiscard]] Remote<T> operator[](std::uint64_t index) const { return Remote<T>(subspan(index, 1).token()); }

    // Reads or writes the whole span, so the local span must have size() elements. These four functions return the
    // number of bytes moved.
    [[nodiscard]] auto read(const NodeRef& node, std::span<T> into, const RemoteOptions& options = {}) const {
        const Bytes bytes = std::as_writable_bytes(into);
        const bool copied = detail::is_inline(token_, bytes.size(), options);
        return RemoteOp(detail::make_read(node, token_, bytes, options),
                        detail::ReadInto{copied ? bytes : Bytes(), bytes.size()});
    }
    [[nodiscard]] auto write(const NodeRef& node, std::span<const T> from, const RemoteOptions& options = {}) const {
        return RemoteOp(detail::make_write(node, token_, std::as_bytes(from), options),
                        detail::Wrote{from.size_bytes()});
    }
    // Read and write with registered local memory, which is faster if it is used more than once.
    [[nodiscard]] auto read(const NodeRef& node, const bulk::Region& into, const RemoteOptions& options = {}) const {
        return RemoteOp(detail::make_read(node, token_, into, options), detail::ReadInto{{}, into.bytes()});
    }
    [[nodiscard]] auto write(const NodeRef& node, const bulk::Region& from, const RemoteOptions& options = {}) const {
        return RemoteOp(detail::make_write(node, token_, from, options), detail::Wrote{from.bytes()});
    }

    template <class P>
    void proc(P& p) {
        p(token_);
        if constexpr (P::decoding)
            if (token_.bytes() % sizeof(T) != 0) p.fail(Errc::protocol);
    }

  private:
    RemoteBytes token_;
};

}  // namespace cinnabar::hl
