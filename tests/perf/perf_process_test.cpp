// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar perf` as processes, with servers that stall, drop, corrupt and die: failures are counted and reported, also
// by the exit code.
#include "support/folder.hpp"
#include "tools/process.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools {
namespace {

class PerfServer {
  public:
    explicit PerfServer(const Words& more = {}, const std::string& listen = "tcp://127.0.0.1:0")
        : process_(words(more, listen)) {
        const std::string line = process_.read_line();
        const std::string begin = "listening on ";
        if (line.starts_with(begin)) uri_ = line.substr(begin.size());
        EXPECT_NE(uri_, "") << line << process_.err();
    }
    [[nodiscard]] const std::string& uri() const { return uri_; }
    [[nodiscard]] Process& process() { return process_; }

  private:
    static Words words(const Words& more, const std::string& listen) {
        Words all{"perf", "serve", "--listen", listen};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    Process process_;
    std::string uri_;
};

// The number after a key in a line of JSON; -1: not there.
double number(const std::string& line, const std::string& key) {
    const auto at = line.find("\"" + key + "\": ");
    return at == line.npos ? -1 : std::strtod(line.c_str() + at + key.size() + 4, nullptr);
}
// The same, inside the object after another key.
double number_in(const std::string& line, const std::string& object, const std::string& key) {
    const auto at = line.find("\"" + object + "\": {");
    return at == line.npos ? -1 : number(line.substr(at, line.find('}', at) - at), key);
}
std::string row(const std::string& out, const std::string& event) {
    const auto at = out.find("{\"event\": \"" + event + "\"");
    return at == out.npos ? std::string() : out.substr(at, out.find('\n', at) - at);
}
const Words quick{"-t", "0.05", "-r", "2", "--warm-up", "0.01"};
Words measure(const std::string& what, const std::string& uri, Words more = quick) {
    Words all{"perf", what, uri, "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

TEST(PerfProcess, CallsAndBulkOverEachWayToAServer) {
    for (const char* const listen : {"tcp://127.0.0.1:0", "shm://"}) {
        PerfServer server({}, listen);
        const auto calls = run(measure("calls", server.uri()));
        EXPECT_EQ(calls.exit, 0) << calls.err;
        const auto line = row(calls.out, "calls");
        EXPECT_GT(number(line, "per_second"), 0) << calls.out;
        EXPECT_EQ(number(line, "failed"), 0);
        EXPECT_GT(number(line, "done"), 0);
        const auto bulk = run(measure("bulk", server.uri()));
        EXPECT_EQ(bulk.exit, 0) << bulk.err;
        EXPECT_GT(number(row(bulk.out, "bulk"), "bytes_per_second"), 0) << bulk.out;
        server.process().send(SIGTERM);
        EXPECT_EQ(server.process().wait(), 0);
    }
}

// One call in 64 is timed, so these are more calls than `quick` makes where calls take long.
void expect_parts(const std::string& uri, const Words& more = {}) {
    Words words{"perf", "calls", uri, "-d", "16", "-t", "0.2", "-r", "2", "--warm-up", "0.01"};
    words.insert(words.end(), more.begin(), more.end());
    const auto calls = run(words);
    EXPECT_EQ(calls.exit, 0) << calls.out << calls.err;
    for (const std::string part : {"\n  means of ", " timed calls: ", "on the wire there ", "on the wire back "})
        EXPECT_NE(calls.out.find(part), std::string::npos) << part << " is not in: " << calls.out;
}
void expect_bulk(const std::string& uri, const Words& secrets = {}) {
    Words more = quick;
    more.insert(more.end(), secrets.begin(), secrets.end());
    const auto bulk = run(measure("bulk", uri, more));
    EXPECT_EQ(bulk.exit, 0) << bulk.out << bulk.err;
    EXPECT_GT(number(row(bulk.out, "bulk"), "bytes_per_second"), 0) << bulk.out;
}

TEST(PerfProcess, SaysInTextWhereTheTimeOfCallsWent) {
    PerfServer server;
    expect_parts(server.uri());
}

#ifdef CINNABAR_TEST_TCPS
TEST(PerfProcess, GoesOverTcpsByAKeyAndByCertificates) {
    const support::Folder folder;
    const std::string ca = folder.at("ca");
    ASSERT_EQ(run({"key", "new", folder.at("key")}).exit, 0);
    ASSERT_EQ(run({"cert", "ca", ca}).exit, 0);
    ASSERT_EQ(run({"cert", "server", ca, "there", "--host", "127.0.0.1"}).exit, 0);
    ASSERT_EQ(run({"cert", "client", ca, "here"}).exit, 0);
    const auto certified = [&ca](const std::string& name) {
        const std::string at = ca + "/" + name;
        return Words{"--cert", at + ".pem", "--cert-key", at + ".key", "--ca", ca + "/ca.pem"};
    };
    const Words key{"--key-file", folder.at("key")};
    const std::vector<std::pair<Words, Words>> ways{{key, key}, {certified("there"), certified("here")}};
    for (const auto& [of_server, of_client] : ways) {
        PerfServer server(of_server, "tcps://127.0.0.1:0");
        EXPECT_TRUE(server.uri().starts_with("tcps://")) << server.uri();
        expect_parts(server.uri(), of_client);
        expect_bulk(server.uri(), of_client);
        EXPECT_NE(run(measure("calls", server.uri())).exit, 0) << "it has to prove who it is";
    }
}
#endif

#ifdef CINNABAR_TEST_OFI
TEST(PerfProcess, GoesOverAFabric) {
    PerfServer server({}, "ofi+tcp;ofi_rxm://127.0.0.1:0");
    EXPECT_TRUE(server.uri().starts_with("ofi+tcp")) << server.uri();
    expect_parts(server.uri());
    expect_bulk(server.uri());
}
#endif

// Beside the save service.
TEST(PerfProcess, CallsAndBulkToALiveServiceIfItAllows) {
    for (const bool allowed : {true, false}) {
        const support::Folder root;
        Serving server(root.path().string(), allowed ? Words{"--perf"} : Words());
        const auto calls = run(measure("calls", server.uri()));
        EXPECT_EQ(calls.exit == 0, allowed) << calls.out << calls.err;
        if (allowed) {
            EXPECT_EQ(number(row(calls.out, "calls"), "failed"), 0);
            EXPECT_EQ(run(measure("bulk", server.uri())).exit, 0);
        }
        server.process().send(SIGTERM);
        EXPECT_EQ(server.process().wait(), 0);
    }
}

// 100 ms in every 500 ms: a fifth of all calls are planned during a stall.
const Words stalls{"--stall", "100", "--stall-every", "500"};

TEST(PerfProcess, AnOpenLoopShowsAStall) {
    PerfServer server(stalls);
    const auto measured = run(measure("calls", server.uri(), {"--rate", "500", "-t", "1", "-r", "1"}));
    EXPECT_EQ(measured.exit, 0) << measured.err;
    const auto line = row(measured.out, "calls");
    EXPECT_GT(number_in(line, "latency_ns", "p99"), 60e6) << line;
    EXPECT_EQ(number(line, "failed"), 0) << line;
}

// With one call in flight, the other calls planned during a stall are not even sent: only the planned start shows that
// they waited.
TEST(PerfProcess, CoordinatedOmissionIsToldApart) {
    PerfServer server(stalls);
    const auto measured = run(measure("calls", server.uri(), {"--rate", "500", "-d", "1", "-t", "1", "-r", "1"}));
    EXPECT_EQ(measured.exit, 0) << measured.err;
    const auto line = row(measured.out, "calls");
    const double from_planned = number_in(line, "latency_ns", "p90");
    const double from_sending = number_in(line, "latency_from_sending_ns", "p90");
    EXPECT_GT(from_planned, 20e6) << line;
    EXPECT_GT(from_sending, 0) << line;
    EXPECT_LT(from_sending, from_planned / 2) << line;
}

TEST(PerfProcess, AServerThatDiesIsToldAndEndsIt) {
    PerfServer server({"--die-after", "500"});
    const auto measured = run(measure("calls", server.uri(), {"-d", "4", "-t", "20", "-r", "1"}));
    const auto line = row(measured.out, "calls");
    EXPECT_EQ(measured.exit, 7) << measured.out << measured.err;
    EXPECT_GE(number_in(line, "failed_by", "peer_lost"), 1) << line;
    EXPECT_NE(line.find("\"gave_up\": true"), line.npos) << line;
    EXPECT_LE(number(line, "done"), 500) << line;
    EXPECT_EQ(number(row(measured.out, "summary"), "exit"), 7);
    EXPECT_EQ(server.process().wait(), 128 + SIGKILL);
}

TEST(PerfProcess, AServerThatDiesInABulkTransferIsTold) {
    PerfServer server({"--die-after", "50"});
    const auto measured = run(measure("bulk", server.uri(), {"-t", "20", "-r", "1", "--warm-up", "0"}));
    const auto line = row(measured.out, "bulk");
    EXPECT_EQ(measured.exit, 7) << measured.out << measured.err;
    EXPECT_GE(number_in(line, "failed_by", "peer_lost"), 1) << line;
    EXPECT_NE(line.find("\"bytes_per_second\": null"), line.npos) << line;
    EXPECT_EQ(int(number(line, "done")) % 32, 0) << "only rounds that were compared: " << line;
}

TEST(PerfProcess, DroppedCallsAreToldWithoutBeingTimed) {
    PerfServer server({"--drop-every", "5"});
    const auto measured = run(measure("calls", server.uri(), {"-W", "0.02", "-t", "0.2", "-r", "1", "--warm-up", "0"}));
    EXPECT_EQ(measured.exit, 8) << measured.out << measured.err;
    const auto line = row(measured.out, "calls");
    EXPECT_GE(number_in(line, "failed_by", "timed_out"), 1) << line;
    EXPECT_EQ(number_in(line, "latency_ns", "count"), number(line, "done")) << line;
}

TEST(PerfProcess, WrongBytesAreToldInTextAsWell) {
    PerfServer server({"--corrupt-every", "3"});
    Words words{"perf", "calls", server.uri()};
    words.insert(words.end(), quick.begin(), quick.end());
    const auto calls = run(words);
    EXPECT_EQ(calls.exit, 6) << calls.out << calls.err;
    EXPECT_NE(calls.out.find(" with wrong bytes; "), std::string::npos) << calls.out;
    const auto bulk = run(measure("bulk", server.uri()));
    EXPECT_EQ(bulk.exit, 6) << bulk.out << bulk.err;
    EXPECT_GT(number(row(bulk.out, "bulk"), "wrong"), 0) << bulk.out;
}

TEST(PerfProcess, EveryLineOfTheTableHasEveryColumn) {
    PerfServer server;
    for (const Words& more : std::vector<Words>{{"calls", server.uri(), "-d", "1,2"},
                                                {"calls", server.uri(), "--rate", "1000"},
                                                {"bulk", server.uri(), "-s", "64k", "--direction", "push"}}) {
        Words words{"perf"};
        words.insert(words.end(), more.begin(), more.end());
        words.insert(words.end(), quick.begin(), quick.end());
        words.emplace_back("--csv");
        const auto measured = run(words);
        EXPECT_EQ(measured.exit, 0) << measured.err;
        std::size_t columns = 0;
        std::size_t lines = 0;
        for (std::size_t at = 0; at < measured.out.size(); ++lines) {
            const auto end = measured.out.find('\n', at);
            const auto commas = std::count(measured.out.begin() + static_cast<std::ptrdiff_t>(at),
                                           measured.out.begin() + static_cast<std::ptrdiff_t>(end), ',');
            if (lines == 0) columns = static_cast<std::size_t>(commas);
            EXPECT_EQ(static_cast<std::size_t>(commas), columns) << measured.out;
            at = end + 1;
        }
        EXPECT_EQ(lines, more.front() == "calls" && more.back() == "1,2" ? 3u : 2u) << measured.out;
    }
}

TEST(PerfProcess, NobodyThereIsUnreachable) {
    std::string gone;
    {
        PerfServer server;
        gone = server.uri();
    }
    const auto measured = run(measure("calls", gone));
    EXPECT_EQ(measured.exit, 2) << measured.out;
    EXPECT_NE(measured.err.find(gone), std::string::npos) << measured.err;
}

TEST(PerfProcess, AServerMayComeLater) {
    std::string later;
    {
        PerfServer server;
        later = server.uri();
    }
    Words words = measure("calls", later);
    words.insert(words.end(), {"--wait", "30"});
    Process client(words);
    PerfServer server({}, later);
    EXPECT_EQ(client.wait(), 0) << client.out() << client.err();
}

TEST(PerfProcess, AnInterruptedOneSaysSo) {
    PerfServer server;
    Process client(measure("calls", server.uri(), {"-t", "60", "-r", "1"}));
    EXPECT_NE(client.read_line(), "");
    client.send(SIGINT);
    EXPECT_EQ(client.wait(), 9) << client.err();
    EXPECT_NE(client.err().find("interrupted"), std::string::npos) << client.err();
}

// --- a mesh

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++count;
    return count;
}
Words mesh(const std::vector<std::string>& servers, const Words& more) {
    Words all{"perf", "mesh"};
    all.insert(all.end(), servers.begin(), servers.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

TEST(PerfProcess, AMeshOfThreeServersIsMeasuredByOneCommand) {
    PerfServer first({"--mesh"});
    PerfServer second({"--mesh", "--contexts", "2"});
    const support::Folder root;
    Serving third(root.path().string(), {"--perf", "--mesh"});
    const auto measured = run(mesh({first.uri(), second.uri(), third.uri()}, {"--json", "-t", "0.5", "-d", "2"}));
    EXPECT_EQ(measured.exit, 0) << measured.out << measured.err;
    EXPECT_EQ(count_of(measured.out, "\"event\": \"pair\""), 6u) << measured.out;
    const auto total = row(measured.out, "total");
    EXPECT_EQ(number(total, "well"), 6) << total;
    EXPECT_EQ(number(total, "failed"), 0) << total;
    EXPECT_EQ(number_in(total, "latency_ns", "count"), number(total, "done")) << total;
    EXPECT_EQ(number(total, "checked_bytes"), 64 * number(total, "done")) << total;
    const support::Folder folder;
    const auto file = folder.put("servers", first.uri() + "\n" + second.uri() + "\n");
    const auto text = run({"perf", "mesh", "--servers", file, "-t", "0.2"});
    EXPECT_EQ(text.exit, 0) << text.out << text.err;
    EXPECT_NE(text.out.find("2 of 2 pairs"), text.out.npos) << text.out;
}

TEST(PerfProcess, AMeshOfTransfersIsMeasuredByOneCommand) {
    PerfServer first({"--mesh"});
    PerfServer second({"--mesh", "--contexts", "2"});
    const std::vector<std::string> servers{first.uri(), second.uri()};
    const auto pulled = run(mesh(servers, {"--bulk", "--json", "-t", "0.5", "-d", "2", "-s", "64k"}));
    EXPECT_EQ(pulled.exit, 0) << pulled.out << pulled.err;
    const auto total = row(pulled.out, "total");
    EXPECT_EQ(number(total, "well"), 2) << total;
    EXPECT_GT(number(total, "bytes_per_second"), 0) << total;
    EXPECT_EQ(number(total, "checked_bytes"), 65'536 * number(total, "done")) << total;
    const auto pushed = run(mesh(servers, {"--bulk", "--direction", "push", "-t", "0.2"}));
    EXPECT_EQ(pushed.exit, 0) << pushed.out << pushed.err;
    EXPECT_NE(pushed.out.find("2 of 2 pairs"), pushed.out.npos) << pushed.out;
    EXPECT_NE(pushed.out.find("1 MiB"), pushed.out.npos) << "its size by default: " << pushed.out;
}

TEST(PerfProcess, AServerThatDiesInAMeshOfTransfersIsTold) {
    PerfServer first({"--mesh"});
    PerfServer second({"--mesh"});
    PerfServer dying({"--mesh", "--die-after", "200"});
    const auto measured = run(mesh({first.uri(), second.uri(), dying.uri()}, {"--bulk", "-t", "2", "-s", "4k"}));
    EXPECT_EQ(measured.exit, 7) << measured.out << measured.err;
    EXPECT_NE(measured.out.find("2 of 6 pairs"), measured.out.npos) << measured.out;
    EXPECT_EQ(dying.process().wait(), 128 + SIGKILL);
}

TEST(PerfProcess, AServerThatDiesInAMeshIsTold) {
    PerfServer first({"--mesh"});
    PerfServer second({"--mesh"});
    PerfServer dying({"--mesh", "--die-after", "200"});
    const auto measured = run(mesh({first.uri(), second.uri(), dying.uri()}, {"-t", "1"}));
    EXPECT_EQ(measured.exit, 7) << measured.out << measured.err;
    EXPECT_NE(measured.out.find("1 to 3: "), measured.out.npos) << measured.out;
    EXPECT_NE(measured.out.find("2 of 6 pairs"), measured.out.npos) << measured.out;
    EXPECT_EQ(dying.process().wait(), 128 + SIGKILL);
}

TEST(PerfProcess, AServerRunsNoLoadUnlessItIsToldTo) {
    PerfServer willing({"--mesh"});
    PerfServer other;
    const auto measured = run(mesh({willing.uri(), other.uri()}, {"-t", "0.2"}));
    EXPECT_EQ(measured.exit, 4) << measured.out << measured.err;
    EXPECT_NE(measured.out.find("start it with --mesh"), measured.out.npos) << measured.out;
}

// The servers end its loads, so that those of the next one begin.
TEST(PerfProcess, AMeshWhoseCommandIsKilledLeavesNoLoads) {
    PerfServer first({"--mesh"});
    PerfServer second({"--mesh"});
    const std::vector<std::string> servers{first.uri(), second.uri()};
    const auto another = [&] { return run(mesh(servers, {"-t", "0.1", "--warm-up", "0.01"})).exit; };
    std::optional<Process> killed;
    EXPECT_TRUE(eventually([&] {
        // It ends at once if it comes while another one runs.
        if (!killed || killed->wait_unread(std::chrono::seconds(0))) killed.emplace(mesh(servers, {"-t", "59"}));
        return another() == 3;
    }));
    killed->send(SIGKILL);
    EXPECT_EQ(killed->wait(), 128 + SIGKILL);
    EXPECT_TRUE(eventually([&] { return another() == 0; }));
}

TEST(PerfProcess, WhatMakesNoSenseIsUsage) {
    for (const Words& words : std::vector<Words>{{"perf"},
                                                 {"perf", "nonsense"},
                                                 {"perf", "calls"},
                                                 {"perf", "calls", "tcp://127.0.0.1:1", "-d", "0"},
                                                 {"perf", "calls", "tcp://127.0.0.1:1", "-d", "x"},
                                                 {"perf", "calls", "tcp://127.0.0.1:1", "-s", "0"},
                                                 {"perf", "calls", "tcp://127.0.0.1:1", "--json", "--csv"},
                                                 {"perf", "calls", "tcp://127.0.0.1:1", "--rate", "1", "--steps", "5"},
                                                 {"perf", "bulk", "tcp://127.0.0.1:1", "--direction", "sideways"},
                                                 {"perf", "mesh", "tcp://127.0.0.1:1"},
                                                 {"perf", "mesh", "tcp://127.0.0.1:1", "tcp://127.0.0.1:1"},
                                                 {"perf", "mesh", "tcp://127.0.0.1:1", "tcp://[::1]:1", "-d", "9999"},
                                                 {"perf", "mesh", "tcp://127.0.0.1:1", "tcp://[::1]:1", "-t", "60"},
                                                 {"perf", "mesh", "tcp://a:1", "tcp://a:2", "--direction", "push"},
                                                 {"perf", "mesh", "tcp://a:1", "tcp://a:2", "--bulk", "-s", "1G"},
                                                 {"serve", "--root", ".", "--mesh"},
                                                 {"perf", "serve", "--listen", "nonsense"},
                                                 {"perf", "serve", "--listen", "tcp://0.0.0.0:0"},
                                                 {"perf", "serve", "--stall", "5"}}) {
        const auto outcome = run(words);
        EXPECT_EQ(outcome.exit, 1) << words.back() << outcome.err;
        EXPECT_NE(outcome.err, "") << words.back();
    }
    const auto refused = run({"perf", "serve", "--listen", "tcp://0.0.0.0:0"});
    EXPECT_NE(refused.err.find("--insecure"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace cinnabar::tools
