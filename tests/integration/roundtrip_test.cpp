// SPDX-License-Identifier: BSD-3-Clause
// Typed calls end to end, over the transports that need no set-up: self, tcp and shm.
#include <cinnabar/base/log.hpp>
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/rpc/context.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

struct Pair {
    int a = 0;
    int b = 0;
};
struct Person {
    std::string name;
    std::vector<std::string> mail;
};

constexpr Rpc<int(Pair)> sum{"sum"};
constexpr Rpc<std::string(std::string, int)> repeat{"repeat"};
constexpr Rpc<int()> answer{"answer"};
constexpr Rpc<void(int)> swallow{"swallow"};
constexpr Rpc<Person(Person)> echo{"echo"};
constexpr Rpc<std::size_t(std::string_view)> length{"length"};
constexpr OneWay<int> note{"note"};
constexpr Rpc<Addr(Addr, std::filesystem::path, std::chrono::system_clock::time_point)> where{"where"};

class RoundTrip : public testing::TestWithParam<std::string> {
  protected:
    Node server_ = Node::listen(GetParam()).value();
    Node client_ = Node::open(GetParam().substr(0, GetParam().find(':')) + "://").value();
    // `self` joins the contexts of one node only.
    Node& caller() { return GetParam() == "self://" ? server_ : client_; }
    Addr to_ = server_.self_addr();
};

TEST_P(RoundTrip, addresses_paths_and_times) {
    const auto now = std::chrono::system_clock::now();
    using Time = std::chrono::system_clock::time_point;
    const auto check = [&](const Addr& addr, const std::filesystem::path& path, Time when) {
        return path == "/srv/x" && when == now ? addr : Addr();
    };
    ASSERT_TRUE(server_.serve(where, check).ok());
    EXPECT_EQ(caller().call(where, to_, to_, "/srv/x", now).wait().value(), to_);
    EXPECT_TRUE(caller().call(where, to_, Addr(), "/srv/x", now).wait().value().empty());
    // The address of a peer that does not listen is useless to others.
    const Addr session = Addr::of_connection("tcp", 0, 0, 7, false);
    EXPECT_EQ(caller().call(where, to_, session, "/srv/x", now).wait().code(), Errc::unreachable);
}

TEST_P(RoundTrip, time_left_is_told) {
    Microseconds left{};
    const auto look = [&](Request<> request) { return left = request.time_left(), 0; };
    ASSERT_TRUE(server_.serve(answer, look).ok());
    EXPECT_TRUE(caller().call(answer, to_, 20s).wait().ok());
    EXPECT_LE(left, 20s);
    EXPECT_GT(left, 10s);
    EXPECT_TRUE(caller().call(answer, to_, no_deadline).wait().ok());
    EXPECT_EQ(left, Microseconds::max());
}

TEST_P(RoundTrip, plain_function) {
    ASSERT_TRUE(server_.serve(sum, [](Pair p) { return p.a + p.b; }).ok());
    EXPECT_EQ(caller().call(sum, to_, {2, 3}, 5s).wait().value(), 5);
    EXPECT_EQ(sync_wait(caller().call(sum, to_, {4, 5}, 5s)).value(), 9);
}

TEST_P(RoundTrip, no_argument_several_arguments_no_result) {
    int swallowed = 0;
    ASSERT_TRUE(server_.serve(answer, [] { return 42; }).ok());
    ASSERT_TRUE(server_
                    .serve(repeat,
                           [](const std::string& text, int times) {
                               std::string all;
                               for (int i = 0; i < times; ++i) all += text;
                               return all;
                           })
                    .ok());
    ASSERT_TRUE(server_.serve(swallow, [&swallowed](int value) { swallowed = value; }).ok());
    EXPECT_EQ(caller().call(answer, to_).wait().value(), 42);
    EXPECT_EQ(caller().call(repeat, to_, "ab", 3).wait().value(), "ababab");
    EXPECT_TRUE(caller().call(swallow, to_, 7).wait().ok());
    EXPECT_EQ(swallowed, 7);
}

TEST_P(RoundTrip, rich_types_and_views) {
    ASSERT_TRUE(server_.serve(echo, [](Person person) { return person; }).ok());
    ASSERT_TRUE(server_.serve(length, [](std::string_view text) { return text.size(); }).ok());
    const Person back = caller().call(echo, to_, {"ann", {"a@b", "c@d"}}).wait().value();
    EXPECT_EQ(back.name, "ann");
    EXPECT_EQ(back.mail, (std::vector<std::string>{"a@b", "c@d"}));
    EXPECT_EQ(caller().call(length, to_, "hello").wait().value(), 5u);
}

