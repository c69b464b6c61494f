// SPDX-License-Identifier: BSD-3-Clause
#include "session/buffers.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <iterator>

namespace cinnabar::files {

Share::Share(Buffers& buffers, SessionPart& session) noexcept : buffers_(&buffers), session_(&session) {
    if (session_->shares_++ == 0) ++buffers_->sessions_;
}

Share::~Share() {
    CINNABAR_ASSERT(held_ == 0 && !waiting_);
    if (--session_->shares_ == 0) --buffers_->sessions_;
    buffers_->hand_out();
}

void Share::close(Errc why) noexcept {
    closed_ = why;
    if (!waiting_) return;
    std::erase(session_->queue_, this);
    if (session_->queue_.empty()) std::erase(buffers_->queue_, session_);
    std::exchange(waiting_, nullptr)->resume(why);
}

Buffer::~Buffer() {
    if (!share_) return;
    --share_->held_;
    // A quarantined buffer, which the client may still access, remains charged to its session.
    if (!buffer_.region().quarantined()) --share_->session_->held_;
    buffer_ = {};
    share_->buffers_->hand_out();
}

bool Share::Take::await_ready() noexcept {
    outcome = share.closed_;
    // Do not overtake tasks that already wait.
    return outcome != Errc::ok || (share.buffers_->queue_.empty() && share.buffers_->try_take(share, taken));
}

void Share::Take::enqueue() {
    CINNABAR_ASSERT(!share.waiting_);
    share.waiting_ = this;
    share.buffers_->enqueue(share);
}

Result<Buffers> Buffers::make(std::size_t buffer_bytes, std::uint32_t count) {
    CINNABAR_TRY(auto pool, bulk::BufferPool::make(buffer_bytes, count));
    return Buffers(std::move(pool), count);
}

void Buffers::enqueue(Share& share) {
    SessionPart& session = *share.session_;
    if (session.queue_.empty()) queue_.push_back(&session);
    session.queue_.push_back(&share);
    hand_out();
}

bool Buffers::try_take(Share& share, Buffer& out) noexcept {
    SessionPart& session = *share.session_;
    if (share.held_ >= file_part(session) || session.held_ >= session_part()) return false;
    // The last free buffer is reserved for a session that has none.
    if (session.held_ > 0 && pool_.buffers_free() == 1) return false;
    auto buffer = pool_.try_take();
    if (!buffer) return false;
    ++share.held_;
    ++session.held_;
    out.buffer_ = std::move(buffer);
    out.share_ = &share;
    return true;
}

// Round-robin: a session that got a buffer moves to the end of the queue.
void Buffers::hand_out() noexcept {
    for (std::ptrdiff_t at = 0; at < std::ssize(queue_) && pool_.buffers_free() != 0;) {
        const auto place = queue_.begin() + at;
        if (!hand_out_one(**place)) {
            ++at;
        } else if ((*place)->queue_.empty()) {
            queue_.erase(place);
        } else {
            std::rotate(place, place + 1, queue_.end());
        }
    }
}

bool Buffers::hand_out_one(SessionPart& session) noexcept {
    for (auto at = session.queue_.begin(); at != session.queue_.end(); ++at) {
        Share& share = **at;
        if (!try_take(share, share.waiting_->taken)) continue;
        session.queue_.erase(at);
        std::exchange(share.waiting_, nullptr)->resume(Errc::ok);
        return true;
    }
    return false;
}

}  // namespace cinnabar::files
