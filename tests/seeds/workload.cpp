// SPDX-License-Identifier: BSD-3-Clause
#include "workload.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::seeds {
namespace {

// The virtual time within which everything must end after the last fault.
constexpr TimeUs quiet_within_us = 60'000'000;

// Over a real network, time spent between two actions is spent.
constexpr TimeUs real_pause_max_us = 300;

// The time for dials for which no call waits any more.
constexpr TimeUs dials_end_within_us = 11'000'000;

}  // namespace

void Workload::run() {
    SCOPED_TRACE(mesh_.climate().describe());
    for (unsigned i = 0; i < mesh_.climate().actions && !testing::Test::HasFailure(); ++i) {
        act();
        mesh_.run_for(pause());
        if (i % 8 == 0) check_limits();
    }
    if (!testing::Test::HasFailure()) calm_down();
    if (mesh_.is_real()) {
        if (!testing::Test::HasFailure()) check_quiet_over_real_network();
        return;
    }
    if (!testing::Test::HasFailure()) check_quiet();
    if (!testing::Test::HasFailure()) check_without_connections();
}

Workload::Outcome Workload::outcome() {
    return {mesh_.is_real() ? 0 : mesh_.world().trace_hash(), mesh_.ledger().digest(), mesh_.ledger().tally};
}

