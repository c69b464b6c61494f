// SPDX-License-Identifier: BSD-3-Clause
// DirectSpan: an array in memory that another process of this host and user shares, which this process has mapped and
// accesses by itself:
//
//     Shared<std::uint64_t> counts = share<std::uint64_t>(node, node.allocate(8 * 1000).value()).value();  // the owner
//     counts.allow_direct().value();
//     RemoteSpan<std::uint64_t> token = counts.span(Names::any_version);                      // travels in calls
//
//     DirectSpan<std::uint64_t> direct = map_remote(node, token).wait().value();              // the other process
//     std::uint64_t before = direct.fetch_add(7, 1).value();
//
// The functions send no message and do not wait for the owner: when a function returns, its operation has completed.
// Aligned words of 4 and 8 bytes are read and written atomically. Larger objects are not, so others may change such an
// object during the access. withdraw() at the owner waits for operations in progress and refuses later ones: after
// withdraw() has returned, nothing is written, and no read returns bytes that are no longer shared.
//
// Errors: stale (the memory is no longer shared; the bytes read are not valid), peer_lost (the connection with the
// owner has ended: use the token, or map the memory again), permission (the token does not allow the access),
// invalid_argument (a word that is not aligned). A failed operation on more than 64 KiB may have moved some of its
// bytes.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/hl/remote.hpp>
#include <cinnabar/na/direct_memory.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace cinnabar::hl {

// Thread-safe, except for moves: threads take turns. May outlive the node; the mapping lasts as long as this object.
template <RemoteObject T>
class DirectSpan {
  public:
    using value_type = T;

    DirectSpan() = default;
    // Requires: a whole number of T.
    explicit DirectSpan(std::unique_ptr<na::DirectMemory> memory) noexcept : memory_(std::move(memory)) {
        CINNABAR_ASSERT(memory_->bytes() % sizeof(T) == 0);
    }

    explicit operator bool() const noexcept { return memory_ != nullptr; }
    [[nodiscard]] std::uint64_t size() const noexcept { return memory_ ? memory_->bytes() / sizeof(T) : 0; }

    // All of these require that the elements lie inside.
    [[nodiscard]] Result<T> read(std::uint64_t index) const noexcept {
        T value{};
        const Errc why = memory_->read(at(index, 1), std::as_writable_bytes(std::span(&value, 1)));
        if (why != Errc::ok) return why;
        return value;
    }
    [[nodiscard]] Errc write(std::uint64_t index, const T& value) const noexcept {
        return memory_->write(at(index, 1), std::as_bytes(std::span(&value, 1)));
    }
    [[nodiscard]] Errc read(std::uint64_t first, std::span<T> into) const noexcept {
        return memory_->read(at(first, into.size()), std::as_writable_bytes(into));
    }
    [[nodiscard]] Errc write(std::uint64_t first, std::span<const T> from) const noexcept {
        return memory_->write(at(first, from.size()), std::as_bytes(from));
    }

    // fetch_add, compare_swap and exchange return the old value. They are atomic with respect to each other, to the
    // operations of Remote (which the owner's context executes), and to std::atomic_ref at the owner.
    [[nodiscard]] Result<T> fetch_add(std::uint64_t index, T value) const noexcept requires RemoteWord<T> {
        return word(index, na::DirectOp::fetch_add, value, T{});
    }
    // Writes `desired` if the value is `expected`.
    [[nodiscard]] Result<T> compare_swap(std::uint64_t index, T expected,
                                         T desired) const noexcept requires RemoteWord<T> {
        return word(index, na::DirectOp::compare_swap, desired, expected);
    }
    [[nodiscard]] Result<T> exchange(std::uint64_t index, T value) const noexcept requires RemoteWord<T> {
        return word(index, na::DirectOp::exchange, value, T{});
    }

  private:
    [[nodiscard]] std::uint64_t at(std::uint64_t first, std::uint64_t count) const noexcept {
        CINNABAR_ASSERT(first <= size() && count <= size() - first);
        return first * sizeof(T);
    }
    [[nodiscard]] Result<T> word(std::uint64_t index, na::DirectOp op, T value, T expected) const noexcept {
        using Bits = std::make_unsigned_t<T>;
        na::DirectWord word;
        word.op = op;
        word.bytes = sizeof(T);
        word.value = static_cast<Bits>(value);
        word.expected = static_cast<Bits>(expected);
        const Errc why = memory_->word(at(index, 1), word);
        if (why != Errc::ok) return why;
        return static_cast<T>(word.before);
    }
    std::unique_ptr<na::DirectMemory> memory_;
};

namespace detail {

// What is to be mapped once the owner has answered.
struct DirectAsk {
    NodeRef node;
    na::Addr target;
    unsigned context;
    std::uint64_t bytes;
    na::Access access;
};
[[nodiscard]] CINNABAR_API DirectAsk direct_ask(const NodeRef& node, const RemoteBytes& token,
                                                const RemoteOptions& options);
[[nodiscard]] CINNABAR_API RemoteMade make_map(const DirectAsk& ask, const RemoteBytes& token,
                                               const RemoteOptions& options);
[[nodiscard]] CINNABAR_API Result<std::unique_ptr<na::DirectMemory>> map_memory(const DirectAsk& ask,
                                                                                const RemoteReply& reply);

template <typename T>
struct MapSpan {
    using Out = DirectSpan<T>;
    DirectAsk ask;

    Result<Out> operator()(const RemoteReply& reply) const {
        auto memory = map_memory(ask, reply);
        if (!memory) return std::move(memory).error();
        return DirectSpan<T>(*std::move(memory));
    }
};

}  // namespace detail

// Asks the owner for access, and maps the memory that the token names. Returns an operation, to be sent in one of the
// four ways of a call (call.hpp). Errors: those of an operation with that token; unsupported: the token was made before
// SharedBytes::allow_direct, or names a version, or its owner runs on another host or as another user, or is not
// connected over shm (use the token's own operations); overloaded: the connection already has 48 mappings, so drop
// some.
template <RemoteObject T>
[[nodiscard]] auto map_remote(const NodeRef& node, const RemoteSpan<T>& span, const RemoteOptions& options = {}) {
    detail::DirectAsk ask = detail::direct_ask(node, span.token(), options);
    detail::RemoteMade made = detail::make_map(ask, span.token(), options);
    return RemoteOp(std::move(made), detail::MapSpan<T>{std::move(ask)});
}

}  // namespace cinnabar::hl
