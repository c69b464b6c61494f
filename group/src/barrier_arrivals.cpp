// SPDX-License-Identifier: BSD-3-Clause
#include "barrier_arrivals.hpp"

namespace cinnabar::group {

Result<std::shared_ptr<Arrival>> BarrierArrivals::arrive(const std::string& name, std::vector<std::byte> value,
                                                         detail::Combine combine) {
    if (name.size() > name_bytes_max) return Error(Errc::invalid_argument, "a name has at most 256 bytes");
    auto arrival = std::make_shared<Arrival>();
    arrival->value = std::move(value);
    arrival->combine = std::move(combine);
    std::shared_ptr<Signal> changed;
    {
        const std::lock_guard lock(mutex_);
        if (closed_) return Error(Errc::closed, "this process has left the group");
        if (!rounds_.contains(name) && rounds_.size() >= names_max)
            return Error(Errc::too_large, "a process may use 1,024 names of barriers and all-reduces; use them again");
        Round& round = rounds_[name];
        if (round.arrival) return Error(Errc::busy, "another task of this process already waits under that name");
        round.arrival = arrival;
        changed = std::exchange(changed_, std::make_shared<Signal>());
    }
    changed->set();
    return arrival;
}

void BarrierArrivals::depart(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (const auto at = rounds_.find(name); at != rounds_.end()) at->second.arrival = nullptr;
}

Release BarrierArrivals::last(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto at = rounds_.find(name);
    return at == rounds_.end() ? Release{name, 0, {}, 0, {}} : at->second.last;
}

void BarrierArrivals::skip_to(const Release& last) {
    const std::lock_guard lock(mutex_);
    const auto at = rounds_.find(last.name);
    if (at != rounds_.end() && comes_after(last, at->second.last)) at->second.last = last;
}

// A lying peer must not be able to use up all round numbers at once.
bool BarrierArrivals::comes_after(const Release& release, const Release& last) noexcept {
    return release.round > last.round && release.round - last.round <= round_step_max;
}

std::shared_ptr<Arrival> BarrierArrivals::end_round(Round& round, const Release& release) {
    if (!comes_after(release, round.last)) return {};
    round.last = release;
    std::shared_ptr<Arrival> arrival = std::exchange(round.arrival, nullptr);
    if (arrival) arrival->release = release;
    return arrival;
}

void BarrierArrivals::release(const Release& release) {
    std::shared_ptr<Arrival> arrival;
    {
        const std::lock_guard lock(mutex_);
        if (const auto at = rounds_.find(release.name); at != rounds_.end()) arrival = end_round(at->second, release);
    }
    if (arrival) arrival->released->set();
}

void BarrierArrivals::catch_up(const Release& release) {
    std::shared_ptr<Arrival> arrival;
    {
        const std::lock_guard lock(mutex_);
        const auto at = rounds_.find(release.name);
        if (at == rounds_.end() || !at->second.arrival || at->second.arrival->round != release.round) return;
        arrival = end_round(at->second, release);
    }
    if (arrival) arrival->released->set();
}

hl::Task<Result<Arrived>> BarrierArrivals::await_arrival(Arrive asked) {
    for (;;) {
        std::shared_ptr<Signal> changed;
        std::shared_ptr<Arrival> ended;
        {
            const std::lock_guard lock(mutex_);
            if (closed_) co_return Errc::shutting_down;
            changed = changed_;
            const auto at = rounds_.find(asked.name);
            Round* const round = at == rounds_.end() ? nullptr : &at->second;
            if (round && round->last.round >= asked.round) co_return Arrived{round->last, {}};
            Arrival* const here = round ? round->arrival.get() : nullptr;
            if (here && here->round != 0 && here->round == asked.previous.round) {
                ended = end_round(*round, asked.previous);
            } else if (here) {
                here->round = asked.round;
                co_return Arrived{round->last, {here->value}};
            }
        }
        if (ended) {
            ended->released->set();
            continue;
        }
        const Errc waited = co_await wait_for(node_, changed);
        if (waited != Errc::ok) co_return waited;
    }
}

detail::Combine BarrierArrivals::combine_of(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto at = rounds_.find(name);
    return at != rounds_.end() && at->second.arrival ? at->second.arrival->combine : detail::Combine();
}

void BarrierArrivals::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_->set();
}

}  // namespace cinnabar::group
