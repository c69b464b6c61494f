// SPDX-License-Identifier: BSD-3-Clause
#include "token_run.hpp"

#include <algorithm>

namespace cinnabar::seeds {
namespace {

// The simulated time within which everything must end after the last fault.
constexpr TimeUs all_end_within_us = 60'000'000;
constexpr TimeUs last_look_us = 1'000'000;  // for what might come late
constexpr TimeUs round_us = 100'000;

std::uint64_t next_world() {
    static std::uint64_t number = 70'000;
    return ++number;
}

bool has_faults(const Climate& climate) {
    return climate.kills || climate.drains || climate.partitions || climate.resets || climate.world.reset_one_in != 0 ||
           climate.world.dial_lost_one_in != 0 || (climate.short_grace() && climate.strict());
}

// Inside a task, withdraw() does not wait; the run looks at it later.
Task<void> stop_sharing(hl::Shared<Word>* shared) {
    (void)shared->withdraw();
    co_return;
}

}  // namespace

TokenRun::TokenRun(std::uint64_t seed, sim::Profile profile, Broken broken)
    : climate_(seed, profile),
      broken_(broken),
      random_(seed ^ 0x70c3),
      query_("?world=" + std::to_string(next_world())) {
    world_ = sim::World::numbered(std::stoull(query_.substr(query_.find('=') + 1)), climate_.world);
    faulty_ = has_faults(climate_);
    clock_ = std::make_unique<Node>(Node::open("sim://clock" + query_).value());
    owners_ = 1 + random_.below(2);
    const std::size_t count_of_hosts = owners_ + 1 + random_.below(Owned::hosts_max - owners_);
    for (std::size_t i = 0; i < count_of_hosts; ++i) {
        Host& host = *hosts_.emplace_back(std::make_unique<Host>());
        host.index = i;
        host.name = std::string(1, static_cast<char>('a' + i));
        host.listens = i < owners_;
        start(host);
    }
}

TokenRun::~TokenRun() { close(); }

void TokenRun::go() {
    const unsigned steps = climate_.actions / 2;
    for (unsigned i = 0; i < steps && !findings_.any(); ++i) {
        act();
        look_at_withdrawn();
        run_for(pause());
    }
    if (!findings_.any()) calm_down();
    if (!findings_.any()) check_all();
    close();
    for (const Op& op : ops_) {
        if (!op.ended) continue;
        const std::span<const Word> local =
            std::span(op.memory).subspan(border_words, op.memory.size() - 2 * border_words);
        expect(all_words_are(local, ended_word) && borders_hold(op.memory), op, "written to after its end");
    }
    for (const Owned& each : owned_)
        findings_.expect(!each.over || all_words_are(each.words, ended_word), "written to after it was withdrawn");
}

TokenRun::Outcome TokenRun::outcome() const { return {world_->trace_hash(), digest_, ops_.size(), succeeded_, stale_}; }

void TokenRun::start(Host& host) {
    NodeOptions options;
    options.timed_one_in = 0;  // by the real clock
    options.rpc.fence_grace = climate_.rpc.fence_grace;
    options.rpc.bulk.chunk_bytes = climate_.rpc.bulk.chunk_bytes;
    options.rpc.bulk.window = climate_.rpc.bulk.window;
    options.rpc.credits_per_peer_max = climate_.rpc.credits_per_peer_max;
    options.rpc.handler_time_max = Microseconds(0);
    options.transport.receive_slots = climate_.transport.receive_slots;
    options.transport.connect_timeout = climate_.transport.connect_timeout;
    options.transport.keepalive = climate_.transport.keepalive;
    const std::string address = "sim://" + host.name + query_;
    auto opened = host.listens ? Node::listen(address, options) : Node::open(address, options);
    host.node = std::make_unique<Node>(std::move(opened).value());
    host.ending = false;
    ++host.life;
    if (!host.listens) return;
    host.owned.resize(Owned::uses);
    for (const auto use : {Owned::Use::versions, Owned::Use::board, Owned::Use::counters}) share(host, use);
}

// Ends the process, with whatever it does, and starts it again.
void TokenRun::kill(Host& host) {
    host.ending = true;
    if (!random_.chance(3)) world_->kill(host.name);
    for (Op& op : ops_) {
        if (op.from == &host && op.life == host.life) op.writes.reset();
    }
    for (Plan* plan : host.plans) plan->plan.reset();
    host.node.reset();
    world_->kill(host.name);  // whose transport lives on in the memory that it shared
    for (const Op* op : live_) {
        if (op->from == &host && op->life == host.life) find(*op, "did not end with its process");
    }
    for (Plan* plan : host.plans) plan->region = {};
    host.plans.clear();
    host.tokens.clear();
    for (Owned* each : host.owned) {
        each->check(findings_);
        each->end();
    }
    for (Owned* each : withdrawn_) {
        if (each->over || each->owner_host != host.index) continue;
        each->end();
    }
    std::erase_if(withdrawn_, [](const Owned* each) { return each->over; });
    start(host);
}

void TokenRun::share(Host& host, Owned::Use use) {
    Owned& made = owned_.emplace_back(use, ++versions_);
    made.owner_host = host.index;
    made.shared = hl::share(*host.node, std::span(made.words)).value();
    made.shared.on_notified([this, &made](const hl::RemoteNotice& notice) {
        noticed(made, notice.value);
        if (breaks(Broken::tells_twice)) noticed(made, notice.value);
    });
    host.owned[static_cast<std::size_t>(use)] = &made;
}

void TokenRun::renew(Host& host) {
    Owned& owned = *host.owned[static_cast<std::size_t>(Owned::Use::versions)];
    owned.check(findings_);
    if (broken_ != Broken::old_tokens_stay) owned.shared.renew();
    owned.version = ++versions_;
    fill_version(owned.words, owned.version, 0);
}

void TokenRun::withdraw(Host& host) {
    const auto use = static_cast<Owned::Use>(random_.below(Owned::uses));
    Owned& owned = *host.owned[static_cast<std::size_t>(use)];
    owned.ends = true;
    (void)host.node->spawn(stop_sharing(&owned.shared));
    withdrawn_.push_back(&owned);
    share(host, use);
}

// Nothing in progress: withdraw() returns at once.
void TokenRun::look_at_withdrawn() {
    for (Owned* each : withdrawn_) {
        if (each->shared.in_use() || each->shared.withdraw() != Errc::ok) continue;
        each->check(findings_);
        each->end();
    }
    std::erase_if(withdrawn_, [](const Owned* each) { return each->over; });
}

void TokenRun::act() {
    const std::uint64_t what = random_.below(100);
    if (what < 78) return use_memory(any_host());
    if (what < 83) return cancel_one();
    Host& owner = *hosts_[random_.below(owners_)];
    if (what < 93) return renew(owner);
    if (what < 95) return withdraw(owner);
    fault();
}

void TokenRun::use_memory(Host& host) {
    switch (random_.below(14)) {
        case 0:
        case 1:
            return read(host);
        case 2:
            return read_several(host);
        case 3:
            return write(host);
        case 4:
            return read_blocks(host);
        case 5:
            return write_blocks(host);
        case 6:
        case 7:
            return write_stamps(host);
        case 8:
            return write_fenced(host);
        case 9:
        case 10:
            return count(host);
        case 11:
            return swap(host);
        default:
            return post_plan(host);
    }
}

void TokenRun::fault() {
    Host& a = any_host();
    Host& b = any_host();
    switch (random_.below(10)) {
        case 0:
            if (climate_.kills || climate_.drains) kill(a);
            break;
        case 1:
        case 2:
            if (climate_.partitions && &a != &b) world_->partition(a.name, b.name);
            break;
        case 3:
        case 4:
        case 5:
            world_->heal(a.name, b.name);
            break;
        case 6:
            if (climate_.resets) world_->reset_connections(a.name, b.name);
            break;
        default:
            break;
    }
}

TimeUs TokenRun::pause() {
    const std::uint64_t kind = random_.below(100);
    if (kind < 45) return 0;
    if (kind < 85) return random_.below(150);
    if (kind < 98) return random_.below(5'000);
    return random_.below(250'000);
}

void TokenRun::run_for(TimeUs span) {
    if (span > 0) (void)clock_->run_for(Microseconds(static_cast<std::int64_t>(span)));
}

// Everything ends by itself once there are no more faults.
void TokenRun::calm_down() {
    world_->heal_all();
    sim::WorldOptions calm = world_->options();
    calm.again_one_in = calm.dial_lost_one_in = calm.reset_one_in = calm.late_one_in = calm.fence_failed_one_in = 0;
    world_->set_options(calm);
    const auto quiet = [this] {
        look_at_withdrawn();
        if (!live_.empty() || !withdrawn_.empty()) return false;
        return std::ranges::none_of(hosts_, [](const auto& host) {
            return std::ranges::any_of(host->owned, [](const Owned* each) { return each->shared.in_use(); });
        });
    };
    const TimeUs last = now() + all_end_within_us;
    while (!quiet() && now() < last) run_for(round_us);
    findings_.expect(quiet(), "something did not end");
    for (const Op* op : live_) find(*op, "has not ended");
    run_for(last_look_us);
}

void TokenRun::check_all() {
    for (const auto& host : hosts_) {
        for (const Owned* each : host->owned) each->check(findings_);
        for (Plan* plan : host->plans) check_between_posts(nullptr, *plan);
    }
}

void TokenRun::close() {
    for (Op& op : ops_) op.writes.reset();
    for (Plan& plan : plans_) plan.plan.reset();
    for (const auto& host : hosts_) {
        host->ending = true;
        host->node.reset();
    }
    for (Plan& plan : plans_) plan.region = {};
    for (Op& op : ops_) op.region = {};
    clock_.reset();
}

}  // namespace cinnabar::seeds
