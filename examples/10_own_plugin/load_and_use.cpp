// SPDX-License-Identifier: BSD-3-Clause
// Loads the plugin whose path is given. A context over this plugin sends itself a message and puts bytes into memory
// that it lends; the program prints the message, the bytes, and the notification that follows the bytes.
#include <cinnabar/na/context.hpp>
#include <cinnabar/na/registry.hpp>

#include <cstdio>
#include <cstring>
#include <string>

namespace {

using namespace cinnabar;

struct Receiver final : na::Receiver {
    std::string text;
    std::uint32_t notified = 0;
    bool connected = false;
    void on_unexpected(na::Arrival& arrival) noexcept override { text = as_text(arrival.bytes); }
    void on_expected(na::Arrival&) noexcept override {}
    void on_notify(na::Peer&, std::uint32_t value) noexcept override { notified = value; }
    void on_peer(na::Peer&, na::PeerEvent event, Errc) noexcept override {
        connected |= event == na::PeerEvent::connected;
    }
};

int use(na::Transport& transport) {
    Receiver receiver;
    na::ContextOptions options;
    options.threads = ThreadUse::one;
    na::Transport* one = &transport;
    auto context = na::Context::open({&one, 1}, options, receiver).value();
    na::Peer* peer = context->peer(na::Addr::make(transport.endpoints(), 0, 0)).value();
    peer->acquire();

    unsigned completed = 0;
    na::Op send;
    na::Op put;
    for (na::Op* op : {&send, &put}) {
        op->peer = peer;
        op->user = &completed;
        op->complete = [](na::Op& self) noexcept { *static_cast<unsigned*>(self.user) += self.result == Errc::ok; };
    }
    send.kind = na::OpKind::send_unexpected;
    send.message = peer->port().take_message();
    send.message_bytes = 5;
    std::memcpy(send.message->payload, "hello", 5);

    std::string from = "bytes by put";
    std::string to(from.size(), '.');
    const na::Segment from_segment{reinterpret_cast<std::byte*>(from.data()), from.size()};
    const na::Segment to_segment{reinterpret_cast<std::byte*>(to.data()), to.size()};
    auto local = transport.register_memory({&from_segment, 1}, na::Access::read).value();
    auto remote = transport.register_memory({&to_segment, 1}, na::Access::write).value();
    na::Lease lease;
    lease.memory = remote.get();
    lease.bytes = to.size();
    lease.access = na::Access::write;
    if (transport.grant(lease) != Errc::ok) return 2;
    std::vector<std::byte> key(transport.described_bytes(lease));
    ByteWriter writer(key);
    transport.describe(lease, writer);
    put.kind = na::OpKind::put_notify;
    put.local = local.get();
    put.remote = {key, to.size()};
    put.bytes = to.size();
    put.notify = 42;

    if (context->post_owned(send) != Errc::ok || context->post_owned(put) != Errc::ok) return 3;
    for (int i = 0; i < 1000 && (completed < 2 || receiver.notified == 0); ++i) {
        (void)context->progress(Microseconds(0));
        (void)context->trigger(16);
    }
    std::printf("%s, %s, %u\n", receiver.text.c_str(), to.c_str(), receiver.notified);
    const bool good =
        completed == 2 && receiver.connected && receiver.text == "hello" && to == from && receiver.notified == 42;
    send.message->port->give_message(*send.message);
    if (transport.revoke(lease) != Errc::ok) return 4;
    peer->release();
    return good ? 0 : 5;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 1;
    cinnabar::na::Registry registry;
    if (const auto loaded = registry.load(arguments[1]); !loaded) {
        std::fprintf(stderr, "%s\n", loaded.error().message().c_str());
        return 1;
    }
    auto transport = registry.open("loop://here", {});
    if (!transport) {
        std::fprintf(stderr, "%s\n", transport.error().message().c_str());
        return 1;
    }
    return use(**transport);
}
