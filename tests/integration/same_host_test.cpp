// SPDX-License-Identifier: BSD-3-Clause
// A server listens on tcp and shm: clients that can use shared memory choose it automatically.
#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cinnabar {
namespace {

constexpr Rpc<std::uint64_t(Bulk)> total{"same_host.total"};

class SameHost : public testing::Test {
  protected:
    SameHost() : server_(Node::listen({"tcp://127.0.0.1:0", "shm://"}).value()) {
        server_
            .serve(total,
                   [](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
                       std::vector<std::uint64_t> numbers(request->size() / sizeof(std::uint64_t));
                       auto region = request.node().expose(std::span(numbers)).value();
                       auto moved = co_await request->pull(region);
                       if (!moved) co_return std::move(moved).error();
                       std::uint64_t sum = 0;
                       for (const std::uint64_t number : numbers) sum += number;
                       co_return sum;
                   })
            .value();
    }
    // Expects a call that lends memory to succeed.
    static void expect_calls(const Node& client, const na::Addr& to) {
        std::vector<std::uint64_t> numbers(10'000, 3);
        const auto region = client.expose(std::span(numbers)).value();
        EXPECT_EQ(client.call(total, to, Bulk(region, na::Access::read)).wait().value(), 30'000u);
    }
    Node server_;
};

TEST_F(SameHost, SharedMemoryIsChosenAutomatically) {
    const auto client = Node::open({"tcp://", "shm://"}).value();
    const auto to = client.lookup(server_.address()).value();
    EXPECT_EQ(to.body().endpoints.size(), 2u);
    EXPECT_EQ(client.transport_to(to), "shm");
    expect_calls(client, to);
    EXPECT_EQ(client.transport_to(to), "shm");
}

TEST_F(SameHost, EitherCanBeForced) {
    for (const std::string scheme : {"tcp", "shm"}) {
        const auto client = Node::open(scheme + "://").value();
        const auto to = client.lookup(server_.address()).value();
        EXPECT_EQ(client.transport_to(to), scheme);
        expect_calls(client, to);
    }
}

// An address as of another host, user or boot.
TEST_F(SameHost, AnotherHostIsReachedOverTcp) {
    const auto client = Node::open({"shm://", "tcp://"}).value();
    std::string address = server_.address();
    const auto place = address.find("place=");
    ASSERT_NE(place, std::string::npos) << address;
    char& digit = address[place + 6];
    digit = digit == '0' ? '1' : '0';
    const auto to = client.lookup(address).value();
    EXPECT_EQ(client.transport_to(to), "tcp");
    expect_calls(client, to);
}

TEST_F(SameHost, AnUnknownShmNameIsReachedOverTcp) {
    const auto client = Node::open({"shm://", "tcp://"}).value();
    std::string address = server_.address();
    const auto shm = address.find("shm://");
    ASSERT_NE(shm, std::string::npos);
    address.insert(shm + 6, "not-");
    EXPECT_EQ(client.transport_to(client.lookup(address).value()), "tcp");
}

}  // namespace
}  // namespace cinnabar