TimeUs Workload::pause() {
    if (mesh_.is_real()) return random_.below(real_pause_max_us);
    const std::uint64_t kind = random_.below(400);
    if (kind < 160) return 0;
    if (kind < 320) return random_.below(100);
    if (kind < 390) return random_.below(5'000);
    if (kind < 399) return random_.below(250'000);
    return random_.below(20'000'000);
}

void Workload::act() {
    if (mesh_.liar() && random_.chance(3)) mesh_.liar()->act();
    const std::uint64_t what = random_.below(100);
    if (what < 55) return call();
    if (what < 75) return touch_a_call();
    if (what < 93) return touch_a_server();
    fault();
}

// The address of a process that listens, sometimes with its incarnation.
na::Addr Workload::any_addr(const Process& from) {
    for (;;) {
        const Process& process = mesh_.any_process();
        if (!process.listens()) continue;
        if (mesh_.is_real() && &process == &from) continue;  // a sealed connection does not lead back to its process
        if (!random_.chance(10)) return process.addr();
        return process.addr(process.transport().incarnation());
    }
}

void Workload::call() {
    Process& from = mesh_.any_process();
    if (!from.runs()) return;
    static constexpr Kind kinds[] = {Kind::echo, Kind::echo, Kind::echo, Kind::echo, Kind::hold,  Kind::hold,
                                     Kind::hold, Kind::move, Kind::move, Kind::move, Kind::relay, Kind::note};
    Wish wish;
    wish.kind = random_.chance(50) ? Kind::unknown : kinds[random_.below(std::size(kinds))];
    wish.to = any_addr(from);
    wish.deadline = mesh_.calls().any_deadline();
    wish.argument_bytes = mesh_.calls().any_bytes();
    wish.reply_bytes = mesh_.calls().any_bytes();
    wish.depth = static_cast<std::uint8_t>(random_.below(3));
    for (std::uint64_t count = random_.chance(8) ? random_.below(20) : 1; count > 0; --count) {
        (void)mesh_.calls().send(from, wish);
    }
}

void Workload::touch_a_call() {
    Ledger& ledger = mesh_.ledger();
    const std::uint64_t what = random_.below(10);
    if (what < 3) return ledger.release_one_kept();
    if (what < 4) {
        Process& process = mesh_.any_process();
        if (process.runs()) ledger.cancel_any_id(process.context());
        return;
    }
    Sent* sent = ledger.any_live();
    if (!sent || !sent->origin->runs()) return;
    // Not if memory is lent, since it would be unknown when the memory is free again.
    if (what < 5 && sent->lent.empty() && !sent->then) return ledger.abandon(*sent);
    sent->canceled = true;
    sent->call->cancel();
}

void Workload::touch_a_server() {
    Process& process = mesh_.any_process();
    if (!process.runs()) return;
    if (random_.chance(8)) return process.server().cancel_one_transfer();
    (void)process.server().end_one();
}

void Workload::fault() {
    if (mesh_.is_real()) return;
    const Climate& climate = mesh_.climate();
    sim::World& world = mesh_.world();
    Process& a = mesh_.any_process();
    Process& b = mesh_.any_process();
    switch (random_.below(12)) {
        case 0:
            if (climate.kills) end_and_start(a);
            break;
        case 1:
            if (climate.drains && a.runs()) drain(a);
            break;
        case 2:
        case 3:
            if (climate.partitions && &a != &b) world.partition(a.name(), b.name());
            break;
        case 4:
        case 5:
        case 6:
            world.heal(a.name(), b.name());
            break;
        case 7:
            if (climate.resets) world.reset_connections(a.name(), b.name());
            break;
        case 8:
            if (climate.stops && !a.stopped) a.stop();
            break;
        default:
            if (a.stopped) a.resume();
            break;
    }
}

void Workload::end_and_start(Process& process) {
    process.end(random_.chance(3) ? Process::How::closed : Process::How::killed);
    if (random_.chance(3)) mesh_.run_for(pause());
    process.start();
}

void Workload::drain(Process& process) {
    process.draining = true;
    process.engine().drain();
    process.server().end_all();
    // Other processes may hold its calls, and some of its calls have no deadline.
    (void)mesh_.run_until(
        [&] {
            const auto counts = process.context().counts();
            return counts.calls == 0 && counts.requests == 0;
        },
        random_.below(1'000'000));
    process.end(Process::How::closed);
    process.start();
}

void Workload::check_limits() {
    for (const auto& process : mesh_.processes()) {
        if (!process->open()) continue;
        const rpc::Options& options = process->context().options();
        const auto counts = process->context().counts();  // also checks its internal counts
        EXPECT_LE(counts.large_bytes, options.large_bytes_max);
        EXPECT_LE(process->context().mover().bytes_inflight(), options.bulk.inflight_bytes_max);
    }
    if (mesh_.climate().strict()) {
        EXPECT_EQ(mesh_.world().slot_misses(), 0u) << "a message without a slot: somebody sent beyond the credits";
    }
}

void Workload::calm_down() {
    mesh_.send_liar_away();
    if (!mesh_.is_real()) {
        sim::World& world = mesh_.world();
        world.heal_all();
        for (const auto& process : mesh_.processes()) {
            if (process->stopped) process->resume();
        }
        sim::WorldOptions calm = world.options();
        calm.again_one_in = calm.dial_lost_one_in = calm.reset_one_in = calm.late_one_in = 0;
        calm.fence_failed_one_in = 0;
        world.set_options(calm);
    }
    mesh_.be_prompt();
    const bool quiet = mesh_.run_until(
        [&] {
            bool busy = mesh_.ledger().live() != 0;
            for (const auto& process : mesh_.processes()) {
                process->server().end_all();
                if (busy) continue;
                const auto counts = process->context().counts();
                busy |= counts.requests != 0 || counts.transfers != 0;
            }
            mesh_.ledger().release_kept();
            return !busy;
        },
        quiet_within_us);
    EXPECT_TRUE(quiet) << mesh_.ledger().live() << " calls did not end";
    mesh_.ledger().describe_live();
}

// Call it while connections are still open.
void Workload::check_quiet() {
    const auto settled = [&] {
        // Requests whose origins have given up may arrive late.
        for (const auto& process : mesh_.processes()) process->server().end_all();
        mesh_.ledger().release_kept();
        return std::all_of(mesh_.processes().begin(), mesh_.processes().end(), [](const auto& process) {
            const auto counts = process->context().counts();
            return counts.calls == 0 && counts.requests == 0 && counts.leases == counts.quarantined;
        });
    };
    EXPECT_TRUE(mesh_.run_until(settled, quiet_within_us));
    mesh_.run_for(1'000'000);
    EXPECT_TRUE(mesh_.run_until(settled, quiet_within_us));
    for (const auto& process : mesh_.processes()) {
        SCOPED_TRACE("process " + process->name());
        const auto counts = process->context().counts();
        EXPECT_EQ(counts.calls, 0u);
        EXPECT_EQ(counts.requests, 0u);
        EXPECT_EQ(counts.queued, 0u);
        EXPECT_EQ(counts.transfers, 0u);
        EXPECT_EQ(counts.replies_kept, 0u);
        EXPECT_EQ(counts.large_bytes, 0u);
        EXPECT_EQ(counts.replies_pending, 0u);
        EXPECT_EQ(counts.leases, counts.quarantined);
        const auto host = mesh_.world().counts(process->name());
        EXPECT_EQ(host.slots, 0u);
        EXPECT_EQ(host.detached, 0u);
        EXPECT_EQ(host.messages, process->context().messages_retained());
        EXPECT_EQ(host.leases, 0u);
        EXPECT_EQ(process->context().na().ops_posted(), 0u);
    }
    mesh_.ledger().check_graves();
}

// Connections stay open; but nothing that a call needed is kept.
void Workload::check_quiet_over_real_network() {
    const auto is_quiet = [](const std::unique_ptr<Process>& process) {
        const auto counts = process->context().counts();
        return counts.calls == 0 && counts.requests == 0 && counts.queued == 0 && counts.transfers == 0 &&
               counts.replies_kept == 0 && counts.large_bytes == 0 && counts.replies_pending == 0 &&
               counts.leases == 0 && process->context().na().ops_posted() == 0;
    };
    const auto settled = [&] {
        for (const auto& process : mesh_.processes()) process->server().end_all();
        mesh_.ledger().release_kept();
        return std::all_of(mesh_.processes().begin(), mesh_.processes().end(), is_quiet);
    };
    EXPECT_TRUE(mesh_.run_until(settled, quiet_within_us)) << "something is left of calls that have ended";
    mesh_.run_for(quiet_within_us);
    EXPECT_TRUE(mesh_.run_until(settled, quiet_within_us)) << "something came late, and stays";
    mesh_.ledger().check_graves();
}

// After the last connection has ended, nothing about any peer is kept.
void Workload::check_without_connections() {
    mesh_.run_for(dials_end_within_us);
    for (const auto& a : mesh_.processes()) {
        for (const auto& b : mesh_.processes()) mesh_.world().reset_connections(a->name(), b->name());
    }
    const auto forgotten = [&] {
        return std::all_of(mesh_.processes().begin(), mesh_.processes().end(), [&](const auto& process) {
            return process->context().counts().peers == 0 && mesh_.world().counts(process->name()).peers == 0;
        });
    };
    EXPECT_TRUE(mesh_.run_until(forgotten, quiet_within_us)) << "books of peers that are gone";
    for (const auto& process : mesh_.processes()) {
        SCOPED_TRACE("process " + process->name());
        const auto counts = process->context().counts();
        EXPECT_EQ(counts.peers, 0u);
        EXPECT_EQ(counts.credits_granted, 0u);
        EXPECT_EQ(counts.leases, 0u);
        EXPECT_EQ(counts.quarantined, 0u);
        // The staging buffers of the bulk layer stay registered, and some messages are kept for the next calls.
        auto host = mesh_.world().counts(process->name());
        EXPECT_EQ(std::exchange(host.messages, 0u), process->context().messages_retained());
        const unsigned registrations = std::exchange(host.registrations, 0u);
        const std::uint64_t kept_max = process->context().options().large_bytes_kept_max;
        EXPECT_LE(counts.large_bytes_kept, kept_max);
        EXPECT_TRUE(registrations <= 1 || kept_max != 0) << registrations;
        EXPECT_EQ(host, sim::World::HostCounts{});
    }
    mesh_.ledger().check_graves();
}

}  // namespace cinnabar::seeds
