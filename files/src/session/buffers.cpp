// SPDX-License-Identifier: BSD-3-Clause
#include "session/buffers.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>

namespace cinnabar::files {

Share::Share(Buffers& buffers) noexcept : buffers_(&buffers) { ++buffers_->shares_; }

Share::~Share() {
    CINNABAR_ASSERT(held_ == 0 && !waiting_);
    --buffers_->shares_;
    buffers_->hand_out();
}

void Share::close(Errc why) noexcept {
    closed_ = why;
    if (!waiting_) return;
    std::erase(buffers_->queue_, this);
    std::exchange(waiting_, nullptr)->resume(why);
}

Buffer::~Buffer() {
    if (!share_) return;
    --share_->held_;
    buffer_ = {};
    share_->buffers_->hand_out();
}

bool Share::Take::await_ready() noexcept {
    outcome = share.closed_;
    // Who waits already is not overtaken.
    return outcome != Errc::ok || (share.buffers_->queue_.empty() && share.buffers_->try_take(share, taken));
}

void Share::Take::enqueue() {
    CINNABAR_ASSERT(!share.waiting_);
    share.waiting_ = this;
    share.buffers_->queue_.push_back(&share);
    share.buffers_->hand_out();
}

Result<Buffers> Buffers::make(std::size_t buffer_bytes, std::uint32_t count) {
    CINNABAR_TRY(auto pool, bulk::BufferPool::make(buffer_bytes, count));
    return Buffers(std::move(pool), count);
}

bool Buffers::try_take(Share& share, Buffer& out) noexcept {
    if (share.held_ >= part()) return false;
    auto buffer = pool_.try_take();
    if (!buffer) return false;
    ++share.held_;
    out.buffer_ = std::move(buffer);
    out.share_ = &share;
    return true;
}

void Buffers::hand_out() noexcept {
    for (auto at = queue_.begin(); at != queue_.end();) {
        Share& share = **at;
        if (pool_.buffers_free() == 0) return;
        if (!try_take(share, share.waiting_->taken)) {
            ++at;
            continue;
        }
        at = queue_.erase(at);
        std::exchange(share.waiting_, nullptr)->resume(Errc::ok);
    }
}

}  // namespace cinnabar::files
