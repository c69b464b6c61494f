// SPDX-License-Identifier: BSD-3-Clause
#include "pace_fixture.hpp"

#include "support/sanitizers.hpp"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>

namespace cinnabar::rpc {
namespace {

#ifdef CINNABAR_FULL_TESTS
constexpr bool is_long_plan = true;
#else
constexpr bool is_long_plan = false;
#endif
constexpr unsigned crowd_members = 3;
constexpr unsigned pairs_max = is_long_plan ? 12 : 6;
constexpr unsigned echoes = 200;
constexpr unsigned large_ones = 25;
constexpr double not_judged = std::numeric_limits<double>::infinity();
// The median may grow with the turns of the hostile peers, each of which may cost the server more than an honest one.
constexpr Bounds quick{30'000, {crowd_members + 1, 100}, {2, 3'000}};
constexpr Bounds quick_by_median{30'000, {2, 100}, {2, not_judged}};
constexpr Bounds quick_in_turns{30'000, {crowd_members + 1, 1'500}, {2, not_judged}};
constexpr Bounds quick_tls{30'000, {3, 100}, {3, not_judged}};
constexpr Bounds sealed{30'000, {4, 100}, {3, not_judged}};
constexpr Bounds thorough{200'000, {crowd_members + 1, 20}, {2, 300}};
constexpr std::size_t memory_noise = 128u << 10;
constexpr std::size_t memory_noise_ofi = 2u << 20;  // providers keep pools for each connection

Times times_of(std::vector<double>& samples) {
    std::ranges::sort(samples);
    const std::size_t last = samples.size() - 1;
    return {samples[last / 2], samples[last - last / 100]};
}

std::size_t descriptors_open() {
    const std::filesystem::directory_iterator folder("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

// Used memory of the heap. Not meaningful under a sanitizer, which has a heap of its own.
std::size_t memory_used() {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
}

// Keeps freed memory mapped. Otherwise some pulls pay for fresh pages, which may cost many times the copy, depending on
// whether neighbouring memory is in use.
void keep_freed_memory() {
    (void)::mallopt(M_MMAP_THRESHOLD, 32 << 20);
    (void)::mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

double processor_us() {
    timespec now{};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Times& times) { return out << times.p50 << '/' << times.p99; }
std::ostream& operator<<(std::ostream& out, const Pace& pace) {
    return out << "echo " << pace.echo << ", pulled " << pace.pulled << ", large " << pace.large << " us (p50/p99)";
}

bool Times::in_bounds(const Times& calm, const Bounds& bounds) const {
    return bounds.p50.allow(p50, calm.p50) && bounds.p99.allow(p99, calm.p99);
}

const Bounds& PaceTest::bounds(bool lends) const {
    if (network_.kind() == support::NetworkKind::ofis_tcp_rxm) return sealed;
    const bool is_real = network_.kind() != support::NetworkKind::cable && !network_.is_sim();
    if (is_long_plan && is_real && !(lends && network_.is_one_sided())) return thorough;
    if (network_.kind() == support::NetworkKind::tcps) return quick_tls;
    if (lends && network_.kind() == support::NetworkKind::shm) return quick_in_turns;
    return lends ? quick_by_median : quick;
}

double PaceTest::now_us() {
    if (network_.is_sim()) return static_cast<double>(network_.world().now_us());
    return processor_us() - others_us_;
}

void PaceTest::give_others_their_turn(hostile::Others& others) {
    const double own = now_us() - began_us_;
    const double begin = processor_us() - others_us_;
    while (others_us_ < own) {
        others.step();
        others_us_ = processor_us() - begin;
    }
}

// On a virtual network the other peers take a step now and then, because time stands still there while any of them is
// busy.
bool PaceTest::drive(hostile::Others& others, const std::function<bool()>& done) {
    constexpr Microseconds interval{100};
    support::Pump pump = pump_of({&origin_, &target_});
    const auto round = [&] {
        release_some();
        if (done()) return true;
        network_.is_sim() ? others.step() : give_others_their_turn(others);
        if (network_.is_sim()) pump.run_for(interval);
        return false;
    };
    if (!network_.is_sim()) return pump.until(round);
    for (unsigned rounds = 0; rounds < 200'000; ++rounds) {
        if (round()) return true;
    }
    return false;
}

// The time of one call of the honest client.
double PaceTest::time(void (PaceTest::*call)(Ending&), hostile::Others& others) {
    Ending ending;
    const double begin = now_us();
    (this->*call)(ending);
    EXPECT_TRUE(drive(others, [&] { return ending.count != 0; })) << "an honest call stands still";
    EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
    return now_us() - begin;
}

Pace PaceTest::window(hostile::Others& others) {
    std::vector<double> echo;
    std::vector<double> pulled;
    std::vector<double> large;
    const double end = now_us() + bounds_.window_us;
    for (unsigned i = 0; (i < echoes || now_us() < end) && !HasFailure(); ++i) {
        echo.push_back(time(&PaceTest::call_echo, others));
        if (i % (echoes / large_ones) != 0) continue;
        pulled.push_back(time(&PaceTest::call_pulled, others));
        large.push_back(time(&PaceTest::call_large, others));
    }
    if (HasFailure()) return {};
    return {times_of(echo), times_of(pulled), times_of(large)};
}

Pace PaceTest::beside(hostile::Others& others, bool lends) {
    others_us_ = 0;
    began_us_ = now_us();
    EXPECT_TRUE(drive(others, [&] { return others.began(); })) << "no hostile peer connects";
    // If memory is read without its owner, no peer can hold it back, and the peers that transfer most are the hostile
    // ones.
    if (lends && !network_.is_one_sided() && !network_.is_sim()) {
        const auto holds = [&] {
            const Context::Counts now = target_.context->counts();
            return now.transfers > 1 && now.large_bytes != 0;
        };
        EXPECT_TRUE(drive(others, holds)) << "the server waits for nothing that was lent";
    }
    return window(others);
}

// Waits until only the slots, credits and connections of the honest client are left.
void PaceTest::wait_until_all_is_gone() {
    const auto left = [&] {
        const Context::Counts now = target_.context->counts();
        return now.requests + now.transfers + now.leases + now.large_bytes + now.replies_unsent != 0 ||
               now.connections > 1 || now.credits_granted > options_.credits_per_peer_max;
    };
    EXPECT_TRUE(until([&] {
        release_all();
        return !left();
    })) << "what the others held is not free";
}

void PaceTest::keep_pace(const char* name) {
    const hostile::Behaviour& behaviour = *hostile::behaviour(name);
    keep_pace([&] { return std::make_unique<hostile::Crowd>(seats_, to_, behaviour); }, behaviour.lends);
}

void PaceTest::keep_pace(const MakeOthers& make_hostile, bool lends) {
    if (network_.one_process()) GTEST_SKIP() << "nobody is a stranger in a process";
    log_.allow("");  // the server logs what hostile peers do
    keep_freed_memory();
    serve_all();
    for (unsigned i = 0; i < crowd_members; ++i) seats_.push_back({rude_transport(i), rude_context(i)});
    // Lent memory is read even if its owner is silent, so the honest peers of the baseline lend memory, too.
    const bool by_device = network_.kind() == support::NetworkKind::cable;
    const bool lend_all = lends && by_device && network_.is_one_sided();
    const hostile::Behaviour& honest = lend_all ? hostile::busy_and_lending() : hostile::busy_and_honest();
    bounds_ = bounds(lends);
    Pace calm;
    Pace hostile;
    bool in_bounds = false;
    bool is_stable = false;
    std::size_t descriptors = 0;
    std::size_t memory = 0;
    for (unsigned pair = 0; pair < pairs_max && !(in_bounds && is_stable) && !HasFailure(); ++pair) {
        {
            hostile::Crowd busy(seats_, to_, honest);
            calm = beside(busy, false);
        }
        hostile = beside(*make_hostile(), lends);
        wait_until_all_is_gone();
        // Sanitizers check each access, so their times do not show how fast calls and transfers for others are.
        in_bounds = in_bounds || support::sanitized || hostile.in_bounds(calm, bounds_);
        // Pools grow once; what grows each time is leaked. A libfabric provider may keep its memory for 2 s.
        const std::size_t noise = network_.is_ofi() ? memory_noise_ofi : memory_noise;
        const auto is_back = [&] { return memory_used() <= memory + noise && descriptors_open() <= descriptors; };
        is_stable = pair != 0 && until(is_back, std::chrono::seconds(network_.is_ofi() ? 3 : 0));
        memory = memory_used();
        descriptors = descriptors_open();
    }
    EXPECT_TRUE(in_bounds) << "beside hostile peers: " << hostile << "; beside busy ones: " << calm;
    EXPECT_TRUE(is_stable) << memory << " bytes of memory and " << descriptors << " descriptors, more each time";
}

}  // namespace cinnabar::rpc
