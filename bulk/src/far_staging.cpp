// SPDX-License-Identifier: BSD-3-Clause
#include "far_staging.hpp"

#include <cinnabar/base/assert.hpp>

#include <new>
#include <utility>

namespace cinnabar::bulk {

FarStaging::~FarStaging() {
    CINNABAR_ASSERT(taken_ == 0);
    while (free_) delete std::exchange(free_, free_->next);
}

FarBuffer* FarStaging::take(const std::shared_ptr<na::Transport>& transport) noexcept {
    if (FarBuffer* const buffer = free_) {
        free_ = buffer->next;
        ++taken_;
        return buffer;
    }
    try {
        auto buffer = std::make_unique<FarBuffer>();
        auto region = Region::allocate(buffer_bytes, na::Access::read_write, transport);
        if (!region) return nullptr;
        auto memory = region->memory_on(transport);
        if (!memory) return nullptr;
        buffer->region = *std::move(region);
        buffer->memory = *memory;
        const auto* const taker = dynamic_cast<const na::PipeTaker*>(transport.get());
        buffer->may_have_pipe = taker && taker->takes_pipes();
        ++taken_;
        return buffer.release();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

// Keeps the buffer for reuse, or frees it if there are more buffers than the fixed number, or if the buffer is in
// quarantine. The memory of a buffer in quarantine is kept by the Lend until the peer can no longer access it. Bytes
// that a failed operation left in a pipe are discarded with the pipe.
void FarStaging::give(FarBuffer& buffer) noexcept {
    if (buffer.pipe && buffer.pipe->left() > 0) buffer.pipe.reset();
    if (taken_-- > buffers || buffer.region.quarantined()) {
        delete &buffer;
        return;
    }
    buffer.next = free_;
    free_ = &buffer;
}

}  // namespace cinnabar::bulk
