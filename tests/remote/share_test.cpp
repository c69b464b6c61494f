// SPDX-License-Identifier: BSD-3-Clause
// The owner's side: grants, and the end of sharing.
#include "remote_contracts.hpp"
#include "remote_fixture.hpp"
#include "support/at_yield.hpp"

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;

class ShareTest : public RemoteWords {
  protected:
    ShareTest() : RemoteWords(way_named("tcp")) {}
};

TEST_F(ShareTest, tokens_are_stale_once_the_memory_is_withdrawn) {
    const auto token = this->token();
    Words few(2);
    EXPECT_EQ(shared_.withdraw(), Errc::ok);
    EXPECT_EQ(shared_.withdraw(), Errc::ok);
    EXPECT_EQ(token.subspan(0, 2).read(user(), few).wait().code(), Errc::stale);
    EXPECT_TRUE(shared_.token().empty());
    // The slot is reused, but the old token does not give access to the new memory.
    Words others = counted(count, 9);
    auto again = share(owner(), std::span(others)).value();
    ASSERT_EQ(again.token().grant().slot, token.token().grant().slot);
    EXPECT_EQ(token.subspan(0, 2).read(user(), few).wait().code(), Errc::stale);
    EXPECT_EQ(few, Words(2));
}

TEST_F(ShareTest, the_handle_ends_it_and_can_be_moved) {
    const auto token = this->token();
    Words few(2);
    auto moved = std::move(shared_);
    EXPECT_FALSE(shared_);
    EXPECT_TRUE(token.subspan(0, 2).read(user(), few).wait().ok());
    shared_ = std::move(moved);
    EXPECT_TRUE(token.subspan(0, 2).read(user(), few).wait().ok());
    shared_ = {};
    EXPECT_EQ(token.subspan(0, 2).read(user(), few).wait().code(), Errc::stale);
}

TEST_F(ShareTest, it_may_outlive_its_node) {
    Words words = counted(4);
    Shared<std::uint64_t> kept;
    {
        const Node node = Node::listen("tcp://127.0.0.1:0").value();
        kept = share(node, std::span(words)).value();
    }
    kept.renew();
    EXPECT_FALSE(kept.in_use());
    EXPECT_EQ(kept.withdraw(), Errc::ok);
}

TEST_F(ShareTest, what_cannot_be_shared) {
    EXPECT_EQ(hl::share_bytes(owner(), Region(), Access::read).code(), Errc::invalid_argument);
    const Words constant = counted(3);
    const auto region = owner().expose(std::span(constant)).value();
    EXPECT_EQ(hl::share_bytes(owner(), region, Access::read_write).code(), Errc::permission);
    const auto bytes = owner().allocate(12).value();
    EXPECT_EQ(share<std::uint64_t>(owner(), bytes).code(), Errc::invalid_argument);
    auto readable = share(owner(), std::span(constant)).value();
    EXPECT_EQ(readable.span().token().access(), Access::read);
    EXPECT_EQ(readable.span().at(pair_.to)[1].read(user()).wait().value(), 1u);
    EXPECT_EQ(readable.span().at(pair_.to)[1].write(user(), 5).wait().code(), Errc::permission);
}