TEST_P(RoundTrip, errors_keep_their_code) {
    ASSERT_TRUE(server_
                    .serve(sum,
                           [](Pair p) -> Result<int> {
                               if (p.a < 0) return app_error(7, "negative");
                               if (p.b < 0) return Errc::not_found;
                               return p.a;
                           })
                    .ok());
    const auto application = caller().call(sum, to_, {-1, 0}).wait();
    ASSERT_EQ(application.code(), Errc::application);
    EXPECT_EQ(application.error().app_code, 7u);
    EXPECT_EQ(application.error().subject, "negative");
    EXPECT_EQ(caller().call(sum, to_, {0, -1}).wait().code(), Errc::not_found);
    EXPECT_EQ(caller().call(answer, to_).wait().code(), Errc::no_such_rpc);
}

TEST_P(RoundTrip, what_a_handler_throws_is_handler_failed) {
    set_log_sink([](const LogLine&, void*) {}, nullptr);
    ASSERT_TRUE(server_.serve(sum, [](Pair) -> int { throw std::runtime_error("no"); }).ok());
    EXPECT_EQ(caller().call(sum, to_, {1, 1}).wait().code(), Errc::handler_failed);
    set_log_sink(nullptr, nullptr);
}

TEST_P(RoundTrip, a_request_has_its_source_and_deadline) {
    ASSERT_TRUE(server_
                    .serve(sum,
                           [](Request<Pair> request) -> Result<int> {
                               if (request.source().empty()) return request.fail(1, "no source");
                               if (request.deadline() == time_never) return request.fail(2, "no deadline");
                               if (request.canceled()) return request.fail(3, "canceled");
                               return request->a - request->b;
                           })
                    .ok());
    const auto difference = caller().call(sum, to_, {9, 4}, 5s).wait();
    ASSERT_TRUE(difference.ok()) << difference.error().message();
    EXPECT_EQ(*difference, 5);
}

TEST_P(RoundTrip, providers_are_told_apart) {
    ASSERT_TRUE(server_
                    .serve(
                        answer, [] { return 1; }, provider(1))
                    .ok());
    ASSERT_TRUE(server_
                    .serve(
                        answer, [] { return 2; }, provider(2))
                    .ok());
    EXPECT_EQ(server_
                  .serve(
                      answer, [] { return 3; }, provider(2))
                  .code(),
              Errc::exists);
    EXPECT_EQ(caller().call(answer, to_, {.provider = 1}).wait().value(), 1);
    EXPECT_EQ(caller().call(answer, to_, {.provider = 2}).wait().value(), 2);
    EXPECT_EQ(server_.withdraw(answer, 2), Errc::ok);
    EXPECT_EQ(caller().call(answer, to_, {.provider = 2}).wait().code(), Errc::no_such_rpc);
}

