// SPDX-License-Identifier: BSD-3-Clause
// The lists of calls, the text for Prometheus, and the HTML page.
#include "watch/calls_text.hpp"
#include "watch/html_page.hpp"
#include "watch/prometheus.hpp"
#include "watch/state_json.hpp"
#include "watch/states.hpp"

#include <cinnabar/hl/histogram.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace cinnabar::tools::watch {
namespace {

TEST(CallsText, SaysWhatEachPhaseWaitsFor) {
    std::set<std::string> reasons;
    for (std::uint8_t phase = 1; phase < rpc::call_phases; ++phase) {
        const std::string reason = reason_of(waiting("a", static_cast<rpc::CallPhase>(phase), 1));
        EXPECT_NE(reason.find(": "), std::string::npos) << reason;
        reasons.insert(reason);
    }
    EXPECT_EQ(reasons.size(), rpc::call_phases - 1u);
    look::CallReport call = waiting("a", rpc::CallPhase::waits_for_credit, 1);
    call.ahead = 3;
    EXPECT_TRUE(reason_of(call).ends_with("; 3 ahead of it")) << reason_of(call);
    call.phase = 200;  // of a later version
    EXPECT_EQ(reason_of(call), "on its way");
}

TEST(CallsText, ListsOnlyOldCallsOnRequest) {
    State state = state_at(0, {});
    state.calls = {waiting("young", rpc::CallPhase::sent, 1'000), waiting("old", rpc::CallPhase::sent, 4'000'000)};
    const std::string all = calls_text(state, Microseconds{0});
    EXPECT_LT(all.find("old"), all.find("young"));
    EXPECT_NE(all.find("4.00 s"), std::string::npos) << all;
    const std::string old = calls_text(state, Microseconds{1'000'000});
    EXPECT_EQ(old.find("young"), std::string::npos);
    EXPECT_EQ(calls_text(state, Microseconds{9'000'000}), "nothing is under way\n");
    state.cut = true;
    EXPECT_TRUE(calls_text(state, Microseconds{0}).ends_with("and more that are not shown\n"));
}

TEST(CallsText, JsonIsOneLineWithAllOfIt) {
    State state = state_at(0, {});
    state.calls = {waiting("a \"name\"", rpc::CallPhase::waits_for_credit, 4'000'000)};
    state.calls[0].left_us = time_never;
    const std::string json = calls_json(state, Microseconds{0});
    EXPECT_EQ(json,
              "{\"process\": 42, \"calls\": [{\"side\": \"origin\", \"rpc\": \"a \\\"name\\\"\", \"provider\": 0, "
              "\"peer\": \"tcp://10.0.0.7:4000\", \"transport\": \"tcp\", \"context\": 0, \"phase\": \"waiting for a "
              "credit\", \"reason\": \"waiting for a credit: the peer accepts no more requests of this node\", "
              "\"age_us\": 4000000, \"bytes\": 0, \"ahead\": 0}], \"cut\": false}\n");
}

TEST(StateJson, IsOneLineWithAllOfIt) {
    History history;
    State state = state_at(1, {timed("a \"name\"", 2, {2, 4, 6, 8, 10, 12, 14, 16, 18}), served("b", 3)});
    state.calls = {waiting("a", rpc::CallPhase::waits_for_credit, 4'000'000)};
    state.peers = {connected("tcp://10.0.0.7:1")};
    state.traffic = {{70, 80}};
    add_pool(state, "disk", {4, 2, {1, 2, 3}});
    state.node.pools.push_back({"of an earlier version", 1, 5, 9});
    state.node.buffer_bytes = 7;
    state.node.buffer_bytes_max = 8;
    state.node.contexts[0].leases = 12;
    state.node.transports = {{"tcp", {"tcp://a:1", "tcp://b:2"}, "a \"diagnosis\""}};
    state.node.failures = {failure("a", rpc::CallPhase::sent, Errc::peer_lost, 1),
                           failure("a", rpc::CallPhase::waits_for_credit, Errc::timed_out, 7)};
    const std::string json = state_json(state, history.take(state), history);
    EXPECT_EQ(json.find('\n'), std::string::npos);
    for (const std::string part :
         {"\"process\": 42, \"up_us\": 1000000, ",
          "{\"rpc\": \"a \\\"name\\\"\", \"side\": \"origin\", \"counted\": 2, \"mean_us\": {\"connecting\": 1, "
          "\"waiting for a credit\": 2, \"waiting to be sent\": 3, \"on the wire there\": 4, "
          "\"waiting for the handler\": 5, \"in the handler\": 6, \"in its transfers\": 7, \"on the wire back\": 8, "
          "\"waiting for the caller\": 9}}",
          "{\"rpc\": \"b\", \"side\": \"target\", \"counted\": 3, \"mean_us\": {\"in the handler\": 3.5}}",
          "\"in_progress\": [{\"rpc\": \"a\", \"side\": \"origin\", \"phase\": \"waiting for a credit\", \"calls\": 1, "
          "\"oldest_us\": 4000000}]",
          "\"failures\": [{\"rpc\": \"a\", \"phase\": \"waiting for a credit\", \"error\": \"timed out\", \"calls\": "
          "7}, ",
          "\"pools\": [{\"pool\": \"disk\", \"threads\": 4, \"queued\": 6, \"queue_max\": 100, \"running\": 4, "
          "\"resumed\": 2, \"queued_by_priority\": {\"high\": 1, \"normal\": 2, \"low\": 3}}, "
          "{\"pool\": \"of an earlier version\", \"threads\": 1, \"queued\": 5, \"queue_max\": 9}]",
          "\"buffer_bytes\": 7, \"buffer_bytes_max\": 8, ", "\"leases\": 12, ",
          "\"transports\": [{\"transport\": \"tcp\", \"endpoints\": [\"tcp://a:1\", \"tcp://b:2\"], "
          "\"diagnosis\": \"a \\\"diagnosis\\\"\"}]",
          "{\"peer\": \"tcp://10.0.0.7:1\", ", "\"bytes_sent\": 70, \"bytes_received\": 80, "})
        EXPECT_NE(json.find(part), std::string::npos) << part << "\nis not in: " << json;
    EXPECT_TRUE(json.ends_with("\"cut\": false}")) << json;
}

// What a server says of itself may be anything.
TEST(Prometheus, AHistogramEndsWithTheLongestTimeThatThereIs) {
    State state = state_at(5, {served("longest", 1), served("longer", 1)});
    state.rpcs[0].serve_time.assign(hl::Histogram::buckets, 1);
    state.rpcs[1].serve_time.assign(hl::Histogram::buckets + 1'000, 1);
    const std::string all = prometheus_text(state);
    const std::string end = "le=\"+Inf\"} " + std::to_string(hl::Histogram::buckets) + "\n";
    for (const std::string name : {"longest", "longer"}) {
        const std::string series = "cinnabar_request_seconds_bucket{rpc=\"" + name + "\",side=\"target\",";
        EXPECT_NE(all.find(series + end), std::string::npos) << all;
    }
}

TEST(Prometheus, HistogramsAreOfTheBusiestPeers) {
    State state = state_at(5, {});
    for (std::uint64_t i = 0; i < histogram_peers_max + 4; ++i) {
        look::PeerReport peer = connected("peer-" + std::to_string(i) + ".");
        peer.timed = i + 1;
        peer.parts_us.assign(hl::call_parts, 2'000'000);
        state.peers.push_back(peer);
        state.histograms.emplace_back().counts.assign(hl::call_parts + 1, std::vector<std::uint64_t>{0, 1, i});
    }
    state.peers.push_back(state.peers.back());  // the same peer, of another context
    state.histograms.push_back(state.histograms.back());
    state.peers.push_back(connected("of an earlier version"));
    const std::string all = prometheus_text(state);
    const auto series = [](const std::string& of, int peer, const std::string& part, const std::string& more = "") {
        return "cinnabar_peer_call_part_seconds_" + of + "{peer=\"peer-" + std::to_string(peer) +
               ".\",transport=\"tcp\",part=\"" + part + "\"" + more + "} ";
    };
    for (const std::string& line :
         {series("bucket", 18, "in the handler", ",le=\"1e-06\"") + "0\n",
          series("bucket", 18, "in the handler", ",le=\"4e-06\"") + "19\n",
          series("bucket", 18, "in the handler", ",le=\"+Inf\"") + "19\n",
          series("count", 18, "in the handler") + "19\n", series("sum", 18, "in the handler") + "2\n",
          series("sum", 18, "until the answer") + "18\n", series("count", 19, "until the answer") + "40\n",
          series("sum", 19, "connecting") + "4\n"})
        EXPECT_NE(all.find(line), std::string::npos) << line << "is not in: " << all;
    for (int peer = 0; peer < 4; ++peer)
        EXPECT_EQ(all.find(series("count", peer, "connecting")), std::string::npos) << peer;
    EXPECT_NE(all.find(series("count", 4, "connecting")), std::string::npos);
    EXPECT_EQ(all.find("of an earlier version"), std::string::npos);
}

// Each line is a comment, or a name with labels and a number. The lines of a family are together, and no series occurs
// twice.
TEST(Prometheus, TextIsWellFormed) {
    State state = state_at(5, {served("a\"b\\c\nd\xff", 7, 2), served("plain", 0)});
    state.rpcs[1].timed = 2;
    state.rpcs[1].parts_us = {1'000, 2'000, 3'000, 0, 0, 4'000, 0, 0, 5'000};
    state.peers = {connected("one"), connected("two")};
    state.traffic = {{1, 20}, {2, 30}};
    state.calls = {waiting("x", rpc::CallPhase::sent, 2'500'000)};
    add_pool(state, "pool", {1, 0, {0, 2, 0}});
    add_pool(state, "pool", {2, 1, {1, 4, 0}});
    state.node.buffer_bytes_max = 1'000;
    state.node.failures = {failure("plain", rpc::CallPhase::connecting, Errc::refused, 5),
                           failure("plain", static_cast<rpc::CallPhase>(200), static_cast<Errc>(100), 1),
                           failure("plain", rpc::CallPhase::unknown, static_cast<Errc>(101), 2)};
    std::istringstream text(prometheus_text(state));
    std::set<std::string> series;
    std::set<std::string> families;
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with("# TYPE ")) {
            EXPECT_TRUE(families.insert(line).second) << line;
        }
        if (line.starts_with("#")) continue;
        const auto space = line.rfind(' ');
        ASSERT_NE(space, std::string::npos) << line;
        EXPECT_TRUE(line.starts_with("cinnabar_")) << line;
        EXPECT_TRUE(series.insert(line.substr(0, space)).second) << "twice: " << line;
        std::size_t used = 0;
        (void)std::stod(line.substr(space + 1), &used);
        EXPECT_EQ(used, line.size() - space - 1) << line;
    }
    const std::string all = prometheus_text(state);
    const std::string labels = "{rpc=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\",side=\"target\"";
    EXPECT_NE(all.find("cinnabar_requests_total" + labels + "} 7\n"), std::string::npos) << all;
    EXPECT_NE(all.find("cinnabar_requests_failed_total" + labels + "} 2\n"), std::string::npos);
    EXPECT_NE(all.find("cinnabar_request_seconds_bucket" + labels + ",le=\"2e-06\"} 0\n"), std::string::npos) << all;
    EXPECT_NE(all.find("cinnabar_request_seconds_bucket" + labels + ",le=\"4e-06\"} 7\n"), std::string::npos);
    EXPECT_NE(all.find("cinnabar_request_seconds_bucket" + labels + ",le=\"+Inf\"} 7\n"), std::string::npos);
    EXPECT_NE(all.find("cinnabar_request_seconds_count" + labels + "} 7\n"), std::string::npos);
    EXPECT_NE(all.find("cinnabar_call_part_seconds_total{rpc=\"plain\",part=\"in the handler\"} 0.004\n"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("cinnabar_calls_timed_total{rpc=\"plain\"} 2\n"), std::string::npos);
    const std::string refused = "cinnabar_calls_failed_total{rpc=\"plain\",phase=\"connecting\",error=\"";
    EXPECT_NE(all.find(refused + std::string(to_string(Errc::refused)) + "\"} 5\n"), std::string::npos) << all;
    EXPECT_NE(all.find("{rpc=\"plain\",phase=\"before it was sent\",error=\"unknown error\"} 3\n"), std::string::npos)
        << all;
    EXPECT_NE(all.find("cinnabar_peers{transport=\"tcp\",state=\"connected\"} 2\n"), std::string::npos);
    EXPECT_NE(all.find("cinnabar_peers_sent_bytes{transport=\"tcp\"} 3\n"), std::string::npos) << all;
    EXPECT_NE(all.find("cinnabar_peers_received_bytes{transport=\"tcp\"} 50\n"), std::string::npos) << all;
    EXPECT_NE(all.find("cinnabar_pool_queued{pool=\"pool\"} 7\n"), std::string::npos);
    EXPECT_NE(all.find("cinnabar_pool_running{pool=\"pool\"} 3\n"), std::string::npos);
    EXPECT_NE(all.find("cinnabar_pool_threads{pool=\"pool\"} 8\n"), std::string::npos);
    EXPECT_NE(all.find("cinnabar_pool_queued_by_priority{pool=\"pool\",priority=\"normal\"} 6\n"), std::string::npos);
    EXPECT_NE(all.find("cinnabar_memory_limit_bytes{of=\"buffer_bytes\"} 1000\n"), std::string::npos) << all;
    EXPECT_NE(all.find("cinnabar_calls_in_progress{rpc=\"x\",side=\"origin\",phase=\"waiting for the answer\"} 1\n"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("cinnabar_oldest_call_seconds{side=\"origin\",phase=\"waiting for the answer\"} 2.5\n"),
              std::string::npos);
}

TEST(HtmlPage, ShowsWhatPeersSendAsTextAlone) {
    const std::string hostile = "<script>alert(1)</script>\"'&";
    State state = state_at(1, {served(hostile, 5)});
    state.peers = {connected(hostile)};
    state.calls = {waiting(hostile, rpc::CallPhase::sent, 1)};
    state.node.lines = {{1, hostile, hostile, hostile}};
    state.node.transports = {{hostile, {}, hostile}};
    add_pool(state, hostile, {});
    state.rpcs.push_back(timed(hostile, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
    History history;
    const std::string page = html_page(state, history.take(state), history, hostile, 2);
    EXPECT_EQ(page.find("<script"), std::string::npos);
    EXPECT_EQ(page.find("http://"), std::string::npos) << "it needs nothing from elsewhere";
    EXPECT_EQ(page.find("https://"), std::string::npos);
    EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
    EXPECT_NE(page.find("width=device-width"), std::string::npos);
    EXPECT_NE(page.find("http-equiv=\"refresh\" content=\"2\""), std::string::npos);
}

TEST(HtmlPage, ShowsPoolsMemoryAndWhereTimeGoes) {
    History history;
    State state = state_at(1, {timed("slow", 2, {0, 0, 0, 1'000, 0, 6'000'000, 0, 1'000, 0})});
    state.calls = {waiting("slow", rpc::CallPhase::connecting, 1'000)};
    add_pool(state, "disk", {4, 2, {11, 22, 33}});
    state.node.buffer_bytes_max = 256'000'000;
    state.peers = {connected("tcp://10.0.0.7:1")};
    state.traffic = {{7'000, 8'000}};
    state.node.transports = {{"tcp", {}, "listens at an address"}};
    const std::string page = html_page(state, history.take(state), history, "a", 2);
    for (const std::string part :
         {">in the handler</td>", ">3.00 s</td>", ">connecting</td>", ">disk</td>", ">33</td>", ">256 MB</td>",
          ">7.00 kB</td>", ">8.00 kB</td>", "<b>tcp</b> listens at an address", "/state.json"})
        EXPECT_NE(page.find(part), std::string::npos) << part << "\nis not in: " << page;
}

// On a phone a sentence would lie beside the screen; a table of figures alone stays a table.
TEST(HtmlPage, HasSentencesBelowTheOtherCellsOnAPhone) {
    History history;
    State state = state_at(1, {});
    state.calls = {waiting("slow", rpc::CallPhase::connecting, 1'000)};
    const std::string page = html_page(state, history.take(state), history, "a", 2);
    const auto table_after = [&page](const std::string& heading) {
        const auto begin = page.find("<div ", page.find("<h2>" + heading + "</h2>"));
        return page.substr(begin, page.find('>', begin) + 1 - begin);
    };
    EXPECT_EQ(table_after("Calls under way"), "<div class=\"scroll below\">");
    EXPECT_EQ(table_after("Peers"), "<div class=\"scroll\">");
    EXPECT_NE(page.find("<td class=\"text\">connecting: the peer does not answer the dial</td>"), std::string::npos)
        << page;
    EXPECT_NE(page.find("@media (max-width: 40rem)"), std::string::npos);
}

TEST(HtmlPage, DrawsTheLastRates) {
    History history;
    std::vector<RpcRow> rows;
    State state;
    for (int second = 0; second < 10; ++second) {
        state = state_at(second, {served("a", static_cast<std::uint64_t>(second * second))});
        rows = history.take(state);
    }
    const std::string page = html_page(state, rows, history, "a", 2);
    const auto begin = page.find("points=\"");
    ASSERT_NE(begin, std::string::npos);
    const std::string points = page.substr(begin, page.find("\"/>", begin) - begin);
    EXPECT_EQ(std::ranges::count(points, ','), 9) << points;
}

}  // namespace
}  // namespace cinnabar::tools::watch
