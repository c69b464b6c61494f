// SPDX-License-Identifier: BSD-3-Clause
// A forwards memory, and its call ends while the third party is in the middle of a transfer: once A's call has ended, C
// neither reads nor writes that memory, although B has asked C to and C does not stop.
#include "forward_parties.hpp"
#include "patience.hpp"
#include "ways.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <optional>
#include <utility>

using namespace std::chrono_literals;

namespace cinnabar::test {
namespace {

constexpr std::size_t bytes = 48 * mib;
// The contents of A's memory during the call and after it, and what C pushes.
constexpr std::byte lent{0x11};
constexpr std::byte own{0xee};
constexpr std::byte pushed{0x77};

// 32 MiB of a transfer are in flight at once: more than the buffers of a connection can hold, but not the whole
// transfer.
NodeOptions with_much_in_flight() {
    NodeOptions options;
    options.rpc.bulk.chunk_bytes = 2 * mib;
    options.rpc.bulk.window = 16;
    return options;
}

// Transfers the memory in a task that ignores cancel and deadline. The driving thread blocks after the first chunk
// until it is released.
struct StubbornStore {
    Gate in_the_middle;
    Gate may_go_on;
    std::promise<Errc> ended;
    std::vector<std::byte> memory = std::vector<std::byte>(bytes, pushed);
    bulk::RemoteRegion remote;
    bool held = false;
    std::function<void(std::uint64_t)> hold = [this](std::uint64_t done) {
        if (std::exchange(held, true)) return;
        EXPECT_LT(done, bytes);
        in_the_middle.open();
        EXPECT_TRUE(may_go_on.wait());
    };
    Node node;

    StubbornStore(const std::string& uri, Access access) : node(Node::listen(uri, with_much_in_flight()).value()) {
        const auto begin = [this, access](Request<Piece> request) -> Task<Result<std::uint64_t>> {
            remote = request->data.remote();
            EXPECT_EQ(remote.own(), Errc::ok);
            EXPECT_EQ(node.spawn(transfer(access)), Errc::ok);
            (void)co_await request.node().sleep_for(1h);  // ends when the request is canceled
            co_return Error(Errc::canceled);
        };
        EXPECT_TRUE(node.serve(store, begin).ok());
    }
    ~StubbornStore() { may_go_on.open(); }

