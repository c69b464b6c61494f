// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar perf mesh` among nodes of this process: every pair is counted, and whatever goes wrong is told and in no
// figure.
#include "perf/mesh.hpp"

#include "perf/mesh_output.hpp"
#include "perf/protocol.hpp"
#include "perf/service.hpp"
#include "support/folder.hpp"
#include "support/sanitizers.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::tools::perf {
namespace {

hl::Node mesh_node(bool allowed = true, const Faults& faults = {}, std::uint64_t arena_bytes_max = 256u << 20) {
    hl::NodeOptions node_options;
    node_options.rpc.handler_time_max = {};
    auto node = hl::Node::listen("tcp://127.0.0.1:0", node_options).value();
    ServiceOptions options;
    options.release = "test";
    options.loads.allowed = allowed;
    options.faults = faults;
    options.arena_bytes_max = arena_bytes_max;
    EXPECT_TRUE(Service::serve_on(node, options));
    return node;
}

MeshPlan short_mesh() {
    MeshPlan plan;
    plan.warm_up_seconds = 0.02;
    plan.seconds = support::thread_sanitizer ? 3 : 0.3;
    plan.depth = 2;
    return plan;
}

bool has(const std::vector<std::string>& lines, const std::string& text) {
    return std::ranges::any_of(lines, [&](const auto& line) { return line.find(text) != line.npos; });
}
std::string all_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + '\n';
    return text;
}

TEST(PerfMesh, EveryServerCallsEveryOther) {
    const auto first = mesh_node();
    const auto second = mesh_node();
    const auto third = mesh_node();
    const auto results = measure_mesh({first.address(), second.address(), third.address()}, short_mesh(), {});
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(results->exit(), ExitCode::ok) << all_of(mesh_text(*results));
    std::uint64_t done = 0;
    for (std::size_t origin = 0; origin < 3; ++origin) {
        for (std::size_t target = 0; target < 3; ++target) {
            const MeshPair* const pair = results->pair(origin, target);
            ASSERT_EQ(pair == nullptr, origin == target);
            if (!pair) continue;
            EXPECT_TRUE(pair->well()) << pair->outcomes.text();
            EXPECT_EQ(pair->latency().count(), pair->outcomes.done);
            EXPECT_EQ(pair->checked_bytes, 64 * pair->outcomes.done);
            EXPECT_EQ(pair->transport, "tcp");
            EXPECT_GT(pair->per_second, 0);
            done += pair->outcomes.done;
        }
    }
    const auto total = results->total();
    EXPECT_EQ(total.pairs, 6u);
    EXPECT_EQ(total.well, 6u);
    EXPECT_EQ(total.done, done);
    EXPECT_EQ(total.latency.count(), done);
    EXPECT_EQ(total.checked_bytes, 64 * done);
}

MeshPlan short_bulk(Direction direction) {
    MeshPlan plan = short_mesh();
    plan.bulk = direction;
    plan.size = 10'001;  // no multiple of a word
    return plan;
}

