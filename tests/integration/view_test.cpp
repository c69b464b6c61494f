// SPDX-License-Identifier: BSD-3-Clause
// Handlers that read the caller's memory in place, and cases in which they must pull instead.
#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

namespace cinnabar {
namespace {

struct Sum {
    std::uint64_t sum = 0;
    Errc view = Errc::ok;  // why there was no view
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
    // The error when a handler of `server` asks for a view of the lent memory, from `offset` on.
    static Errc why_not(const Node& server, const Node& client, const Bulk& lent, std::uint64_t offset,
                        std::optional<std::uint64_t> bytes) {
        constexpr Rpc<int(Bulk)> look{"view.look"};
        server
            .serve(look,
                   [offset, bytes](Request<Bulk> request) -> Task<int> {
                       auto view = request->view(offset, bytes);
                       co_return static_cast<int>(view ? Errc::ok : view.error().code);
                   })
            .value();
        const int why = client.call(look, client.lookup(server.address()).value(), lent).wait().value();
        EXPECT_EQ(server.withdraw(look), Errc::ok);
        return static_cast<Errc>(why);
    }
    // Fills the region with threes and lets the server add them up; returns why the server had no view.
    Errc call(const Node& client, const bulk::Region& region) {
        const Bytes bytes = region.contiguous();
        for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
            const std::uint64_t three = 3;
            std::memcpy(bytes.data() + at, &three, sizeof three);
        }
        const auto to = client.lookup(server_.address()).value();
        const Sum sum = client.call(sum_in_place, to, Bulk(region, na::Access::read)).wait().value();
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

TEST_F(Views, EagerBytesAreViewedInPlace) {
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
    const auto region = client.allocate(1 << 20).value();
    EXPECT_EQ(why_not(server, client, Bulk(region), 0, {}), Errc::unsupported);
}

TEST_F(Views, AWindowBeyondTheMemoryAndAMemoryThatIsNotForReadingAreRefused) {
    const auto client = Node::open("shm://").value();
    const auto region = client.allocate(1 << 20).value();
    const Bulk readable(region, na::Access::read);
    EXPECT_EQ(why_not(server_, client, readable, 1 << 20, 1), Errc::too_large);
    EXPECT_EQ(why_not(server_, client, readable, 1, 1 << 20), Errc::too_large);
    EXPECT_EQ(why_not(server_, client, readable, 1, (1 << 20) - 1), Errc::ok);
    EXPECT_EQ(why_not(server_, client, Bulk(region, na::Access::write), 0, {}), Errc::permission);
}

}  // namespace
}  // namespace cinnabar
