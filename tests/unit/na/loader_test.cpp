// SPDX-License-Identifier: BSD-3-Clause
// Plugins loaded at run time: one whose source is linked in elsewhere, and files that are refused.
#include <cinnabar/na/context.hpp>
#include <cinnabar/na/registry.hpp>

#include <gtest/gtest.h>

namespace cinnabar::na {
namespace {

class CountingReceiver final : public Receiver {
  public:
    unsigned messages = 0;
    void on_unexpected(Arrival&) noexcept override { ++messages; }
    void on_expected(Arrival&) noexcept override {}
    void on_notify(Peer&, std::uint32_t) noexcept override {}
    void on_peer(Peer&, PeerEvent, Errc) noexcept override {}
};

TEST(Loader, ALoadedPluginWorks) {
    Registry registry;
    const auto loaded = registry.load(LOADABLE_SELF);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    ASSERT_EQ(registry.plugins().size(), 1u);
    EXPECT_EQ(registry.plugins().front().scheme, "self");
    auto transport = registry.open("self://", {}).value();
    CountingReceiver receiver;
    ContextOptions options;
    options.threads = ThreadUse::one;
    Transport* raw = transport.get();
    auto context = Context::open({&raw, 1}, options, receiver).value();
    Peer* peer = context->peer(Addr::make(transport->endpoints(), 0, 0)).value();
    peer->acquire();
    Op op;
    op.kind = OpKind::send_unexpected;
    op.peer = peer;
    op.message = peer->port().take_message();
    op.message_bytes = 0;
    bool done = false;
    op.user = &done;
    op.complete = [](Op& self) noexcept { *static_cast<bool*>(self.user) = true; };
    ASSERT_EQ(context->post_owned(op), Errc::ok);
    for (int i = 0; i < 100 && (!done || receiver.messages == 0); ++i) (void)context->progress(Microseconds(0));
    EXPECT_TRUE(done);
    EXPECT_EQ(receiver.messages, 1u);
    op.message->port->give_message(*op.message);
    peer->release();
    context.reset();
}

TEST(Loader, TheSameSchemeTwiceIsRefused) {
    Registry registry;
    ASSERT_TRUE(registry.load(LOADABLE_SELF).ok());
    EXPECT_EQ(registry.load(LOADABLE_SELF).code(), Errc::exists);
    EXPECT_EQ(registry.plugins().size(), 1u);
}

TEST(Loader, AMissingFileIsNotFound) {
    Registry registry;
    const auto loaded = registry.load("/nonexistent/plugin.so");
    EXPECT_EQ(loaded.code(), Errc::not_found);
    EXPECT_NE(loaded.error().message().find("nonexistent"), std::string::npos);
}

TEST(Loader, AFileThatIsNoPluginIsUnsupported) {
    Registry registry;
    EXPECT_EQ(registry.load(LOADABLE_NOTHING).code(), Errc::unsupported);
    EXPECT_TRUE(registry.plugins().empty());
}

TEST(Loader, AnotherAbiIsUnsupported) {
    Registry registry;
    const auto loaded = registry.load(LOADABLE_OLDER);
    EXPECT_EQ(loaded.code(), Errc::unsupported);
    EXPECT_NE(loaded.error().message().find("loadable_older"), std::string::npos)
        << "it is named by its path: nothing but the number is read of what has another layout";
    EXPECT_TRUE(registry.plugins().empty());
}

TEST(Loader, APluginThatNamesNothingIsUnsupported) {
    Registry registry;
    const auto loaded = registry.load(LOADABLE_EMPTY);
    EXPECT_EQ(loaded.code(), Errc::unsupported);
    EXPECT_NE(loaded.error().message().find("null"), std::string::npos);
    EXPECT_TRUE(registry.plugins().empty());
}

}  // namespace
}  // namespace cinnabar::na
