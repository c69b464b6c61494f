// SPDX-License-Identifier: BSD-3-Clause
// Shared: memory of this node that others read, write and count in by tokens (remote.hpp), for as long as this object
// lives:
//
//     Shared<std::uint64_t> counts = share(node, std::span(memory)).value();
//     RemoteSpan<std::uint64_t> token = counts.span();    // travels in calls and results
//     counts.renew();                                     // the memory is used again: all tokens so far are stale
//     counts.withdraw();                                  // nobody accesses it any more, and it may be freed
//
// The node's own threads may access the memory meanwhile; words that others count in, by std::atomic_ref. Thread-safe,
// but for the moves. May outlive the node.
#pragma once

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

// A write that asked for it is in place. `offset` and `bytes` are those of its first part, in the shared memory.
struct RemoteNotice {
    std::uint32_t value = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // of all parts
    na::Addr from;
};

// Whether a token names the version of the contents that is there now, or stays good when they are renewed.
enum class Names : std::uint8_t { this_version, any_version };

class CINNABAR_API SharedBytes {
  public:
    SharedBytes() = default;
    SharedBytes(SharedBytes&& other) noexcept;
    SharedBytes& operator=(SharedBytes&& other) noexcept;
    // Ends the sharing as withdraw() does, but does not wait.
    ~SharedBytes();

    explicit operator bool() const noexcept { return slot_ != nullptr; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] na::Access access() const noexcept { return access_; }

    // A token of the bytes [offset, offset + bytes) for at most that access. Requires: they lie inside, and `access` is
    // no more than that of the memory. Empty once the memory is withdrawn.
    [[nodiscard]] RemoteBytes token(std::uint64_t offset, std::uint64_t bytes, na::Access access,
                                    Names names = Names::this_version) const;
    [[nodiscard]] RemoteBytes token(Names names = Names::this_version) const {
        return token(0, bytes_, access_, names);
    }

    // Makes all tokens stale that name a version of the contents, at once: what they would still write is refused, and
    // what they have read is not served. Neither waits nor calls anybody. Change the contents after it, and hand out
    // new tokens after that.
    void renew() noexcept;
    // Ends the sharing: all tokens are stale, and operations under way are stopped and waited for, as is the function
    // of on_notified(). ok: nobody accesses the memory any more. would_deadlock: on a loop or pool thread, or inside a
    // task, some still do: in_use() tells when they have ended. Another call waits again.
    [[nodiscard]] Errc withdraw() noexcept;
    // Whether operations that move bytes in bulk are under way, or the function of on_notified().
    [[nodiscard]] bool in_use() const noexcept;

    // Called on a loop of the node when a write with RemoteOptions::notify is in place; must be short, like a handler.
    // It is kept until the memory is withdrawn, or another one takes its place.
    void on_notified(std::function<void(const RemoteNotice&)> function);

  private:
    friend class RemoteTable;
    std::shared_ptr<RemoteTable> table_;
    SharedSlot* slot_ = nullptr;
    std::uint32_t lease_ = 0;
    std::uint64_t bytes_ = 0;
    na::Access access_ = na::Access::read;
};

// Shares a region. The memory must live until withdraw() says ok, or, if the region owns it, no longer than needed.
// too_large: 65,536 are shared. permission: more access than the region has. invalid_argument: an empty region.
[[nodiscard]] CINNABAR_API Result<SharedBytes> share_bytes(const NodeRef& node, const bulk::Region& memory,
                                                           na::Access access);

template <RemoteObject T>
class Shared : public SharedBytes {
  public:
    Shared() = default;
    explicit Shared(SharedBytes bytes) noexcept : SharedBytes(std::move(bytes)) {}

    [[nodiscard]] std::uint64_t size() const noexcept { return bytes() / sizeof(T); }
    [[nodiscard]] RemoteSpan<T> span(Names names = Names::this_version) const { return RemoteSpan<T>(token(names)); }
    // The same for these elements alone, or less access.
    [[nodiscard]] RemoteSpan<T> span(std::uint64_t first, std::uint64_t count, na::Access access,
                                     Names names = Names::this_version) const {
        return RemoteSpan<T>(token(first * sizeof(T), count * sizeof(T), access, names));
    }
};

// Shares memory of the caller's, which must live until withdraw() says ok; const memory for reading.
template <typename T, std::size_t N>
[[nodiscard]] Result<Shared<std::remove_const_t<T>>> share(const NodeRef& node, std::span<T, N> memory,
                                                           na::Access access = std::is_const_v<T>
                                                                                   ? na::Access::read
                                                                                   : na::Access::read_write) {
    CINNABAR_TRY(const bulk::Region region, node.expose(memory));
    CINNABAR_TRY(SharedBytes bytes, share_bytes(node, region, access));
    return Shared<std::remove_const_t<T>>(std::move(bytes));
}

// Shares a region, of NodeRef::allocate for example. invalid_argument: no whole number of T.
template <RemoteObject T>
[[nodiscard]] Result<Shared<T>> share(const NodeRef& node, const bulk::Region& memory,
                                      na::Access access = na::Access::read_write) {
    if (memory.bytes() % sizeof(T) != 0)
        return Error(Errc::invalid_argument, "the size of the region is no multiple of the size of the type to share");
    CINNABAR_TRY(SharedBytes bytes, share_bytes(node, memory, access));
    return Shared<T>(std::move(bytes));
}

}  // namespace cinnabar::hl
