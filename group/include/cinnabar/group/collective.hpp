// SPDX-License-Identifier: BSD-3-Clause
// Options and results of collective calls. Plain values.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/group/member.hpp>
#include <cinnabar/hl/pool.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cinnabar::group {

// How a call spreads. A member calls the members below it, which call those below them; answers return the same way.
enum class Tree : std::uint8_t {
    automatic,  // flat up to 8 members, else k-nomial: 4, or 2 if the arguments are larger than 64 KiB
    flat,       // the caller calls all members itself
    k_ary,      // each member calls the same number of others
    k_nomial,   // members that are called early call more others than those called late
    chain,      // each member calls one other
};

// Must stay trivially destructible, like hl::CallOptions. The call copies the spans and the token.
struct CollectiveOptions {
    // How long the whole call may take, down to the last member and back. Unset: the deadline of the enclosing task, or
    // hl::default_deadline.
    std::optional<Microseconds> deadline = {};
    const std::stop_token* stop = nullptr;
    std::span<const Rank> only = {};    // empty: all members
    std::span<const Rank> except = {};  // all except these; this process is treated like any other member
    Tree tree = Tree::automatic;
    unsigned fanout = 0;  // k_ary and k_nomial, 2 to 64; 0: 4
    // The priority among the calls of this process that wait for GroupOptions::quota; within a priority, the call with
    // the nearest deadline is first. Barriers and other calls that every member makes itself are not subject to the
    // quota.
    hl::Priority priority = hl::Priority::normal;
};
static_assert(std::is_trivially_destructible_v<CollectiveOptions>);

// A member that did not take part, and why. Its handler may have run, unless the code says that it did not.
struct Failure {
    Rank rank = no_rank;
    Errc code = Errc::ok;
    std::uint32_t app_code = 0;  // as in Error
    // The text of the error, as in Error::subject: the handler's own words, or, if the member could not be called, each
    // attempt to call it. At most 256 bytes.
    std::string text;
};

// Each member that was asked is either counted or listed as a failure.
struct Reached {
    std::size_t count = 0;
    std::vector<Failure> failures;
    [[nodiscard]] bool all() const noexcept { return failures.empty(); }
};

template <typename Out>
struct Gathered {
    std::vector<std::pair<Rank, Out>> values;  // by rank
    std::vector<Failure> failures;
    [[nodiscard]] bool all() const noexcept { return failures.empty(); }
};

template <typename Out>
struct Reduced {
    std::optional<Out> value;  // empty if no member gave one
    std::size_t count = 0;     // the number of answers that were combined into it
    std::vector<Failure> failures;
    [[nodiscard]] bool all() const noexcept { return failures.empty(); }
};

// Combiners: f(into, more) combines `more` into `into`. A combiner must be associative and commutative, because answers
// are combined in the order in which they arrive.
struct Plus {
    template <typename T>
    void operator()(T& into, const T& more) const {
        into = static_cast<T>(into + more);
    }
};
struct Least {
    template <typename T>
    void operator()(T& into, const T& more) const {
        if (more < into) into = more;
    }
};
struct Greatest {
    template <typename T>
    void operator()(T& into, const T& more) const {
        if (into < more) into = more;
    }
};
inline constexpr Plus plus;
inline constexpr Least least;
inline constexpr Greatest greatest;

}  // namespace cinnabar::group
