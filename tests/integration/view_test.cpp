// SPDX-License-Identifier: BSD-3-Clause
// A handler that reads its caller's memory where it is, and one that finds that it has to pull.
#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace cinnabar {
namespace {

struct Sum {
    std::uint64_t sum = 0;
    Errc view = Errc::ok;  // why there was none
};

constexpr Rpc<Sum(Bulk)> sum_in_place{"view.sum"};

std::uint64_t sum_of(ConstBytes bytes) {
    std::vector<std::uint64_t> numbers(bytes.size() / sizeof(std::uint64_t));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(std::uint64_t));
    return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}

class Views : public testing::Test {
  protected:
    Views() : server_(Node::listen({"tcp://127.0.0.1:0", "shm://"}).value()) {
        server_
            .serve(sum_in_place,
                   [](Request<Bulk> request) -> Task<Result<Sum>> {
                       Sum answer;
                       if (auto view = request->view()) {
                           answer.sum = sum_of((*view)->bytes());
                           if ((*view)->valid()) co_return answer;
                       } else {
                           answer.view = view.error().code;
                       }
                       auto buffer = request.node().buffers().take(request->size());
                       if (!buffer) co_return std::move(buffer).error();
                       auto pulled = co_await request->pull(*buffer);
                       if (!pulled) co_return std::move(pulled).error();
                       answer.sum = sum_of(buffer->bytes());
                       co_return answer;
                   })
            .value();
    }
    // Lends `numbers` numbers of 3, and says why they were not seen in place.
    Errc call(const Node& client, const bulk::Region& region) {
        const Bytes bytes = region.contiguous();
        for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
            const std::uint64_t three = 3;
            std::memcpy(bytes.data() + at, &three, sizeof three);
        }
        const auto to = client.lookup(server_.address()).value();
        const Sum sum = client.call_sync(sum_in_place, to, Bulk(region, na::Access::read)).value();
        EXPECT_EQ(sum.sum, region.bytes() / 8 * 3);
        return sum.view;
    }
    Node server_;
};

TEST_F(Views, AllocatedMemoryIsReadInPlace) {
    const auto client = Node::open("shm://").value();
    const auto region = client.allocate(1 << 20).value();
    EXPECT_EQ(call(client, region), Errc::ok);
    EXPECT_EQ(call(client, region.slice(8 * 1000, 8 * 5000)), Errc::ok);
}

TEST_F(Views, WhatCameAlongIsShownWhereItIs) {
    const auto client = Node::open("tcp://").value();
    EXPECT_EQ(call(client, client.allocate(64).value()), Errc::ok);
}

TEST_F(Views, OtherMemoryIsPulled) {
    const auto client = Node::open("shm://").value();
    std::vector<std::uint64_t> plain(10'000);
    EXPECT_EQ(call(client, client.expose(std::span(plain)).value()), Errc::unsupported);
}

TEST_F(Views, OverSocketsItIsPulled) {
    const auto client = Node::open("tcp://").value();
    EXPECT_EQ(call(client, client.allocate(1 << 20).value()), Errc::unsupported);
}

TEST_F(Views, WhereCopiesGoThroughBuffersItIsPulled) {
    const auto client = Node::open("shm://").value();
    const auto server = Node::listen("shm://?copy=buffers").value();
    constexpr Rpc<int(Bulk)> look{"view.look"};
    server
        .serve(look,
               [](Request<Bulk> request) -> Task<int> {
                   auto view = request->view();
                   co_return view ? 0 : static_cast<int>(view.error().code);
               })
        .value();
    const auto region = client.allocate(1 << 20).value();
    const int why = client.call_sync(look, client.lookup(server.address()).value(), Bulk(region)).value();
    EXPECT_EQ(static_cast<Errc>(why), Errc::unsupported);
}

TEST_F(Views, AWindowBeyondTheMemoryAndAMemoryThatIsNotForReadingAreRefused) {
    constexpr Rpc<int(Bulk)> beyond{"view.beyond"};
    server_
        .serve(beyond,
               [](Request<Bulk> request) -> Task<int> {
                   auto view = request->view(request->size(), 1);
                   co_return view ? 0 : static_cast<int>(view.error().code);
               })
        .value();
    const auto client = Node::open("shm://").value();
    const auto to = client.lookup(server_.address()).value();
    const auto region = client.allocate(1 << 20).value();
    const auto ask = [&](na::Access access) {
        return static_cast<Errc>(client.call_sync(beyond, to, Bulk(region, access)).value());
    };
    EXPECT_EQ(ask(na::Access::read), Errc::too_large);
    constexpr Rpc<int(Bulk)> whole{"view.whole"};
    server_
        .serve(whole,
               [](Request<Bulk> request) -> Task<int> {
                   auto view = request->view();
                   co_return view ? 0 : static_cast<int>(view.error().code);
               })
        .value();
    const int why = client.call_sync(whole, to, Bulk(region, na::Access::write)).value();
    EXPECT_EQ(static_cast<Errc>(why), Errc::permission);
}

}  // namespace
}  // namespace cinnabar
