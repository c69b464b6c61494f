// SPDX-License-Identifier: BSD-3-Clause
// A simulated network for tests. A World holds hosts (Transports) of one process, a clock of its own, and everything
// that may go wrong, all from one seed: the same seed and the same calls give the same events in the same order.
//
// One thread: a World, its transports and their contexts are used by one thread at a time; contexts may be opened for
// one or for many. Time moves by events only. A context that finds nothing to do reports itself idle and returns from
// progress() at once; when every open context of the living hosts is idle, the last of them moves time to the next
// event or to the earliest moment at which one of them wants to be called. advance() and run_to() move it without
// asking who is idle.
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

// "sim://NAME?world=N&profile=friendly|rdma_strict&seed=S": the host NAME in the process's world N (0 by default),
// which is made by the first that opens it, with its profile and seed, and ends with its last transport
// (World::numbered).
CINNABAR_API extern const na::PluginInfo plugin_info;

enum class Profile : std::uint8_t {
    // Like tcp: messages of a pair in order, flow control instead of lost messages, RMA that ends when it is
    // cancelled, leases that are revoked at once, one key for a registration of many segments.
    friendly,
    // Like verbs: no order; a message that finds no receive slot is tried again a few times and then breaks the
    // connection, and so does a refused RMA; RMA cannot be recalled and completes late; memory must stay registered,
    // an op in flight on memory that is not aborts the process; an RMA stays within one segment of the peer and few of
    // its own; fences take time.
    rdma_strict,
};

struct WorldOptions {
    std::uint64_t seed = 1;
    Profile profile = Profile::friendly;
    Microseconds latency_min{5};  // one way
    Microseconds latency_max{50};
    std::uint32_t bytes_per_us = 1000;
    // "One in N", 0 for never:
    std::uint32_t again_one_in = 0;         // a post answers `again`
    std::uint32_t dial_lost_one_in = 0;     // a connection request is lost: the dialler waits for its timeout
    std::uint32_t reset_one_in = 0;         // a message breaks its connection instead of arriving
    std::uint32_t late_one_in = 0;          // a message or piece takes twenty times as long
    std::uint32_t fence_failed_one_in = 0;  // rdma_strict: a fence fails; the memory is safe only 10 ms later
};

class WorldState;

class CINNABAR_API World {
  public:
    [[nodiscard]] static std::shared_ptr<World> make(const WorldOptions& options);
    // The one that "sim://NAME?world=N" means, for tests of nodes that were opened by such addresses. It is made with
    // these options if there is none yet, and lives as long as this handle or one of its transports.
    [[nodiscard]] static std::shared_ptr<World> numbered(std::uint64_t number, const WorldOptions& options = {});
    explicit World(const WorldOptions& options);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    // A process on host `name`. exists: one lives there already. After kill() the name is free again: opening it is
    // the restart, with a new incarnation. The transport keeps the world alive.
    [[nodiscard]] Result<std::unique_ptr<na::Transport>> open(std::string_view name,
                                                              const na::TransportOptions& options);

    // One that claims the incarnation of another process, as a hostile one may: nobody proves it in a Hello.
    [[nodiscard]] Result<std::unique_ptr<na::Transport>> open_as(std::string_view name,
                                                                 const na::TransportOptions& options,
                                                                 na::Incarnation claimed);

    // The process on `name` dies: its peers see a reset, its ops stay where they are until its contexts are closed
    // (with `canceled`). Its memory is not touched any more.
    void kill(std::string_view name);
    // The process is stopped (SIGSTOP): it is not to be polled until resume(). What its network card does by itself
    // (messages into slots; rdma_strict: RMA) goes on.
    void stop(std::string_view name);
    void resume(std::string_view name);
    // Nothing passes between the two; connections survive unless it lasts longer than a side's keepalive.
    void partition(std::string_view a, std::string_view b);
    void heal(std::string_view a, std::string_view b);
    void heal_all();
    // Breaks every connection between the two.
    void reset_connections(std::string_view a, std::string_view b);
    // Takes effect for what is sent from now on; seed and profile stay.
    void set_options(const WorldOptions& options);
    [[nodiscard]] const WorldOptions& options() const noexcept;

    [[nodiscard]] TimeSource& clock() noexcept;
    [[nodiscard]] TimeUs now_us() const noexcept;
    // time_never when nothing is under way.
    [[nodiscard]] TimeUs next_event_us() const noexcept;
    // Runs all events up to `when`, which becomes the time. Nothing happens when it is past.
    void run_to(TimeUs when);
    // Moves to the next event, or the earliest moment that an idle context waits for. False: nothing will ever happen.
    bool advance();

    // What the living process on a host holds at this moment; all zero when there is none.
    struct HostCounts {
        std::uint32_t leases = 0;
        std::uint32_t registrations = 0;
        std::uint32_t slots = 0;     // receive slots that are taken
        std::uint32_t detached = 0;  // arrivals that were given spare slots or copied out
        std::uint32_t messages = 0;  // send buffers that are out
        std::uint32_t peers = 0;
        std::uint32_t connections = 0;
        friend bool operator==(const HostCounts&, const HostCounts&) = default;
    };
    [[nodiscard]] HostCounts counts(std::string_view name) const;
    // How often a message found no receive slot. Under rdma_strict upper layers see to it that none ever does.
    [[nodiscard]] std::uint64_t slot_misses() const noexcept;

    // A digest of every event so far, in order: equal for equal runs.
    [[nodiscard]] std::uint64_t trace_hash() const noexcept;
    [[nodiscard]] std::uint64_t events_run() const noexcept;

  private:
    explicit World(std::shared_ptr<WorldState> state) noexcept;
    std::shared_ptr<WorldState> state_;
};

}  // namespace cinnabar::sim
