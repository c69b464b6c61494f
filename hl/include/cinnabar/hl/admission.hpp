// SPDX-License-Identifier: BSD-3-Clause
// Admission: how many requests run at once in a service, and who comes next. A handler that finds no room answers
// `overloaded` without having done anything, and says when to come again and which place in the queue it keeps until
// then. A Caller (caller.hpp) comes again at that time with that place, and is let in before all that came after it.
//
//     Admission admission({.running_max = 16});
//     node.serve(put, [admission](Request<Item> request) -> Task<Result<void>> {
//         Result<Admitted> admitted = admission.enter(request);
//         if (!admitted) co_return std::move(admitted).error();
//         co_return co_await store(*request);      // `admitted` gives the room back when it goes
//     });
//
// The requests themselves do not wait here: nothing is held for those that were sent away but a place of about 100
// bytes. A slot is kept for each place, so a slot may be idle until its request comes.
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
    // Places that are kept. One peer has at most half of running_max (and one in any case); who gets none is told to
    // come again as well, but begins anew.
    std::uint32_t places_max = 4096;
    // When to come again: the time that those before it will take, as those of late did, within these bounds. A place
    // is kept for as long again, and late_max more.
    Microseconds pause_min{1'000};
    Microseconds pause_max{1'000'000};
    Microseconds late_max{100'000};
};

class AdmissionCore;

// A request that was let in. Movable; gives its room back when it is destroyed, on any thread.
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

// A handle; copies share the room. Thread-safe.
class CINNABAR_API Admission {
  public:
    explicit Admission(AdmissionOptions options = {});

    // Lets the request in, or the error for its handler to return.
    template <typename In>
    [[nodiscard]] Result<Admitted> enter(const Request<In>& request) const {
        return enter(request.source(), request.place(), request.node().rpc_context().now_us());
    }
    // The same for a request of that peer that claims that place; `now_us` is on one clock for all.
    [[nodiscard]] Result<Admitted> enter(const na::Addr& source, std::uint64_t place, TimeUs now_us) const;

    // Snapshots.
    [[nodiscard]] std::uint32_t running() const noexcept;
    [[nodiscard]] std::uint32_t places() const noexcept;

  private:
    std::shared_ptr<AdmissionCore> core_;
};

// For a handler with a queue of its own: `overloaded`, with the time after which to come again (at most an hour), and
// a place that is not 0, if it keeps one; Request::place tells of it then. The handler must have done nothing.
[[nodiscard]] CINNABAR_API Error come_again(Microseconds after, std::uint64_t place = 0);

namespace detail {

// Whether an `overloaded` is one of come_again().
[[nodiscard]] bool is_pushback(const Error& error) noexcept;
// The place in the text of such an answer. False: it is none.
[[nodiscard]] bool read_place(std::string_view text, std::uint64_t& place) noexcept;

}  // namespace detail
}  // namespace cinnabar::hl
