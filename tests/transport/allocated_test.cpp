// SPDX-License-Identifier: BSD-3-Clause
// Memory that a transport allocates is transferred like any other memory. If peers can map it, they read it in place.
#include "contract.hpp"

#include <array>
#include <cstring>
#include <span>

namespace cinnabar::contract {

class AllocatedContract : public ContractTest {
  protected:
    static constexpr std::size_t memory_bytes = 3 * 4096;
    // Filled with pattern `seed`; null if the transport does not allocate.
    Bytes allocate(Node& node, std::uint64_t seed) {
        void* memory = node.transport->allocate_memory(memory_bytes);
        if (!memory) return {};
        const Bytes bytes(static_cast<std::byte*>(memory), memory_bytes);
        for (const std::byte byte : bytes) EXPECT_EQ(byte, std::byte{0});
        support::fill_pattern(bytes, seed);
        return bytes;
    }
    void free(Node& node, Lent& lent, Bytes bytes) {
        if (lent.lease.granted()) revoke(lent);
        lent.memory.reset();
        node.transport->free_memory(bytes.data(), bytes.size());
    }
    static na::Segment segment_of(Bytes bytes) { return {bytes.data(), bytes.size()}; }
    Result<std::unique_ptr<na::View>> view(Node& node, na::Peer& peer, const Lent& lent, std::uint64_t offset,
                                           std::uint64_t bytes) {
        return node.context->view(peer, lent.remote(), offset, bytes);
    }
    Errc why_not(Node& node, na::Peer& peer, const Lent& lent, std::uint64_t offset, std::uint64_t bytes) {
        auto made = view(node, peer, lent, offset, bytes);
        return made ? Errc::ok : made.error().code;
    }
};
CINNABAR_CONTRACT(AllocatedContract);

TEST_P(AllocatedContract, PutAndGetReachEveryByte) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    const Bytes there = allocate(b, 2);
    CINNABAR_NEEDS("memory of its own", !there.empty());
    Lent& remote = lend_part(b, {segment_of(there)}, na::Access::read_write, 100, memory_bytes - 200);
    GuardedBuffer here(memory_bytes, 1);
    auto local = register_memory(a, {here.segment()});
    TestOp& get = make_rma(na::OpKind::get, peer, *local, remote, 5000, 10, 1000);
    post(a, get);
    ASSERT_TRUE(run_until_done(get));
    ASSERT_EQ(get.result, Errc::ok) << to_string(get.result);
    EXPECT_TRUE(support::holds_pattern(here.bytes().subspan(10, 5000), 2, 1100));
    EXPECT_TRUE(support::holds_pattern(here.bytes().first(10), 1));
    EXPECT_TRUE(support::holds_pattern(here.bytes().subspan(5010), 1, 5010));
    TestOp& put = make_rma(na::OpKind::put, peer, *local, remote, 50, 0, memory_bytes - 250);
    post(a, put);
    ASSERT_TRUE(run_until_done(put));
    ASSERT_EQ(put.result, Errc::ok) << to_string(put.result);
    EXPECT_TRUE(support::holds_pattern(there.first(memory_bytes - 150), 2));
    EXPECT_EQ(std::memcmp(there.data() + memory_bytes - 150, here.bytes().data(), 50), 0);
    EXPECT_TRUE(support::holds_pattern(there.last(100), 2, memory_bytes - 100));
    TestOp& beyond = make_rma(na::OpKind::get, peer, *local, remote, 1, 0, memory_bytes - 201);
    post(a, beyond);
    ASSERT_TRUE(run_until_done(beyond));
    EXPECT_EQ(beyond.result, Errc::ok);
    EXPECT_EQ(post_now(a, make_rma(na::OpKind::get, peer, *local, remote, 2, 0, memory_bytes - 201)),
              Errc::invalid_argument);
    free(b, remote, there);
}

// When memory is freed, its descriptor is closed, and other memory may get the same number.
TEST_P(AllocatedContract, ReusedMemoryIsNotMistakenForTheOldOne) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(memory_bytes, 1);
    auto local = register_memory(a, {here.segment()});
    for (std::uint64_t seed = 10; seed < 20; ++seed) {
        const Bytes there = allocate(b, seed);
        CINNABAR_NEEDS("memory of its own", !there.empty());
        Lent& remote = lend(b, {segment_of(there)});
        TestOp& get = make_rma(na::OpKind::get, peer, *local, remote, memory_bytes);
        post(a, get);
        ASSERT_TRUE(run_until_done(get));
        ASSERT_EQ(get.result, Errc::ok) << to_string(get.result);
        EXPECT_TRUE(here.holds(seed));
        free(b, remote, there);
    }
}

