// SPDX-License-Identifier: BSD-3-Clause
// A simulated network for tests. A World has a clock of its own, faults, and hosts, each of which is a transport of
// this process. All randomness comes from one seed: the same seed and the same calls give the same events in the same
// order.
//
// A World, its transports and their contexts are used by one thread at a time; contexts may be opened for one thread or
// for many. Time does not pass by itself. A context that finds nothing to do is idle and returns from progress() at
// once. When all open contexts of the living hosts are idle, the last of them advances time to the next event, or to
// the earliest time for which an idle context waits. advance() and run_to() advance time whether contexts are idle or
// not.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/plugin.hpp>
#include <cinnabar/na/transport.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cinnabar::sim {

// "sim://NAME?world=N&profile=friendly|rdma_strict&seed=S": the host NAME in world N of the process (0 by default). The
// first address of a world that is opened creates the world with the profile and seed of that address; the world ends
// with its last transport (World::numbered).
CINNABAR_API extern const na::PluginInfo plugin_info;

enum class Profile : std::uint8_t {
    // Like tcp: messages between two contexts arrive in order; a message waits for a receive slot and is never lost;
    // RMA can be canceled; leases are revoked at once; memory of many segments has a single key.
    friendly,
    // Like verbs: messages are not ordered; a message that finds no receive slot is retried a few times and then breaks
    // the connection; a refused RMA breaks the connection, too; RMA cannot be canceled and completes late; an op on
    // memory that is no longer registered aborts the process; an RMA may touch only one segment of the peer and few
    // local ones; fences take time.
    rdma_strict,
};

struct WorldOptions {
    std::uint64_t seed = 1;
    Profile profile = Profile::friendly;
    Microseconds latency_min{5};  // one way
    Microseconds latency_max{50};
    std::uint32_t bytes_per_us = 1000;
    // The rate at which a host sends the data of all its RMA together, one access after the other. 0: there is no such
    // limit; each access is sent at bytes_per_us, independently of the others.
    std::uint32_t host_bytes_per_us = 0;
    // Faults, as "one in N"; 0: never.
    std::uint32_t again_one_in = 0;         // a post answers `again`
    std::uint32_t dial_lost_one_in = 0;     // a connection request is lost, and the dial times out
    std::uint32_t reset_one_in = 0;         // a message breaks its connection instead of arriving
    std::uint32_t late_one_in = 0;          // a message or piece takes twenty times as long
    std::uint32_t fence_failed_one_in = 0;  // rdma_strict: a fence fails; the memory is safe only 10 ms later
};

class WorldState;

class CINNABAR_API World {
  public:
    [[nodiscard]] static std::shared_ptr<World> make(const WorldOptions& options);
    // Returns the world N of "sim://NAME?world=N", for tests of nodes that are opened by such addresses; if there is
    // none yet, makes it with these options. The world lives as long as this handle or one of its transports.
    [[nodiscard]] static std::shared_ptr<World> numbered(std::uint64_t number, const WorldOptions& options = {});
    explicit World(const WorldOptions& options);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    // Starts a process on host `name`. exists: the host has a process already. After kill() the name is free: opening
    // it again is a restart, with a new incarnation. The transport keeps the world alive.
    [[nodiscard]] Result<std::unique_ptr<na::Transport>> open(std::string_view name,
                                                              const na::TransportOptions& options);

    // As open(), but the process claims another's incarnation, as a hostile process may: a Hello proves nothing.
    [[nodiscard]] Result<std::unique_ptr<na::Transport>> open_as(std::string_view name,
                                                                 const na::TransportOptions& options,
                                                                 na::Incarnation claimed);

    // Kills the process on `name`: its peers see a reset, and nobody accesses its memory any more. Its ops complete
    // with `canceled` when its contexts are closed.
    void kill(std::string_view name);
    // Stops the process (SIGSTOP): do not poll it until resume(). What a network card does by itself continues:
    // messages take receive slots, and under rdma_strict RMA is carried out.
    void stop(std::string_view name);
    void resume(std::string_view name);
    // Blocks all traffic between the two hosts until heal(). A connection survives if the partition is shorter than the
    // keepalive of both sides.
    void partition(std::string_view a, std::string_view b);
    void heal(std::string_view a, std::string_view b);
    void heal_all();
    // Breaks every connection between the two hosts.
    void reset_connections(std::string_view a, std::string_view b);
    // Changes the options for what is sent from now on, except seed and profile.
    void set_options(const WorldOptions& options);
    [[nodiscard]] const WorldOptions& options() const noexcept;

    [[nodiscard]] TimeSource& clock() noexcept;
    [[nodiscard]] TimeUs now_us() const noexcept;
    // The time of the next event; time_never: there is none.
    [[nodiscard]] TimeUs next_event_us() const noexcept;
    // Runs all events up to `when`, which becomes the time. Does nothing if `when` is in the past.
    void run_to(TimeUs when);
    // Advances time to the next event, or to the earliest time for which an idle context waits. False: there is
    // neither.
    bool advance();

    // Resources held by the living process on a host; all zero if there is none.
    struct HostCounts {
        std::uint32_t leases = 0;
        std::uint32_t registrations = 0;
        std::uint32_t slots = 0;     // receive slots in use
        std::uint32_t detached = 0;  // detached arrivals
        std::uint32_t messages = 0;  // send buffers in use
        std::uint32_t peers = 0;
        std::uint32_t connections = 0;
        friend bool operator==(const HostCounts&, const HostCounts&) = default;
    };
    [[nodiscard]] HostCounts counts(std::string_view name) const;
    // The number of messages that found no receive slot. Under rdma_strict the upper layers must prevent that.
    [[nodiscard]] std::uint64_t slot_misses() const noexcept;
    // Bytes that RMA has moved from host `from` to host `to`.
    [[nodiscard]] std::uint64_t bytes_moved(std::string_view from, std::string_view to) const;

    // A hash of all events so far, in order: equal runs have equal hashes.
    [[nodiscard]] std::uint64_t trace_hash() const noexcept;
    [[nodiscard]] std::uint64_t events_run() const noexcept;

  private:
    explicit World(std::shared_ptr<WorldState> state) noexcept;
    std::shared_ptr<WorldState> state_;
};

}  // namespace cinnabar::sim
