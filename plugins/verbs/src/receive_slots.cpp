// SPDX-License-Identifier: BSD-3-Clause
#include "receive_slots.hpp"

#include "completion.hpp"
#include "credits.hpp"
#include "rdma_library.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

namespace cinnabar::verbs {

ReceiveSlots::ReceiveSlots(const Device& device, std::size_t slot_bytes, std::uint32_t posted_max,
                           std::uint32_t kept_max)
    : device_(device), slot_bytes_(slot_bytes), posted_max_(posted_max), kept_max_(kept_max) {}

ReceiveSlots::~ReceiveSlots() {
    CINNABAR_ASSERT(kept_ == 0);
    close();
}

Result<void> ReceiveSlots::open() {
    ibv_srq_init_attr wanted{};
    wanted.attr.max_wr = posted_max_;
    wanted.attr.max_sge = 1;
    queue_ = rdma().create_srq(device_.pd(), &wanted);
    if (!queue_) return Error(errc_from_errno(errno), "making a shared receive queue", {}, errno);
    return {};
}

void ReceiveSlots::close() noexcept {
    if (queue_) (void)rdma().destroy_srq(queue_);
    queue_ = nullptr;
}

std::byte* ReceiveSlots::bytes(std::uint32_t slot) const noexcept {
    return blocks_[slot / block_slots].bytes().data() + slot_bytes_ * (slot % block_slots);
}

bool ReceiveSlots::grow() noexcept {
    static constinit LogLimit lines;
    const auto first = static_cast<std::uint32_t>(blocks_.size() * block_slots);
    try {
        auto block = Pinned::make(device_, block_slots * slot_bytes_);
        if (!block) {
            log_limited(lines, LogLevel::warning, "verbs", "no more receive slots: %s",
                        block.error().message().c_str());
            return false;
        }
        free_.reserve(first + block_slots);
        blocks_.push_back(*std::move(block));
    } catch (const std::bad_alloc&) {
        log_limited(lines, LogLevel::warning, "verbs", "no more receive slots: out of memory");
        return false;
    }
    for (std::uint32_t i = block_slots; i > 0; --i) free_.push_back(first + i - 1);
    return true;
}

Errc ReceiveSlots::promise(std::uint32_t count) noexcept {
    if (promised_ + count > posted_max_) return Errc::overloaded;
    while (posted_ + free_.size() < promised_ + count) {
        if (!grow()) return Errc::out_of_memory;
    }
    if (posted_ + free_.size() < promised_ + count + beyond_promised) (void)grow();
    promised_ += count;
    if (refill()) return Errc::ok;
    promised_ -= count;
    return Errc::io;
}

std::uint32_t ReceiveSlots::window_for_next() const noexcept {
    return std::clamp((kept_max_ - std::min(kept_max_, promised_)) / 4, window_min, window_max);
}

void ReceiveSlots::taken(std::uint32_t) noexcept { --posted_; }

bool ReceiveSlots::post_free() noexcept {
    constexpr std::size_t batch_max = 64;
    const std::uint32_t wanted = std::min(promised_ + beyond_promised, posted_max_);
    while (posted_ < wanted && !free_.empty() && queue_) {
        std::array<ibv_recv_wr, batch_max> requests;
        std::array<ibv_sge, batch_max> pieces;
        const std::size_t count = std::min<std::size_t>({wanted - posted_, free_.size(), batch_max});
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t slot = free_.back();
            free_.pop_back();
            pieces[i] = {reinterpret_cast<std::uintptr_t>(bytes(slot)), static_cast<std::uint32_t>(slot_bytes_),
                         blocks_[slot / block_slots].lkey()};
            requests[i] = {WorkId::of_receive(slot).raw(), i + 1 < count ? &requests[i + 1] : nullptr, &pieces[i], 1};
        }
        ibv_recv_wr* refused = nullptr;
        if (::ibv_post_srq_recv(queue_, requests.data(), &refused) != 0) {
            for (; refused; refused = refused->next, posted_ -= 1) free_.push_back(WorkId(refused->wr_id).slot());
            posted_ += static_cast<std::uint32_t>(count);
            return false;
        }
        posted_ += static_cast<std::uint32_t>(count);
    }
    return true;
}

Errc ReceiveSlots::keep() noexcept {
    if (kept_ == kept_max_) return Errc::overloaded;
    // The slot of the present arrival is in neither of these counts.
    if (posted_ + free_.size() < promised_ && !grow()) return Errc::overloaded;
    ++kept_;
    return Errc::ok;
}

void ReceiveSlots::release(std::uint32_t slot) noexcept {
    CINNABAR_ASSERT(kept_ > 0);
    --kept_;
    free_.push_back(slot);
}

}  // namespace cinnabar::verbs
