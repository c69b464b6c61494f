// SPDX-License-Identifier: BSD-3-Clause
#include "completion_queue.hpp"

#include "completion.hpp"
#include "rdma_library.hpp"

#include <fcntl.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace cinnabar::verbs {
namespace {

// Acknowledging takes a lock in libibverbs, so many events are acknowledged at once.
constexpr unsigned events_max = 256;

}  // namespace

Result<void> CompletionQueue::open(const Device& device, std::uint32_t entries, void* owner) {
    channel_ = rdma().create_comp_channel(device.context());
    if (!channel_) return Error(errc_from_errno(errno), "making a completion channel", {}, errno);
    (void)::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
    queue_ = rdma().create_cq(device.context(), static_cast<int>(entries), owner, channel_, 0);
    if (!queue_) return Error(errc_from_errno(errno), "making a completion queue", {}, errno);
    fetched_.reserve(entries);
    if (!host_.watch(channel_->fd, EPOLLIN, *this)) {
        return Error(errc_from_errno(errno), "watching a completion channel", {}, errno);
    }
    return {};
}

void CompletionQueue::close() noexcept {
    if (queue_) {
        on_ready(0);
        rdma().ack_cq_events(queue_, events_);
        (void)rdma().destroy_cq(queue_);
    }
    if (channel_) {
        host_.unwatch(channel_->fd);
        (void)rdma().destroy_comp_channel(channel_);
    }
    queue_ = nullptr;
    channel_ = nullptr;
}

std::size_t CompletionQueue::poll(std::span<ibv_wc> out) noexcept {
    std::size_t count = 0;
    if (fetched_begin_ < fetched_.size()) {
        count = std::min(out.size(), fetched_.size() - fetched_begin_);
        std::copy_n(fetched_.begin() + static_cast<std::ptrdiff_t>(fetched_begin_), count, out.begin());
        fetched_begin_ += count;
        if (fetched_begin_ == fetched_.size()) {
            fetched_.clear();
            fetched_begin_ = 0;
        }
        if (count == out.size()) return count;
    }
    const int more = ::ibv_poll_cq(queue_, static_cast<int>(out.size() - count), out.data() + count);
    return more > 0 ? count + static_cast<std::size_t>(more) : count;
}

// Does not allocate: there are at most as many completions as the queue holds, because slots and work requests become
// free only when their completions are taken.
void CompletionQueue::fetch_all() noexcept {
    fetched_.erase(fetched_.begin(), fetched_.begin() + static_cast<std::ptrdiff_t>(std::exchange(fetched_begin_, 0u)));
    std::array<ibv_wc, 32> some;
    int count = 0;
    while ((count = ::ibv_poll_cq(queue_, static_cast<int>(some.size()), some.data())) > 0) {
        fetched_.insert(fetched_.end(), some.begin(), some.begin() + count);
    }
}

bool CompletionQueue::arm() noexcept {
    if (fetched_begin_ < fetched_.size()) return false;
    if (!armed_) armed_ = ::ibv_req_notify_cq(queue_, 0) == 0;
    // The device does not report completions that arrived between the last poll and the request.
    fetch_all();
    return armed_ && fetched_.empty();
}

void CompletionQueue::forget(std::uint32_t queue_pair) noexcept {
    fetch_all();
    const auto begin = fetched_.begin() + static_cast<std::ptrdiff_t>(fetched_begin_);
    const auto left_over = [queue_pair](const ibv_wc& done) {
        return done.qp_num == queue_pair && !WorkId(done.wr_id).is_receive();
    };
    fetched_.erase(std::remove_if(begin, fetched_.end(), left_over), fetched_.end());
    for (ibv_wc& done : fetched_) {
        if (done.qp_num == queue_pair) done.qp_num = 0;
    }
}

void CompletionQueue::on_ready(std::uint32_t) noexcept {
    if (!queue_) return;
    ibv_cq* queue = nullptr;
    void* owner = nullptr;
    while (rdma().get_cq_event(channel_, &queue, &owner) == 0) {
        armed_ = false;
        if (++events_ == events_max) rdma().ack_cq_events(queue_, std::exchange(events_, 0u));
    }
}

}  // namespace cinnabar::verbs
