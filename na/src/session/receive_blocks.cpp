// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/receive_blocks.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace cinnabar::na {
namespace {

// The size of one read, unless frames are larger. Limited so that the bytes are still in the cache when they are
// parsed.
constexpr std::size_t shared_bytes_min = 64 * 1024;

// Free blocks kept for the next burst, by size class: about 1 MiB in total.
constexpr std::array<std::uint32_t, 5> free_max{1024, 256, 64, 16, 4};

}  // namespace

ReceiveBlocks::ReceiveBlocks(std::size_t frame_bytes_max, std::uint32_t kept_max)
    : sizes_{256, 1024, 4096, std::max<std::size_t>(frame_bytes_max, 4096),
             std::max(shared_bytes_min, 2 * frame_bytes_max)},
      frame_bytes_max_(frame_bytes_max),
      kept_max_(kept_max) {}

ReceiveBlocks::~ReceiveBlocks() {
    CINNABAR_ASSERT(kept_ == 0);
    if (reading_) ::operator delete(reading_);
    for (ReceiveBlock* block : free_) {
        while (block) ::operator delete(std::exchange(block, block->next));
    }
}

Bytes ReceiveBlocks::next_room() noexcept {
    if (reading_ && sizes_[shared_class] - offset_ < frame_bytes_max_) {
        reading_->reading = false;
        ++shared_out_;
        reading_ = nullptr;
    }
    if (!reading_) {
        reading_ = take_class(shared_class);
        if (!reading_) return {};
        reading_->reading = true;
        offset_ = 0;
    }
    return {reading_->bytes() + offset_, sizes_[shared_class] - offset_};
}

ReceiveBlock* ReceiveBlocks::take(std::size_t bytes) noexcept {
    const auto fits = std::find_if(sizes_.begin(), sizes_.end() - 1, [bytes](std::size_t s) { return s >= bytes; });
    CINNABAR_ASSERT(fits != sizes_.end() - 1);
    ReceiveBlock* block = take_class(static_cast<std::uint8_t>(fits - sizes_.begin()));
    if (block) block->references = 1;
    return block;
}

void ReceiveBlocks::unreference(ReceiveBlock& block) noexcept {
    CINNABAR_ASSERT(block.references > 0);
    if (--block.references != 0 || block.reading) return;
    if (block.size_class == shared_class) --shared_out_;
    give(block);
}

Errc ReceiveBlocks::keep(Arrival& arrival, Port& port, Kept& out) noexcept {
    if (!count_kept()) return Errc::overloaded;
    auto* block = static_cast<ReceiveBlock*>(arrival.token);
    ++block->references;
    out = Kept{arrival.bytes, &port, block, 0, false};
    if (shared(*block) && crowded()) (void)detach(out, false);
    return Errc::ok;
}

Errc ReceiveBlocks::detach(Kept& kept, bool closed) noexcept {
    auto* block = static_cast<ReceiveBlock*>(kept.token);
    if (kept.detached || !shared(*block)) {
        kept.detached = true;
        return Errc::ok;
    }
    if (closed) return Errc::ok;  // nothing more will be received, so no room is needed
    ReceiveBlock* own = take(std::max<std::size_t>(kept.bytes.size(), 1));
    if (!own) return Errc::overloaded;
    if (!kept.bytes.empty()) std::memcpy(own->bytes(), kept.bytes.data(), kept.bytes.size());
    kept.bytes = {own->bytes(), kept.bytes.size()};
    kept.token = own;
    kept.detached = true;
    unreference(*block);
    return Errc::ok;
}

void ReceiveBlocks::release(Kept& kept) noexcept {
    unreference(*static_cast<ReceiveBlock*>(kept.token));
    count_released();
    kept = {};
}

bool ReceiveBlocks::count_kept() noexcept {
    if (full()) return false;
    ++kept_;
    return true;
}

ReceiveBlock* ReceiveBlocks::take_class(std::uint8_t size_class) noexcept {
    if (ReceiveBlock* block = free_[size_class]) {
        free_[size_class] = block->next;
        --free_count_[size_class];
        return block;
    }
    void* memory = ::operator new(sizeof(ReceiveBlock) + sizes_[size_class], std::nothrow);
    if (!memory) return nullptr;
    auto* block = new (memory) ReceiveBlock;
    block->size_class = size_class;
    return block;
}

void ReceiveBlocks::give(ReceiveBlock& block) noexcept {
    if (free_count_[block.size_class] >= free_max[block.size_class]) {
        ::operator delete(&block);
        return;
    }
    block.next = free_[block.size_class];
    free_[block.size_class] = &block;
    ++free_count_[block.size_class];
}

}  // namespace cinnabar::na