TEST(PerfMesh, EveryServerTransfersWithEveryOther) {
    const auto first = mesh_node();
    const auto second = mesh_node();
    const auto third = mesh_node();
    for (const Direction direction : {Direction::pull, Direction::push}) {
        const auto results =
            measure_mesh({first.address(), second.address(), third.address()}, short_bulk(direction), {});
        ASSERT_TRUE(results) << results.error().message();
        EXPECT_EQ(results->exit(), ExitCode::ok) << all_of(mesh_text(*results));
        double sum = 0;
        for (std::size_t origin = 0; origin < 3; ++origin) {
            for (std::size_t target = 0; target < 3; ++target) {
                const MeshPair* const pair = results->pair(origin, target);
                if (!pair) continue;
                EXPECT_TRUE(pair->well()) << pair->outcomes.text();
                EXPECT_EQ(pair->latency().count(), pair->outcomes.done);
                EXPECT_EQ(pair->checked_bytes, 10'001 * pair->outcomes.done);
                EXPECT_GT(pair->bytes_per_second, 0);
            }
            // While there was a transfer with one of them, there was one with any.
            const auto& server = results->servers[origin];
            EXPECT_GT(server.bytes_per_second, 0);
            EXPECT_LE(server.bytes_per_second,
                      (server.to_others[0].bytes_per_second + server.to_others[1].bytes_per_second) * 1.01);
            sum += server.bytes_per_second;
        }
        const auto total = results->total();
        EXPECT_EQ(total.well, 6u);
        EXPECT_DOUBLE_EQ(total.bytes_per_second, sum);
        EXPECT_TRUE(has(mesh_text(*results), "6 of 6 pairs, together ")) << all_of(mesh_text(*results));
    }
}

TEST(PerfMesh, WrongBytesOfTransfersAreToldAndNotAveragedIn) {
    Faults faults;
    faults.corrupt_every = 3;
    const auto right = mesh_node();
    const auto wrong = mesh_node(true, faults);
    for (const Direction direction : {Direction::pull, Direction::push}) {
        const auto results = measure_mesh({right.address(), wrong.address()}, short_bulk(direction), {});
        ASSERT_TRUE(results) << results.error().message();
        EXPECT_EQ(results->exit(), ExitCode::damaged);
        EXPECT_GT(results->pair(0, 1)->outcomes.wrong, 0u);
        EXPECT_EQ(results->servers[0].bytes_per_second, 0);
        EXPECT_TRUE(results->pair(1, 0)->well());
        EXPECT_DOUBLE_EQ(results->total().bytes_per_second, results->servers[1].bytes_per_second);
        EXPECT_TRUE(has(mesh_text(*results), "wrong bytes"));
    }
}

TEST(PerfMesh, ADeadServerIsToldByThoseThatTransferWithIt) {
    const auto first = mesh_node();
    const auto second = mesh_node();
    const std::string gone = hl::Node::listen("tcp://127.0.0.1:0").value().address();
    const auto results = measure_mesh({first.address(), gone, second.address()}, short_bulk(Direction::pull), {});
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(results->exit(), ExitCode::unreachable);
    EXPECT_EQ(results->pair(0, 1)->outcomes.first_failure, Errc::refused);
    EXPECT_TRUE(results->pair(0, 2)->well());
    EXPECT_EQ(results->total().well, 2u);
}

TEST(PerfMesh, ATargetWithTooLittleMemoryIsTold) {
    const auto large = mesh_node();
    const auto small = mesh_node(true, {}, 10'000);
    const auto results = measure_mesh({large.address(), small.address()}, short_bulk(Direction::pull), {});
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(results->pair(0, 1)->outcomes.first_failure, Errc::too_large);
    EXPECT_TRUE(results->pair(0, 1)->gave_up);
    EXPECT_TRUE(results->pair(1, 0)->well());
}

TEST(PerfMesh, TimesThatAreNotThoseOfTransfersAreNotTaken) {
    BulkLoadOut good;
    good.pairs.resize(1);
    auto& pair = good.pairs.front();
    pair.transfers.failed_by.resize(errc_count);
    Histogram latency(load_latency_bits);
    latency.record(1'000);
    pair.transfers.latency = latency.encoded();
    pair.transfers.done = pair.transfers.done_within = 1;
    pair.busy_us = good.busy_us = 5;
    std::vector<BulkLoadOut> answers(1);  // none for the only target
    const auto add = [&](auto change) { change(answers.emplace_back(good)); };
    add([](BulkLoadOut& out) { out.busy_us = 0; });
    add([](BulkLoadOut& out) { out.busy_us = 3'600'000'000; });
    add([](BulkLoadOut& out) { out.pairs.front().busy_us = 0; });
    add([](BulkLoadOut& out) { out.pairs.front().busy_us = ~std::uint64_t{0}; });
    add([](BulkLoadOut& out) { out.pairs.front().transfers.done = 2; });
    const std::size_t bad = answers.size();
    answers.push_back(good);
    std::size_t asked = 0;
    const auto honest = mesh_node();
    const auto liar = hl::Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(liar.serve(about_rpc, [] {
        AboutOut about;
        about.version = protocol_version;
        return about;
    }));
    ASSERT_TRUE(liar.serve(bulk_load_rpc, [&](const BulkLoadIn&) { return answers.at(asked++); }));
    MeshPlan plan = short_bulk(Direction::pull);
    plan.seconds = 0.01;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto results = measure_mesh({honest.address(), liar.address()}, plan, {});
        ASSERT_TRUE(results) << results.error().message();
        const auto& lost = results->servers[1].lost;
        EXPECT_EQ(lost ? lost->code : Errc::ok, i < bad ? Errc::protocol : Errc::ok) << i;
    }
}

TEST(PerfMesh, AServerOfAnEarlierVersionIsTold) {
    const auto honest = mesh_node();
    const auto earlier = hl::Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(earlier.serve(about_rpc, [] {
        AboutOut about;
        about.version = protocol_version;
        return about;
    }));
    const auto results = measure_mesh({honest.address(), earlier.address()}, short_bulk(Direction::pull), {});
    ASSERT_TRUE(results) << results.error().message();
    ASSERT_TRUE(results->servers[1].lost);
    EXPECT_EQ(results->servers[1].lost->code, Errc::no_such_rpc);
}

TEST(PerfMesh, ADeadServerIsToldAndNotAveragedIn) {
    const auto first = mesh_node();
    const auto second = mesh_node();
    const std::string gone = hl::Node::listen("tcp://127.0.0.1:0").value().address();
    const auto results = measure_mesh({first.address(), gone, second.address()}, short_mesh(), {});
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(results->exit(), ExitCode::unreachable);
    ASSERT_TRUE(results->servers[1].lost);
    EXPECT_EQ(results->servers[1].lost->code, Errc::refused);
    EXPECT_EQ(results->pair(1, 0), nullptr);
    for (const std::size_t origin : {0, 2}) {
        ASSERT_TRUE(results->pair(origin, 1));
        EXPECT_FALSE(results->pair(origin, 1)->well());
        EXPECT_EQ(results->pair(origin, 1)->outcomes.first_failure, Errc::refused);
    }
    ASSERT_TRUE(results->pair(0, 2) && results->pair(2, 0));
    const auto total = results->total();
    EXPECT_EQ(total.pairs, 6u);
    EXPECT_EQ(total.well, 2u);
    EXPECT_EQ(total.latency.count(), results->pair(0, 2)->outcomes.done + results->pair(2, 0)->outcomes.done);
    const auto text = mesh_text(*results);
    EXPECT_TRUE(has(text, "1 to 2: ")) << all_of(text);
    EXPECT_TRUE(has(text, "2 of 6 pairs")) << all_of(text);
}

TEST(PerfMesh, AServerThatRunsNoLoadIsToldAndStillCalled) {
    const auto willing = mesh_node();
    const auto other = mesh_node(false);
    const auto results = measure_mesh({willing.address(), other.address()}, short_mesh(), {});
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(results->exit(), ExitCode::permission);
    ASSERT_TRUE(results->servers[1].lost);
    EXPECT_NE(results->servers[1].lost->message().find("--mesh"), std::string::npos);
    EXPECT_TRUE(results->pair(0, 1)->well());
    EXPECT_EQ(results->total().well, 1u);
    EXPECT_TRUE(has(mesh_text(*results), "permission"));
}

TEST(PerfMesh, WrongRepliesAreToldAndNotAveragedIn) {
    Faults faults;
    faults.corrupt_every = 3;
    const auto right = mesh_node();
    const auto wrong = mesh_node(true, faults);
    const auto results = measure_mesh({right.address(), wrong.address()}, short_mesh(), {});
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(results->exit(), ExitCode::damaged);
    EXPECT_GT(results->pair(0, 1)->outcomes.wrong, 0u);
    EXPECT_TRUE(results->pair(1, 0)->well());
    const auto total = results->total();
    EXPECT_EQ(total.well, 1u);
    EXPECT_EQ(total.latency.count(), results->pair(1, 0)->outcomes.done);
    EXPECT_TRUE(has(mesh_text(*results), "wrong bytes"));
}

// A server that answers with what it likes.
TEST(PerfMesh, FiguresThatContradictEachOtherAreNotTaken) {
    LoadPair good;
    good.failed_by.resize(errc_count);
    good.latency = Histogram(load_latency_bits).encoded();
    std::vector<LoadOut> answers(1);  // none for the only target
    const auto add = [&](auto change) {
        LoadOut out{{good}};
        change(out.pairs.front());
        answers.push_back(std::move(out));
    };
    add([](LoadPair& pair) { pair.done = 7; });
    add([](LoadPair& pair) { pair.latency.clear(); });
    add([](LoadPair& pair) { pair.failed_by.resize(3); });
    add([](LoadPair& pair) { pair.first_failure = 255; });
    add([](LoadPair& pair) { pair.failed_by.at(std::size_t(Errc::refused)) = 1; });
    add([](LoadPair& pair) { pair.gave_up = true; });
    std::size_t asked = 0;
    const auto honest = mesh_node();
    const auto liar = hl::Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(liar.serve(about_rpc, [] {
        AboutOut about;
        about.version = protocol_version;
        return about;
    }));
    ASSERT_TRUE(liar.serve(load_rpc, [&](const LoadIn&) { return answers.at(asked++); }));
    MeshPlan plan = short_mesh();
    plan.seconds = 0.01;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto results = measure_mesh({honest.address(), liar.address()}, plan, {});
        ASSERT_TRUE(results) << results.error().message();
        ASSERT_TRUE(results->servers[1].lost) << i;
        EXPECT_EQ(results->servers[1].lost->code, Errc::protocol) << i;
    }
}

TEST(PerfMesh, WhatCannotBeMeasuredIsRefused) {
    const std::string one = "tcp://127.0.0.1:1";
    const std::string two = "tcp://127.0.0.1:2";
    EXPECT_EQ(measure_mesh({}, {}, {}).code(), Errc::invalid_argument);
    EXPECT_EQ(measure_mesh({one}, {}, {}).code(), Errc::invalid_argument);
    EXPECT_EQ(measure_mesh({one, one}, {}, {}).code(), Errc::invalid_argument);
    EXPECT_EQ(measure_mesh({one, "nonsense"}, {}, {}).code(), Errc::bad_address);
    MeshPlan plan;
    plan.seconds = 60;
    EXPECT_EQ(measure_mesh({one, two}, plan, {}).code(), Errc::too_large);
    std::vector<std::string> many;
    for (int port = 1; port <= 258; ++port) many.push_back("tcp://127.0.0.1:" + std::to_string(port));
    EXPECT_EQ(measure_mesh(many, {}, {}).code(), Errc::too_large);
    MeshPlan large;
    large.bulk = Direction::pull;
    large.size = (256u << 20) + 1;
    EXPECT_EQ(measure_mesh({one, two}, large, {}).code(), Errc::too_large);
}

TEST(PerfMesh, AStopEndsIt) {
    const auto first = mesh_node();
    const auto second = mesh_node();
    std::stop_source source;
    source.request_stop();
    MeshPlan plan = short_mesh();
    plan.seconds = 50;
    EXPECT_EQ(measure_mesh({first.address(), second.address()}, plan, source.get_token()).code(), Errc::canceled);
}

TEST(PerfMesh, EveryOutputTellsOfEveryPair) {
    const auto first = mesh_node();
    const auto second = mesh_node(false);
    const auto results = measure_mesh({first.address(), second.address()}, short_mesh(), {});
    ASSERT_TRUE(results) << results.error().message();
    const auto json = mesh_json(*results);
    ASSERT_EQ(json.size(), 3u);
    EXPECT_FALSE(has({json[0]}, "\"error\": {")) << json[0];
    EXPECT_TRUE(has({json[1]}, "\"code\": \"permission\"")) << json[1];
    EXPECT_TRUE(has({json[1]}, "\"per_second\": null")) << json[1];
    EXPECT_TRUE(has({json[2]}, "\"event\": \"total\"") && has({json[2]}, "\"well\": 1")) << json[2];
    const auto csv = mesh_csv(*results);
    ASSERT_EQ(csv.size(), 3u);
    for (const auto& line : csv)
        EXPECT_EQ(std::ranges::count(line, ','), std::ranges::count(csv.front(), ',')) << all_of(csv);
    EXPECT_TRUE(csv[1].ends_with(',')) << csv[1];
    EXPECT_TRUE(csv[2].ends_with(",permission")) << csv[2];
}

TEST(PerfMesh, EveryOutputTellsOfTransfers) {
    const auto first = mesh_node();
    const auto second = mesh_node(false);
    const auto results = measure_mesh({first.address(), second.address()}, short_bulk(Direction::push), {});
    ASSERT_TRUE(results) << results.error().message();
    const auto json = mesh_json(*results);
    ASSERT_EQ(json.size(), 3u);
    for (const auto& line : json) EXPECT_TRUE(has({line}, "\"direction\": \"push\", \"bytes_per_second\": ")) << line;
    EXPECT_TRUE(has({json[1]}, "\"bytes_per_second\": null")) << json[1];
    const auto csv = mesh_csv(*results);
    for (const auto& line : csv)
        EXPECT_EQ(std::ranges::count(line, ','), std::ranges::count(csv.front(), ',')) << all_of(csv);
    EXPECT_TRUE(csv[0].ends_with(",direction,bytes_per_second,error")) << csv[0];
    EXPECT_TRUE(csv[2].ends_with(",push,,permission")) << csv[2];
    EXPECT_TRUE(has(mesh_text(*results), "bandwidth from the server of the column to that of the row"));
}

TEST(PerfMesh, ServersAreReadFromAFile) {
    const support::Folder folder;
    const auto path = folder.put("servers", "# ours\n\ntcp://a:1\n  tcp://b:2,shm://b \r\n#tcp://c:3\n");
    const auto servers = read_servers(path);
    ASSERT_TRUE(servers) << servers.error().message();
    EXPECT_EQ(*servers, (std::vector<std::string>{"tcp://a:1", "tcp://b:2,shm://b"}));
    EXPECT_FALSE(read_servers(folder.at("none")));
}

}  // namespace
}  // namespace cinnabar::tools::perf
