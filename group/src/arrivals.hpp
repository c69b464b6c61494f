// SPDX-License-Identifier: BSD-3-Clause
// Arrivals: the local half of barriers and all-reduces. A member arrives at a name with a value, and goes on when the
// lowest member, which leads, has collected the values of all and released them. Each such round of a name has a
// number, so that a member that takes over from a leader that died knows who was released already. Any thread.
#pragma once

#include "signal.hpp"
#include "wire.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace cinnabar::group {

struct Arrive {
    std::string name;
    std::uint64_t round = 0;
};
// What members have brought together so far.
struct Arrived {
    std::uint64_t released = 0;     // the largest round that one of them has been released from
    std::vector<std::byte> result;  // of that round
    std::vector<std::byte> value;   // of those that have arrived
    bool has_value = false;
};
struct Release {
    std::string name;
    std::uint64_t round = 0;
    std::vector<std::byte> result;
    std::uint64_t count = 0;
    std::vector<Failure> failures;
};
inline constexpr hl::Rpc<Arrived(Arrive)> arrive_rpc{"cinnabar.group.arrive"};
inline constexpr hl::Rpc<void(Release)> release_rpc{"cinnabar.group.release"};

// One arrival that waits.
struct Arrival {
    std::vector<std::byte> value;
    detail::Combine combine;
    std::shared_ptr<Signal> released = std::make_shared<Signal>();
    Release release;  // once it is released
};

class Arrivals {
  public:
    static constexpr std::size_t names_max = 1024;
    static constexpr std::size_t name_bytes_max = 256;

    explicit Arrivals(hl::NodeRef node) : node_(node) {}

    // invalid_argument: the name is too long; busy: another task waits there; too_large: names_max; closed.
    [[nodiscard]] Result<std::shared_ptr<Arrival>> arrive(const std::string& name, std::vector<std::byte> value,
                                                          detail::Combine combine);
    void depart(const std::string& name);
    [[nodiscard]] std::uint64_t last_round(const std::string& name) const;
    void skip_to(const std::string& name, std::uint64_t round);
    void release(const Release& release);
    // Waits until the member has arrived, or has been released from that round or a later one.
    [[nodiscard]] hl::Task<Result<Arrived>> await_arrival(Arrive asked);
    [[nodiscard]] detail::Combine combine_of(const std::string& name) const;
    void close();

  private:
    struct Place {
        std::shared_ptr<Arrival> arrival;  // null: nobody is here
        std::uint64_t released = 0;
        std::vector<std::byte> result;
    };
    hl::NodeRef node_;
    mutable std::mutex mutex_;
    std::map<std::string, Place> places_;
    std::shared_ptr<Signal> changed_ = std::make_shared<Signal>();
    bool closed_ = false;
};

}  // namespace cinnabar::group
