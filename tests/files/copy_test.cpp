// SPDX-License-Identifier: BSD-3-Clause
// Files copied directly between two servers: what arrives, what each server allows, and what remains of a copy that
// ends early.
#include "file/blocks.hpp"
#include "session/protocol.hpp"
#include "session/remote_error.hpp"
#include "session/signed_calls.hpp"
#include "support/content.hpp"
#include "wiretap.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/copy.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

constexpr std::uint64_t copied_window = 64 << 10;

Key the_key() { return Key::from("a key of at least 16 bytes").value(); }

// A server with a root of its own.
struct Party {
    fs::path root;
    ServerOptions options;
    ServerHooks hooks;
    std::optional<Key> key;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> node;

    Party(const fs::path& at, bool keyed) : root(at) {
        fs::create_directory(root);
        options.window_bytes = copied_window;
        options.windows_max = 4;
        options.journal_interval = std::chrono::milliseconds(0);
        if (keyed) key.emplace(the_key());
    }
    void begin(const std::vector<std::string>& listen) {
        std::optional<Key> wanted;
        if (key) wanted.emplace(the_key());
        server = Server::make(Root::serve(root.string()).value(), std::move(wanted), options, hooks).value();
        node = hl::Node::listen(listen).value();
        ASSERT_TRUE(server->serve_on(*node).ok());
    }
    [[nodiscard]] std::string endpoint(std::string_view scheme) const {
        for (const auto& endpoint : node->endpoints()) {
            if (endpoint.starts_with(std::string(scheme) + "://")) return endpoint;
        }
        return {};
    }
    ~Party() {
        node.reset();
        server.reset();
    }
};

// The transports to the two servers. In the mixed cases both servers listen on both transports.
struct Between {
    std::string name;
    std::string from;
    std::string to;
    friend std::ostream& operator<<(std::ostream& out, const Between& each) { return out << each.name; }
};

struct CopyTest : testing::TestWithParam<Between> {
    Folder folder;
    Party a{folder.path() / "a", true};
    Party b{folder.path() / "b", true};
    const Key key = the_key();
    std::optional<hl::Node> here;
    std::optional<Client> from;
    std::optional<Client> to;
    const std::string content = pattern(40 * copied_window + 33);
    const std::string name = "x";
    const std::string as = "y";

    static std::vector<std::string> listen_on(const Between& way) {
        std::vector<std::string> all{way.from == "tcp" ? "tcp://127.0.0.1:0" : "shm://"};
        if (way.to != way.from) all.emplace_back(way.to == "tcp" ? "tcp://127.0.0.1:0" : "shm://");
        return all;
    }
    void begin() {
        (void)folder.put("a/x", content);
        a.begin(listen_on(GetParam()));
        b.begin(listen_on(GetParam()));
        log_in(a.endpoint(GetParam().from), b.endpoint(GetParam().to));
    }
    // Opens a session with each server; both belong to one node.
    void log_in(const std::string& at_a, const std::string& at_b) {
        here = hl::Node::open({"tcp://", "shm://"}, {.progress_thread = false}).value();
        from.emplace(*here, here->lookup(at_a).value(), a.key ? &key : nullptr);
        to.emplace(*here, here->lookup(at_b).value(), b.key ? &key : nullptr);
        const auto in = hl::sync_wait(from->open());
        ASSERT_TRUE(in.ok()) << in.error().message();
        ASSERT_TRUE(hl::sync_wait(to->open()).ok());
    }
    void log_out() {
        if (from) {
            EXPECT_TRUE(hl::sync_wait(from->close()).ok());
        }
        if (to) {
            EXPECT_TRUE(hl::sync_wait(to->close()).ok());
        }
        from.reset();
        to.reset();
        here.reset();
    }
    void TearDown() override { log_out(); }
    Result<Moved> copy_all(CopyMode mode = {}) { return hl::sync_wait(copy(*from, name, *to, as, mode)); }
    [[nodiscard]] bool nothing_at_b() const { return !fs::exists(b.root / as); }
};
INSTANTIATE_TEST_SUITE_P(By, CopyTest,
                         testing::Values(Between{"tcp", "tcp", "tcp"}, Between{"shm", "shm", "shm"},
                                         Between{"tcp_and_shm", "tcp", "shm"}, Between{"shm_and_tcp", "shm", "tcp"}),
                         [](const auto& each) { return each.param.name; });

