// SPDX-License-Identifier: BSD-3-Clause
// The plugin as a shared object, in a program that does not link it or libfabric.
#include <cinnabar/na/context.hpp>
#include <cinnabar/na/registry.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <string>

namespace cinnabar::na {
namespace {

struct End final : Receiver {
    End(Registry& registry, const std::string& provider) {
        TransportOptions options;
        options.listen = true;
        transport = registry.open("ofi+" + provider + "://127.0.0.1:0", options).value();
        ContextOptions one;
        one.threads = ThreadUse::one;
        Transport* const only = transport.get();
        context = Context::open({&only, 1}, one, *this).value();
    }
    void on_unexpected(Arrival& arrival) noexcept override {
        came.assign(reinterpret_cast<const char*>(arrival.bytes.data()), arrival.bytes.size());
    }
    void on_expected(Arrival&) noexcept override {}
    void on_notify(Peer&, std::uint32_t) noexcept override {}
    void on_peer(Peer&, PeerEvent, Errc) noexcept override {}

    std::unique_ptr<Transport> transport;
    std::unique_ptr<Context> context;
    std::string came;
};

class LoadedOfi : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Over, LoadedOfi, testing::Values("tcp;ofi_rxm", "net"),
                         [](const auto& i) { return std::string(i.param).substr(0, 3); });

TEST_P(LoadedOfi, CarriesMessages) {
    Registry registry;
    const auto loaded = registry.load(LOADABLE_OFI);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    End from(registry, GetParam());
    End to(registry, GetParam());
    Peer* const peer = from.context->peer(Addr::make(to.transport->endpoints(), 0, 0)).value();
    peer->acquire();
    const std::string text = "by way of dlopen";
    Op op;
    op.kind = OpKind::send_unexpected;
    op.peer = peer;
    op.message = peer->port().take_message();
    std::memcpy(op.message->payload, text.data(), text.size());
    op.message_bytes = static_cast<std::uint32_t>(text.size());
    op.complete = [](Op&) noexcept {};
    ASSERT_EQ(from.context->post_owned(op), Errc::ok);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while ((to.came.empty() || op.state != OpState::idle) && std::chrono::steady_clock::now() < end) {
        (void)from.context->progress(Microseconds(0));
        (void)to.context->progress(Microseconds(0));
    }
    EXPECT_EQ(to.came, text);
    EXPECT_EQ(op.state, OpState::idle);
    EXPECT_EQ(op.result, Errc::ok) << to_string(op.result);
    op.message->port->give_message(*op.message);
    peer->release();
    from.context.reset();
    to.context.reset();
}

}  // namespace
}  // namespace cinnabar::na
