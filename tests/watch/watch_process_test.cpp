// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar top`, `calls` and `page` as processes, connected to a node of the test.
#include "integration/gate.hpp"
#include "support/silent_listener.hpp"
#include "terminal/exit_code.hpp"
#include "tools/process.hpp"
#include "watch/pseudo_terminal.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/cinnabar.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace cinnabar::tools {
namespace {

constexpr Rpc<int(int)> echo{"watch.echo"};
constexpr Rpc<int(int)> stuck{"watch.stuck"};

// A node with an RPC that was served a few times, and an RPC whose handler is stuck.
class Watch : public testing::Test {
  protected:
    static Node open(hl::Introspection to) {
        NodeOptions options;
        options.introspection = to;
        return Node::listen({"tcp://127.0.0.1:0", "shm://watch-" + std::to_string(::getpid())}, options).value();
    }
    Watch() {
        node_.serve(echo, [](int value) { return value; }).value();
        node_
            .serve(
                stuck, [this](int value) { return gate_.pass(), value; },
                on(node_.make_pool({.name = "watch-pool"}).value()))
            .value();
        for (int i = 0; i < 3; ++i) (void)node_.call(echo, node_.self_addr(), i).wait().value();
        stuck_ = node_.call(stuck, node_.self_addr(), 1).future();
        gate_.await(1);
    }
    ~Watch() override {
        gate_.open();
        (void)stuck_.get();
    }
    [[nodiscard]] std::string shm() const { return "shm://watch-" + std::to_string(::getpid()); }
    [[nodiscard]] std::string tcp() const {
        const auto endpoints = node_.endpoints();
        return *std::ranges::find_if(endpoints, [](const auto& text) { return text.starts_with("tcp"); });
    }
    Node node_ = open(hl::Introspection::own_user);
    test::Gate gate_;
    Future<int> stuck_;
};

std::size_t columns(const std::string& line) {
    return static_cast<std::size_t>(
        std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void expect_fits(const std::vector<std::string>& screen, std::size_t width, std::size_t height) {
    EXPECT_EQ(screen.size(), height);
    for (const auto& line : screen) EXPECT_LE(columns(line), width) << line;
}

Node open_to_anyone(const std::string& address) {
    NodeOptions options;
    options.introspection = hl::Introspection::anyone;
    return Node::listen(address, options).value();
}

// The next line that begins with `part`; empty if there is none.
std::string line_with(Process& process, const std::string& part) {
    for (;;) {
        const std::string line = process.read_line();
        if (line.empty() || line.starts_with(part)) return line;
    }
}

TEST_F(Watch, TopFillsTerminalsOfTwoSizesAndPutsThemBack) {
    for (const auto& [width, height] : {std::pair<unsigned short, unsigned short>{80, 24}, {200, 60}}) {
        PseudoTerminal terminal(width, height, {"top", shm(), "--every", "0.1"});
        const auto rpcs = terminal.await_screen("watch.echo");
        EXPECT_EQ(rpcs.size(), height);
        for (const auto& line : rpcs) EXPECT_LE(columns(line), width) << line;
        terminal.press('c');
        EXPECT_EQ(terminal.await_screen("in its handler").size(), height);
        terminal.press('p');
        EXPECT_EQ(terminal.await_screen("connected").size(), height);
        terminal.press('w');
        expect_fits(terminal.await_screen("mean time of calls"), width, height);
        expect_fits(terminal.await_screen("in its handler"), width, height);
        terminal.press('t');
        expect_fits(terminal.await_screen("watch-pool"), width, height);
        terminal.press('m');
        expect_fits(terminal.await_screen("quarantined"), width, height);
        terminal.press('s');
        EXPECT_EQ(terminal.await_screen("sort (p99)").size(), height);
        terminal.press('q');
        EXPECT_EQ(terminal.wait(), 0);
        EXPECT_TRUE(terminal.text().ends_with("\x1b[?25h\x1b[?1049l")) << "the cursor and the other screen";
    }
}

TEST_F(Watch, TopIsPlainLinesOnAPipe) {
    const Outcome looked = run({"top", shm(), "--every", "0.1", "--count", "3"});
    EXPECT_EQ(looked.exit, 0) << looked.err;
    EXPECT_EQ(std::ranges::count(looked.out, '\n'), 3) << looked.out;
    EXPECT_EQ(looked.out.find('\x1b'), std::string::npos);
    EXPECT_EQ(looked.out.find("up "), 0u) << looked.out;
}

TEST_F(Watch, TopPrintsAViewOnAPipe) {
    const auto show = [this](const std::string& view) {
        const Outcome looked = run({"top", shm(), "--every", "0.1", "--count", "2", "--show", view});
        EXPECT_EQ(looked.exit, 0) << looked.err;
        EXPECT_EQ(looked.out.find('\x1b'), std::string::npos);
        EXPECT_EQ(looked.out.find("up "), 0u) << looked.out;
        return looked.out;
    };
    EXPECT_NE(show("pools").find("watch-pool       1       1"), std::string::npos) << "its thread runs a handler";
    EXPECT_NE(show("memory").find("quarantined"), std::string::npos);
    EXPECT_NE(show("time").find("in its handler"), std::string::npos);
    EXPECT_NE(show("peers").find("connected"), std::string::npos);
    EXPECT_EQ(run({"top", shm(), "--show", "weather"}).exit, static_cast<int>(ExitCode::usage));
}

TEST_F(Watch, TopAsJsonIsALineForEachQuery) {
    const Outcome looked = run({"top", shm(), "--every", "0.1", "--count", "2", "--json"});
    EXPECT_EQ(looked.exit, 0) << looked.err;
    EXPECT_EQ(std::ranges::count(looked.out, '\n'), 2) << looked.out;
    EXPECT_TRUE(looked.out.starts_with("{\"process\": ")) << looked.out;
    EXPECT_NE(looked.out.find("{\"pool\": \"watch-pool\", \"threads\": 1, "), std::string::npos) << looked.out;
    EXPECT_NE(looked.out.find("\"phase\": \"in its handler\""), std::string::npos) << looked.out;
    EXPECT_EQ(run({"top", shm(), "--json", "--prometheus"}).exit, static_cast<int>(ExitCode::usage));
}

TEST_F(Watch, AnErrorIsALineOfJsonToo) {
    std::optional<Node> other(open_to_anyone("tcp://127.0.0.1:0"));
    Process top({"top", other->endpoints().front(), "--every", "0.5", "--count", "3", "--json"});
    EXPECT_NE(line_with(top, "{\"process\": "), "");
    other.reset();
    EXPECT_NE(line_with(top, "{\"error\": "), "");
    EXPECT_NE(top.wait(), 0);
}

TEST_F(Watch, CallsTellWhatIsStuck) {
    const Outcome listed = run({"calls", shm()});
    EXPECT_EQ(listed.exit, 0) << listed.err;
    EXPECT_NE(listed.out.find("watch.stuck"), std::string::npos) << listed.out;
    EXPECT_NE(listed.out.find("in its handler"), std::string::npos) << listed.out;
    EXPECT_NE(listed.out.find("waiting for the answer"), std::string::npos) << "the other side of it: " << listed.out;
    const Outcome json = run({"calls", shm(), "--json"});
    EXPECT_NE(json.out.find("\"rpc\": \"watch.stuck\""), std::string::npos) << json.out;
    const Outcome old = run({"calls", shm(), "--older", "3600"});
    EXPECT_EQ(old.out, "nothing is under way\n");
}

// Whether `cinnabar calls` comes to print a line that has `call`, which is the side and the RPC, and ends with `why`.
testing::AssertionResult calls_say(const std::string& address, const std::string& call, const std::string& why) {
    Outcome listed;
    const bool said = eventually([&] {
        listed = run({"calls", address});
        std::istringstream lines(listed.out);
        for (std::string line; std::getline(lines, line);) {
            if (line.find("  " + call + "  ") != line.npos && line.ends_with("  " + why)) return true;
        }
        return false;
    });
    if (said) return testing::AssertionSuccess();
    return testing::AssertionFailure() << call << ", " << why << ": not in\n" << listed.out << listed.err;
}

// The pool's only thread runs another request. To the context it is with its handler; only the pool knows that it
// waits.
TEST_F(Watch, CallsTellOfARequestThatWaitsForAThreadOfItsPool) {
    Future<int> second = node_.call(stuck, node_.self_addr(), 2).future();
    const std::string why = "in its handler: its handler, or the queue of its pool, has it";
    EXPECT_TRUE(eventually([&] {
        const std::string listed = run({"calls", shm()}).out;
        const auto first = listed.find(why);
        return first != listed.npos && listed.find(why, first + 1) != listed.npos;
    }));
    const Outcome pools = run({"top", shm(), "--count", "1", "--show", "pools"});
    EXPECT_NE(pools.out.find("watch-pool       1       1       0      0      1      0       1"), std::string::npos)
        << pools.out << pools.err;
    gate_.open();
    EXPECT_EQ(second.get().value(), 2);
}

TEST(CallsProcess, TellsOfACallThatIsConnecting) {
    const support::SilentListener silent;
    const Node client = open_to_anyone("tcp://127.0.0.1:0");
    const Addr peer = client.lookup("tcp://" + silent.host_and_port()).value();
    Future<int> call = client.call(echo, peer, 1).future();
    const std::string address = client.endpoints().front();
    EXPECT_TRUE(calls_say(address, "out   watch.echo", "connecting: the peer does not answer the dial"));
    const Outcome json = run({"calls", address, "--json"});
    EXPECT_NE(json.out.find("\"phase\": \"connecting\""), std::string::npos) << json.out << json.err;
    call.cancel();
    EXPECT_EQ(call.get().code(), Errc::canceled);
}

// The handler holds the server's thread, which grants no credits meanwhile.
TEST(CallsProcess, TellsOfCallsThatWaitForACredit) {
    test::Gate gate;
    NodeOptions narrow;
    narrow.rpc.credits_per_peer_max = 1;
    narrow.rpc.context.initial_credits = 1;
    narrow.rpc.handler_time_max = {};
    const Node server = Node::listen("tcp://127.0.0.1:0", narrow).value();
    server.serve(stuck, [&gate](int value) { return gate.pass(), value; }).value();
    const Node client = open_to_anyone("tcp://127.0.0.1:0");
    const Addr peer = client.lookup(server.address()).value();
    std::vector<Future<int>> calls;
    for (int i = 0; i < 12; ++i) calls.push_back(client.call(stuck, peer, i).future());
    gate.await(1);
    const std::string address = client.endpoints().front();
    const std::string why = "waiting for a credit: the peer accepts no more requests of this node";
    EXPECT_TRUE(calls_say(address, "out   watch.stuck", why)) << "the first of those that wait";
    EXPECT_TRUE(calls_say(address, "out   watch.stuck", why + "; 10 ahead of it"));
    EXPECT_TRUE(calls_say(address, "out   watch.stuck", "waiting for the answer: see the calls of the peer"));
    gate.open();
    for (auto& call : calls) EXPECT_TRUE(call.get().ok());
}

// A plain handler that does not return holds the only thread of the node, which answers nevertheless.
TEST(CallsProcess, TellsOfARequestThatWaitsForItsHandler) {
    const Node server = open_to_anyone("tcp://127.0.0.1:0");
    test::Gate gate;
    server.serve(stuck, [&gate](int value) { return gate.pass(), value; }).value();
    const auto [client, peer] = Node::connect(server.address()).value();
    Future<int> first = client.call(stuck, peer, 1).future();
    Future<int> second = client.call(stuck, peer, 2).future();
    gate.await(1);
    const std::string address = server.endpoints().front();
    EXPECT_TRUE(calls_say(address, "in    watch.stuck", "waiting for its handler: the thread of this context is busy"));
    EXPECT_TRUE(
        calls_say(address, "in    watch.stuck", "in its handler: its handler, or the queue of its pool, has it"));
    gate.open();
    EXPECT_TRUE(first.get().ok());
    EXPECT_TRUE(second.get().ok());
}

TEST_F(Watch, PrometheusIsOneLook) {
    const Outcome looked = run({"top", shm(), "--prometheus"});
    EXPECT_EQ(looked.exit, 0) << looked.err;
    EXPECT_NE(looked.out.find("cinnabar_requests_total{rpc=\"watch.echo\",side=\"target\"} 3\n"), std::string::npos)
        << looked.out;
}

TEST_F(Watch, ARefusedUserIsToldWhatToDo) {
    const Outcome refused = run({"top", tcp(), "--count", "1"});
    EXPECT_EQ(refused.exit, static_cast<int>(ExitCode::permission));
    EXPECT_NE(refused.err.find("it reports its state only to its own user, over shm"), std::string::npos)
        << refused.err;
    const Node silent = Node::listen("tcp://127.0.0.1:0").value();
    const Outcome unknown = run({"calls", silent.address()});
    EXPECT_EQ(unknown.exit, static_cast<int>(ExitCode::protocol));
    EXPECT_NE(unknown.err.find("set NodeOptions::introspection there"), std::string::npos) << unknown.err;
}

TEST_F(Watch, ANodeThatEndsIsReportedAndAskedAgain) {
    std::optional<Node> other(open_to_anyone("tcp://127.0.0.1:0"));
    const std::string address = other->endpoints().front();
    Process top({"top", address, "--every", "0.1"});
    EXPECT_NE(line_with(top, "up "), "");
    other.reset();
    EXPECT_NE(line_with(top, "no answer: "), "");
    other.emplace(open_to_anyone(address));
    EXPECT_NE(line_with(top, "up "), "");
    top.send(SIGTERM);
    const auto exit = top.wait();
    ASSERT_TRUE(exit.has_value());
    EXPECT_NE(*exit, 0);
    EXPECT_NE(top.err().find("queries had no answer"), std::string::npos) << top.err();
}

TEST_F(Watch, QueriesWithoutAnAnswerCount) {
    std::optional<Node> other(open_to_anyone("tcp://127.0.0.1:0"));
    Process top({"top", other->endpoints().front(), "--every", "0.5", "--count", "3"});
    EXPECT_NE(line_with(top, "up "), "");
    other.reset();
    EXPECT_NE(top.wait(), 0);
    EXPECT_EQ(std::ranges::count(top.out(), '\n'), 3) << top.out();
}

TEST_F(Watch, AnAddressWhereNobodyAnswersEndsIt) {
    const Outcome looked = run({"top", "tcp://127.0.0.1:1"});
    EXPECT_EQ(looked.exit, static_cast<int>(ExitCode::unreachable)) << looked.err;
}

// While a query is under way, keys are read.
TEST_F(Watch, OnATerminalANodeThatHangsIsShownAndQuitWorks) {
    Process server({"perf", "serve", "--introspection", "anyone"});
    const std::string address = server.read_line().substr(13);
    PseudoTerminal terminal(120, 24, {"top", address, "--every", "0.1"});
    (void)terminal.await_screen("(process ");
    server.send(SIGSTOP);
    (void)terminal.await_screen("no answer: timed out");
    server.send(SIGCONT);
    (void)terminal.await_screen("(process ");
    server.send(SIGSTOP);
    terminal.press('p');
    (void)terminal.await_screen("credits");
    terminal.press('q');
    EXPECT_EQ(terminal.wait(), static_cast<int>(ExitCode::timed_out));
    EXPECT_NE(terminal.text().find("queries had no answer"), std::string::npos);
    server.send(SIGCONT);
}

TEST(ServeIntrospection, IsWhatTheOptionSays) {
    for (const std::string audience : {"off", "own-user", "anyone"}) {
        Process server({"perf", "serve", "--introspection", audience});
        const std::string line = server.read_line();
        ASSERT_TRUE(line.starts_with("listening on ")) << line;
        const Outcome looked = run({"top", line.substr(13), "--count", "1"});
        const ExitCode expected = audience == "off"        ? ExitCode::protocol
                                  : audience == "own-user" ? ExitCode::permission
                                                           : ExitCode::ok;
        EXPECT_EQ(looked.exit, static_cast<int>(expected)) << audience << looked.err;
    }
    EXPECT_EQ(run({"perf", "serve", "--introspection", "me"}).exit, static_cast<int>(ExitCode::usage));
}

#ifdef CINNABAR_HAS_HTTP

// Sends `request` to the server at that port; returns the answer.
std::string ask(std::uint16_t port, const std::string& request) {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name.sin_port = htons(port);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    EXPECT_EQ(::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    std::string answer;
    std::array<char, 65'536> some{};
    for (ssize_t count = 0; (count = ::recv(socket.get(), some.data(), some.size(), 0)) > 0;) {
        answer.append(some.data(), static_cast<std::size_t>(count));
    }
    return answer;
}
std::string get(std::uint16_t port, const std::string& path, const std::string& verb = "GET",
                const std::string& host = "127.0.0.1") {
    return ask(port, verb + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
}

TEST_F(Watch, ThePageHasItsDocuments) {
    Process page({"page", shm(), "--listen", "127.0.0.1:0"});
    const std::string line = page.read_line();
    ASSERT_TRUE(line.starts_with("listening on http://127.0.0.1:")) << line << page.err();
    const auto port = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
    const std::string html = get(port, "/");
    EXPECT_TRUE(html.starts_with("HTTP/1.1 200")) << html;
    EXPECT_NE(html.find("watch.stuck"), std::string::npos);
    EXPECT_TRUE(html.ends_with("</html>\n"));
    EXPECT_NE(get(port, "/metrics").find("cinnabar_requests_total{rpc=\"watch.echo\""), std::string::npos);
    EXPECT_NE(get(port, "/calls.json").find("\"rpc\": \"watch.stuck\""), std::string::npos);
    EXPECT_NE(get(port, "/state.json").find("\"pool\": \"watch-pool\""), std::string::npos);
    EXPECT_TRUE(get(port, "/etc/passwd").starts_with("HTTP/1.1 404"));
    EXPECT_TRUE(get(port, "/", "POST").starts_with("HTTP/1.1 405"));
    EXPECT_TRUE(get(port, "/", "HEAD").ends_with("\r\n\r\n"));
    page.send(SIGTERM);
    EXPECT_EQ(page.wait(), 0) << page.err();
}

// A page of the web whose name leads to 127.0.0.1 is, to a browser, of the same origin as this one.
TEST_F(Watch, ThePageIsNotReadUnderAForeignName) {
    Process page({"page", shm(), "--listen", "127.0.0.1:0"});
    const std::string line = page.read_line();
    ASSERT_TRUE(line.starts_with("listening on ")) << line << page.err();
    const auto port = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
    const std::string number = ":" + std::to_string(port);
    for (const std::string foreign : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[evil]"}) {
        for (const auto& host : {foreign, foreign + number}) {
            const auto answer = get(port, "/calls.json", "GET", host);
            EXPECT_TRUE(answer.starts_with("HTTP/1.1 403")) << host << answer;
            EXPECT_EQ(answer.find("watch.stuck"), std::string::npos) << host;
        }
    }
    std::array<char, 256> own{};
    ASSERT_EQ(::gethostname(own.data(), own.size() - 1), 0);
    for (const std::string good :
         {"127.0.0.1", "10.0.0.7", "[::1]", "LocalHost", static_cast<const char*>(own.data())}) {
        for (const auto& host : {good, good + number})
            EXPECT_TRUE(get(port, "/calls.json", "GET", host).starts_with("HTTP/1.1 200")) << host;
    }
    EXPECT_NE(ask(port, "GET /calls.json HTTP/1.0\r\n\r\n").find(" 200 "), std::string::npos) << "not a browser";
}

TEST_F(Watch, ThePageSaysWhenTheNodeDoesNotAnswer) {
    Process page({"page", tcp(), "--listen", "127.0.0.1:0"});
    const std::string line = page.read_line();
    ASSERT_TRUE(line.starts_with("listening on ")) << line << page.err();
    const auto port = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
    const std::string answer = get(port, "/metrics");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503")) << answer;
    EXPECT_NE(answer.find("permission"), std::string::npos) << answer;
}

// One host cannot use up all connections, and a silent connection is closed.
TEST_F(Watch, ThePageServesOthersBesideAHostThatHoldsConnections) {
    Process page({"page", shm(), "--listen", "127.0.0.1:0"});
    const std::string line = page.read_line();
    ASSERT_TRUE(line.starts_with("listening on ")) << line << page.err();
    const auto port = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);  // 127.0.0.2 counts as another host
    std::vector<UniqueFd> held;
    for (int i = 0; i < 12; ++i) {
        held.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::bind(held.back().get(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
        ASSERT_EQ(::connect(held.back().get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    }
    EXPECT_TRUE(get(port, "/calls.json").starts_with("HTTP/1.1 200"));
}

TEST(PageProcess, ListensWhereOthersReachItIfThatIsMeant) {
    const Outcome open = run({"page", "tcp://127.0.0.1:1", "--listen", "0.0.0.0:0"});
    EXPECT_EQ(open.exit, static_cast<int>(ExitCode::usage));
    EXPECT_NE(open.err.find("give --insecure"), std::string::npos) << open.err;
    EXPECT_EQ(run({"page", "tcp://127.0.0.1:1", "--listen", "localhost"}).exit, static_cast<int>(ExitCode::usage));
    EXPECT_EQ(run({"page", "tcp://127.0.0.1:1", "--listen", "127.0.0.x:1"}).exit, static_cast<int>(ExitCode::usage));
}

#endif

}  // namespace
}  // namespace cinnabar::tools