    Task<void> transfer(Access access) {
        const auto here = Region::expose(Bytes(memory), Access::read_write).value();
        const TransferOptions options{.progress = &hold, .follow_owner = true};
        Result<std::uint64_t> moved = 0;
        if (access == Access::read) {
            moved = co_await node.pull(remote, {}, here, options);
        } else {
            moved = co_await node.push(remote, {}, here, options);
        }
        ended.set_value(moved.code());
    }
};

// Leaves out the libfabric providers that take seconds for that much memory.
std::vector<Way> quick_ways() {
    std::vector<Way> some = ways();
    std::erase_if(some, [](const Way& way) {
        return way.name.starts_with("ofi_") && way.name != "ofi_tcp_rxm" && way.name != "ofi_net";
    });
    return some;
}

class ForwardFence : public testing::TestWithParam<Way> {
  protected:
    enum class End : std::uint8_t { cancel, deadline, middle_gone };
    // False: A's deadline expired before C had begun.
    [[nodiscard]] static bool end_in_the_middle(Access access, End end, Microseconds deadline);
    // Tries longer deadlines on a slow machine.
    static void end_by_deadline(Access access) {
        for (Microseconds deadline = 200ms; deadline < 60s; deadline *= 4) {
            if (end_in_the_middle(access, End::deadline, deadline)) return;
        }
        ADD_FAILURE() << "C never begins";
    }
};

bool ForwardFence::end_in_the_middle(Access access, End end, Microseconds deadline) {
    std::vector<std::byte> memory(bytes, lent);
    StubbornStore c(GetParam().listen, access);
    std::optional<Gateway> b;
    b.emplace(std::vector{GetParam().listen}, c.node.address());
    Node a = Node::listen(GetParam().listen).value();
    const auto region = a.expose(std::span<std::byte>(memory)).value();
    const Addr to = a.lookup(b->node.address()).value();
    auto call = a.call(put, to, {"x", Bulk(region, access).forwardable()}, deadline).future();
    if (end != End::deadline) {
        EXPECT_TRUE(c.in_the_middle.wait());
        call.cancel();
    }
    EXPECT_EQ(call.get().code(), end == End::deadline ? Errc::timed_out : Errc::canceled);
    if (!c.in_the_middle.is_open()) return false;
    if (end == End::middle_gone) {
        b.reset();
        EXPECT_FALSE(a.call(put, to, {"x", {}}, 60s).wait().ok());  // A has noticed the loss of B
    }

    // A fabric that cannot take back bytes for C reports that, and A does not reuse the memory.
    if (region.quarantined()) {
        EXPECT_TRUE(GetParam().name.starts_with("ofi_"));
    } else {
        std::ranges::fill(memory, own);
    }
    c.may_go_on.open();
    EXPECT_NE(c.ended.get_future().get(), Errc::ok);
    if (access == Access::read) {
        EXPECT_EQ(std::ranges::count(c.memory, own), 0) << "bytes were read after the end of the call";
    } else {
        EXPECT_EQ(std::ranges::count(memory, pushed), 0) << "bytes were written after the end of the call";
    }
    if (end == End::middle_gone) {
        for (int i = 0; i < 20'000 && region.quarantined(); ++i) (void)a.run_for(1ms);
        EXPECT_FALSE(region.quarantined());
    }
    return true;
}

TEST_P(ForwardFence, a_cancel_ends_a_pull) { EXPECT_TRUE(end_in_the_middle(Access::read, End::cancel, 60s)); }

TEST_P(ForwardFence, a_cancel_ends_a_push) { EXPECT_TRUE(end_in_the_middle(Access::write, End::cancel, 60s)); }

// The end of B does not end the quarantine while C still reads.
TEST_P(ForwardFence, it_holds_where_the_middle_is_gone) {
    EXPECT_TRUE(end_in_the_middle(Access::read, End::middle_gone, 60s));
}

TEST_P(ForwardFence, a_deadline_ends_a_pull) { end_by_deadline(Access::read); }

TEST_P(ForwardFence, a_deadline_ends_a_push) { end_by_deadline(Access::write); }

INSTANTIATE_TEST_SUITE_P(Over, ForwardFence, testing::ValuesIn(quick_ways()),
                         [](const auto& each) { return each.param.name; });

class ForwardKept : public testing::TestWithParam<Way> {};

// C finishes with the memory in time, but uses a copy of the descriptor after A's call has ended.
TEST_P(ForwardKept, a_descriptor_is_worth_nothing_after_the_call) {
    std::vector<std::byte> memory(8 * mib, lent);
    std::vector<std::byte> got(memory.size(), std::byte{0});
    bulk::RemoteRegion kept;
    Gate has_a_part;
    Node c = Node::listen(GetParam().listen).value();
    const auto keep = [&](Request<Piece> request) -> Task<Result<std::uint64_t>> {
        kept = request->data.remote();
        EXPECT_EQ(kept.own(), Errc::ok);
        const Bytes here(got);
        CINNABAR_CO_TRY(auto pulled, co_await request->data.pull(here.first(mib), {.follow_owner = true}));
        has_a_part.open();
        (void)co_await request.node().sleep_for(1h);  // ends when the request is canceled
        co_return pulled;
    };
    ASSERT_TRUE(c.serve(store, keep).ok());
    Gateway b({GetParam().listen}, c.address());
    Node a = Node::listen(GetParam().listen).value();
    const auto region = a.expose(std::span<std::byte>(memory)).value();
    const Addr to = a.lookup(b.node.address()).value();
    auto call = a.call(put, to, {"x", Bulk(region, Access::read_write).forwardable()}, 60s).future();
    ASSERT_TRUE(has_a_part.wait());
    call.cancel();
    EXPECT_EQ(call.get().code(), Errc::canceled);
    ASSERT_FALSE(region.quarantined());
    std::ranges::fill(memory, own);

    const auto rest = Region::expose(Bytes(got).subspan(mib), Access::read_write).value();
    const TransferOptions options{.offset = mib, .follow_owner = true};
    EXPECT_NE(sync_wait(c.pull(kept, {}, rest, options)).code(), Errc::ok);
    EXPECT_EQ(std::ranges::count(got, own), 0) << "bytes were read after the end of the call";
    EXPECT_NE(sync_wait(c.push(kept, {}, rest, options)).code(), Errc::ok);
    EXPECT_EQ(std::ranges::count(memory, own), static_cast<std::ptrdiff_t>(memory.size()))
        << "bytes were written after the end of the call";
}

CINNABAR_ON_EACH_WAY(ForwardKept);

// B's call ends when C has finished with the memory, not when A's cancel reaches B.
TEST(ForwardChain, the_call_in_the_middle_waits_until_the_third_party_lets_go) {
    static constexpr const char* uri = "tcp://127.0.0.1:0";
    static constexpr Rpc<int()> ping{"ping"};
    Gate in_the_middle;
    Gate may_go_on;
    const std::function<void(std::uint64_t)> hold = [&](std::uint64_t) {
        in_the_middle.open();
        EXPECT_TRUE(may_go_on.wait());
    };
    Node c = Node::listen(uri).value();
    const auto pull = [&](Request<Piece> request) -> Task<Result<std::uint64_t>> {
        std::vector<std::byte> here(request->data.size());
        co_return co_await request->data.pull(Bytes(here), {.progress = &hold, .follow_owner = true});
    };
    ASSERT_TRUE(c.serve(store, pull).ok());
    NodeOptions patient;
    patient.rpc.fence_grace = 60s;
    Gateway b({uri}, c.address(), patient);
    ASSERT_TRUE(b.node.serve(ping, [] { return 1; }).ok());
    Node a = Node::listen(uri).value();
    const std::vector<std::byte> memory(8 * mib);
    const auto region = a.expose(std::span<const std::byte>(memory)).value();
    const Addr to = a.lookup(b.node.address()).value();
    auto call = a.call(put, to, {"x", Bulk(region).forwardable()}, 60s).future();
    ASSERT_TRUE(in_the_middle.wait());
    call.cancel();
    EXPECT_EQ(call.get().code(), Errc::canceled);
    // B forwards the cancel before it answers later requests.
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(a.call(ping, to).wait().ok());
    EXPECT_FALSE(b.store_ended);
    may_go_on.open();
    for (int i = 0; i < 100'000 && !b.store_ended; ++i) ASSERT_TRUE(a.call(ping, to).wait().ok());
    EXPECT_TRUE(b.store_ended);
}

}  // namespace
}  // namespace cinnabar::test
