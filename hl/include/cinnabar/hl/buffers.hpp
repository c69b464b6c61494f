// SPDX-License-Identifier: BSD-3-Clause
// A pool of registered buffers. A buffer is taken by size and returns to the pool when it is destroyed, so memory is
// registered once and reused. Thread-safe.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/buffer_pool.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/na/addr.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cinnabar::hl {

namespace detail {

// The bytes of the buffers in use by one peer, and by all peers.
struct BufferAccount {
    na::Addr peer;  // empty: for no peer
    std::atomic<std::uint64_t> bytes{0};
    std::shared_ptr<std::atomic<std::uint64_t>> all;
};

// How many buffers of a slab one account holds; reused for another account once it holds none.
struct SlabHolder {
    const BufferAccount* account;  // alive while it holds any
    std::atomic<std::uint32_t> buffers{0};
};

// Charges bytes to an account for as long as it lives, and counts as a buffer of its holder.
class BufferCharge {
  public:
    BufferCharge() = default;
    BufferCharge(std::shared_ptr<BufferAccount> account, std::uint64_t bytes,
                 std::shared_ptr<SlabHolder> holder) noexcept
        : account_(std::move(account)), holder_(std::move(holder)), bytes_(bytes) {
        account_->bytes.fetch_add(bytes_, std::memory_order_relaxed);
        account_->all->fetch_add(bytes_, std::memory_order_relaxed);
        holder_->buffers.fetch_add(1, std::memory_order_relaxed);
    }
    BufferCharge(BufferCharge&& other) noexcept
        : account_(std::move(other.account_)), holder_(std::move(other.holder_)), bytes_(other.bytes_) {}
    BufferCharge& operator=(BufferCharge&& other) noexcept {
        std::swap(account_, other.account_);
        std::swap(holder_, other.holder_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~BufferCharge() {
        if (!account_) return;
        holder_->buffers.fetch_sub(1, std::memory_order_release);
        account_->bytes.fetch_sub(bytes_, std::memory_order_relaxed);
        account_->all->fetch_sub(bytes_, std::memory_order_relaxed);
    }

  private:
    std::shared_ptr<BufferAccount> account_;
    std::shared_ptr<SlabHolder> holder_;
    std::uint64_t bytes_ = 0;
};

}  // namespace detail

// A buffer from the pool. May outlive the node.
class Buffer {
  public:
    Buffer() = default;
    explicit operator bool() const noexcept { return static_cast<bool>(held_); }
    [[nodiscard]] Bytes bytes() const noexcept { return held_.bytes().first(size_); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const bulk::Region& region() const noexcept { return region_; }
    // Lets a Buffer be passed to pull and push. Keep the Buffer until the transfer has ended.
    operator bulk::Region() const noexcept { return region_; }

  private:
    friend class Buffers;
    Buffer(bulk::PooledBuffer held, std::size_t size, detail::BufferCharge charge)
        : charge_(std::move(charge)), held_(std::move(held)), region_(held_.region().slice(0, size)), size_(size) {}
    // Charged until this Buffer is destroyed, even if its memory is quarantined and does not return to the pool then.
    detail::BufferCharge charge_;
    bulk::PooledBuffer held_;
    bulk::Region region_;
    std::size_t size_ = 0;
};

// A Buffer viewed as an array of T. May outlive the node.
template <typename T>
class Fetched {
  public:
    Fetched() = default;
    explicit Fetched(Buffer buffer) noexcept : buffer_(std::move(buffer)) {}

    [[nodiscard]] std::span<T> values() const noexcept {
        if (!buffer_) return {};
        return {reinterpret_cast<T*>(buffer_.bytes().data()), buffer_.size() / sizeof(T)};
    }
    [[nodiscard]] auto begin() const noexcept { return values().begin(); }
    [[nodiscard]] auto end() const noexcept { return values().end(); }
    [[nodiscard]] std::size_t size() const noexcept { return values().size(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] T& operator[](std::size_t index) const noexcept { return values()[index]; }
    // The underlying buffer, to lend it or to push from it.
    [[nodiscard]] const Buffer& buffer() const noexcept { return buffer_; }

  private:
    Buffer buffer_;
};

class CINNABAR_API Buffers {
  public:
    explicit Buffers(std::uint64_t bytes_max);

    // Takes a buffer of `bytes`, rounded up to a power of two. `peer`: the peer that chose the size (Request::source),
    // as in Bulk::fetch. A peer may hold only as much memory as remains free of the node's buffer_bytes_max: at most
    // half, and less while other peers hold buffers, too. The same limit applies to slabs, the blocks from which
    // buffers are cut, since a slab can be neither freed nor cut into other sizes while one of its buffers is in use.
    // If several peers hold buffers of a slab, the slab is divided equally among those peers. overloaded:
    // buffer_bytes_max is used up, or the peer has reached its limit. out_of_memory. invalid_argument: 0 bytes.
    [[nodiscard]] Result<Buffer> take(std::size_t bytes, const na::Addr& peer = {});

    // Total memory of the buffers, in use or kept for reuse.
    [[nodiscard]] std::uint64_t bytes_taken();
    [[nodiscard]] std::uint64_t bytes_max() const noexcept { return bytes_max_; }

  private:
    static constexpr std::size_t smallest_bytes = 4096;
    static constexpr std::size_t slab_bytes = std::size_t{1} << 20;  // a larger buffer gets its own slab
    static constexpr std::size_t accounts_kept = 1024;
    struct Slab {
        bulk::BufferPool pool;
        std::uint32_t buffers;
        std::vector<std::shared_ptr<detail::SlabHolder>> holders = {};
        [[nodiscard]] bool in_use() const noexcept { return pool.buffers_free() != buffers; }
    };
    struct Class {
        std::vector<Slab> slabs;
        std::size_t last = 0;  // index of the slab that last had a free buffer
    };
    using Account = std::shared_ptr<detail::BufferAccount>;
    struct Taken {
        bulk::PooledBuffer buffer;
        Slab* slab = nullptr;
    };

    // All of these require mutex_ to be held.
    [[nodiscard]] const Account& account_of(const na::Addr& peer);
    [[nodiscard]] bool exceeds_share(const detail::BufferAccount& account, std::uint64_t bytes) const noexcept;
    // Returns the size of the largest slab that may be made for this account; unlimited if the account is not a peer's.
    // The bytes of a slab are divided equally among the accounts that hold buffers of the slab. After a new slab is
    // made, a peer's total must not exceed the memory that is then still free: memory in no slab, and slabs without a
    // buffer in use.
    [[nodiscard]] std::uint64_t slab_bytes_left(const detail::BufferAccount& account) const noexcept;
    [[nodiscard]] static std::shared_ptr<detail::SlabHolder> holder_in(Slab& slab,
                                                                       const detail::BufferAccount& account);
    [[nodiscard]] static Taken take_idle(Class& sized) noexcept;
    [[nodiscard]] Result<Taken> take_of_new_slab(Class& sized, std::size_t room, const detail::BufferAccount& account);
    void free_idle_slabs(std::uint64_t bytes_wanted) noexcept;

    const std::uint64_t bytes_max_;
    std::mutex mutex_;
    std::array<Class, 64> classes_;
    std::uint64_t bytes_left_;  // not allocated to any slab
    std::unordered_map<const na::AddrBody*, Account> accounts_;
    std::size_t accounts_max_ = accounts_kept;  // at this size, accounts with 0 bytes are dropped
    Account nobody_;
};

}  // namespace cinnabar::hl