TEST_F(ShareTest, as_many_as_there_are_slots) {
    const auto region = owner().expose(std::span(memory_)).value();
    std::vector<hl::SharedBytes> all;
    Result<hl::SharedBytes> next = hl::share_bytes(owner(), region, Access::read);
    for (; next && all.size() < 70'000; next = hl::share_bytes(owner(), region, Access::read))
        all.push_back(*std::move(next));
    EXPECT_EQ(all.size(), 65'535u);  // the fixture has one
    EXPECT_EQ(next.code(), Errc::too_large);
    all.pop_back();
    EXPECT_TRUE(hl::share_bytes(owner(), region, Access::read).ok());
}

TEST_F(ShareTest, memory_in_quarantine_is_busy) {
    const Region region = owner().allocate(100).value();
    {
        const auto shared = hl::share_bytes(owner(), region, Access::read_write).value();
        auto withdrawn = hl::share_bytes(owner(), region, Access::read_write).value();
        region.quarantine_for_good();
        EXPECT_EQ(withdrawn.withdraw(), Errc::busy);
        EXPECT_EQ(withdrawn.withdraw(), Errc::busy) << "asked again, it looks again";
        EXPECT_TRUE(withdrawn.token().empty());
    }
    // Both slots are free: the fixture has one more.
    EXPECT_LE(hl::share_bytes(owner(), region, Access::read).value().token().grant().slot, 2u);
}

TEST_F(ShareTest, a_function_set_after_the_withdrawal_is_not_kept) {
    const auto used = std::make_shared<int>(0);
    EXPECT_EQ(shared_.withdraw(), Errc::ok);
    shared_.on_notified([used](const hl::RemoteNotice&) {});
    EXPECT_EQ(used.use_count(), 1);
}

// The products of the numbers and the size wrap around.
TEST(SharedDeathTest, elements_outside_are_a_bug) {
    const Shared<std::uint64_t> nothing;
    EXPECT_DEATH((void)nothing.span(std::uint64_t{1} << 61, 0, Access::read), "first <= size");
    EXPECT_DEATH((void)nothing.span(0, std::uint64_t{1} << 61, Access::read), "count <= size");
}

// The program serves a call of that name itself.
TEST(ShareServed, a_failure_to_serve_is_the_same_the_next_time) {
    const Node node = Node::listen("tcp://127.0.0.1:0").value();
    const auto own = [](Request<hl::remote_calls::Gather>) -> Result<hl::RemoteReply> { return Errc::unsupported; };
    ASSERT_TRUE(node.serve(hl::remote_calls::gather, own).ok());
    const Region region = node.allocate(100).value();
    const auto first = hl::share_bytes(node, region, Access::read);
    const auto second = hl::share_bytes(node, region, Access::read);
    ASSERT_FALSE(first.ok() || second.ok());
    EXPECT_NE(first.error().message().find("cinnabar.remote.gather"), std::string::npos) << first.error().message();
    EXPECT_EQ(second.error().message(), first.error().message());
}

// A reader that requests everything and then reads nothing.
class ShareStalled : public testing::Test {
  protected:
    static NodeOptions undriven() {
        NodeOptions options;
        options.progress_thread = false;
        return options;
    }
    // Waits until the owner has begun to serve the request.
    void begin() {
        while (!shared_.in_use()) user_.poll();
    }
    Words memory_ = counted(16 << 20);
    Words into_ = Words(16 << 20);
    Node owner_ = Node::listen("tcp://127.0.0.1:0").value();
    Node user_ = Node::open("tcp://", undriven()).value();
    Shared<std::uint64_t> shared_ = share(owner_, std::span(memory_)).value();
};

TEST_F(ShareStalled, withdrawing_waits_for_no_reader) {
    auto read = shared_.span().read(user_, into_, {.deadline = hl::no_deadline}).future();
    begin();
    EXPECT_EQ(shared_.withdraw(), Errc::ok);
    EXPECT_FALSE(shared_.in_use());
    EXPECT_EQ(read.get().code(), Errc::stale);
}

TEST_F(ShareStalled, withdrawing_waits_for_no_writer) {
    for (const Names names : {Names::any_version, Names::this_version}) {
        auto shared = share(owner_, std::span(memory_)).value();
        auto write = shared.span(names).write(user_, into_, {.deadline = hl::no_deadline}).future();
        while (!shared.in_use()) user_.poll();
        EXPECT_EQ(shared.withdraw(), Errc::ok);
        EXPECT_EQ(write.get().code(), Errc::stale);
    }
}

#ifndef NDEBUG
TEST_F(ShareStalled, an_operation_counts_once_however_often_it_names_the_memory) {
    using hl::remote_calls::Gather;
    hl::RemoteGrant grant = shared_.token().grant();
    Gather gather{std::vector(hl::remote_grants_max, grant), {}, {}};
    const std::uint64_t part = shared_.bytes() / gather.grants.size();
    for (std::uint32_t i = 0; i < gather.grants.size(); ++i) gather.pieces.push_back({i, i * part, part});
    gather.into = Bulk(user_.expose(std::span(into_)).value());
    const Addr to = user_.lookup(owner_.address()).value();
    auto read = user_.call(hl::remote_calls::gather, to, gather).future();
    begin();
    int stopped = 0;
    const support::AtYield stop("shared memory: a use is stopped", [&stopped] { ++stopped; });
    EXPECT_EQ(shared_.withdraw(), Errc::ok);
    EXPECT_EQ(stopped, 1);
    EXPECT_FALSE(shared_.in_use());
    EXPECT_EQ(read.get().code(), Errc::stale);
}
#endif

TEST_F(ShareStalled, inside_a_task_withdrawing_does_not_wait) {
    auto read = shared_.span().read(user_, into_, {.deadline = hl::no_deadline}).future();
    begin();
    const auto withdraw = [this]() -> Task<Errc> { co_return shared_.withdraw(); };
    const Errc code = sync_wait(withdraw()).code();
    EXPECT_TRUE(code == Errc::would_deadlock || code == Errc::ok) << to_string(code);
    EXPECT_EQ(shared_.withdraw(), Errc::ok);
    EXPECT_EQ(read.get().code(), Errc::stale);
}

TEST_F(ShareStalled, a_reader_that_is_gone_keeps_nothing) {
    {
        const Node gone = Node::open("tcp://", undriven()).value();
        auto read = shared_.span().read(gone, into_, {.deadline = hl::no_deadline}).future();
        while (!shared_.in_use()) gone.poll();
    }
    while (shared_.in_use()) user_.poll();
    EXPECT_EQ(shared_.withdraw(), Errc::ok);
}

}  // namespace
}  // namespace cinnabar
