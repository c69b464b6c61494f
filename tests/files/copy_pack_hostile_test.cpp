// SPDX-License-Identifier: BSD-3-Clause
// Copies of packs with a source server that lies, and a server whose client asks for packs that cannot be.
#include "file/journal.hpp"
#include "server_fixture.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/copy.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

// A source server that accepts any login and answers as the test says, and an honest destination server.
struct LyingLenderTest : testing::Test {
    static Key key() { return Key::from("a key of at least 16 bytes").value(); }
    support::Folder folder;
    std::string memory = "abcdef";
    std::unique_ptr<Server> server =
        Server::make(Root::serve(folder.path().string()).value(), std::optional<Key>(key())).value();
    hl::Node honest = hl::Node::listen("tcp://127.0.0.1:0").value();
    hl::Node rude = hl::Node::listen("tcp://127.0.0.1:0").value();
    Seals seals{Token{}, std::nullopt};

    static GivenFile given(const std::string& content) {
        return {{}, block_checksum(std::as_bytes(std::span(content.data(), content.size()))), {.mode = 0644}, false};
    }
    // What a server sends that lends "abc" and "def".
    [[nodiscard]] TakePackIn good(const LendPackIn& asked) const {
        TakePackIn take;
        take.pack = asked.pack;
        take.files = {given("abc"), given("def")};
        take.window = lent(6);
        return take;
    }
    [[nodiscard]] hl::Bulk lent(std::size_t bytes) const {
        const ConstBytes content = std::as_bytes(std::span(memory.data(), bytes));
        return hl::Bulk(bulk::Region::expose(content).value(), na::Access::read).forwardable();
    }
    // Whatever the client answers, the server says that all is well.
    hl::Task<Result<void>> have_taken(const hl::Request<LendPackIn>& request, TakePackIn& take) {
        seals.stamp(take);
        (void)co_await request.node().call(take_pack_rpc, request.source(), take);
        co_return Result<void>();
    }
    template <typename R, typename H>
    void serve(const R& rpc, H handler) {
        ASSERT_TRUE(rude.serve(rpc, std::move(handler)).ok());
    }
    using Lend = std::function<hl::Task<Result<void>>(hl::Request<LendPackIn> request)>;
    std::vector<Errc> copy_from_it(Lend lend) {
        serve(hello_rpc, [](const HelloIn&) { return HelloOut{protocol_version, false, {}}; });
        serve(login_rpc, [](const LoginIn&) { return LoginOut{{}, {}, 1u << 20, 4}; });
        serve(hold_rpc, [](hl::Request<HoldIn> request) -> hl::Task<Result<void>> {
            co_return co_await request.node().sleep_for(std::chrono::hours(1));
        });
        serve(lend_pack_rpc, std::move(lend));
        EXPECT_TRUE(server->serve_on(honest).ok());
        const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        const Key own = key();
        Client from(here, here.lookup(rude.endpoints().front()).value(), nullptr);
        Client to(here, here.lookup(honest.endpoints().front()).value(), &own);
        EXPECT_TRUE(hl::sync_wait(from.open()).ok());
        EXPECT_TRUE(hl::sync_wait(to.open()).ok());
        const std::vector<CopiedFile> two{{"a", "x", 3}, {"b", "y", 3}};
        std::vector<Errc> codes;
        for (const auto& copied : hl::sync_wait(copy_small(from, two, to)).value()) codes.push_back(copied.code());
        EXPECT_TRUE(hl::sync_wait(from.close()).ok());
        EXPECT_TRUE(hl::sync_wait(to.close()).ok());
        return codes;
    }
    // The codes of a copy from a server that changes what a good one sends.
    std::vector<Errc> copy_changed(std::function<void(TakePackIn& take)> change) {
        return copy_from_it([this, change](hl::Request<LendPackIn> request) -> hl::Task<Result<void>> {
            TakePackIn take = good(*request);
            change(take);
            co_return co_await have_taken(request, take);
        });
    }
    [[nodiscard]] bool nothing_came() const {
        return support::Folder::list_of(folder.path()) == std::vector<std::string>{".cinnabar-staging"};
    }
};

