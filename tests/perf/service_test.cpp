// SPDX-License-Identifier: BSD-3-Clause
// The service of `cinnabar perf` on a node of this process: what clients get, what strangers do not get, and that
// nothing that fails counts as a success.
#include "perf/service.hpp"

#include "perf/bulk_load.hpp"
#include "perf/call_load.hpp"
#include "perf/target.hpp"
#include "support/sanitizers.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/future.hpp>

#include <gtest/gtest.h>

#include <optional>

namespace cinnabar::tools::perf {
namespace {

constexpr std::chrono::seconds call_time{10};
constexpr double slow_down = support::thread_sanitizer ? 10 : 1;
constexpr hl::Rpc<int(int)> twice{"test.twice"};

Plan short_plan() {
    Plan plan;
    plan.warm_up_seconds = 0.01;
    plan.seconds = 0.05 * slow_down;
    plan.repeats = 2;
    return plan;
}

struct PerfService : testing::Test {
    std::optional<hl::Node> node;
    std::optional<Service> service;
    ServiceOptions options;

    void serve() {
        hl::NodeOptions node_options;
        node_options.contexts = options.contexts;
        node_options.rpc.handler_time_max = {};
        node.emplace(hl::Node::listen("tcp://127.0.0.1:0", node_options).value());
        options.release = "test";
        service.emplace(Service::serve_on(*node, options).value());
    }
    Target target() const {
        auto found = find_target(node->address(), {}, {}, {});
        EXPECT_TRUE(found) << found.error().message();
        return found ? *found : Target{};
    }
    hl::Connected client() const { return connect_to({node->address(), {}, {}, {}}, 1).value(); }
    static Result<OpenOut> open(const hl::Connected& client, std::uint64_t bytes, std::uint32_t slots) {
        return client.node.call(open_rpc, client.peer, OpenIn{bytes, slots}, call_time).wait();
    }
};

TEST_F(PerfService, CallsAreCountedAndTimed) {
    options.contexts = 2;
    serve();
    CallShape shape;
    shape.depth = 4;
    shape.contexts = 2;
    shape.clients = 2;
    shape.threads = 2;
    const auto row = run_calls(target(), shape, short_plan(), {});
    ASSERT_TRUE(row) << row.error().message();
    EXPECT_TRUE(row->outcomes.all_well()) << row->outcomes.text();
    EXPECT_GT(row->outcomes.done, 0u);
    EXPECT_EQ(row->latency.count(), row->outcomes.done);
    EXPECT_GT(row->latency.min(), 0u);
    EXPECT_EQ(row->rates.size(), 2u);
    EXPECT_FALSE(row->from_sending.has_value());
    EXPECT_FALSE(row->gave_up);
    std::uint64_t in_slices = 0;
    for (const auto& slice : row->timeline.latencies()) in_slices += slice.count();
    EXPECT_EQ(in_slices, row->outcomes.done);
}

// Larger than a message, so that bulk is used in both directions.
TEST_F(PerfService, LargeCallsComeBackWhole) {
    serve();
    CallShape shape;
    shape.payload_bytes = 300'001;
    Plan plan = short_plan();
    plan.seconds *= 10;  // on a busy machine, one large call can take as long as the whole of the short plan
    const auto row = run_calls(target(), shape, plan, {});
    ASSERT_TRUE(row) << row.error().message();
    EXPECT_TRUE(row->outcomes.all_well()) << row->outcomes.text();
    EXPECT_GT(row->outcomes.done, 0u);
}

// Exactly as many calls as were planned, each once.
TEST_F(PerfService, AnOpenLoopMakesTheCallsThatWerePlanned) {
    serve();
    CallShape shape;
    shape.rate = 2000;
    shape.depth = 1000;
    const auto row = run_calls(target(), shape, short_plan(), {});
    ASSERT_TRUE(row) << row.error().message();
    EXPECT_TRUE(row->outcomes.all_well()) << row->outcomes.text();
    EXPECT_NEAR(static_cast<double>(row->outcomes.done + row->outcomes.unsent), 200 * slow_down, 1);
    EXPECT_EQ(row->latency.count(), row->outcomes.done);
    ASSERT_TRUE(row->from_sending.has_value());
    EXPECT_EQ(row->from_sending->count(), row->outcomes.done);
    EXPECT_GE(row->latency.max(), row->from_sending->max());
}

TEST_F(PerfService, WrongBytesAreCountedAndNotTimed) {
    options.faults.corrupt_every = 4;
    serve();
    Plan plan = short_plan();
    plan.warm_up_seconds = 0;  // in a warm-up, wrong bytes are counted but good calls are not
    const auto row = run_calls(target(), {}, plan, {});
    ASSERT_TRUE(row) << row.error().message();
    EXPECT_EQ(row->outcomes.exit(), ExitCode::damaged);
    // One in four is wrong, so there are three good calls for each wrong one.
    EXPECT_NEAR(static_cast<double>(row->outcomes.done), 3.0 * static_cast<double>(row->outcomes.wrong),
                0.4 * static_cast<double>(row->outcomes.done) + 12);
    EXPECT_EQ(row->latency.count(), row->outcomes.done);
}

TEST_F(PerfService, CallsWithoutAnAnswerAreCountedAndNotTimed) {
    options.faults.drop_every = 10;
    serve();
    Plan plan = short_plan();
    plan.deadline = std::chrono::milliseconds(20);
    plan.seconds = 0.2;
    const auto row = run_calls(target(), {}, plan, {});
    ASSERT_TRUE(row) << row.error().message();
    EXPECT_EQ(row->outcomes.exit(), ExitCode::timed_out) << row->outcomes.text();
    EXPECT_GE(row->outcomes.failed(), 2u);
    EXPECT_EQ(row->latency.count(), row->outcomes.done);
}

TEST_F(PerfService, BulkOfEveryShapeArrivesWhole) {
    serve();
    const auto at = target();
    Plan plan = short_plan();
    plan.seconds = 0.01;
    plan.repeats = 1;
    for (const auto direction : {Direction::pull, Direction::push}) {
        for (const BulkShape& shape : {BulkShape{1, 1, 1, direction, MemoryKind::exposed},
                                       BulkShape{4096, 16, 8, direction, MemoryKind::exposed},
                                       BulkShape{1u << 20, 1, 8, direction, MemoryKind::allocated},
                                       BulkShape{3'000'003, 3, 2, direction, MemoryKind::exposed}}) {
            const auto row = run_bulk(at, shape, plan, {});
            ASSERT_TRUE(row) << row.error().message();
            EXPECT_TRUE(row->outcomes.all_well()) << row->outcomes.text();
            EXPECT_EQ(row->outcomes.done % row->slots, 0u);
            EXPECT_EQ(row->latency.count(), row->outcomes.done);
            EXPECT_EQ(row->bandwidths.size(), 1u);
        }
    }
}

TEST_F(PerfService, BulkFromAndToAFileArrivesWhole) {
    serve();
    const auto at = target();
    Plan plan = short_plan();
    plan.seconds = 0.01;
    plan.repeats = 1;
    for (const auto direction : {Direction::pull, Direction::push}) {
        const auto row = run_bulk(at, {300'001, 1, 4, direction, MemoryKind::file}, plan, {});
        ASSERT_TRUE(row) << row.error().message();
        EXPECT_TRUE(row->outcomes.all_well()) << row->outcomes.text();
        EXPECT_EQ(row->latency.count(), row->outcomes.done);
        EXPECT_EQ(row->bandwidths.size(), 1u);
    }
}

TEST_F(PerfService, MemoryOfADeviceNeedsOne) {
    serve();
    const auto at = target();
    Plan plan = short_plan();
    plan.seconds = 0.01;
    plan.repeats = 1;
    const auto row = run_bulk(at, {65'536, 1, 4, Direction::pull, MemoryKind::device}, plan, {});
    if (row) {
        EXPECT_TRUE(row->outcomes.all_well()) << row->outcomes.text();
    } else {
        EXPECT_EQ(row.code(), Errc::unsupported) << row.error().message();
    }
}

TEST_F(PerfService, DamagedBulkIsFoundInEitherDirection) {
    options.faults.corrupt_every = 5;
    serve();
    const auto at = target();
    Plan plan = short_plan();
    plan.warm_up_seconds = 0;
    plan.seconds = 1e-9;  // one round
    plan.repeats = 1;
    for (const auto direction : {Direction::pull, Direction::push}) {
        const auto row = run_bulk(at, {65'536, 1, 4, direction, MemoryKind::exposed}, plan, {});
        ASSERT_TRUE(row) << row.error().message();
        EXPECT_EQ(row->outcomes.exit(), ExitCode::damaged);
        // In the round of the warm-up and in the one that counts.
        EXPECT_NEAR(static_cast<double>(row->outcomes.wrong), 2.0 * row->slots / 5, 1);
        EXPECT_NEAR(static_cast<double>(row->outcomes.done), 0.8 * row->slots, 1);
        EXPECT_TRUE(row->bandwidths.empty());  // no round went well
    }
}

TEST_F(PerfService, AServerThatGoesIsNotWaitedForByEachCall) {
    serve();
    auto at = target();
    node.reset();
    const auto row = run_calls(at, {}, short_plan(), {});
    ASSERT_FALSE(row);
    EXPECT_EQ(row.code(), Errc::refused);
}

TEST_F(PerfService, AStopEndsIt) {
    serve();
    std::stop_source source;
    source.request_stop();
    const auto at = target();
    EXPECT_EQ(run_calls(at, {}, short_plan(), source.get_token()).code(), Errc::canceled);
    EXPECT_EQ(run_bulk(at, {}, short_plan(), source.get_token()).code(), Errc::canceled);
}

TEST_F(PerfService, ShapesThatCannotBeAreRefused) {
    serve();
    const auto at = target();
    EXPECT_EQ(run_bulk(at, {4096, 3, 1, Direction::pull, MemoryKind::exposed}, short_plan(), {}).code(),
              Errc::invalid_argument);
    for (const MemoryKind whole : {MemoryKind::allocated, MemoryKind::file, MemoryKind::device})
        EXPECT_EQ(run_bulk(at, {4096, 4, 1, Direction::pull, whole}, short_plan(), {}).code(), Errc::invalid_argument);
    EXPECT_EQ(run_bulk(at, {1u << 30, 1, 1, Direction::pull, MemoryKind::exposed}, short_plan(), {}).code(),
              Errc::too_large);
}

// --- strangers

TEST_F(PerfService, MemoryIsBoundedOverAllClients) {
    options.arena_bytes_max = 1u << 20;
    serve();
    const auto one = client();
    const auto other = client();
    EXPECT_EQ(open(one, 1u << 20, 2).code(), Errc::too_large);
    EXPECT_EQ(open(one, ~std::uint64_t{0}, ~std::uint32_t{0}).code(), Errc::too_large);
    EXPECT_EQ(open(one, 0, 1).code(), Errc::invalid_argument);
    EXPECT_EQ(open(one, 1, 0).code(), Errc::invalid_argument);
    ASSERT_TRUE(open(one, 700'000, 1));
    EXPECT_EQ(open(other, 700'000, 1).code(), Errc::overloaded);
    EXPECT_TRUE(open(other, 300'000, 1));
    EXPECT_EQ(service->arenas(), 2u);
}

TEST_F(PerfService, AnArenaThatNobodyHoldsIsGivenToOthers) {
    options.arena_bytes_max = 4096;
    options.hold_limit = std::chrono::milliseconds(0);
    serve();
    const auto one = client();
    ASSERT_TRUE(open(one, 4096, 1));
    ASSERT_TRUE(open(one, 4096, 1));
    EXPECT_EQ(service->arenas(), 1u);
}

TEST_F(PerfService, AnArenaBelongsToItsConnectionAndGoesWithIt) {
    serve();
    const auto other = client();
    {
        const auto one = client();
        const auto arena = open(one, 4096, 2).value().arena;
        const auto held = one.node.call(hold_rpc, one.peer, HoldIn{arena}, hl::no_deadline).future();
        const SlotsIn both{arena, 0, 2, 1};
        EXPECT_TRUE(one.node.call(fill_rpc, one.peer, both, call_time).wait());
        EXPECT_TRUE(one.node.call(check_rpc, one.peer, both, call_time).wait().value().wrong.empty());
        const SlotsIn beyond{arena, 1, 2, 1};
        EXPECT_EQ(one.node.call(fill_rpc, one.peer, beyond, call_time).wait().code(), Errc::invalid_argument);
        const SlotsIn far{arena, ~std::uint32_t{0}, ~std::uint32_t{0}, 1};
        EXPECT_EQ(one.node.call(check_rpc, one.peer, far, call_time).wait().code(), Errc::invalid_argument);
        EXPECT_EQ(other.node.call(fill_rpc, other.peer, both, call_time).wait().code(), Errc::not_found);
        EXPECT_EQ(other.node.call(hold_rpc, other.peer, HoldIn{arena}, call_time).wait().code(), Errc::not_found);
        EXPECT_EQ(one.node.call(hold_rpc, one.peer, HoldIn{arena}, call_time).wait().code(), Errc::not_found);
        const MoveIn empty{arena, 0, false, {}};
        EXPECT_EQ(one.node.call(move_rpc, one.peer, empty, call_time).wait().code(), Errc::invalid_argument);
    }
    // The server hears of it when it looks.
    for (int i = 0; i < 1000 && service->arenas() > 0; ++i)
        (void)other.node.call(about_rpc, other.peer, call_time).wait();
    EXPECT_EQ(service->arenas(), 0u);
}

TEST_F(PerfService, ItIsAGuestOnALiveNode) {
    serve();
    ASSERT_TRUE(node->serve(twice, [](int value) { return 2 * value; }));
    const auto one = client();
    EXPECT_EQ(one.node.call(twice, one.peer, 21, call_time).wait().value(), 42);
    EXPECT_TRUE(run_calls(target(), {}, short_plan(), {})->outcomes.all_well());
    EXPECT_EQ(Service::serve_on(*node, options).code(), Errc::exists);
}

TEST(PerfTarget, AServerWithoutTheServiceSaysSo) {
    const auto node = hl::Node::listen("tcp://127.0.0.1:0").value();
    const auto found = find_target(node.address(), {}, {}, {});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.code(), Errc::no_such_rpc);
    EXPECT_NE(found.error().message().find("cinnabar perf serve"), std::string::npos) << found.error().message();
}

TEST(PerfTarget, AServiceOfAnotherVersionSaysSo) {
    const auto node = hl::Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(node.serve(about_rpc, [] {
        AboutOut about;
        about.version = protocol_version + 1;
        return about;
    }));
    EXPECT_EQ(find_target(node.address(), {}, {}, {}).code(), Errc::protocol);
}

TEST(PerfTarget, ATransportThatIsNotThereSaysSo) {
    const auto node = hl::Node::listen("tcp://127.0.0.1:0").value();
    EXPECT_EQ(find_target(node.address(), "verbs", {}, {}).code(), Errc::bad_address);
    EXPECT_EQ(find_target("nonsense", {}, {}, {}).code(), Errc::bad_address);
}

}  // namespace
}  // namespace cinnabar::tools::perf
