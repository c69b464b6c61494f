// SPDX-License-Identifier: BSD-3-Clause
// Tests of `./dev compare`: the output of programs, rounds that fail, and figures.
#include "harness/usage.hpp"
#include "installed.hpp"
#include "machine_limits.hpp"
#include "made_up_report.hpp"
#include "measure.hpp"
#include "output.hpp"
#include "rdma.hpp"
#include "readers.hpp"
#include "server.hpp"
#include "support/command_output.hpp"
#include "support/folder.hpp"
#include "works.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::compare {
namespace {

TEST(Readers, TakeTheFigureOfEachProgram) {
    EXPECT_DOUBLE_EQ(read_perf("{\"event\": \"perf\"}\n{\"event\": \"calls\", \"per_second\": 1234.5, \"done\": 9, "
                               "\"failed\": 0, \"wrong\": 0}\n{\"event\": \"summary\"}\n",
                               1),
                     1234.5);
    EXPECT_DOUBLE_EQ(read_perf("{\"bytes_per_second\": 2e9, \"done\": 9, \"failed\": 0, \"wrong\": 0}", 1), 2e9);
    EXPECT_DOUBLE_EQ(read_echo("ready\nper_second 777.25\n", 1), 777.25);
    const std::string ucx =
        "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
        "20000,0.597,24.575,2.500,2.48,3.00,40691,3786\n";
    EXPECT_DOUBLE_EQ(read_ucx_latency(ucx, 1), 200'000);
    EXPECT_DOUBLE_EQ(read_ucx_bandwidth(ucx, 1), 3.0 * 1024 * 1024);
    EXPECT_DOUBLE_EQ(read_pingpong("bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
                                   "64      20k     =20k     2.4m       11.56s      0.22     12.50      0.00\n",
                                   1),
                     40'000);
    EXPECT_DOUBLE_EQ(read_iperf(R"({"end": {"sum_received": {"bits_per_second": 8000}}})", 1), 1000);
    EXPECT_DOUBLE_EQ(
        read_perftest_latency(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n"
                              " 64      1000          1.50           9.00         1.90           2.00  0.1\n"
                              "---------------------------------------\n",
                              1),
        250'000);
    EXPECT_DOUBLE_EQ(read_perftest_bandwidth(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]\n"
                                             " 1048576    1000             12000.50           3.00           0.01\n",
                                             1),
                     3.0 * 1024 * 1024);
    EXPECT_DOUBLE_EQ(read_mercury_rate("# a head\n64   125000.00   8.00\n", 1), 125'000);
    EXPECT_DOUBLE_EQ(read_mercury_bandwidth("# a head\n1048576   2500.00   419.43\n", 1), 2.5e9);
}

TEST(Readers, TellNothingOfTextWithoutAFigure) {
    for (const char* const text :
         {"", "cannot connect\n", "{}", "[1, 2]", "{\"end\": {}}", "per_second", "usec/xfer\n"}) {
        for (const auto read :
             {&read_perf, &read_echo, &read_ucx_latency, &read_ucx_bandwidth, &read_pingpong, &read_iperf,
              &read_mercury_rate, &read_mercury_bandwidth, &read_perftest_latency, &read_perftest_bandwidth})
            EXPECT_EQ(read(text, 1), 0) << text;
    }
    EXPECT_EQ(read_perf("{\"per_second\": 5, \"done\": 9, \"failed\": 1, \"wrong\": 0}", 1), 0);
    EXPECT_EQ(read_perf("{\"per_second\": 5, \"done\": 9, \"failed\": 0, \"wrong\": 1}", 1), 0);
}

// The best of ours divided by each other contender, in rounds in which both have a figure.
TEST(Judge, ComparesWithinARound) {
    const Report report = some_report();
    const std::vector<Measured>& all = report.works[0].measured;
    EXPECT_FALSE(all[0].ours_over_it);
    EXPECT_DOUBLE_EQ(all[0].figure->median, 400);
    EXPECT_DOUBLE_EQ(all[2].ours_over_it->median, 2);
    EXPECT_DOUBLE_EQ(all[3].ours_over_it->median, 0.5);
    EXPECT_FALSE(all[2].beats_ours());
    EXPECT_TRUE(all[3].beats_ours());
    EXPECT_DOUBLE_EQ(all[4].ours_over_it->median, 0.25);
    EXPECT_FALSE(all[4].beats_ours()) << "nobody can use the machine's limit instead";
    EXPECT_FALSE(measured("failed", false, {0, 0}).figure);
}

TEST(Output, SaysFirstWhereOthersAreFaster) {
    const Report report = some_report();
    const std::string page = to_markdown(report);
    const std::size_t losses = page.find("## Where others are faster");
    ASSERT_NE(losses, page.npos);
    EXPECT_LT(page.find("| faster | 0.50 [0.20 0.50] |"), page.find("## A call"));
    EXPECT_EQ(page.find("| slower |"), page.rfind("| slower |")) << "only in the table of all";
    EXPECT_NE(page.find("Not installed where this was measured: UCX."), page.npos);
    const std::string html = to_html(report);
    EXPECT_LT(html.find("Where others are faster"), html.find("<figure>"));
    EXPECT_EQ(page.find("| the limit |"), page.rfind("| the limit |")) << "only in the table of all";
    EXPECT_NE(page.find("| the limit |"), page.npos);
    EXPECT_NE(html.find("<g class=\"c2\">"), html.npos) << "the limit has a colour of its own";
    EXPECT_EQ(html.find("<b>"), html.npos);
    EXPECT_EQ(html.find("http"), html.npos) << "a page without a network";
    const auto json = nlohmann::json::parse(to_json(report));
    EXPECT_EQ(json["works"][0]["contenders"][2]["figures"], (nlohmann::json{100.0, nullptr, 300.0}));
    EXPECT_EQ(json["works"][0]["contenders"][3]["ours_over_it"]["median"], 0.5);
}

class Rounds : public testing::Test {
  protected:
    static double seconds_of(const std::string& output, double) { return output == "90\n" ? 90 : 0; }
    static Contender contender(const std::string& client, const std::string& server, Ready ready) {
        Contender one;
        one.name = "it";
        one.client = client;
        one.server = server;
        one.ready = ready;
        one.read = &seconds_of;
        one.is_ours = true;
        return one;
    }
    Compared run(Contender one) {
        Work work{"w", "", "calls", {std::move(one)}, {}};
        return compare(work, {0.1, 2}, folder_.path(), [this](const std::string& line) { told_.push_back(line); });
    }
    support::Folder folder_;
    std::vector<std::string> told_;
};

TEST_F(Rounds, AClientWorksWhenItsServerIsReady) {
    for (const auto& [server, ready] :
         {std::pair{"sleep 0.1; touch @DIR@/a; echo up; exec sleep 100", Ready::output},
          std::pair{"sleep 0.1; touch @DIR@/a; echo 1 >@FILE@; exec sleep 100", Ready::file}}) {
        const Compared done = run(contender("test -e @DIR@/a && sleep 0.05 && echo 90", server, ready));
        EXPECT_EQ(done.measured[0].figures, (std::vector<double>{90, 90})) << done.measured[0].failure;
    }
    EXPECT_EQ(told_.front(), "w 1/2 it: 90 calls/s");
}

#ifdef CINNABAR_MERCURY_API_ECHO
TEST_F(Rounds, TheProgramByMercurysApiMakesCallsAndPulls) {
    const std::string program = std::string("exec ") + CINNABAR_MERCURY_API_ECHO;
    for (const char* const bytes_and_depth : {" 64 4", " 1048576 2"}) {
        Contender one = contender(program + " call na+sm,@FILE@" + bytes_and_depth + " @SECONDS@",
                                  program + " serve na+sm,@FILE@", Ready::file);
        one.read = &read_echo;
        const Compared done = run(one);
        ASSERT_EQ(done.measured[0].figures.size(), 2u);
        for (const double figure : done.measured[0].figures) EXPECT_GT(figure, 0) << done.measured[0].failure;
    }
}
#endif

TEST_F(Rounds, FailuresAreToldAndHaveNoFigure) {
    const auto failure = [this](const char* client, const char* server, Ready ready) {
        const Compared done = run(contender(client, server, ready));
        EXPECT_EQ(done.measured[0].figures, (std::vector<double>{0, 0}));
        Report report;
        report.works.push_back(done);
        EXPECT_TRUE(has_failures(report));
        return done.measured[0].failure;
    };
    EXPECT_EQ(failure("echo no; exit 3", "", Ready::at_once), "it fails: no\n");
    EXPECT_EQ(failure("echo 12", "", Ready::at_once), "it reports no figure: 12\n");
    EXPECT_EQ(failure("echo 90", "exit 1", Ready::output), "its server has ended");
}

TEST(Ports, AreSeenWhenSomebodyListens) { EXPECT_FALSE(is_listened_on(free_port())); }

// The limits are measured as any other client.
TEST(MachineLimits, HaveFigures) {
    if (!bench::pick_cores().two) GTEST_SKIP() << "both sides spin";
    extend_path();
    for (const char* const name : {"ring", "call"}) {
        const Contender limit = machine_limit(name, "");
        EXPECT_TRUE(limit.is_limit);
        EXPECT_GT(limit.read(support::output_of(std::string(machine_limit_program) + " " + name + " 0.02"), 1), 0)
            << name;
    }
    EXPECT_EQ(machine_limit("none", "").read(support::output_of(std::string(machine_limit_program) + " none 1"), 1), 0);
}

TEST(Works, OverADeviceAreBesidePerftest) {
    EXPECT_TRUE(rdma_works("").empty());
    const std::vector<Work> works = rdma_works("mlx5_0");
    ASSERT_EQ(works.size(), 2u);
    for (const Work& work : works) {
        ASSERT_FALSE(work.contenders.empty());
        EXPECT_NE(work.contenders[0].server.find("verbs://mlx5_0:0"), std::string::npos);
        if (work.contenders.size() == 1) {
            EXPECT_EQ(work.missing, "perftest");
        } else {
            EXPECT_NE(work.contenders[1].client.find(" -d mlx5_0 "), std::string::npos);
        }
    }
}

// One of ours comes first, whatever is installed, and each contender has everything that it needs.
TEST(Works, HaveOursFirst) {
    for (const Work& work : all_works()) {
        ASSERT_FALSE(work.contenders.empty());
        EXPECT_TRUE(work.contenders.front().is_ours);
        for (const Contender& each : work.contenders) {
            EXPECT_EQ(each.server.empty(), each.ready == Ready::at_once) << each.name;
            EXPECT_TRUE(each.read) << each.name;
            EXPECT_FALSE(each.version.empty()) << each.name;
            if (each.ready == Ready::port) {
                EXPECT_NE(each.server.find("@PORT@"), std::string::npos) << each.name;
            }
        }
    }
}

bool has_peer(const Work& work, const std::string& peer) {
    return std::ranges::any_of(work.contenders,
                               [&](const Contender& each) { return each.name.starts_with(peer + ", "); });
}
bool tells_as_missing(const Work& work, const std::string& peer) {
    return (", " + work.missing + ", ").find(", " + peer + ", ") != std::string::npos;
}

// Each is a contender, or is told as missing: a peer that is left out without a word would be a loss that nobody sees.
TEST(Works, NameEachPeer) {
    const std::map<std::string, std::vector<std::string>> peers{
        {"call.host", {"Mercury", "UCX", "libfabric", "gRPC", "ZeroMQ"}},
        {"call.tcp", {"Mercury", "UCX", "libfabric", "gRPC", "ZeroMQ"}},
        {"rate.host", {"Mercury", "gRPC", "ZeroMQ"}},
        {"rate.tcp", {"Mercury", "gRPC", "ZeroMQ"}},
        {"bulk.host", {"Mercury", "UCX", "gRPC", "ZeroMQ"}},
        {"bulk.tcp", {"Mercury", "UCX", "iperf3", "gRPC", "ZeroMQ"}},
        {"call.tls", {"gRPC"}},
        {"rate.tls", {"gRPC"}},
        {"bulk.tls", {"gRPC"}}};
    std::size_t found = 0;
    for (const Work& work : all_works()) {
        const auto of_work = peers.find(work.name);
        if (of_work == peers.end()) continue;
        ++found;
        for (const std::string& peer : of_work->second)
            EXPECT_NE(has_peer(work, peer), tells_as_missing(work, peer)) << work.name << ", " << peer;
    }
    EXPECT_EQ(found, peers.size());
}

}  // namespace
}  // namespace cinnabar::compare
