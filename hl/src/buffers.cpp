// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/buffers.hpp>

#include <algorithm>
#include <bit>

namespace cinnabar::hl {

Buffers::Buffers(std::uint64_t bytes_max)
    : bytes_max_(bytes_max), bytes_left_(bytes_max), nobody_(std::make_shared<detail::BufferAccount>()) {
    nobody_->all = std::make_shared<std::atomic<std::uint64_t>>(0);
}

std::uint64_t Buffers::bytes_taken() {
    const std::lock_guard lock(mutex_);
    return bytes_max_ - bytes_left_;
}

Result<Buffer> Buffers::take(std::size_t bytes, const na::Addr& peer) {
    if (bytes == 0) return Error{Errc::invalid_argument, "a buffer of 0 bytes: give its size"};
    if (bytes > std::size_t{1} << 62)
        return Error{Errc::overloaded, "larger than NodeOptions::buffer_bytes_max allows: raise that"};
    const std::size_t room = std::bit_ceil(std::max(bytes, smallest_bytes));
    const std::lock_guard lock(mutex_);
    const Account& account = account_of(peer);
    if (!peer.empty() && exceeds_share(*account, room))
        return Error{Errc::overloaded,
                     "a peer may hold no more of this node's buffers than it leaves free: fetch less at once or raise "
                     "NodeOptions::buffer_bytes_max"};
    Class& sized = classes_[static_cast<std::size_t>(std::countr_zero(room))];
    bulk::PooledBuffer held = take_idle(sized);
    if (!held) {
        CINNABAR_TRY(held, take_of_new_slab(sized, room));
    }
    return Buffer(std::move(held), bytes, detail::BufferCharge(account, room));
}

// Accounts without bytes are kept for reuse as long as there are few accounts.
const Buffers::Account& Buffers::account_of(const na::Addr& peer) {
    if (peer.empty()) return nobody_;
    if (accounts_.size() >= accounts_max_) {
        std::erase_if(accounts_, [](const auto& each) { return !each.second || each.second->bytes == 0; });
        accounts_max_ = std::max(accounts_kept, 2 * accounts_.size());
    }
    Account& account = accounts_[&peer.body()];
    if (account) return account;
    account = std::make_shared<detail::BufferAccount>();
    account->peer = peer;
    account->all = nobody_->all;
    return account;
}

bool Buffers::exceeds_share(const detail::BufferAccount& account, std::uint64_t bytes) const noexcept {
    const std::uint64_t all = account.all->load(std::memory_order_relaxed) + bytes;
    const std::uint64_t own = account.bytes.load(std::memory_order_relaxed) + bytes;
    return all > bytes_max_ || own > bytes_max_ - all;
}

bulk::PooledBuffer Buffers::take_idle(Class& sized) noexcept {
    for (std::size_t i = 0; i < sized.slabs.size(); ++i) {
        const std::size_t at = (sized.last + i) % sized.slabs.size();
        bulk::PooledBuffer held = sized.slabs[at].pool.try_take();
        if (!held) continue;
        sized.last = at;
        return held;
    }
    return {};
}

Result<bulk::PooledBuffer> Buffers::take_of_new_slab(Class& sized, std::size_t room) {
    if (bytes_left_ < room) free_idle_slabs(std::max(room, slab_bytes));
    // Allocates a smaller slab if the limit leaves no room for a full one.
    std::uint64_t count = std::max<std::uint64_t>(slab_bytes / room, 1);
    count = std::min<std::uint64_t>(count, bytes_left_ / room);
    if (count == 0)
        return Error{Errc::overloaded,
                     "all buffers of this node are in use: release some or raise NodeOptions::buffer_bytes_max"};
    const auto buffers = static_cast<std::uint32_t>(count);
    CINNABAR_TRY(bulk::BufferPool made, bulk::BufferPool::make(room, buffers));
    bulk::PooledBuffer held = made.try_take();
    sized.slabs.push_back({std::move(made), buffers});
    sized.last = sized.slabs.size() - 1;
    bytes_left_ -= count * room;
    return held;
}

// Frees the largest first, since few of them suffice.
void Buffers::free_idle_slabs(std::uint64_t bytes_wanted) noexcept {
    for (std::size_t i = classes_.size(); i-- > 0;) {
        Class& sized = classes_[i];
        std::erase_if(sized.slabs, [&](const Slab& slab) {
            if (bytes_left_ >= bytes_wanted || slab.in_use()) return false;
            bytes_left_ += std::uint64_t{slab.buffers} << i;
            return true;
        });
        sized.last = 0;
    }
}

}  // namespace cinnabar::hl