TEST_P(AllocatedContract, MorePiecesThanAPeerKeepsMapped) {
    constexpr std::size_t pieces = 100;
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(memory_bytes, 1);
    auto local = register_memory(a, {here.segment()});
    std::vector<std::pair<Bytes, Lent*>> all;
    for (std::uint64_t i = 0; i < pieces; ++i) {
        const Bytes there = allocate(b, i);
        CINNABAR_NEEDS("memory of its own", !there.empty());
        all.emplace_back(there, &lend(b, {segment_of(there)}));
    }
    for (std::uint64_t round = 0; round < 2 * pieces; ++round) {
        TestOp& get = make_rma(na::OpKind::get, peer, *local, *all[round % pieces].second, memory_bytes);
        post(a, get);
        ASSERT_TRUE(run_until_done(get));
        ASSERT_EQ(get.result, Errc::ok) << to_string(get.result);
        ASSERT_TRUE(here.holds(round % pieces));
    }
    for (auto& [there, lent] : all) free(b, *lent, there);
}

TEST_P(AllocatedContract, AViewIsValidUntilTheLeaseIsRevoked) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("views", caps().views);
    na::Peer* peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, peer, back);
    const Bytes there = allocate(b, 2);
    Lent& remote = lend_part(b, {segment_of(there)}, na::Access::read, 4000, 5000);
    auto seen = view(a, *peer, remote, 100, 4900);
    ASSERT_TRUE(seen) << to_string(seen.error().code);
    const ConstBytes bytes = (*seen)->bytes();
    ASSERT_EQ(bytes.size(), 4900u);
    EXPECT_TRUE(support::holds_pattern(bytes, 2, 4100));
    there[4100] = std::byte{77};
    EXPECT_EQ(bytes[0], std::byte{77}) << "it is no copy";
    EXPECT_TRUE((*seen)->valid());
    revoke(remote);
    EXPECT_FALSE((*seen)->valid());
    EXPECT_EQ(bytes[1], there[4101]) << "it can be read all the same";
    EXPECT_EQ(why_not(a, *peer, remote, 100, 4900), Errc::permission);
    free(b, remote, there);
    EXPECT_EQ(bytes[1], std::byte{0}) << "nothing of what was freed is held";
    close(a);
    EXPECT_EQ(bytes[0], std::byte{0}) << "nor does it need its session";
    EXPECT_FALSE((*seen)->valid());
}

TEST_P(AllocatedContract, AViewIsRefusedWithAReason) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer plain(64, 3);
    Lent& other = lend(b, {plain.segment()});
    if (!caps().views) {
        EXPECT_EQ(why_not(a, peer, other, 0, 64), Errc::unsupported);
        return;
    }
    EXPECT_EQ(why_not(a, peer, other, 0, 64), Errc::peer_lost);
    na::Peer* there_peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there_peer, back);
    EXPECT_EQ(why_not(a, peer, other, 0, 64), Errc::unsupported) << "nobody can map it";
    EXPECT_EQ(why_not(a, peer, other, 1, 64), Errc::too_large);
    const Bytes there = allocate(b, 2);
    Lent& written = lend(b, {segment_of(there)}, na::Access::write);
    EXPECT_EQ(why_not(a, peer, written, 0, 64), Errc::permission);
    Lent forged;
    forged.key = other.key;
    forged.key[8] ^= std::byte{1};
    forged.lease.bytes = 64;
    EXPECT_EQ(why_not(a, peer, forged, 0, 64), Errc::permission);
    forged.key.resize(7);
    EXPECT_EQ(why_not(a, peer, forged, 0, 64), Errc::permission);
    free(b, written, there);
}

