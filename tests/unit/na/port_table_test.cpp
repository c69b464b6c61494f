// SPDX-License-Identifier: BSD-3-Clause
// Which context gets a connection that does not name one.
#include <cinnabar/na/session/port_table.hpp>
#include <cinnabar/na/side_context.hpp>

#include <gtest/gtest.h>

#include <array>

namespace cinnabar::na {
namespace {

struct Greeted {
    struct {
        Hello hello;
    } greeting;
};

class FakeHost {
  public:
    explicit FakeHost(ContextId id) noexcept : id_(id) {}
    [[nodiscard]] ContextId context_id() const noexcept { return id_; }
    void wake() noexcept {}

  private:
    ContextId id_;
};

struct FakePort {
    explicit FakePort(ContextId id) noexcept : own_host(id) {}
    [[nodiscard]] FakeHost& host() const noexcept { return own_host; }
    [[nodiscard]] Inbox<Greeted>& inbox() noexcept { return own_inbox; }
    [[nodiscard]] std::uint32_t session_count() const noexcept { return has; }

    mutable FakeHost own_host;
    Inbox<Greeted> own_inbox;
    std::uint32_t has = 0;
};

class Spread : public testing::Test {
  protected:
    void open(bool spread) {
        TransportOptions options;
        options.spread = spread;
        for (FakePort& port : ports_) ASSERT_TRUE(table_.add(port, options).ok());
    }
    [[nodiscard]] ContextId chosen(ContextId asked = any_context) {
        Hello hello;
        hello.peer_context = asked;
        table_.choose(hello);
        return hello.peer_context;
    }
    [[nodiscard]] Errc connects(ContextId asked = any_context) {
        Greeted incoming;
        incoming.greeting.hello.peer_context = asked;
        table_.choose(incoming.greeting.hello);
        return table_.hand_over(incoming);
    }

    std::array<FakePort, 3> ports_{FakePort(0), FakePort(1), FakePort(7)};
    PortTable<FakePort> table_;
};

TEST_F(Spread, GoesToTheContextWithTheFewestSessions) {
    open(true);
    ports_[0].has = 2;
    ports_[1].has = 3;
    ports_[2].has = 1;
    EXPECT_EQ(chosen(), 7);
    EXPECT_EQ(chosen(), 7) << "again, as nothing has changed";
    ports_[2].has = 3;
    EXPECT_EQ(chosen(), 0);
}

TEST_F(Spread, TakesTurnsWhereSeveralHaveAsFew) {
    open(true);
    EXPECT_EQ(chosen(), 0);
    EXPECT_EQ(chosen(), 1);
    EXPECT_EQ(chosen(), 7);
    EXPECT_EQ(chosen(), 0);
    ports_[1].has = 1;
    EXPECT_EQ(chosen(), 7);
    EXPECT_EQ(chosen(), 0);
}

TEST_F(Spread, FollowsAConnectionThatNamesAContext) {
    open(true);
    ports_[0].has = 100;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(chosen(0), 0);
    EXPECT_EQ(connects(5), Errc::unreachable);
    table_.remove(ports_[1]);
    for (int i = 0; i < 6; ++i) EXPECT_NE(chosen(), 1) << "it is closed";
}

TEST_F(Spread, IsTheFirstContextWithoutTheOption) {
    open(false);
    ports_[0].has = 100;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(chosen(), 0);
    table_.remove(ports_[0]);
    EXPECT_EQ(connects(), Errc::unreachable);
}

TEST_F(Spread, OnlyWhoNamesTheSideContextGetsIt) {
    FakePort side(side_context);
    ASSERT_TRUE(table_.add(side, {}).ok());
    open(true);
    for (FakePort& port : ports_) port.has = 100;
    for (int i = 0; i < 4; ++i) EXPECT_NE(chosen(), side_context);
    EXPECT_EQ(connects(side_context), Errc::ok);
    EXPECT_EQ(side.own_inbox.waiting(), 1u);
}

TEST_F(Spread, AContextWithAFullInboxIsSkipped) {
    open(true);
    constexpr std::size_t waiting_max = Inbox<Greeted>::waiting_max;
    ports_[0].has = ports_[2].has = 10 * waiting_max;
    for (std::size_t i = 0; i < waiting_max; ++i) ASSERT_EQ(connects(), Errc::ok);
    EXPECT_EQ(ports_[1].own_inbox.waiting(), waiting_max);
    EXPECT_EQ(connects(1), Errc::overloaded);
    EXPECT_EQ(connects(), Errc::ok);
    EXPECT_EQ(connects(), Errc::ok);
    EXPECT_EQ(ports_[1].own_inbox.waiting(), waiting_max);
    EXPECT_EQ(ports_[0].own_inbox.waiting(), 1u);
    EXPECT_EQ(ports_[2].own_inbox.waiting(), 1u);
    for (std::size_t i = 2; i < 2 * waiting_max; ++i) ASSERT_EQ(connects(), Errc::ok);
    EXPECT_EQ(connects(), Errc::overloaded) << "all are full";
    // Waiting connections count until they are taken.
    EXPECT_EQ(ports_[1].own_inbox.take_all().size(), waiting_max);
    EXPECT_EQ(chosen(), 1);
}

}  // namespace
}  // namespace cinnabar::na
