// SPDX-License-Identifier: BSD-3-Clause
// Memory that its owner lends to a peer and to third parties that it names: they get in, and nobody else who has the
// descriptor does.
#include "forward_parties.hpp"
#include "support/folder.hpp"
#include "support/missing_here.hpp"
#include "support/test_key.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;

constexpr Rpc<int()> hello{"hello"};

TEST(GuestsTest, NamesAreChecked) {
    EXPECT_EQ(Guests::of({}).code(), Errc::invalid_argument);
    const auto unknown = Guests::of({"storage"});
    EXPECT_EQ(unknown.code(), Errc::invalid_argument);
    EXPECT_EQ(unknown.error().subject, "storage");
    const Addr dialled = Addr::parse("tcp://127.0.0.1:1").value();
    const auto by_name = Guests::of({}, {dialled});
    EXPECT_EQ(by_name.code(), Errc::invalid_argument);
    EXPECT_NE(by_name.error().message().find("certificate"), std::string::npos) << by_name.error().message();
    EXPECT_EQ(Guests::of(std::vector<std::string>(Guests::names_max + 1, "key:ann")).code(), Errc::too_large);
    EXPECT_TRUE(Guests::of(std::vector<std::string>(Guests::names_max, "key:ann")).ok());
}

TEST(GuestsTest, AreKnownByWhatTheirConnectionHasProven) {
    const auto guests = Guests::of({"key:storage-*", "uid:5"}).value();
    const auto proven = [](const char* name) {
        return Addr::of_connection("tcps", 0, 0, 7, false, {}, {},
                                   na::ProvenIdentity{na::ProvenIdentity::By::key, name});
    };
    EXPECT_TRUE(guests->include(proven("storage-1")));
    EXPECT_FALSE(guests->include(proven("ann")));
    EXPECT_TRUE(guests->include(Addr::of_connection("shm", 0, 0, 7, false, {}, na::HostProcess{1, 5, 5})));
    EXPECT_FALSE(guests->include(Addr::of_connection("shm", 0, 0, 7, false, {}, na::HostProcess{1, 6, 5})));
    EXPECT_FALSE(guests->include(Addr::of_connection("tcp", 0, 0, 7, false)));
    const Addr known = Addr::of_connection("tcp", 0, 0, 7, false);
    const auto one = Guests::of({}, {known}).value();
    EXPECT_TRUE(one->include(known));
    EXPECT_FALSE(one->include(Addr::of_connection("tcp", 0, 0, 7, false))) << "another connection";
}

// B gives the descriptor to C and D, who take it to its owner while B may still use it.
void only_the_named_peer_gets_in(const std::string& listens, const std::string& opens) {
    std::vector<Addr> seen;  // the connections of C and D, as A sees them
    Node a = Node::listen(listens).value();
    ASSERT_TRUE(a.serve(hello, [&seen](const Request<>& request) {
                     seen.push_back(request.source());
                     return 1;
                 }).ok());
    Node c = Node::open(opens).value();
    Node d = Node::open(opens).value();
    const Addr owner_for_c = c.lookup(a.address()).value();
    const Addr owner_for_d = d.lookup(a.address()).value();
    ASSERT_TRUE(c.call(hello, owner_for_c).wait().ok());
    ASSERT_TRUE(d.call(hello, owner_for_d).wait().ok());
    ASSERT_EQ(seen.size(), 2u);
    Errc by_c = Errc::closed;
    Errc by_d = Errc::closed;
    Node b = Node::listen(listens).value();
    const auto leak = [&](Request<Piece> request) -> Task<Result<std::uint64_t>> {
        std::vector<std::byte> loot(mib);
        const auto into_c = c.expose(std::span<std::byte>(loot)).value();
        by_c = (co_await c.pull(request->data.remote(), owner_for_c, into_c)).code();
        const auto into_d = d.expose(std::span<std::byte>(loot)).value();
        by_d = (co_await d.pull(request->data.remote(), owner_for_d, into_d)).code();
        std::vector<std::byte> kept(request->data.size());
        co_return co_await request->data.pull(Bytes(kept));
    };
    ASSERT_TRUE(b.serve(put, leak).ok());
    const auto bytes = pattern(mib);
    const auto region = a.expose(std::span<const std::byte>(bytes)).value();
    const Addr to = a.lookup(b.address()).value();
    for (const std::size_t named : {0u, 1u}) {
        const Bulk data = Bulk(region).forwardable_to(Guests::of({}, {seen[named]}).value());
        EXPECT_EQ(a.call(put, to, {"x", data}, 60s).wait().value_or(0), mib) << "the called peer";
        EXPECT_EQ(by_c, named == 0 ? Errc::ok : Errc::permission);
        EXPECT_EQ(by_d, named == 1 ? Errc::ok : Errc::permission);
    }
}

TEST(ForwardNamed, over_tcp_a_descriptor_is_good_for_the_connection_that_its_owner_names) {
    only_the_named_peer_gets_in("tcp://127.0.0.1:0", "tcp://");
}

TEST(ForwardNamed, over_shm_a_descriptor_is_good_for_the_connection_that_its_owner_names) {
    only_the_named_peer_gets_in("shm://?copy=buffers", "shm://?copy=buffers");
}

// A names C by its key; B passes the memory on to C, and another gateway passes it on to D.
TEST(ForwardNamed, over_tcps_memory_is_for_the_key_that_its_owner_names) {
    const support::Folder folder;
    const auto keys = [&](const std::string& own) {  // a dial uses the first one
        std::string lines = own + ":" + std::string(64, own.front());
        for (const char* const name : {"a", "b", "c", "d"}) {
            if (name != own) lines += "\n" + std::string(name) + ":" + std::string(64, *name);
        }
        return "tcps://127.0.0.1:0?key=" + support::put_key(folder, own, lines);
    };
    const std::string of_a = keys("a");
    const std::string missing = support::missing_here(Node::listen(of_a));
    if (!missing.empty()) GTEST_SKIP() << missing;
    Store c({keys("c")});
    Store d({keys("d")});
    const std::string of_b = keys("b");
    Gateway to_c({of_b}, c.node.address());
    Gateway to_d({of_b}, d.node.address());
    Node a = Node::listen(of_a).value();
    const auto bytes = pattern(2 * mib);
    const auto region = a.expose(std::span<const std::byte>(bytes)).value();
    const Bulk for_c = Bulk(region).forwardable_to(Guests::of({"key:c"}).value());
    const auto stored = a.call(put, a.lookup(to_c.node.address()).value(), {"x", for_c}, 60s).wait();
    ASSERT_TRUE(stored.ok()) << stored.error().message();
    EXPECT_EQ(*stored, bytes.size());
    EXPECT_EQ(c.kept, bytes);
    const auto refused = a.call(put, a.lookup(to_d.node.address()).value(), {"x", for_c}, 60s).wait();
    EXPECT_EQ(refused.code(), Errc::permission);
    EXPECT_NE(d.said.find("forwardable_to"), std::string::npos) << d.said;
    EXPECT_EQ(d.kept, std::vector<std::byte>(bytes.size())) << "nothing was read";
}

}  // namespace
}  // namespace cinnabar
