// SPDX-License-Identifier: BSD-3-Clause
// What a provider says of an operation that failed.
#include "endpoint.hpp"

#include "provider_table.hpp"
#include "support/missing_here.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>

namespace cinnabar::ofi {
namespace {

// Endpoints are closed before what they were opened on.
struct End {
    explicit End(Selection chosen) : selection(std::move(chosen)) {
        fid_fabric* opened = nullptr;
        EXPECT_EQ(::fi_fabric(selection.info->fabric_attr, &opened, nullptr), 0);
        fabric.reset(opened);
        endpoint = Endpoint::open(*fabric, selection).value();
    }
    Selection selection;
    Fid<fid_fabric> fabric;
    std::unique_ptr<Endpoint> endpoint;
};

struct Watched : FabricOp {
    Watched() {
        done = [](FabricOp& self, const Done& how) noexcept {
            auto& watched = static_cast<Watched&>(self);
            ++watched.endings;
            watched.result = how.result;
            watched.words = how.words ? how.words : "";
        };
    }
    unsigned endings = 0;
    Errc result = Errc::ok;
    std::string words;
};

class EndpointTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, EndpointTest, testing::Values("tcp;ofi_rxm", "net"),
                         [](const auto& i) { return std::string(i.param).substr(0, 3); });

TEST_P(EndpointTest, AMessageThatIsLongerThanItsReceiveEndsThatWithTheWordsOfTheProvider) {
    apply_settings();
    const auto uri = na::Uri::parse(std::string("ofi+") + GetParam() + "://127.0.0.1:0").value();
    const auto chosen = [&uri] { return select(read_address(uri).value()); };
    if (const std::string missing = support::missing_here(chosen()); !missing.empty()) GTEST_SKIP() << missing;
    End from(chosen().value());
    End to(chosen().value());
    fi_addr_t there = FI_ADDR_UNSPEC;
    ASSERT_EQ(from.endpoint->insert(to.endpoint->address(), there), Errc::ok);
    constexpr std::uint64_t tag = 7;
    std::array<std::byte, 64> bytes{};
    const iovec all{bytes.data(), bytes.size()};
    const iovec some{bytes.data(), 8};
    Watched receive;
    ASSERT_EQ(to.endpoint->receive_tagged(&some, 1, {}, tag, FI_ADDR_UNSPEC, receive), Errc::ok);
    Watched send;
    Errc sent = Errc::again;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (receive.endings == 0 && std::chrono::steady_clock::now() < end) {
        if (sent == Errc::again) sent = from.endpoint->send_tagged(&all, 1, {}, tag, there, send);
        ASSERT_TRUE(sent == Errc::ok || sent == Errc::again) << to_string(sent);
        (void)from.endpoint->poll(16);
        (void)to.endpoint->poll(16);
    }
    ASSERT_EQ(receive.endings, 1u);
    EXPECT_EQ(receive.result, Errc::too_large) << to_string(receive.result);
    EXPECT_FALSE(receive.words.empty());
}

}  // namespace
}  // namespace cinnabar::ofi
