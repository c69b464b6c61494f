// SPDX-License-Identifier: BSD-3-Clause
#include "climate.hpp"

namespace cinnabar::seeds {

Climate::Climate(std::uint64_t seed, sim::Profile profile) {
    Random random(seed ^ 0xc11a7e);
    world.seed = seed;
    on_arrival = seed % 2 == 0;
    if (seed / 2 % 2 == 0) rpc.large_bytes_kept_max = 0;
    world.profile = profile;
    world.late_one_in = random.chance(2) ? 10 : 0;
    processes = 2 + static_cast<unsigned>(random.below(3));
    actions = 100 + static_cast<unsigned>(random.below(300));

    // A quarter of the seeds are calm: in these every call must succeed.
    if (!random.chance(4)) {
        kills = random.chance(2);
        drains = random.chance(3);
        partitions = random.chance(2);
        resets = random.chance(3);
        stops = random.chance(3);
        rogues = random.chance(3);
        world.reset_one_in = random.chance(4) ? 200 : 0;
        world.dial_lost_one_in = random.chance(4) ? 10 : 0;
        world.fence_failed_one_in = random.chance(4) ? 5 : 0;
    }
    world.again_one_in = random.chance(2) ? 8 : 0;

    transport.receive_slots = random.chance(2) ? 128 : 1024;
    transport.connect_timeout = Microseconds(random.chance(2) ? 50'000 : 5'000'000);
    transport.keepalive = Microseconds(random.chance(2) ? 100'000 : 10'000'000);

    rpc.context.threads = ThreadUse::one;
    rpc.fence_grace = Microseconds(random.chance(2) ? 200'000 : 20'000);
    rpc.bulk.chunk_bytes = random.chance(2) ? 4'096 : 1024 * 1024;
    rpc.bulk.window = 1 + static_cast<std::uint32_t>(random.below(8));
    rpc.credits_per_peer_max = random.chance(3) ? 4 : 256;
    tight = random.chance(4);
    liar = !tight && random.chance(3);
    if (!tight) return;
    rpc.calls_max = 64;
    rpc.queued_bytes_max = 16'384;
    rpc.requests_held_max = 8;
    rpc.large_bytes_max = 256 * 1024;
    rpc.lends_max = 64;
    rpc.bulk.transfers_max = 64;
    transport.send_slots_max = random.chance(2) ? 64 : 65'536;
    transport.connections_max = random.chance(2) ? 3 : 16'384;
}

void Climate::be_real() {
    world = {};
    kills = drains = partitions = resets = stops = rogues = tight = false;
    transport = {};
    transport.connect_timeout = Microseconds(10'000'000);
    rpc::Options calm;
    calm.context.threads = ThreadUse::one;
    calm.large_bytes_kept_max = rpc.large_bytes_kept_max;
    calm.credits_per_peer_max = rpc.credits_per_peer_max;
    calm.bulk.chunk_bytes = rpc.bulk.chunk_bytes;
    calm.bulk.window = rpc.bulk.window;
    calm.handler_time_max = Microseconds(0);
    calm.leave_max = Microseconds(10'000);  // while a side closes, nothing drives the others
    rpc = calm;
}

std::string Climate::describe() const {
    std::string text = std::to_string(processes) + " processes";
    const auto add = [&text](bool is, const std::string& what) {
        if (is) text += ", " + what;
    };
    add(kills, "kills");
    add(drains, "drains");
    add(partitions, "partitions");
    add(resets, "resets");
    add(stops, "stops");
    add(rogues, "rogues");
    add(tight, "tight limits");
    add(liar, "a liar");
    add(on_arrival, "handlers on arrival");
    add(rpc.large_bytes_kept_max != 0, "kept memory");
    add(world.again_one_in != 0, "again");
    add(world.late_one_in != 0, "late");
    add(world.reset_one_in != 0, "random resets");
    add(world.dial_lost_one_in != 0, "lost dials");
    add(world.fence_failed_one_in != 0, "failed fences");
    add(short_grace(), "short grace");
    add(transport.receive_slots < 1'000, "few slots");
    add(few_connections(), "few connections");
    return text;
}

}  // namespace cinnabar::seeds
