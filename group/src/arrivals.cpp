// SPDX-License-Identifier: BSD-3-Clause
#include "arrivals.hpp"

namespace cinnabar::group {

Result<std::shared_ptr<Arrival>> Arrivals::arrive(const std::string& name, std::vector<std::byte> value,
                                                  detail::Combine combine) {
    if (name.size() > name_bytes_max) return Error(Errc::invalid_argument, "a name has at most 256 bytes");
    auto arrival = std::make_shared<Arrival>();
    arrival->value = std::move(value);
    arrival->combine = std::move(combine);
    std::shared_ptr<Signal> changed;
    {
        const std::lock_guard lock(mutex_);
        if (closed_) return Error(Errc::closed, "this process has left the group");
        if (!places_.contains(name) && places_.size() >= names_max)
            return Error(Errc::too_large, "a process may use 1,024 names of barriers and all-reduces; use them again");
        Place& place = places_[name];
        if (place.arrival) return Error(Errc::busy, "another task of this process waits there already");
        place.arrival = arrival;
        changed = std::exchange(changed_, std::make_shared<Signal>());
    }
    changed->set();
    return arrival;
}

void Arrivals::depart(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (const auto at = places_.find(name); at != places_.end()) at->second.arrival = nullptr;
}

std::uint64_t Arrivals::last_round(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto at = places_.find(name);
    return at == places_.end() ? 0 : at->second.released;
}

void Arrivals::skip_to(const std::string& name, std::uint64_t round) {
    const std::lock_guard lock(mutex_);
    if (const auto at = places_.find(name); at != places_.end()) at->second.released = round;
}

void Arrivals::release(const Release& release) {
    std::shared_ptr<Arrival> arrival;
    {
        const std::lock_guard lock(mutex_);
        const auto at = places_.find(release.name);
        if (at == places_.end() || release.round <= at->second.released) return;
        at->second.released = release.round;
        at->second.result = release.result;
        arrival = std::exchange(at->second.arrival, nullptr);
        if (arrival) arrival->release = release;
    }
    if (arrival) arrival->released->set();
}

hl::Task<Result<Arrived>> Arrivals::await_arrival(Arrive asked) {
    for (;;) {
        std::shared_ptr<Signal> changed;
        {
            const std::lock_guard lock(mutex_);
            if (closed_) co_return Errc::shutting_down;
            const auto at = places_.find(asked.name);
            if (at != places_.end() && at->second.released >= asked.round) {
                Arrived ahead{at->second.released, at->second.result, {}, false};
                co_return ahead;
            }
            if (at != places_.end() && at->second.arrival) {
                Arrived here{at->second.released, {}, at->second.arrival->value, true};
                co_return here;
            }
            changed = changed_;
        }
        const Errc waited = co_await wait_for(node_, changed);
        if (waited != Errc::ok) co_return waited;
    }
}

detail::Combine Arrivals::combine_of(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto at = places_.find(name);
    return at != places_.end() && at->second.arrival ? at->second.arrival->combine : detail::Combine();
}

void Arrivals::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_->set();
}

}  // namespace cinnabar::group
