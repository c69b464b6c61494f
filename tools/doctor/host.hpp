// SPDX-License-Identifier: BSD-3-Clause
// The doctor's view of a machine. Tests provide a fake one with faults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools::doctor {

struct Space {
    std::uint64_t total_bytes = 0;
    std::uint64_t free_bytes = 0;
};

struct Lookup {
    bool found = false;
    double seconds = 0;
    std::vector<std::string> addresses;
};

class Host {
  public:
    virtual ~Host() = default;

    // The first 64 KiB of a file; nullopt if it cannot be read.
    [[nodiscard]] virtual std::optional<std::string> read(const std::string& path) const = 0;
    // The sorted names in a folder; empty if it cannot be read.
    [[nodiscard]] virtual std::vector<std::string> list(const std::string& path) const = 0;
    [[nodiscard]] virtual bool may_open(const std::string& path) const = 0;  // for reading and writing
    // Whether a process holds a lock on a file (flock).
    [[nodiscard]] virtual bool is_locked(const std::string& path) const = 0;
    // The user id of the owner; nullopt if the file does not exist.
    [[nodiscard]] virtual std::optional<std::uint64_t> owner(const std::string& path) const = 0;
    [[nodiscard]] virtual std::optional<Space> space(const std::string& path) const = 0;
    [[nodiscard]] virtual std::string environment(const std::string& name) const = 0;
    [[nodiscard]] virtual Lookup look_up(const std::string& name) const = 0;
    // Returns the path MTU that the kernel knows for the first address of the named host that accepts a TCP connection.
    // The kernel knows only the MTU of the route's first hop, until larger packets were sent and a router on the way
    // has refused them. nullopt: no address accepts, or the name does not resolve. Blocks for up to 2 s per address.
    [[nodiscard]] virtual std::optional<unsigned> path_mtu(const std::string& name, std::uint16_t port) const = 0;
    [[nodiscard]] virtual std::uint64_t monotonic_ns() const = 0;
    [[nodiscard]] virtual std::uint64_t real_ns() const = 0;
    [[nodiscard]] virtual double clock_cost_ns() const = 0;  // cost of one reading of the monotonic clock
    virtual void pause(std::uint64_t milliseconds) const = 0;
};

// The machine on which this process runs.
[[nodiscard]] const Host& this_host();

}  // namespace cinnabar::tools::doctor
