// SPDX-License-Identifier: BSD-3-Clause
// Admission: limits how many requests of a service run at once, and admits waiting requests in order. A request that
// cannot run is answered `overloaded` before its handler has done anything; the answer says when to retry and may
// reserve a place in the queue. A Caller (caller.hpp) retries then, claims the place, and is admitted before all later
// requests.
//
//     Admission admission({.running_max = 16});
//     node.serve(put, [admission](Request<Item> request) -> Task<Result<void>> {
//         Result<Admitted> admitted = admission.enter(request);
//         if (!admitted) co_return std::move(admitted).error();
//         co_return co_await store(*request);      // destroying `admitted` frees the slot
//     });
//
// The server does not keep rejected requests, only their places, about 100 bytes each. Free slots are kept for the
// holders of places, so a slot may be idle until a holder's request returns.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/hl/request.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace cinnabar::hl {

struct AdmissionOptions {
    std::uint32_t running_max = 64;
    // The maximum number of places reserved at a time. One peer holds at most running_max / 2 places, or one place if
    // running_max is 1. A request that gets no place is told when to retry as well, but has no priority then.
    std::uint32_t places_max = 4096;
    // The minimum and maximum time that a rejected request is told to wait before it retries. The wait is the estimated
    // time until the request's turn, within these limits. The request's place is reserved for twice the wait plus
    // late_max.
    Microseconds pause_min{1'000};
    Microseconds pause_max{1'000'000};
    Microseconds late_max{100'000};
};

class AdmissionCore;

// An admitted request. Movable; frees its slot when destroyed, on any thread.
class CINNABAR_API Admitted {
  public:
    Admitted() = default;
    Admitted(std::shared_ptr<AdmissionCore> core, TimeUs began) noexcept : core_(std::move(core)), began_us_(began) {}
    Admitted(Admitted&&) noexcept = default;
    Admitted& operator=(Admitted&& other) noexcept {
        Admitted taken(std::move(other));
        std::swap(core_, taken.core_);
        std::swap(began_us_, taken.began_us_);
        return *this;
    }
    ~Admitted();

  private:
    std::shared_ptr<AdmissionCore> core_;
    TimeUs began_us_ = 0;
};

// A handle; copies share the slots. Thread-safe.
class CINNABAR_API Admission {
  public:
    explicit Admission(AdmissionOptions options = {});

    // Admits the request, or returns the error that its handler should return.
    template <typename In>
    [[nodiscard]] Result<Admitted> enter(const Request<In>& request) const {
        return enter(request.source(), request.place(), request.node().rpc_context().now_us());
    }
    // As above, for a request from `source` that claims `place`. `now_us` must always come from the same clock.
    [[nodiscard]] Result<Admitted> enter(const na::Addr& source, std::uint64_t place, TimeUs now_us) const;

    // Snapshots.
    [[nodiscard]] std::uint32_t running() const noexcept;
    [[nodiscard]] std::uint32_t places() const noexcept;

  private:
    std::shared_ptr<AdmissionCore> core_;
};

// Makes the `overloaded` error that a handler with a queue of its own returns. The error tells the caller to retry
// after `after` (at most an hour) and, if `place` is not 0, to claim that place (Request::place). Requires: the handler
// has done nothing yet.
[[nodiscard]] CINNABAR_API Error come_again(Microseconds after, std::uint64_t place = 0);

namespace detail {

// Whether an `overloaded` error comes from come_again().
[[nodiscard]] bool is_pushback(const Error& error) noexcept;
// Reads the place from the text of an answer by come_again(). False: the text contains no place.
[[nodiscard]] bool read_place(std::string_view text, std::uint64_t& place) noexcept;

}  // namespace detail
}  // namespace cinnabar::hl
