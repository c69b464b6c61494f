// SPDX-License-Identifier: BSD-3-Clause
#include "chunk_sources.hpp"

#include <utility>

namespace cinnabar::group {

void ChunkSources::add(na::Addr address, std::uint64_t ticket) {
    std::stop_source replaced;
    std::shared_ptr<Signal> changed;
    {
        const std::lock_guard lock(mutex_);
        address_ = std::move(address);
        ticket_ = ticket;
        ++number_;
        failed_ = false;
        std::swap(replaced, replaced_);
        changed = std::exchange(changed_, std::make_shared<Signal>());
    }
    replaced.request_stop();
    changed->set();
}

void ChunkSources::add_spare(na::Addr address, std::uint64_t ticket) {
    {
        const std::lock_guard lock(mutex_);
        if (number_ != 0 && !failed_ && !(address == address_)) {
            spare_ = std::move(address);
            spare_ticket_ = ticket;
            return;
        }
    }
    add(std::move(address), ticket);
}

void ChunkSources::failed(std::uint64_t number) {
    na::Addr spare;
    std::uint64_t ticket = 0;
    {
        const std::lock_guard lock(mutex_);
        if (number != number_) return;
        failed_ = true;
        if (spare_.empty()) return;
        spare = std::exchange(spare_, na::Addr());
        ticket = spare_ticket_;
    }
    add(std::move(spare), ticket);
}

ChunkSource ChunkSources::newest() const {
    const std::lock_guard lock(mutex_);
    return {address_, ticket_, number_, replaced_.get_token()};
}

hl::Task<Errc> ChunkSources::wait_for_newer(hl::NodeRef node, std::uint64_t number, Microseconds span) const {
    std::shared_ptr<Signal> changed;
    {
        const std::lock_guard lock(mutex_);
        if (number_ > number) co_return Errc::ok;
        changed = changed_;
    }
    auto waiting = wait_for(node, changed, span);
    co_return co_await waiting;
}

}  // namespace cinnabar::group
