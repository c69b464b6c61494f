// SPDX-License-Identifier: BSD-3-Clause
// Training by several processes. In each round, rank 0 broadcasts a large vector of parameters; members pass parts of
// it on while others still arrive. Then each member computes the gradient for its own data, and an all-reduce gives all
// of them the mean. One member dies while it receives: the members below it get the rest from the member above it, and
// the training goes on.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace cinnabar;
using namespace cinnabar::group;

using Values = std::vector<double>;
constexpr std::size_t parameters = std::size_t{1} << 17;  // 1 MiB
constexpr int rounds = 4;

inline constexpr Rpc<void(int)> load{"load"};  // moves the parameters of that round

struct Worker {
    int round = 0;  // the last that has begun here; at rank 0, the last that has ended
    Values weights = Values(parameters);
    Values mean = Values(parameters);  // of the gradients of the last round
    std::size_t gradients = 0;         // their number
    Node node;
    Group group;
};

// The data of a member make its rank plus i % 10 the best value of parameter i.
Values gradient(const Values& weights, Rank rank) {
    Values slope(weights.size());
    for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = weights[i] - static_cast<double>(rank + i % 10);
    return slope;
}

// Adds up gradients. Any order will do, so members add those that have arrived.
constexpr auto add = [](Values& into, const Values& more) {
    for (std::size_t i = 0; i < std::min(into.size(), more.size()); ++i) into[i] += more[i];
};

// Each member does this once in each round. A member that is dead is not in the sum.
Task<Result<void>> step(Worker& worker, Group group) {
    const Values own = gradient(worker.weights, group.rank());
    CINNABAR_CO_TRY(Reduced<Values> sum, co_await group.all_reduce("gradient", own, add));
    worker.mean = std::move(sum.value).value_or(Values(parameters));
    worker.gradients = sum.count;
    for (double& each : worker.mean) each /= static_cast<double>(sum.count);
    co_return Result<void>();
}

// In each round, each rank but 0 receives the weights and takes a step. The handler starts the step as a task and does
// not wait for it: rank 0 joins the step only after the broadcast, and the broadcast waits for its handlers.
void serve(Worker& worker) {
    const auto loads = [&worker](int round, Portion portion) -> Task<Result<void>> {
        auto next = step(worker, worker.group);
        worker.round = round;
        CINNABAR_CO_TRY_VOID(co_await portion.receive(std::as_writable_bytes(std::span(worker.weights))));
        (void)worker.node.spawn(std::move(next));
        co_return Result<void>();
    };
    worker.group.serve_bulk(load, loads).value();
}

// The part of rank 0.
Task<void> train(Worker& worker, Group group) {
    const Region region = worker.node.expose(std::span(worker.weights)).value();
    const Rank self[] = {group.rank()};
    BulkOptions options;
    options.call.except = self;
    options.chunk_bytes = 64 << 10;
    for (int round = 1; round <= rounds; ++round) {
        const Reached loaded = (co_await group.broadcast_bulk(load, round, region, options)).value();
        (co_await step(worker, group)).value();
        for (std::size_t i = 0; i < parameters; ++i) worker.weights[i] -= worker.mean[i] / 2;
        std::cout << "round " << round << ": sent to " << loaded.count << ", mean of " << worker.gradients
                  << " gradients, parameter 7 is now " << worker.weights[7] << '\n';
        worker.round = round;
    }
}

std::unique_ptr<Worker> start(unsigned number) {
    Node node = Node::listen("sim://host" + std::to_string(number) + "?world=21").value();
    const GroupOptions options{.seed = 21 + number};
    Group group = number == 0 ? Group::create(node, options).value()
                              : sync_wait(Group::join(node, {"sim://host0"}, options)).value();
    auto worker = std::make_unique<Worker>(Worker{.node = std::move(node), .group = std::move(group)});
    serve(*worker);
    return worker;
}

int main() {
    // Each host sends 1,000 bytes in a microsecond, so that a round takes some milliseconds.
    auto world = sim::World::numbered(21, {.seed = 21, .host_bytes_per_us = 1000});
    std::vector<std::unique_ptr<Worker>> workers;
    for (unsigned i = 0; i < 5; ++i) workers.push_back(start(i));
    for (const auto& worker : workers) sync_wait(worker->group.wait_for_members(5)).value();

    Worker& first = *workers[0];
    (void)first.node.spawn(train(first, first.group));
    while (workers[1]->round < 3) (void)first.node.run_for(20us);
    world->kill("host1");  // its process dies when it has begun to receive the parameters of round 3
    workers[1].reset();
    while (first.round < rounds) (void)first.node.run_for(1s);

    std::size_t same = 0;
    for (const auto& worker : workers) same += worker && worker->mean == first.mean ? 1 : 0;
    std::cout << same << " members have the same mean\n";
}
