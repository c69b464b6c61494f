// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/parse_number.hpp>
#include <cinnabar/hl/admission.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace cinnabar::hl {

Error come_again(Microseconds after, std::uint64_t place) {
    constexpr std::int64_t hour_us = 3'600'000'000;
    Error error(Errc::overloaded, advice(Errc::overloaded), std::to_string(place));
    error.app_code = static_cast<std::uint32_t>(std::clamp<std::int64_t>(after.count(), 0, hour_us));
    return error;
}

namespace detail {

bool read_place(std::string_view text, std::uint64_t& place) noexcept {
    const auto read = parse_number<std::uint64_t>(text);
    if (read) place = *read;
    return read.has_value();
}

bool is_pushback(const Error& error) noexcept {
    std::uint64_t place = 0;
    return read_place(error.subject, place);
}

}  // namespace detail

class AdmissionCore {
  public:
    explicit AdmissionCore(AdmissionOptions options) : options_(options), usual_us_(usual_at_first(options)) {
        options_.running_max = std::max(options_.running_max, 1u);
    }

    // Returns nothing if the request may run, otherwise the error to answer.
    [[nodiscard]] std::optional<Error> enter(const na::Addr& source, std::uint64_t claimed, TimeUs now_us) {
        const std::lock_guard lock(mutex_);
        forget_late(now_us);
        const auto own = places_.find(claimed);
        const bool has_place = own != places_.end() && own->second.source == source;
        const std::uint32_t free = options_.running_max - running_;
        const std::size_t before = has_place ? ahead_of(own, free) : places_.size();
        if (before < free) {
            if (has_place) drop(own);
            ++running_;
            return {};
        }
        const Microseconds pause = pause_behind(before);
        if (has_place) {
            own->second.ends_us = ends(now_us, pause);
            return come_again(pause, claimed);
        }
        return come_again(pause, keep_place(source, ends(now_us, pause)));
    }

    void leave(TimeUs took_us) noexcept {
        const std::lock_guard lock(mutex_);
        --running_;
        usual_us_ += (static_cast<double>(took_us) - usual_us_) / 8;
    }

    [[nodiscard]] std::uint32_t running() const noexcept {
        const std::lock_guard lock(mutex_);
        return running_;
    }
    [[nodiscard]] std::uint32_t places() const noexcept {
        const std::lock_guard lock(mutex_);
        return static_cast<std::uint32_t>(places_.size());
    }

  private:
    struct Place {
        na::Addr source;
        TimeUs ends_us = 0;
    };
    using Places = std::map<std::uint64_t, Place>;  // in the order in which they were given out

    static double usual_at_first(const AdmissionOptions& options) {
        return static_cast<double>(options.pause_min.count());
    }
    [[nodiscard]] TimeUs ends(TimeUs now_us, Microseconds pause) const noexcept {
        return after(now_us, 2 * pause + options_.late_max);
    }
    // Counts the places before `own`, up to `most`.
    [[nodiscard]] std::size_t ahead_of(Places::const_iterator own, std::size_t most) const noexcept {
        std::size_t ahead = 0;
        for (auto each = places_.begin(); each != own && ahead < most; ++each) ++ahead;
        return ahead;
    }
    [[nodiscard]] Microseconds pause_behind(std::size_t before) const noexcept {
        const double rounds = static_cast<double>(before + 1) / options_.running_max;
        const auto us = static_cast<std::int64_t>(std::min(usual_us_ * rounds, 1e12));
        return std::clamp(Microseconds(us), options_.pause_min, std::max(options_.pause_min, options_.pause_max));
    }
    // Drops expired places: always those at the front, and periodically all others.
    void forget_late(TimeUs now_us) {
        while (!places_.empty() && places_.begin()->second.ends_us <= now_us) drop(places_.begin());
        if (now_us < next_sweep_us_) return;
        next_sweep_us_ = after(now_us, options_.late_max);
        for (auto each = places_.begin(); each != places_.end();) {
            const auto next = std::next(each);
            if (each->second.ends_us <= now_us) drop(each);
            each = next;
        }
    }
    // Reserves a place. 0: none is left for this peer.
    [[nodiscard]] std::uint64_t keep_place(const na::Addr& source, TimeUs ends_us) {
        const std::uint32_t share = std::max(options_.running_max / 2, 1u);
        std::uint32_t& own = held_[&source.body()];
        if (places_.size() >= options_.places_max || own >= share) {
            if (own == 0) held_.erase(&source.body());
            return 0;
        }
        ++own;
        places_.emplace_hint(places_.end(), ++last_, Place{source, ends_us});
        return last_;
    }
    void drop(Places::iterator place) {
        const auto own = held_.find(&place->second.source.body());
        if (--own->second == 0) held_.erase(own);
        places_.erase(place);
    }

    AdmissionOptions options_;
    mutable std::mutex mutex_;
    std::uint32_t running_ = 0;
    double usual_us_;  // recent running time of a request
    std::uint64_t last_ = 0;
    TimeUs next_sweep_us_ = 0;
    Places places_;
    std::unordered_map<const na::AddrBody*, std::uint32_t> held_;  // places of each peer; they hold its address
};

Admitted::~Admitted() {
    if (!core_) return;
    const TimeUs now = steady_clock().now_us();
    core_->leave(now - std::min(began_us_, now));
}

Admission::Admission(AdmissionOptions options) : core_(std::make_shared<AdmissionCore>(options)) {}

Result<Admitted> Admission::enter(const na::Addr& source, std::uint64_t place, TimeUs now_us) const {
    if (auto told = core_->enter(source, place, now_us)) return *std::move(told);
    return Admitted(core_, steady_clock().now_us());
}

std::uint32_t Admission::running() const noexcept { return core_->running(); }
std::uint32_t Admission::places() const noexcept { return core_->places(); }

}  // namespace cinnabar::hl