TEST_P(CopyTest, FilesOfEverySizeArriveWhole) {
    begin();
    for (const std::uint64_t bytes :
         {std::uint64_t{0}, std::uint64_t{1}, copied_window - 1, copied_window, 9 * copied_window + 5}) {
        (void)folder.put("a/x", pattern(static_cast<std::size_t>(bytes), 7));
        std::uint64_t announced = 1;
        std::uint64_t moved = 0;
        const auto copied = hl::sync_wait(copy(
            *from, name, *to, as, {.existing = Existing::replace}, [&](std::uint64_t more) { moved += more; },
            [&](std::uint64_t size) { announced = size; }));
        ASSERT_TRUE(copied.ok()) << bytes << ": " << copied.error().message();
        EXPECT_EQ(copied->bytes, bytes);
        EXPECT_EQ(announced, bytes);
        EXPECT_EQ(moved, bytes);
        EXPECT_TRUE(folder.get("b/y") == folder.get("a/x")) << bytes;
        EXPECT_EQ(hl::sync_wait(to->verify(as))->checksum, copied->checksum);
    }
}

TEST_P(CopyTest, ASparseFileStaysOneAndKeepsItsTime) {
    begin();
    (void)folder.put("a/x", "");
    fs::resize_file(a.root / "x", 64 * copied_window);
    std::fstream(a.root / "x", std::ios::in | std::ios::out | std::ios::binary).seekp(20 * copied_window + 7)
        << "content";
    const auto copied = copy_all({.exact = true});
    ASSERT_TRUE(copied.ok()) << copied.error().message();
    EXPECT_TRUE(folder.get("b/y") == folder.get("a/x"));
    struct stat status {};
    ASSERT_EQ(::stat((b.root / "y").c_str(), &status), 0);
    EXPECT_LT(static_cast<std::uint64_t>(status.st_blocks) * 512, 4 * copied_window);
    EXPECT_EQ(fs::last_write_time(b.root / "y"), fs::last_write_time(a.root / "x"));
    EXPECT_EQ(copied->sent_bytes, compared_block_bytes) << "of the window that is no hole, the block with content";
    EXPECT_EQ(copied->had_bytes, 0u) << "zeros are not what was there";
}