using Codes = std::vector<Errc>;
const Codes both_protocol{Errc::protocol, Errc::protocol};

TEST_F(LyingLenderTest, AGoodOneIsBelieved) {
    EXPECT_EQ(copy_changed([](TakePackIn&) {}), (Codes{Errc::ok, Errc::ok}));
    EXPECT_EQ(folder.get("x"), "abc");
    EXPECT_EQ(folder.get("y"), "def");
}

TEST_F(LyingLenderTest, OtherBytesThanItsChecksumsSayAreNotSaved) {
    memory = "abcxyz";
    EXPECT_EQ(copy_changed([](TakePackIn&) {}), (Codes{Errc::ok, Errc::bad_checksum}));
    EXPECT_EQ(folder.get("x"), "abc");
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "y"));
}

TEST_F(LyingLenderTest, FewerFilesThanWereAskedForAreRefused) {
    EXPECT_EQ(copy_changed([this](TakePackIn& take) {
                  take.files.pop_back();
                  take.window = lent(3);
              }),
              both_protocol);
    EXPECT_TRUE(nothing_came());
}

TEST_F(LyingLenderTest, MoreFilesThanACallHasAreRefused) {
    EXPECT_EQ(copy_changed([](TakePackIn& take) { take.files.resize(10'000); }), both_protocol);
    EXPECT_TRUE(nothing_came());
}

TEST_F(LyingLenderTest, AWindowOfAnotherSizeIsRefused) {
    EXPECT_EQ(copy_changed([this](TakePackIn& take) { take.window = lent(5); }), both_protocol);
    EXPECT_TRUE(nothing_came());
}

TEST_F(LyingLenderTest, AWindowForAFileThatHasFailedIsRefused) {
    EXPECT_EQ(copy_changed([](TakePackIn& take) { take.files[1].outcome = {Errc::not_found, "gone"}; }).at(0),
              Errc::protocol);
    EXPECT_TRUE(nothing_came());
}

TEST_F(LyingLenderTest, AttributesThatNobodyAskedForAreRefused) {
    EXPECT_EQ(copy_changed([](TakePackIn& take) {
                  take.files[0].attributes.extended = {{"system.posix_acl_access", "1"}};
              }),
              both_protocol);
    EXPECT_TRUE(nothing_came());
}

TEST_F(LyingLenderTest, APackThatWasNotAskedForIsRefused) {
    EXPECT_EQ(copy_changed([](TakePackIn& take) { take.pack += 1; }), both_protocol);
    EXPECT_TRUE(nothing_came());
}

TEST_F(LyingLenderTest, OneThatLendsNothingIsNotBelieved) {
    EXPECT_EQ(copy_from_it([](hl::Request<LendPackIn>) -> hl::Task<Result<void>> { co_return Result<void>(); }),
              both_protocol);
    EXPECT_TRUE(nothing_came());
}

// A client that asks for what it may not have. It notes what it is lent.
struct HandmadeLendPackTest : ServerTest {
    std::uint64_t lent_bytes = 0;
    std::string content;
    std::vector<Errc> codes;

    void begin_and_take() {
        begin();
        ASSERT_TRUE(here->serve(take_pack_rpc, [this](hl::Request<TakePackIn> request) {
                            return note(std::move(request));
                        }).ok());
    }
    hl::Task<Result<void>> note(hl::Request<TakePackIn> request) {
        codes.clear();
        for (const auto& file : request->files) codes.push_back(file.outcome.code);
        lent_bytes = request->window.size();
        content.assign(static_cast<std::size_t>(lent_bytes), '?');
        if (lent_bytes == 0) co_return Result<void>();
        const auto region = bulk::Region::expose(std::as_writable_bytes(std::span(content.data(), content.size())),
                                                 na::Access::write)
                                .value();
        const auto pulled = co_await request->window.pull(region);
        if (!pulled) co_return pulled.error();
        co_return Result<void>();
    }
    static LendPackIn pack_of(std::vector<std::string> names, std::uint64_t bytes_each) {
        LendPackIn in;
        in.pack = 7;
        for (auto& name : names) in.files.push_back({std::move(name), bytes_each});
        return in;
    }
    Errc send(LendPackIn in) {
        seals.stamp(in);
        const auto out = here->call(lend_pack_rpc, to, in).wait();
        return out ? Errc::ok : from_remote(out.error()).code;
    }
};

TEST_F(HandmadeLendPackTest, PacksThatCannotBeAreRefusedWhole) {
    begin_and_take();
    EXPECT_EQ(send(pack_of({}, 1)), Errc::invalid_argument);
    EXPECT_EQ(send(pack_of(std::vector<std::string>(pack_files_max + 1, "a"), 1)), Errc::invalid_argument);
    EXPECT_EQ(send(pack_of({"a"}, packed_file_bytes_max + 1)), Errc::too_large);
    EXPECT_EQ(send(pack_of({"a", std::string(name_bytes_max + 1, 'a')}, 1)), Errc::too_large);
    EXPECT_EQ(send(pack_of(std::vector<std::string>(pack_files_max, std::string(name_bytes_max, 'a')), 1)),
              Errc::too_large);
    EXPECT_EQ(send(pack_of(std::vector<std::string>(9, "a"), 128 << 10)), Errc::too_large) << "over a window";
    auto wordy = pack_of({"a"}, 1);
    wordy.text_bytes = pack_text_bytes_max + 1;
    EXPECT_EQ(send(wordy), Errc::too_large);
    EXPECT_TRUE(codes.empty()) << "nothing was lent";
}

TEST_F(HandmadeLendPackTest, NothingIsLentButWhatWasRead) {
    hooks.may_access = [](const AccessRequest& access) -> Result<void> {
        if (access.kind == AccessRequest::Kind::fetch && access.name == "secret") return Errc::permission;
        return {};
    };
    begin_and_take();
    (void)folder.put("a", "abc");
    (void)folder.put("secret", "SEC");
    (void)folder.put("long", "longer");
    (void)folder.put("z", "xyz");
    EXPECT_EQ(send(pack_of({"a", "../a", "secret", "long", "none", ".cinnabar-staging/a", "z"}, 3)), Errc::ok);
    EXPECT_EQ(codes, (Codes{Errc::ok, Errc::permission, Errc::permission, Errc::again, Errc::not_found,
                            Errc::permission, Errc::ok}));
    EXPECT_EQ(content, "abcxyz");
    EXPECT_EQ(send(pack_of({"secret", "none"}, 3)), Errc::ok);
    EXPECT_EQ(lent_bytes, 0u);
    EXPECT_EQ(codes, (Codes{Errc::permission, Errc::not_found}));
}

TEST_F(HandmadeLendPackTest, ItsFilesCountAsThoseOfTheClient) {
    options.session_files_max = 2;
    begin_and_take();
    for (const auto* name : {"a", "b", "c"}) (void)folder.put(name, "x");
    EXPECT_EQ(send(pack_of({"a", "b", "c"}, 1)), Errc::overloaded);
    EXPECT_EQ(send(pack_of({"a", "b"}, 1)), Errc::ok);
    EXPECT_EQ(send(pack_of({"b", "c"}, 1)), Errc::ok) << "and not for longer than the call";
}

TEST_F(HandmadeLendPackTest, ASignedOneCannotBeChanged) {
    keyed = true;
    begin_and_take();
    (void)folder.put("a", "abc");
    auto in = pack_of({"a"}, 3);
    seals.stamp(in);
    const auto code_of = [this](const LendPackIn& changed) {
        const auto out = here->call(lend_pack_rpc, to, changed).wait();
        return out ? Errc::ok : from_remote(out.error()).code;
    };
    auto changed = in;
    changed.files[0].name = "b";
    EXPECT_EQ(code_of(changed), Errc::permission);
    changed = in;
    changed.extended.user = true;
    EXPECT_EQ(code_of(changed), Errc::permission);
    changed = in;
    changed.pack = 8;
    EXPECT_EQ(code_of(changed), Errc::permission);
    EXPECT_EQ(code_of(in), Errc::ok);
    EXPECT_EQ(code_of(in), Errc::permission) << "a replay";
}

}  // namespace
}  // namespace cinnabar::files
