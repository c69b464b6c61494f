// SPDX-License-Identifier: BSD-3-Clause
// Shared: memory of this node that others can read, write and change atomically with tokens (remote.hpp), for as long
// as this object lives:
//
//     Shared<std::uint64_t> counts = share(node, std::span(memory)).value();
//     RemoteSpan<std::uint64_t> token = counts.span();    // travels in calls and results
//     counts.renew();                                     // the memory is reused: all tokens so far become stale
//     counts.withdraw();                                  // nobody accesses it any more, and it may be freed
//
// The node's own threads may access the memory too; words that others count in must be accessed by std::atomic_ref.
// Thread-safe, except for moves. May outlive the node.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/remote.hpp>

#include <functional>
#include <memory>
#include <span>

namespace cinnabar::hl {

class RemoteTable;
struct SharedSlot;

// Reports that a write with RemoteOptions::notify is in place. `offset`: where the first part of the write is in the
// shared memory.
struct RemoteNotice {
    std::uint32_t value = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // of all parts
    na::Addr from;
};

// Whether a token is valid for the current version of the contents only, or also after the contents are renewed.
enum class Names : std::uint8_t { this_version, any_version };

class CINNABAR_API SharedBytes {
  public:
    SharedBytes() = default;
    SharedBytes(SharedBytes&& other) noexcept;
    SharedBytes& operator=(SharedBytes&& other) noexcept;
    // Ends the sharing like withdraw(), but does not wait, except for a process that is stopped in a direct access
    // (allow_direct), up to 100 ms.
    ~SharedBytes();

    explicit operator bool() const noexcept { return slot_ != nullptr; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] na::Access access() const noexcept { return access_; }

    // Returns a token for the bytes [offset, offset + bytes) with at most `access`. Requires: these bytes lie inside
    // the memory, and the memory allows `access`. The token is empty if the memory was withdrawn.
    [[nodiscard]] RemoteBytes token(std::uint64_t offset, std::uint64_t bytes, na::Access access,
                                    Names names = Names::this_version) const;
    [[nodiscard]] RemoteBytes token(Names names = Names::this_version) const {
        return token(0, bytes_, access_, names);
    }

    // Lets processes of this host and user access the memory by themselves (direct_span.hpp), with tokens that name no
    // version and are made after this call. After this call, only aligned words of 4 and 8 bytes are read and written
    // atomically. withdraw() ends the direct access, and returns `busy` while a process is stopped in such an access.
    // unsupported: this node does not have the shm transport, or that transport cannot map memory, or the memory is not
    // a region from NodeRef::allocate. stale: the memory was withdrawn. Requires: the node lives.
    Result<void> allow_direct();
    // Makes all tokens that name a version of the contents stale at once: writes in progress are refused, and the
    // results of reads are not returned. Never waits, and calls no function. Call renew() first, then change the
    // contents, then hand out new tokens.
    void renew() noexcept;
    // Ends the sharing: makes all tokens stale, stops operations in progress, and waits for these operations and for
    // the function of on_notified(). ok: nobody accesses the memory any more. would_deadlock: called on a loop or pool
    // thread, or inside a task, while operations or that function are in progress; in_use() tells when they have ended.
    // busy: operations have ended, but a peer may still access the memory (bulk::Region::quarantined, allow_direct).
    // After would_deadlock or busy, call withdraw() again.
    [[nodiscard]] Errc withdraw() noexcept;
    // Whether bulk operations, or the function of on_notified(), are in progress.
    [[nodiscard]] bool in_use() const noexcept;

    // Sets the function that a loop of the node calls when a write with RemoteOptions::notify is in place. The function
    // must be short, like a handler, and is kept until the memory is withdrawn or another function replaces it. Does
    // nothing once the memory is withdrawn.
    void on_notified(std::function<void(const RemoteNotice&)> function);

  private:
    friend class RemoteTable;
    std::shared_ptr<RemoteTable> table_;
    SharedSlot* slot_ = nullptr;
    std::uint32_t lease_ = 0;
    std::uint64_t bytes_ = 0;
    na::Access access_ = na::Access::read;
};

// Shares a region, which may be far; remote.hpp says which operations far memory allows. If the region does not own its
// memory, the memory must live until withdraw() returns ok, which also waits for copies of far memory that have begun.
// too_large: 65,536 regions are shared already. permission: `access` exceeds that of the region. invalid_argument: an
// empty region.
[[nodiscard]] CINNABAR_API Result<SharedBytes> share_bytes(const NodeRef& node, const bulk::Region& memory,
                                                           na::Access access);

template <RemoteObject T>
class Shared : public SharedBytes {
  public:
    Shared() = default;
    explicit Shared(SharedBytes bytes) noexcept : SharedBytes(std::move(bytes)) {}

    [[nodiscard]] std::uint64_t size() const noexcept { return bytes() / sizeof(T); }
    [[nodiscard]] RemoteSpan<T> span(Names names = Names::this_version) const { return RemoteSpan<T>(token(names)); }
    // Returns a token for some elements only, or with less access. Requires: the elements lie inside the memory.
    [[nodiscard]] RemoteSpan<T> span(std::uint64_t first, std::uint64_t count, na::Access access,
                                     Names names = Names::this_version) const {
        CINNABAR_ASSERT(first <= size() && count <= size() - first);  // before the products can wrap around
        return RemoteSpan<T>(token(first * sizeof(T), count * sizeof(T), access, names));
    }
};

// Shares memory of the caller, which must live until withdraw() returns ok. Const memory is shared read-only.
template <typename T, std::size_t N>
[[nodiscard]] Result<Shared<std::remove_const_t<T>>> share(const NodeRef& node, std::span<T, N> memory,
                                                           na::Access access = std::is_const_v<T>
                                                                                   ? na::Access::read
                                                                                   : na::Access::read_write) {
    CINNABAR_TRY(const bulk::Region region, node.expose(memory));
    CINNABAR_TRY(SharedBytes bytes, share_bytes(node, region, access));
    return Shared<std::remove_const_t<T>>(std::move(bytes));
}

// Shares a region, for example from NodeRef::allocate. invalid_argument: not a whole number of T.
template <RemoteObject T>
[[nodiscard]] Result<Shared<T>> share(const NodeRef& node, const bulk::Region& memory,
                                      na::Access access = na::Access::read_write) {
    if (memory.bytes() % sizeof(T) != 0)
        return Error(Errc::invalid_argument,
                     "the size of the region is not a multiple of the size of the type to share");
    CINNABAR_TRY(SharedBytes bytes, share_bytes(node, memory, access));
    return Shared<T>(std::move(bytes));
}

}  // namespace cinnabar::hl
