// SPDX-License-Identifier: BSD-3-Clause
// Looking up a group may take the system half a minute: it may be done when a transport is opened, but never on a
// thread that drives a context.
#include "raw_peer.hpp"

#include <dlfcn.h>
#include <grp.h>
#include <unistd.h>

#include <atomic>

namespace {
std::atomic<unsigned> asked{0};
}

// Called instead of the C library's function, which it calls in turn.
extern "C" __attribute__((visibility("default"))) int getgrnam_r(const char* name, struct group* record, char* room,
                                                                 size_t bytes, struct group** found) {
    static const auto original = reinterpret_cast<decltype(&::getgrnam_r)>(::dlsym(RTLD_NEXT, "getgrnam_r"));
    ++asked;
    return original(name, record, room, bytes, found);
}

namespace cinnabar::shm {
namespace {

class GroupNames : public ShmTest {
  protected:
    // Finds the peer and sends it a message; returns the first error.
    Errc send_to(const std::string& address) {
        const auto found = context_->peer(na::Addr::parse(address).value());
        if (!found) return found.code();
        na::Op op;
        bool done = false;
        op.kind = na::OpKind::send_unexpected;
        op.peer = *found;
        op.tag = 1;
        op.message = (*found)->port().take_message();
        op.user = &done;
        op.complete = [](na::Op& self) noexcept {
            self.message->port->give_message(*self.message);
            *static_cast<bool*>(self.user) = true;
        };
        EXPECT_EQ(context_->post_owned(op), Errc::ok);
        EXPECT_TRUE(until([&] { return done; }));
        return op.result;
    }
};

TEST_F(GroupNames, are_looked_up_only_for_opening_a_transport) {
    const struct group* const own = ::getgrgid(::getegid());
    if (!own) GTEST_SKIP() << "the own group has no name";
    const std::string name = own->gr_name;
    na::TransportOptions options;
    options.listen = true;
    asked = 0;
    const auto transport = plugin_info.open(na::Uri::parse("shm://grouped?group=" + name).value(), options).value();
    EXPECT_EQ(asked, 1u);
    na::Transport* const raw = transport.get();
    support::RecordingReceiver receiver;
    const auto context = na::Context::open({&raw, 1}, {}, receiver).value();
    pump_.add(*context);

    EXPECT_EQ(send_to(transport->endpoints().front()), Errc::ok);
    EXPECT_TRUE(until([&] { return receiver.count_tag(1) == 1; }));
    EXPECT_EQ(send_to("shm://nobody?group=" + name), Errc::refused);
    for (const char* unknown : {"shm://server?group=no-such-group", "shm://server?place=0&group=no-such-group"}) {
        EXPECT_NE(send_to(unknown), Errc::ok);
    }
    EXPECT_EQ(asked, 1u) << "the owner of a context waits for the system";
    pump_.remove(*context);
}

}  // namespace
}  // namespace cinnabar::shm
