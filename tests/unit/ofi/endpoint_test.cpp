// SPDX-License-Identifier: BSD-3-Clause
// How a provider reports a failed operation, and how long it keeps addresses.
#include "own_end.hpp"
#include "provider_table.hpp"
#include "support/missing_here.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <optional>
#include <string>

namespace cinnabar::ofi {
namespace {

std::string name_of(const testing::TestParamInfo<const char*>& info) {
    std::string name(info.param);
    std::replace(name.begin(), name.end(), ';', '_');
    return name;
}

class EndpointTest : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        apply_settings();
        const auto uri = na::Uri::parse(std::string("ofi+") + GetParam() + "://127.0.0.1:0").value();
        const auto chosen = [&uri] { return select(read_address(uri).value()); };
        if (const std::string missing = support::missing_here(chosen()); !missing.empty()) GTEST_SKIP() << missing;
        from_.emplace(chosen().value());
        to_.emplace(chosen().value());
    }
    // Sends `sent` bytes to a receive of `room` bytes and waits until both have ended.
    void send(fi_addr_t there, std::size_t sent, std::size_t room) {
        constexpr std::uint64_t tag = 7;
        ASSERT_EQ(to_->endpoint->receive_tagged(std::array{iovec{bytes_.data(), room}}.data(), 1, {}, tag,
                                                FI_ADDR_UNSPEC, receive_),
                  Errc::ok);
        const iovec all{bytes_.data(), sent};
        Watched send;
        Errc posted = Errc::again;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while ((receive_.endings == 0 || send.endings == 0) && std::chrono::steady_clock::now() < end) {
            if (posted == Errc::again) posted = from_->endpoint->send_tagged(&all, 1, {}, tag, there, send);
            ASSERT_TRUE(posted == Errc::ok || posted == Errc::again) << to_string(posted);
            (void)from_->endpoint->poll(16);
            (void)to_->endpoint->poll(16);
        }
        ASSERT_EQ(receive_.endings, 1u);
    }

    std::array<std::byte, 64> bytes_{};
    std::optional<End> from_;
    std::optional<End> to_;
    Watched receive_;
};

class WordsTest : public EndpointTest {};
INSTANTIATE_TEST_SUITE_P(Of, WordsTest, testing::Values("tcp;ofi_rxm", "net"), name_of);

TEST_P(WordsTest, AMessageTooLongForItsReceiveFailsWithTheProvidersText) {
    fi_addr_t there = FI_ADDR_UNSPEC;
    ASSERT_EQ(from_->endpoint->insert(to_->endpoint->address(), there), Errc::ok);
    ASSERT_NO_FATAL_FAILURE(send(there, bytes_.size(), 8));
    EXPECT_EQ(receive_.result, Errc::too_large) << to_string(receive_.result);
    EXPECT_FALSE(receive_.words.empty());
    from_->endpoint->remove(there);
}

class AddressesTest : public EndpointTest {};
INSTANTIATE_TEST_SUITE_P(Of, AddressesTest, testing::Values("tcp;ofi_rxm", "net", "sockets", "udp;ofi_rxd"), name_of);

// A session may end after the next session with the same peer has begun.
TEST_P(AddressesTest, AnAddressStaysUntilItsLastUserRemovesIt) {
    fi_addr_t before = FI_ADDR_UNSPEC;
    fi_addr_t there = FI_ADDR_UNSPEC;
    ASSERT_EQ(from_->endpoint->insert(to_->endpoint->address(), before), Errc::ok);
    ASSERT_EQ(from_->endpoint->insert(to_->endpoint->address(), there), Errc::ok);
    from_->endpoint->remove(before);
    ASSERT_NO_FATAL_FAILURE(send(there, bytes_.size(), bytes_.size()));
    EXPECT_EQ(receive_.result, Errc::ok) << to_string(receive_.result);
    from_->endpoint->remove(there);
}

TEST_P(AddressesTest, InvalidAddressesAreRefused) {
    fi_addr_t there = FI_ADDR_UNSPEC;
    EXPECT_EQ(from_->endpoint->insert(to_->endpoint->address().subspan(1), there), Errc::protocol);
}

class SendRoomTest : public EndpointTest {};
INSTANTIATE_TEST_SUITE_P(Of, SendRoomTest, testing::Values("udp;ofi_rxd"), name_of);

// The peer does not answer at first.
TEST_P(SendRoomTest, ASendWithoutRoomIsRefusedAndNotLost) {
    fi_addr_t there = FI_ADDR_UNSPEC;
    ASSERT_EQ(from_->endpoint->insert(to_->endpoint->address(), there), Errc::ok);
    const std::size_t most = from_->endpoint->sends_max();
    std::deque<Watched> sends;
    const auto send_one = [&] {
        return from_->endpoint->send(bytes_.data(), bytes_.size(), {}, there, sends.emplace_back());
    };
    Errc why = Errc::ok;
    while (why == Errc::ok && sends.size() <= most) why = send_one();
    ASSERT_EQ(why, Errc::again) << to_string(why);
    sends.pop_back();
    const auto all_sent = [&] {
        return std::all_of(sends.begin(), sends.end(), [](const Watched& each) { return each.endings == 1; });
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!all_sent() && std::chrono::steady_clock::now() < end) {
        (void)from_->endpoint->poll(16);
        (void)to_->endpoint->poll(16);
    }
    EXPECT_TRUE(all_sent());
    EXPECT_EQ(send_one(), Errc::ok);
    from_->endpoint->remove(there);
}

TEST_P(SendRoomTest, NoFrameIsSentWithoutACompletion) { EXPECT_EQ(from_->endpoint->inject_bytes_max(), 0u); }

// The addresses of libfabric's shm contain the numbers of the process and of the endpoint.
TEST(ShmAddresses, ALongerOneIsTaken) {
    apply_settings();
    const auto uri = na::Uri::parse("ofi+shm://127.0.0.1:0").value();
    const auto chosen = [&uri] { return select(read_address(uri).value()); };
    if (const std::string missing = support::missing_here(chosen()); !missing.empty()) GTEST_SKIP() << missing;
    End from(chosen().value());
    std::optional<End> to(chosen().value());
    for (int i = 0; i < 1000 && to->endpoint->address().size() == from.endpoint->address().size(); ++i) {
        to.emplace(chosen().value());
    }
    ASSERT_NE(to->endpoint->address().size(), from.endpoint->address().size());
    fi_addr_t there = FI_ADDR_UNSPEC;
    ASSERT_EQ(from.endpoint->insert(to->endpoint->address(), there), Errc::ok);
    from.endpoint->remove(there);
}

}  // namespace
}  // namespace cinnabar::ofi
