// SPDX-License-Identifier: BSD-3-Clause
// BarrierArrivals: the local half of barriers and all-reduces. A member arrives under a name with a value, and waits.
// The member with the lowest rank leads: it collects the values of all members and then releases them. Each round under
// a name has a number, so that a member that takes over from a dead leader knows who has been released. Any thread.
#pragma once

#include "signal.hpp"
#include "wire.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace cinnabar::group {

// The end of a round, the same for all that took part in it.
struct Release {
    std::string name;
    std::uint64_t round = 0;  // 0: no round has ended yet
    std::vector<std::byte> result;
    std::uint64_t count = 0;
    std::vector<Failure> failures;
};
struct Arrive {
    std::string name;
    std::uint64_t round = 0;
    Release previous;  // release of the previous round, for members that a dead leader did not release
};
// The values of the members that have arrived so far.
struct Arrived {
    Release released;                            // the latest release that any of them has received
    std::vector<std::vector<std::byte>> values;  // combined wherever the combiner was known
};
inline constexpr hl::Rpc<Arrived(Arrive)> arrive_rpc{"cinnabar.group.arrive"};
inline constexpr hl::Rpc<void(Release)> release_rpc{"cinnabar.group.release"};
// The last release under a name.
inline constexpr hl::Rpc<Release(std::string)> released_rpc{"cinnabar.group.released"};

// A task that has arrived and waits.
struct Arrival {
    std::vector<std::byte> value;
    detail::Combine combine;
    std::uint64_t round = 0;  // the round in which the value was collected; 0: not yet
    std::shared_ptr<Signal> released = std::make_shared<Signal>();
    Release release;  // set when it is released
};

class BarrierArrivals {
  public:
    static constexpr std::size_t names_max = 1024;
    static constexpr std::size_t name_bytes_max = 256;
    static constexpr std::uint64_t round_step_max = std::uint64_t{1} << 32;

    explicit BarrierArrivals(hl::NodeRef node) : node_(node) {}

    // invalid_argument: the name is too long; busy: another task waits under it; too_large: names_max; closed.
    [[nodiscard]] Result<std::shared_ptr<Arrival>> arrive(const std::string& name, std::vector<std::byte> value,
                                                          detail::Combine combine);
    void depart(const std::string& name);
    // The last release; round 0 if there is none.
    [[nodiscard]] Release last(const std::string& name) const;
    // Skips rounds that ended without this process.
    void skip_to(const Release& last);
    void release(const Release& release);
    // Ends the waiting arrival if its value was collected for that round.
    void catch_up(const Release& release);
    // Returns once the member has arrived, or has been released from that round or a later one.
    [[nodiscard]] hl::Task<Result<Arrived>> await_arrival(Arrive asked);
    [[nodiscard]] detail::Combine combine_of(const std::string& name) const;
    void close();

  private:
    // The current round under a name.
    struct Round {
        std::shared_ptr<Arrival> arrival;  // null: no task waits
        Release last;
    };
    [[nodiscard]] static bool comes_after(const Release& release, const Release& last) noexcept;
    // Returns the arrival that the release ends, or null.
    [[nodiscard]] static std::shared_ptr<Arrival> end_round(Round& round, const Release& release);

    hl::NodeRef node_;
    mutable std::mutex mutex_;
    std::map<std::string, Round> rounds_;
    std::shared_ptr<Signal> changed_ = std::make_shared<Signal>();
    bool closed_ = false;
};

}  // namespace cinnabar::group
