// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/buffers.hpp>

#include <algorithm>
#include <bit>
#include <limits>

namespace cinnabar::hl {

Buffers::Buffers(std::uint64_t bytes_max)
    : bytes_max_(bytes_max), bytes_left_(bytes_max), nobody_(std::make_shared<detail::BufferAccount>()) {
    nobody_->all = std::make_shared<std::atomic<std::uint64_t>>(0);
}

std::uint64_t Buffers::bytes_taken() {
    const std::lock_guard lock(mutex_);
    return bytes_max_ - bytes_left_;
}

namespace {

constexpr const char* share_exceeded =
    "a peer may hold no more of this node's buffers than it leaves free: fetch less at once or raise "
    "NodeOptions::buffer_bytes_max";

}  // namespace

Result<Buffer> Buffers::take(std::size_t bytes, const na::Addr& peer) {
    if (bytes == 0) return Error{Errc::invalid_argument, "a buffer of 0 bytes: give its size"};
    if (bytes > std::size_t{1} << 62)
        return Error{Errc::overloaded, "larger than NodeOptions::buffer_bytes_max allows: raise that"};
    const std::size_t room = std::bit_ceil(std::max(bytes, smallest_bytes));
    const std::lock_guard lock(mutex_);
    const Account& account = account_of(peer);
    if (!peer.empty() && exceeds_share(*account, room)) return Error{Errc::overloaded, share_exceeded};
    Class& sized = classes_[static_cast<std::size_t>(std::countr_zero(room))];
    Taken taken = take_idle(sized);
    if (!taken.slab) {
        CINNABAR_TRY(taken, take_of_new_slab(sized, room, *account));
    }
    return Buffer(std::move(taken.buffer), bytes,
                  detail::BufferCharge(account, room, holder_in(*taken.slab, *account)));
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

std::uint64_t Buffers::slab_bytes_left(const detail::BufferAccount& account) const noexcept {
    if (account.peer.empty()) return std::numeric_limits<std::uint64_t>::max();
    std::uint64_t free = bytes_left_;
    std::uint64_t borne = 0;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        for (const Slab& slab : classes_[i].slabs) {
            const std::uint64_t bytes = std::uint64_t{slab.buffers} << i;
            std::uint64_t holders = 0;
            bool is_holder = false;
            for (const auto& holder : slab.holders) {
                if (holder->buffers.load(std::memory_order_relaxed) == 0) continue;
                ++holders;
                is_holder |= holder->account == &account;
            }
            if (is_holder) borne += bytes / holders;
            if (!slab.in_use()) free += bytes;
        }
    }
    return borne < free ? (free - borne) / 2 : 0;
}

std::shared_ptr<detail::SlabHolder> Buffers::holder_in(Slab& slab, const detail::BufferAccount& account) {
    std::shared_ptr<detail::SlabHolder>* unused = nullptr;
    for (auto& holder : slab.holders) {
        if (holder->buffers.load(std::memory_order_acquire) == 0) {
            unused = &holder;
        } else if (holder->account == &account) {
            return holder;
        }
    }
    if (!unused) unused = &slab.holders.emplace_back(std::make_shared<detail::SlabHolder>());
    (*unused)->account = &account;
    return *unused;
}

Buffers::Taken Buffers::take_idle(Class& sized) noexcept {
    for (std::size_t i = 0; i < sized.slabs.size(); ++i) {
        const std::size_t at = (sized.last + i) % sized.slabs.size();
        bulk::PooledBuffer held = sized.slabs[at].pool.try_take();
        if (!held) continue;
        sized.last = at;
        return {std::move(held), &sized.slabs[at]};
    }
    return {};
}

Result<Buffers::Taken> Buffers::take_of_new_slab(Class& sized, std::size_t room, const detail::BufferAccount& account) {
    const std::uint64_t share = slab_bytes_left(account);
    if (share < room) return Error{Errc::overloaded, share_exceeded};
    if (bytes_left_ < room) free_idle_slabs(std::max(room, slab_bytes));
    // Allocates a smaller slab if the limit leaves no room for a full one.
    std::uint64_t count = std::max<std::uint64_t>(slab_bytes / room, 1);
    count = std::min<std::uint64_t>(count, std::min(bytes_left_, share) / room);
    if (count == 0)
        return Error{Errc::overloaded,
                     "all buffers of this node are in use: release some or raise NodeOptions::buffer_bytes_max"};
    const auto buffers = static_cast<std::uint32_t>(count);
    CINNABAR_TRY(bulk::BufferPool made, bulk::BufferPool::make(room, buffers));
    Taken taken{made.try_take()};
    sized.slabs.push_back({std::move(made), buffers});
    sized.last = sized.slabs.size() - 1;
    bytes_left_ -= count * room;
    taken.slab = &sized.slabs.back();
    return taken;
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
