// SPDX-License-Identifier: BSD-3-Clause
#include "holding.hpp"

#include "bounded.hpp"
#include "offers.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>

namespace cinnabar::group {

void Holding::hold_all(bulk::Region region) {
    const std::lock_guard lock(mutex_);
    region_ = std::move(region);
    all_ = true;
}

void Holding::begin(bulk::Region region) {
    const std::lock_guard lock(mutex_);
    region_ = std::move(region);
    missing_ = chunks();
    in_place_.assign(missing_, false);
    all_ = missing_ == 0;
}

std::shared_ptr<Signal> Holding::renew_changed() { return std::exchange(changed_, std::make_shared<Signal>()); }

void Holding::set_in_place(std::uint64_t chunk) {
    std::shared_ptr<Signal> changed;
    {
        const std::lock_guard lock(mutex_);
        if (in_place_[chunk]) return;
        in_place_[chunk] = true;
        all_ = --missing_ == 0;
        changed = renew_changed();
    }
    changed->set();
}

bool Holding::complete() const {
    const std::lock_guard lock(mutex_);
    return all_ || bytes_ == 0;
}

bool Holding::can_lend() const {
    const std::lock_guard lock(mutex_);
    return all_ && !taken_back_ && region_ && !region_.is_far() && na::allows(region_.access(), na::Access::read);
}

bool Holding::has(std::uint64_t offset, std::uint64_t bytes) const {
    if (all_) return true;
    if (in_place_.empty() || bytes == 0) return false;
    const auto first = in_place_.begin() + static_cast<std::ptrdiff_t>(offset / chunk_bytes_);
    const auto last = in_place_.begin() + static_cast<std::ptrdiff_t>((offset + bytes - 1) / chunk_bytes_ + 1);
    return std::find(first, last, false) == last;
}

hl::Task<Errc> Holding::wait_for_bytes(std::uint64_t offset, std::uint64_t bytes) {
    for (;;) {
        std::shared_ptr<Signal> changed;
        {
            const std::lock_guard lock(mutex_);
            if (taken_back_) co_return Errc::not_found;
            if (has(offset, bytes)) co_return Errc::ok;
            changed = changed_;
        }
        const Errc waited = co_await wait_for(node_, changed);
        if (waited != Errc::ok) co_return waited;
    }
}

std::optional<Holding::Access> Holding::access(std::uint64_t offset, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (taken_back_ || !region_) return {};
    ++accesses_;
    return Access(*this, region_.slice(offset, bytes), stop_.get_token());
}

void Holding::end_access() noexcept {
    hl::Executor* executor = nullptr;
    hl::Job* joiner = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (--accesses_ == 0) {
            executor = join_executor_;
            joiner = std::exchange(joiner_, nullptr);
        }
    }
    if (joiner) executor->post(*joiner);
}

bool Holding::join(hl::Executor& executor, hl::Job& joiner) noexcept {
    const std::lock_guard lock(mutex_);
    if (accesses_ == 0) return true;
    CINNABAR_ASSERT(!joiner_);
    join_executor_ = &executor;
    joiner_ = &joiner;
    return false;
}

void Holding::take_back() {
    std::vector<std::shared_ptr<Offer>> given_up;
    std::shared_ptr<Signal> changed;
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(taken_back_, true)) return;
        region_ = {};
        given_up.swap(offers_);
        changed = renew_changed();
    }
    stop_.request_stop();
    for (const auto& offer : given_up) offer->given_up.request_stop();
    changed->set();
}

bool Holding::taken_back() const {
    const std::lock_guard lock(mutex_);
    return taken_back_;
}

void Holding::add_offer(const std::shared_ptr<Offer>& offer) {
    if (bytes_ == 0) return;
    {
        const std::lock_guard lock(mutex_);
        if (!taken_back_) return offers_.push_back(offer);
    }
    offer->given_up.request_stop();
}

void Holding::end_offer(Offer& offer) {
    std::shared_ptr<Signal> changed;
    {
        const std::lock_guard lock(mutex_);
        if (std::erase_if(offers_, [&](const auto& each) { return each.get() == &offer; }) == 0) return;
        changed = renew_changed();
    }
    changed->set();
}

void Holding::note_progress() {
    const std::lock_guard lock(mutex_);
    ++progress_;
}

hl::Task<void> Holding::wait_for_takers() {
    const hl::TaskContext* task = co_await hl::this_task();
    std::uint64_t seen = ~std::uint64_t{0};
    for (;;) {
        std::shared_ptr<Signal> changed;
        {
            const std::lock_guard lock(mutex_);
            if (offers_.empty() || taken_back_ || seen == progress_) co_return;
            seen = progress_;
            changed = changed_;
        }
        const TimeUs deadline = task ? deadline_of(*task, node_) : 0;
        const TimeUs now = node_.rpc_context().now_us();
        const TimeUs left = deadline > now ? deadline - now : 0;
        const Errc waited = co_await wait_for(node_, changed, Microseconds(left / 2));
        if (waited == Errc::ok)
            seen = ~std::uint64_t{0};
        else if (waited != Errc::timed_out)
            co_return;
    }
}

}  // namespace cinnabar::group