TEST_P(RoundTrip, one_way_is_done_when_sent) {
    std::atomic<int> noted{0};
    ASSERT_TRUE(server_.serve(note, [&noted](int value) { noted += value; }).ok());
    ASSERT_TRUE(server_.serve(answer, [] { return 1; }).ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(caller().call(note, to_, 5).wait().ok());
    for (int i = 0; i < 1000 && noted != 15; ++i) ASSERT_TRUE(caller().call(answer, to_).wait().ok());
    EXPECT_EQ(noted, 15);
}

TEST_P(RoundTrip, callback_and_future) {
    ASSERT_TRUE(server_.serve(sum, [](Pair p) { return p.a + p.b; }).ok());
    std::atomic<int> called{0};
    for (int i = 0; i < 10; ++i) {
        caller().call(sum, to_, {i, 1}).then([&called](Result<int> result) { called += result.value(); });
    }
    std::vector<Future<int>> futures;
    for (int i = 0; i < 10; ++i) futures.push_back(caller().call(sum, to_, {i, i}).future());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(futures[static_cast<std::size_t>(i)].get().value(), 2 * i);
    while (called != 55) (void)caller().run_for(1ms);
}

// Under ThreadSanitizer: a cancel looks at a call that fails at the same time on the thread of the node.
TEST_P(RoundTrip, futures_are_canceled_beside_their_failure) {
    ASSERT_TRUE(server_.serve(answer, []() -> Result<int> { return Error{Errc::application, "no"}; }).ok());
    for (int round = 0; round < 50; ++round) {
        std::vector<Future<int>> futures;
        for (int i = 0; i < 20; ++i) futures.push_back(caller().call(answer, to_).future());
        EXPECT_EQ(futures.front().get().code(), Errc::application);
        for (std::size_t i = 1; i < futures.size(); ++i) futures[i].cancel();
        futures.erase(futures.begin() + 10, futures.end());
        for (std::size_t i = 1; i < futures.size(); ++i) EXPECT_FALSE(futures[i].get().ok());
    }
}

TEST_P(RoundTrip, dropped_unsent_is_not_sent) {
    std::atomic<int> calls{0};
    ASSERT_TRUE(server_.serve(answer, [&calls] { return ++calls; }).ok());
    { auto dropped = caller().call(answer, to_); }
    EXPECT_EQ(caller().call(answer, to_).wait().value(), 1);
    EXPECT_EQ(caller().rpc_context().counts().calls, 0u);
}

TEST_P(RoundTrip, counts_and_latencies) {
    ASSERT_TRUE(server_.serve(sum, [](Pair p) { return p.a; }).ok());
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(caller().call(sum, to_, {1, 1}).wait().ok());
    std::uint64_t calls = 0;
    std::uint64_t requests = 0;
    for (const RpcCounts& counts : caller().stats()) calls += counts.calls;
    for (const RpcCounts& counts : server_.stats()) requests += counts.requests;
    EXPECT_EQ(calls, 5u);
    EXPECT_EQ(requests, 5u);
}

// A peer that sends well-formed calls with malformed arguments.
TEST_P(RoundTrip, malformed_arguments_are_answered_and_do_not_block_others) {
    bool ran = false;
    ASSERT_TRUE(server_
                    .serve(length,
                           [&](std::string_view text) {
                               ran = ran || text != "fine";
                               return text.size();
                           })
                    .ok());
    rpc::Context& context = caller().rpc_context();
    for (const std::string_view bytes : {"", "\x7f", "\x04\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                                         "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"}) {
        Errc why = Errc::ok;
        rpc::Call* const call = context.make_call(to_, why);
        ASSERT_TRUE(call) << to_string(why);
        call->args.rpc = length.name().id;
        call->args.deadline = context.deadline_in(20s);
        std::memcpy(call->input_room().data(), bytes.data(), bytes.size());
        std::atomic<bool> done{false};
        const auto note_it = [](rpc::Call&, void* user) noexcept {
            static_cast<std::atomic<bool>*>(user)->store(true);
        };
        ASSERT_EQ(call->forward(bytes.size(), note_it, &done), Errc::ok);
        while (!done) (void)caller().run_for(1ms);
        EXPECT_EQ(call->result(), Errc::protocol);
        call->release();
    }
    EXPECT_FALSE(ran) << "a handler sees no arguments that do not decode";
    EXPECT_EQ(caller().call(length, to_, "fine").wait().value(), 4u);
}

TEST_P(RoundTrip, bulk_pull_and_push) {
    struct Copy {
        Bulk from;
        Bulk to;
    };
    static constexpr Rpc<std::uint64_t(Copy)> copy{"copy"};
    ASSERT_TRUE(server_
                    .serve(copy,
                           [](Request<Copy> request) -> Task<Result<std::uint64_t>> {
                               Result<Buffer> buffer = request.node().buffers().take(request->from.size());
                               if (!buffer) co_return buffer.error();
                               Result<std::uint64_t> moved = co_await request->from.pull(*buffer);
                               if (!moved) co_return moved;
                               co_return co_await request->to.push(*buffer);
                           })
                    .ok());
    for (const std::size_t size : {std::size_t{100}, std::size_t{3'000'000}}) {
        std::vector<std::uint32_t> from(size / 4);
        std::iota(from.begin(), from.end(), 7u);
        std::vector<std::uint32_t> to(from.size());
        const Region source = caller().expose(std::span<const std::uint32_t>(from)).value();
        const Region target = caller().expose(std::span(to)).value();
        const auto moved = caller().call(copy, to_, {Bulk(source), Bulk(target, Access::write)}, 20s).wait();
        ASSERT_TRUE(moved.ok()) << moved.error().message();
        EXPECT_EQ(*moved, from.size() * 4);
        EXPECT_EQ(from, to);
    }
}

INSTANTIATE_TEST_SUITE_P(Transports, RoundTrip, testing::Values("self://", "tcp://127.0.0.1:0", "shm://"),
                         [](const auto& tested) { return tested.param.substr(0, tested.param.find(':')); });

}  // namespace
}  // namespace cinnabar