TEST_P(AllocatedContract, DirectAccessIsOfTheMemoryItself) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("views", caps().views);
    na::Peer* peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, peer, back);
    const Bytes there = allocate(b, 2);
    Lent& remote = lend_part(b, {segment_of(there)}, na::Access::read_write, 4000, 5000);
    ASSERT_TRUE(b.transport->keep_to_direct(remote.lease));
    auto made = a.context->direct(*peer, remote.remote(), 96, 4800, na::Access::read_write);
    ASSERT_TRUE(made) << to_string(made.error().code);
    na::DirectMemory& direct = **made;
    EXPECT_EQ(direct.bytes(), 4800u);

    std::array<std::byte, 100> some{};
    ASSERT_EQ(direct.read(10, some), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(some, 2, 4106));
    some.fill(std::byte{7});
    ASSERT_EQ(direct.write(201, some), Errc::ok);
    EXPECT_EQ(std::memcmp(there.data() + 4096 + 201, some.data(), some.size()), 0);
    EXPECT_TRUE(support::holds_pattern(there.subspan(4096, 201), 2, 4096));
    EXPECT_TRUE(support::holds_pattern(there.subspan(4096 + 301, 50), 2, 4096 + 301));

    const std::uint64_t value = 40;
    ASSERT_EQ(direct.write(8, std::as_bytes(std::span(&value, 1))), Errc::ok);
    na::DirectWord add{.op = na::DirectOp::fetch_add, .value = 2};
    ASSERT_EQ(direct.word(8, add), Errc::ok);
    EXPECT_EQ(add.before, 40u);
    na::DirectWord wrong{.op = na::DirectOp::compare_swap, .value = 5, .expected = 41};
    ASSERT_EQ(direct.word(8, wrong), Errc::ok);
    EXPECT_EQ(wrong.before, 42u);
    na::DirectWord half{.op = na::DirectOp::exchange, .bytes = 4, .value = 9};
    ASSERT_EQ(direct.word(8, half), Errc::ok);
    EXPECT_EQ(half.before, 42u);
    std::uint64_t now = 0;
    std::memcpy(&now, there.data() + 4096 + 8, sizeof(now));
    EXPECT_EQ(now, 9u);

    EXPECT_EQ(direct.word(4, add), Errc::invalid_argument) << "not aligned";
    EXPECT_EQ(direct.word(4796, add), Errc::too_large);
    EXPECT_EQ(direct.read(4701, some), Errc::too_large);
    EXPECT_EQ(direct.write(~std::uint64_t{0}, some), Errc::too_large);
    free(b, remote, there);
}

TEST_P(AllocatedContract, DirectAccessEndsWithTheLease) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("views", caps().views);
    na::Peer* peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, peer, back);
    const Bytes there = allocate(b, 2);
    Lent& remote = lend_part(b, {segment_of(there)}, na::Access::read_write, 0, 4096);
    ASSERT_TRUE(b.transport->keep_to_direct(remote.lease));
    auto made = a.context->direct(*peer, remote.remote(), 0, 4096, na::Access::read_write);
    ASSERT_TRUE(made) << to_string(made.error().code);
    auto reader = a.context->direct(*peer, remote.remote(), 0, 4096, na::Access::read);
    ASSERT_TRUE(reader) << to_string(reader.error().code);
    std::array<std::byte, 8> some{};
    EXPECT_EQ((*reader)->read(0, some), Errc::ok);
    EXPECT_EQ((*reader)->write(0, some), Errc::permission);
    revoke(remote);
    EXPECT_EQ((*made)->read(0, some), Errc::stale);
    some.fill(std::byte{0xee});
    EXPECT_EQ((*made)->write(0, some), Errc::stale);
    na::DirectWord add;
    EXPECT_EQ((*made)->word(0, add), Errc::stale);
    EXPECT_TRUE(support::holds_pattern(there, 2)) << "nothing lands after the revocation";
    free(b, remote, there);
}

TEST_P(AllocatedContract, DirectAccessEndsWithTheSession) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("views", caps().views);
    na::Peer* peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, peer, back);
    const Bytes there = allocate(b, 2);
    Lent& remote = lend_part(b, {segment_of(there)}, na::Access::read_write, 0, 4096);
    auto made = a.context->direct(*peer, remote.remote(), 0, 4096, na::Access::read_write);
    ASSERT_TRUE(made) << to_string(made.error().code);
    close(a);
    std::array<std::byte, 8> some{};
    EXPECT_EQ((*made)->write(0, some), Errc::peer_lost);
    EXPECT_TRUE(support::holds_pattern(there, 2));
    free(b, remote, there);
}

TEST_P(AllocatedContract, DirectAccessIsRefusedWithAReason) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* peer = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, peer, back);
    GuardedBuffer plain(64, 3);
    Lent& other = lend(b, {plain.segment()});
    EXPECT_FALSE(b.transport->keep_to_direct(other.lease)) << "nobody can map it";
    EXPECT_EQ(a.context->direct(*peer, other.remote(), 0, 64, na::Access::read).code(), Errc::unsupported);
    if (!caps().views) return;
    const Bytes there = allocate(b, 2);
    Lent& read = lend(b, {segment_of(there)}, na::Access::read);
    EXPECT_EQ(a.context->direct(*peer, read.remote(), 0, 64, na::Access::write).code(), Errc::permission);
    EXPECT_EQ(a.context->direct(*peer, read.remote(), 1, memory_bytes, na::Access::read).code(), Errc::too_large);
    free(b, read, there);
}

}  // namespace cinnabar::contract