// Window 1 is all data, of window 2 the last block, and the file ends with a short window in a hole.
TEST_P(CopyTest, OfASparseFileBlocksOfZerosAreNotSentAlsoWhereItReplacesAnother) {
    fs::create_directory(b.root);
    (void)folder.put("b/y", pattern(5 * copied_window, 3));
    begin();
    (void)folder.put("a/x", "");
    fs::resize_file(a.root / "x", 5 * copied_window + 33);
    {
        std::fstream file(a.root / "x", std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(copied_window) << pattern(copied_window);
        file.seekp(3 * copied_window - 1) << "x";
    }
    const auto copied = copy_all({.existing = Existing::replace});
    ASSERT_TRUE(copied.ok()) << copied.error().message();
    EXPECT_TRUE(folder.get("b/y") == folder.get("a/x"));
    struct stat status {};
    ASSERT_EQ(::stat((b.root / "y").c_str(), &status), 0);
    EXPECT_LT(static_cast<std::uint64_t>(status.st_blocks) * 512, 2 * copied_window + compared_block_bytes);
    EXPECT_EQ(copied->sent_bytes, copied_window + compared_block_bytes);
}

TEST_P(CopyTest, SeveralAtOnce) {
    begin();
    std::vector<std::string> names;
    for (int i = 0; i < 12; ++i) names.push_back("n" + std::to_string(i));
    for (const auto& each : names)
        (void)folder.put("a/" + each, pattern(5 * copied_window + 1, static_cast<unsigned>(each.back())));
    std::vector<hl::Task<Result<Moved>>> copies;
    for (const auto& each : names) copies.push_back(copy(*from, each, *to, each));
    const auto outcomes = hl::sync_wait(hl::when_all(std::move(copies))).value();
    for (std::size_t i = 0; i < names.size(); ++i) {
        ASSERT_TRUE(outcomes[i].ok()) << outcomes[i].error().message();
        EXPECT_TRUE(folder.get("b/" + names[i]) == folder.get("a/" + names[i])) << names[i];
    }
}

TEST_P(CopyTest, WhatIsThereIsKeptOrReplacedAndWhatIsMissingIsTold) {
    (void)fs::create_directory(b.root);
    (void)folder.put("b/y", "old");
    begin();
    EXPECT_EQ(copy_all().code(), Errc::exists);
    EXPECT_EQ(folder.get("b/y"), "old");
    EXPECT_TRUE(copy_all({.existing = Existing::replace}).ok());
    EXPECT_TRUE(folder.get("b/y") == content);
    const std::string missing = "missing";
    const auto copied = hl::sync_wait(copy(*from, missing, *to, as, {.existing = Existing::replace}));
    EXPECT_EQ(copied.code(), Errc::not_found);
    EXPECT_NE(copied.error().message().find("the source server"), std::string::npos) << copied.error().message();
}

// As if the answer to the commit had been lost.
TEST_P(CopyTest, ASecondAttemptFindsThatTheFirstOneWasDone) {
    begin();
    ASSERT_TRUE(copy_all().ok());
    const auto again = copy_all({.again = true});
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(again->had_bytes, content.size());
    (void)folder.put("a/x", "another content");
    EXPECT_EQ(copy_all({.again = true}).code(), Errc::exists);
}

TEST_P(CopyTest, AnInterruptedCopyGoesOn) {
    begin();
    std::stop_source stop;
    std::uint64_t moved = 0;
    const auto interrupted = hl::sync_wait(copy(*from, name, *to, as, {},
                                                [&](std::uint64_t more) {
                                                    if ((moved += more) >= 20 * copied_window) stop.request_stop();
                                                }),
                                           stop.get_token());
    ASSERT_EQ(interrupted.code(), Errc::canceled);
    EXPECT_TRUE(nothing_at_b());
    log_out();
    log_in(a.endpoint(GetParam().from), b.endpoint(GetParam().to));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (hl::sync_wait(to->list_remains())->empty() && std::chrono::steady_clock::now() < end) {
    }
    const auto copied = copy_all();
    ASSERT_TRUE(copied.ok()) << copied.error().message();
    EXPECT_GE(copied->had_bytes, 10 * copied_window);
    EXPECT_TRUE(folder.get("b/y") == content);
}

TEST_P(CopyTest, AFileThatChangesMeanwhileIsNotSaved) {
    begin();
    bool changed = false;
    const auto copied = hl::sync_wait(copy(*from, name, *to, as, {}, [&](std::uint64_t) {
        if (!std::exchange(changed, true)) std::ofstream(a.root / "x", std::ios::app) << "more";
    }));
    EXPECT_EQ(copied.code(), Errc::bad_checksum);
    EXPECT_NE(copied.error().message().find("the source server"), std::string::npos) << copied.error().message();
    EXPECT_TRUE(nothing_at_b());
}

TEST_P(CopyTest, TheOtherServersPolicyIsAskedWhomItConnectsTo) {
    std::string asked;
    b.hooks.may_access = [&](const AccessRequest& access) -> Result<void> {
        if (access.kind != AccessRequest::Kind::follow) return {};
        asked += std::string(access.name) + " " + std::string(access.target) + "\n";
        return Error{Errc::permission, "not from there"};
    };
    begin();
    const auto copied = copy_all();
    EXPECT_EQ(copied.code(), Errc::permission);
    EXPECT_NE(copied.error().message().find("not from there"), std::string::npos) << copied.error().message();
    EXPECT_TRUE(asked.starts_with("y " + GetParam().from + "://")) << asked;
    EXPECT_TRUE(nothing_at_b());
}

TEST_P(CopyTest, TheFirstServersPolicyIsAskedAsForAFetch) {
    a.hooks.may_access = [](const AccessRequest& access) -> Result<void> {
        if (access.kind != AccessRequest::Kind::fetch) return {};
        return Error{Errc::permission, "not yours"};
    };
    begin();
    EXPECT_EQ(copy_all().code(), Errc::permission);
    EXPECT_TRUE(nothing_at_b());
}

using CopyTcp = CopyTest;
INSTANTIATE_TEST_SUITE_P(Over, CopyTcp, testing::Values(Between{"tcp", "tcp", "tcp"}),
                         [](const auto& each) { return each.param.name; });

TEST_P(CopyTcp, TheBytesGoStraightFromServerToServer) {
    begin();
    log_out();
    const Wiretap at_a(a.endpoint("tcp"));
    const Wiretap at_b(b.endpoint("tcp"));
    log_in(at_a.endpoint(), at_b.endpoint());
    const auto copied = copy_all();
    ASSERT_TRUE(copied.ok()) << copied.error().message();
    EXPECT_TRUE(folder.get("b/y") == content);
    EXPECT_LT(at_a.passed() + at_b.passed(), content.size() / 10);
    log_out();
}

TEST_P(CopyTcp, ForClientsWithoutAKeyAServerConnectsToNoOthers) {
    b.key.reset();
    begin();
    const auto copied = copy_all();
    EXPECT_EQ(copied.code(), Errc::permission);
    EXPECT_NE(copied.error().message().find("--key-file"), std::string::npos) << copied.error().message();
    EXPECT_TRUE(nothing_at_b());
}

TEST_P(CopyTcp, AServerThatTheOtherOneCannotReachIsTold) {
    (void)folder.put("a/x", content);
    a.begin({"shm://"});
    b.begin({"tcp://127.0.0.1:0"});
    log_in(a.endpoint("shm"), b.endpoint("tcp"));
    const auto copied = copy_all();
    EXPECT_EQ(copied.code(), Errc::unreachable);
    EXPECT_NE(copied.error().message().find("the destination server"), std::string::npos) << copied.error().message();
    EXPECT_TRUE(nothing_at_b());
}

TEST_P(CopyTcp, ServersWithOtherWindowsCopyTowardsTheSmallerOnes) {
    b.options.window_bytes = copied_window / 4;
    begin();
    const auto copied = copy_all();
    ASSERT_TRUE(copied.ok()) << copied.error().message();
    EXPECT_TRUE(folder.get("b/y") == content);
    const std::string back = "back";
    EXPECT_EQ(hl::sync_wait(copy(*to, as, *from, back)).code(), Errc::unsupported);
}

// Over shm the kernel tells the server which user the client is.
using CopyShm = CopyTest;
INSTANTIATE_TEST_SUITE_P(Over, CopyShm, testing::Values(Between{"shm", "shm", "shm"}),
                         [](const auto& each) { return each.param.name; });

TEST_P(CopyShm, TheOwnUserNeedsNoKey) {
    a.key.reset();
    b.key.reset();
    begin();
    EXPECT_TRUE(copy_all().ok());
    EXPECT_TRUE(folder.get("b/y") == content);
}

// A client that breaks the protocol: it passes lent memory on as any window it likes.
struct RudeConductor : CopyTest {
    Party c{folder.path() / "c", true};
    struct Session {
        na::Addr server;
        Seals seals;
    };
    hl::Task<void> hold(na::Addr server, HoldIn in) {
        hl::CallOptions options;
        options.deadline = hl::no_deadline;
        (void)co_await here->call(hold_rpc, server, in, options);
    }
    Session log_in_at(const Party& party, std::uint16_t provider) {
        Session at{here->lookup(party.endpoint("tcp")).value(), {}};
        HelloIn hello;
        hello.version = protocol_version;
        LoginIn login;
        login.challenge = here->call(hello_rpc, at.server, hello).wait()->challenge;
        login.proof = key.prove_client(login.nonce, login.challenge.nonce);
        const Token token = here->call(login_rpc, at.server, login).wait()->token;
        at.seals = Seals(token, key.session_secret(login.nonce, login.challenge.nonce, token));
        HoldIn in;
        in.provider = provider;
        at.seals.stamp(in);
        EXPECT_EQ(here->spawn(hold(at.server, in)), Errc::ok);
        return at;
    }
    template <typename R, typename In>
    auto call(Session& at, const R& rpc, In in) {
        at.seals.stamp(in);
        return here->call(rpc, at.server, in, std::chrono::seconds(60)).wait();
    }
};
INSTANTIATE_TEST_SUITE_P(Over, RudeConductor, testing::Values(Between{"tcp", "tcp", "tcp"}),
                         [](const auto& each) { return each.param.name; });

TEST_P(RudeConductor, TheWindowsOfAFileComeFromOneServer) {
    for (auto* party : {&a, &b, &c}) party->begin({"tcp://127.0.0.1:0"});
    (void)folder.put("a/x", pattern(2 * copied_window));
    (void)folder.put("c/x", pattern(2 * copied_window));
    here = hl::Node::open("tcp://", {.progress_thread = false}).value();
    auto at_b = log_in_at(b, 0);
    OpenIn open;
    open.name = "y";
    open.bytes = 2 * copied_window;
    open.attributes.mode = 0600;
    const auto file = call(at_b, open_rpc, open).value().file;
    Errc last = Errc::ok;
    std::uint64_t offset = 0;
    std::uint16_t provider = 1;
    for (auto* party : {&a, &c}) {
        ASSERT_TRUE(here->serve(
                            take_rpc,
                            [&](hl::Request<TakeIn> request) -> hl::Task<Result<void>> {
                                WindowIn in;
                                in.file = file;
                                in.offset = offset;
                                in.window = request->window;
                                at_b.seals.stamp(in);
                                auto sent = co_await here->call(window_rpc, at_b.server, in);
                                last = sent ? Errc::ok : from_remote(sent.error()).code;
                                co_return Result<void>();
                            },
                            hl::provider(provider))
                        .ok());
        auto lender = log_in_at(*party, provider++);
        AskIn ask;
        ask.name = "x";
        LendIn lend;
        lend.file = call(lender, ask_rpc, ask).value().file;
        lend.bytes = copied_window;
        ASSERT_TRUE(call(lender, lend_rpc, lend).ok());
        if (party == &a) {
            EXPECT_EQ(last, Errc::ok);
        }
        offset += copied_window;
    }
    EXPECT_EQ(last, Errc::invalid_argument);
    here.reset();
}

TEST_P(RudeConductor, OnlyWindowsOfTheFileAreLentAndEachOnce) {
    a.begin({"tcp://127.0.0.1:0"});
    (void)folder.put("a/x", pattern(2 * copied_window));
    here = hl::Node::open("tcp://", {.progress_thread = false}).value();
    ASSERT_TRUE(here->serve(take_rpc, [](const TakeIn&) {}).ok());
    const auto lent = [&](std::uint64_t offset, std::uint64_t bytes, int times) {
        auto at_a = log_in_at(a, 0);
        AskIn ask;
        ask.name = "x";
        LendIn lend;
        lend.file = call(at_a, ask_rpc, ask).value().file;
        lend.offset = offset;
        lend.bytes = bytes;
        Errc code = Errc::ok;
        for (int i = 0; i < times; ++i) {
            const auto answer = call(at_a, lend_rpc, lend);
            code = answer ? Errc::ok : from_remote(answer.error()).code;
        }
        here.reset();  // the session ends with its connection
        here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        EXPECT_TRUE(here->serve(take_rpc, [](const TakeIn&) {}).ok());
        return code;
    };
    EXPECT_EQ(lent(0, copied_window, 1), Errc::ok);
    EXPECT_EQ(lent(0, copied_window, 2), Errc::invalid_argument);
    EXPECT_EQ(lent(0, copied_window + 1, 1), Errc::invalid_argument) << "more than a buffer of the server";
    EXPECT_EQ(lent(0, 0, 1), Errc::invalid_argument);
    EXPECT_EQ(lent(2 * copied_window, 1, 1), Errc::invalid_argument);
    EXPECT_EQ(lent(copied_window, ~std::uint64_t{0}, 1), Errc::invalid_argument);
    here.reset();
}

// A server that lends memory that was not requested.
struct RudeLender : CopyTest {
    std::vector<std::byte> memory = std::vector<std::byte>(copied_window);
    hl::Node rude = hl::Node::listen("tcp://127.0.0.1:0").value();
    Seals seals{Token{}, std::nullopt};

    using Lend = std::function<hl::Task<Result<LendOut>>(hl::Request<LendIn> request)>;
    Result<Moved> copy_from_it(Lend lend) {
        const auto serves = [this](const auto& rpc, auto handler) {
            EXPECT_TRUE(rude.serve(rpc, std::move(handler)).ok());
        };
        serves(hello_rpc, [](const HelloIn&) { return HelloOut{protocol_version, false, {}}; });
        serves(login_rpc, [](const LoginIn&) { return LoginOut{{}, {}, copied_window, 4}; });
        serves(hold_rpc, [](hl::Request<HoldIn> request) -> hl::Task<Result<void>> {
            co_return co_await request.node().sleep_for(std::chrono::hours(1));
        });
        serves(ask_rpc, [](const AskIn&) { return AskOut{1, 2 * copied_window, {0600, 0, 0, {}}, false}; });
        serves(finish_rpc, [](const FinishIn&) { return FinishOut{}; });
        serves(abort_rpc, [](const AbortIn&) {});
        serves(lend_rpc, std::move(lend));
        a.key.reset();
        b.begin({"tcp://127.0.0.1:0"});
        log_in(rude.endpoints().front(), b.endpoint("tcp"));
        return copy_all();
    }
    hl::Task<void> have_taken(hl::NodeRef node, na::Addr client, std::uint64_t offset, std::uint64_t bytes) {
        TakeIn take;
        take.file = 1;
        take.offset = offset;
        take.window =
            hl::Bulk(bulk::Region::expose(ConstBytes(memory).first(bytes)).value(), na::Access::read).forwardable();
        seals.stamp(take);
        (void)co_await node.call(take_rpc, client, take);
    }
};
INSTANTIATE_TEST_SUITE_P(Over, RudeLender, testing::Values(Between{"tcp", "tcp", "tcp"}),
                         [](const auto& each) { return each.param.name; });

TEST_P(RudeLender, AWindowThatWasNotRequestedEndsTheFile) {
    const auto copied = copy_from_it([this](hl::Request<LendIn> request) -> hl::Task<Result<LendOut>> {
        const std::uint64_t elsewhere = 7 * copied_window;
        co_await have_taken(request.node(), request.source(), elsewhere, copied_window);
        co_return LendOut{};
    });
    EXPECT_EQ(copied.code(), Errc::protocol);
    EXPECT_TRUE(nothing_at_b());
}

TEST_P(RudeLender, AWindowOfAnotherSizeEndsTheFile) {
    const auto copied = copy_from_it([this](hl::Request<LendIn> request) -> hl::Task<Result<LendOut>> {
        co_await have_taken(request.node(), request.source(), request->offset, copied_window / 2);
        co_return LendOut{};
    });
    EXPECT_EQ(copied.code(), Errc::protocol);
}

TEST_P(RudeLender, AWindowThatItDidNotLendEndsTheFile) {
    const auto copied = copy_from_it([](hl::Request<LendIn>) -> hl::Task<Result<LendOut>> { co_return LendOut{}; });
    EXPECT_EQ(copied.code(), Errc::protocol);
    EXPECT_TRUE(nothing_at_b());
}

TEST_P(RudeLender, AHoleInAFileWithoutHolesEndsIt) {
    const auto copied = copy_from_it([](hl::Request<LendIn>) -> hl::Task<Result<LendOut>> { co_return LendOut{true}; });
    EXPECT_EQ(copied.code(), Errc::protocol);
    EXPECT_TRUE(nothing_at_b());
}

// The checksum does not match the bytes that the server has lent.
TEST_P(RudeLender, OtherBytesThanItsChecksumSaysAreNotSaved) {
    const auto copied = copy_from_it([this](hl::Request<LendIn> request) -> hl::Task<Result<LendOut>> {
        co_await have_taken(request.node(), request.source(), request->offset, copied_window);
        co_return LendOut{};
    });
    EXPECT_EQ(copied.code(), Errc::bad_checksum);
    EXPECT_NE(copied.error().message().find("the destination server"), std::string::npos) << copied.error().message();
    EXPECT_TRUE(nothing_at_b());
}

}  // namespace
}  // namespace cinnabar::files
