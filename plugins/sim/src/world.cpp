// SPDX-License-Identifier: BSD-3-Clause
#include "port.hpp"
#include "transport.hpp"
#include "world_state.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>

namespace cinnabar::sim {

void WorldState::set_options(const WorldOptions& options) {
    CINNABAR_ASSERT(options.profile == options_.profile && options.seed == options_.seed);
    options_ = options;
}

TimeUs WorldState::travel_us(std::size_t bytes) noexcept {
    const auto least = static_cast<TimeUs>(options_.latency_min.count());
    const auto most = static_cast<TimeUs>(options_.latency_max.count());
    TimeUs takes = least + random_.below(most - least + 1) + bytes / std::max(options_.bytes_per_us, 1u);
    if (random_.chance(options_.late_one_in)) takes *= 20;
    return takes;
}

TimeUs WorldState::send_bytes(const std::string& from, const std::string& to, std::uint64_t bytes) {
    moved_[{from, to}] += bytes;
    if (options_.host_bytes_per_us == 0) return now_;
    TimeUs& busy_until = busy_until_[from];
    busy_until = std::max(busy_until, now_) + bytes / options_.host_bytes_per_us;
    return busy_until;
}

std::uint64_t WorldState::bytes_moved(const std::string& from, const std::string& to) const {
    const auto at = moved_.find({from, to});
    return at == moved_.end() ? 0 : at->second;
}

void WorldState::schedule(TimeUs when, EventKind kind, std::function<void()> run) {
    events_.push_back({std::max(when, now_), ++last_order_, kind, std::move(run)});
    std::push_heap(events_.begin(), events_.end(), &WorldState::later);
}

void WorldState::trace(EventKind kind, std::uint64_t a, std::uint64_t b) noexcept {
    for (const std::uint64_t word : {now_, static_cast<std::uint64_t>(kind), a, b}) {
        trace_hash_ = (trace_hash_ ^ word) * 0x100000001b3u;
        trace_hash_ ^= trace_hash_ >> 29;
    }
}

void WorldState::run_to(TimeUs when) {
    CINNABAR_ASSERT(!running_);  // an event must not advance time
    running_ = true;
    while (!events_.empty() && events_.front().when <= when) {
        std::pop_heap(events_.begin(), events_.end(), &WorldState::later);
        const Event event = std::move(events_.back());
        events_.pop_back();
        now_ = std::max(now_, event.when);
        ++events_run_;
        trace(event.kind, event.order, 0);
        event.run();
    }
    now_ = std::max(now_, when);
    running_ = false;
}

template <typename F>
void WorldState::for_each_port(F&& visit) const {
    for (SimTransport* host : hosts_) {
        if (!host->alive() || host->stopped()) continue;
        for (SimPort* port : host->ports()) {
            if (port) visit(*port);
        }
    }
}

TimeUs WorldState::earliest_wait() const noexcept {
    TimeUs earliest = time_never;
    for_each_port([&earliest](SimPort& port) {
        if (port.idle_until() != 0) earliest = std::min(earliest, port.idle_until());
    });
    return earliest;
}

bool WorldState::advance() {
    const TimeUs when = std::min(next_event_us(), earliest_wait());
    if (when == time_never) return false;
    run_to(when);
    for_each_port([this](SimPort& port) {
        if (port.idle_until() <= now_) port.set_idle_until(0);
    });
    return true;
}

void WorldState::idle(SimPort& port, TimeUs until) {
    port.set_idle_until(until > now_ ? until : 0);
    bool all_idle = true;
    for_each_port([&all_idle](SimPort& each) { all_idle &= each.idle_until() != 0; });
    if (all_idle) (void)advance();
}

SimTransport* WorldState::find(std::string_view name) const noexcept {
    for (SimTransport* host : hosts_) {
        if (host->alive() && host->name() == name) return host;
    }
    return nullptr;
}

namespace {
std::pair<std::string, std::string> in_order(const std::string& a, const std::string& b) {
    return a < b ? std::pair(a, b) : std::pair(b, a);
}
}  // namespace

std::uint64_t WorldState::cut(const std::string& a, const std::string& b) const {
    const auto found = cuts_.find(in_order(a, b));
    return found == cuts_.end() ? 0 : found->second;
}

void WorldState::partition(const std::string& a, const std::string& b) {
    const std::uint64_t id = next_id();
    if (!cuts_.emplace(in_order(a, b), id).second) return;
    trace(EventKind::fault, 1, id);
    for (SimTransport* host : hosts_) {
        if (!host->alive() || (host->name() != a && host->name() != b)) continue;
        for (SimPort* port : host->ports()) {
            if (port) port->sessions().watch_cut_links(host->name() == a ? b : a, id);
        }
    }
}

void WorldState::heal(const std::string& a, const std::string& b) {
    if (cuts_.erase(in_order(a, b)) == 0) return;
    trace(EventKind::fault, 2, 0);
    std::vector<Held> still;
    for (Held& held : std::exchange(held_, {})) {
        if (in_order(held.a, held.b) == in_order(a, b)) {
            // Runs all of them now, in the order in which they were held back.
            schedule(now_, held.kind, std::move(held.run));
        } else {
            still.push_back(std::move(held));
        }
    }
    held_ = std::move(still);
}

void WorldState::heal_all() {
    while (!cuts_.empty()) {
        const auto [a, b] = cuts_.begin()->first;
        heal(a, b);
    }
}

void WorldState::reset_connections(const std::string& a, const std::string& b) {
    trace(EventKind::fault, 3, 0);
    SimTransport* host = find(a);
    for (SimPort* port : host ? host->ports() : std::vector<SimPort*>{}) {
        if (port) port->sessions().break_links_to(b);
    }
}

std::shared_ptr<World> World::make(const WorldOptions& options) { return std::make_shared<World>(options); }
World::World(const WorldOptions& options) : state_(std::make_shared<WorldState>(options)) {}
World::World(std::shared_ptr<WorldState> state) noexcept : state_(std::move(state)) {}
World::~World() = default;

Result<std::unique_ptr<na::Transport>> World::open(std::string_view name, const na::TransportOptions& options) {
    return open_host(state_, name, options);
}

Result<std::unique_ptr<na::Transport>> World::open_as(std::string_view name, const na::TransportOptions& options,
                                                      na::Incarnation claimed) {
    return open_host(state_, name, options, claimed);
}

void World::kill(std::string_view name) {
    SimTransport* host = state_->find(name);
    if (!host) return;
    state_->trace(EventKind::fault, 4, host->incarnation());
    host->kill();
}

void World::stop(std::string_view name) {
    if (SimTransport* host = state_->find(name)) host->stop();
}

void World::resume(std::string_view name) {
    if (SimTransport* host = state_->find(name)) host->resume();
}

void World::partition(std::string_view a, std::string_view b) { state_->partition(std::string(a), std::string(b)); }
void World::heal(std::string_view a, std::string_view b) { state_->heal(std::string(a), std::string(b)); }
void World::heal_all() { state_->heal_all(); }
void World::reset_connections(std::string_view a, std::string_view b) {
    state_->reset_connections(std::string(a), std::string(b));
}
void World::set_options(const WorldOptions& options) { state_->set_options(options); }
const WorldOptions& World::options() const noexcept { return state_->options(); }
TimeSource& World::clock() noexcept { return *state_; }
TimeUs World::now_us() const noexcept { return state_->now_us(); }
TimeUs World::next_event_us() const noexcept { return state_->next_event_us(); }
void World::run_to(TimeUs when) { state_->run_to(when); }
bool World::advance() { return state_->advance(); }
World::HostCounts World::counts(std::string_view name) const {
    const SimTransport* host = state_->find(name);
    return host ? host->counts() : HostCounts{};
}
std::uint64_t World::bytes_moved(std::string_view from, std::string_view to) const {
    return state_->bytes_moved(std::string(from), std::string(to));
}
std::uint64_t World::slot_misses() const noexcept { return state_->slot_misses(); }
std::uint64_t World::trace_hash() const noexcept { return state_->trace_hash(); }
std::uint64_t World::events_run() const noexcept { return state_->events_run(); }

Result<std::unique_ptr<na::Transport>> open_host(const std::shared_ptr<WorldState>& world, std::string_view name,
                                                 const na::TransportOptions& options, na::Incarnation claimed) {
    if (name.empty()) return Error(Errc::bad_address, "a simulated host has a name: sim://NAME");
    if (world->find(name)) return Error(Errc::exists, "that host has a process already", std::string(name));
    return std::unique_ptr<na::Transport>(std::make_unique<SimTransport>(world, std::string(name), options, claimed));
}

}  // namespace cinnabar::sim
