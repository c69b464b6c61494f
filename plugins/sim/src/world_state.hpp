// SPDX-License-Identifier: BSD-3-Clause
// The state of a World: time, future events, hosts. Nothing in it depends on pointers, on the order of a hash table or
// on the machine's clock, so that runs are repeatable.
#pragma once

#include <cinnabar/base/random.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::sim {

class SimPort;
class SimTransport;

enum class EventKind : std::uint8_t {
    message,
    notify,
    acknowledged,
    piece,
    dial,
    answer,
    dial_timeout,
    reset,
    keepalive,
    fence,
    poll,  // not an event in the queue: what a port delivers to its context
    fault,
};

class WorldState final : public TimeSource, public std::enable_shared_from_this<WorldState> {
  public:
    explicit WorldState(const WorldOptions& options) : options_(options), random_(options.seed) {}

    [[nodiscard]] TimeUs now_us() noexcept override { return now_; }
    [[nodiscard]] const WorldOptions& options() const noexcept { return options_; }
    void set_options(const WorldOptions& options);
    [[nodiscard]] bool strict() const noexcept { return options_.profile == Profile::rdma_strict; }
    [[nodiscard]] Random& random() noexcept { return random_; }

    // The time that `bytes` need in one direction; random.
    [[nodiscard]] TimeUs travel_us(std::size_t bytes) noexcept;
    // Call when `bytes` of an access start to be sent: counts them, and returns the time at which the last byte leaves.
    [[nodiscard]] TimeUs send_bytes(const std::string& from, const std::string& to, std::uint64_t bytes);
    [[nodiscard]] std::uint64_t bytes_moved(const std::string& from, const std::string& to) const;
    void schedule(TimeUs when, EventKind kind, std::function<void()> run);
    [[nodiscard]] TimeUs next_event_us() const noexcept { return events_.empty() ? time_never : events_.front().when; }
    void run_to(TimeUs when);
    bool advance();
    // Adds to the trace.
    void trace(EventKind kind, std::uint64_t a, std::uint64_t b) noexcept;
    [[nodiscard]] std::uint64_t trace_hash() const noexcept { return trace_hash_; }
    [[nodiscard]] std::uint64_t events_run() const noexcept { return events_run_; }
    [[nodiscard]] std::uint64_t slot_misses() const noexcept { return slot_misses_; }
    void count_slot_miss() noexcept { ++slot_misses_; }
    [[nodiscard]] std::uint64_t next_id() noexcept { return ++last_id_; }

    void add(SimTransport& host) { hosts_.push_back(&host); }
    void remove(SimTransport& host) { std::erase(hosts_, &host); }
    // The living process of that name; null: there is none.
    [[nodiscard]] SimTransport* find(std::string_view name) const noexcept;

    // Call when the port has nothing to do until `until`. Advances time if all ports are idle.
    void idle(SimPort& port, TimeUs until);

    // Partitions. cut(): the number of the present partition between the two hosts; 0: none.
    [[nodiscard]] std::uint64_t cut(const std::string& a, const std::string& b) const;
    void hold(std::string a, std::string b, EventKind kind, std::function<void()> run) {
        held_.push_back({std::move(a), std::move(b), kind, std::move(run)});
    }
    void partition(const std::string& a, const std::string& b);
    void heal(const std::string& a, const std::string& b);
    void heal_all();
    void reset_connections(const std::string& a, const std::string& b);

  private:
    struct Event {
        TimeUs when;
        std::uint64_t order;
        EventKind kind;
        std::function<void()> run;
    };
    static bool later(const Event& a, const Event& b) noexcept {
        return a.when != b.when ? a.when > b.when : a.order > b.order;
    }
    struct Held {
        std::string a;
        std::string b;
        EventKind kind;
        std::function<void()> run;
    };
    [[nodiscard]] TimeUs earliest_wait() const noexcept;
    template <typename F>
    void for_each_port(F&& visit) const;

    WorldOptions options_;
    Random random_;
    TimeUs now_ = 1'000'000;
    std::vector<Event> events_;  // a heap
    std::uint64_t last_order_ = 0;
    std::uint64_t last_id_ = 0;
    std::uint64_t trace_hash_ = 0xcbf29ce484222325u;
    std::uint64_t events_run_ = 0;
    std::uint64_t slot_misses_ = 0;
    bool running_ = false;
    std::vector<SimTransport*> hosts_;                                    // in the order of opening
    std::map<std::pair<std::string, std::string>, std::uint64_t> cuts_;   // by the pair of names, sorted
    std::map<std::pair<std::string, std::string>, std::uint64_t> moved_;  // by the names of sender and receiver
    std::map<std::string, TimeUs> busy_until_;                            // until when a host's outgoing RMA is busy
    std::vector<Held> held_;                                              // events held back by partitions
};

[[nodiscard]] Result<std::unique_ptr<na::Transport>> open_host(const std::shared_ptr<WorldState>& world,
                                                               std::string_view name,
                                                               const na::TransportOptions& options,
                                                               na::Incarnation claimed = 0);

}  // namespace cinnabar::sim
