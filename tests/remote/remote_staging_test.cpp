// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes through the owner's buffers, of which each peer has a share.
#include "far/far_fixture.hpp"
#include "remote_fixture.hpp"
#include "support/log_watch.hpp"

#include <cinnabar/hl/remote_blocks.hpp>

#include <array>
#include <numeric>

namespace cinnabar {
namespace {

using namespace test;

class RemoteStaging : public testing::Test {
  protected:
    static NodeOptions with_buffers(std::uint64_t bytes) {
        NodeOptions options;
        options.buffer_bytes_max = bytes;
        return options;
    }
    // The result of a write of 800,000 bytes.
    Errc written(std::uint64_t buffer_bytes, Names names) {
        const Node owner = Node::listen("tcp://127.0.0.1:0", with_buffers(buffer_bytes)).value();
        const Node user = Node::open("tcp://").value();
        const auto shared = share(owner, std::span(memory_)).value();
        return shared.span(names).write(user, from_).wait().code();
    }
    Words memory_ = Words(100'000);
    Words from_ = counted(100'000, 1);
};

TEST_F(RemoteStaging, with_few_buffers_it_takes_smaller_steps) {
    EXPECT_EQ(written(256 << 10, Names::this_version), Errc::ok);
    EXPECT_EQ(memory_, from_);
}

TEST_F(RemoteStaging, without_a_share_of_the_buffers_it_is_overloaded) {
    EXPECT_EQ(written(64 << 10, Names::this_version), Errc::overloaded);
    EXPECT_EQ(memory_, Words(100'000));
    EXPECT_EQ(written(64 << 10, Names::any_version), Errc::ok);
    EXPECT_EQ(memory_, from_);
}

// A file is moved by its owner, to whom memory would have to be lent.
class RemoteOfFiles : public RemoteWords {
  protected:
    RemoteOfFiles() : RemoteWords(way_named("tcp")) {}
    [[nodiscard]] Words words_in(const PatternFile& file) const {
        const auto bytes = file.bytes();
        Words words(bytes.size() / 8);
        std::memcpy(words.data(), bytes.data(), words.size() * 8);
        return words;
    }
    // Blocks 0, 2, 4 and so on, of 10 words each.
    const bulk::Blocks blocks_ = bulk::Blocks::strided(0, 80, 160, count / 20).value();
};

TEST_F(RemoteOfFiles, all_or_blocks_are_read_into_a_file) {
    const PatternFile all(0), some(0);
    EXPECT_EQ(token().read(user(), all.region(0, 8 * count)).wait().code(), Errc::ok);
    EXPECT_EQ(words_in(all), memory_);
    const auto read = hl::read_blocks(user(), token().token(), blocks_, some.region(0, 4 * count)).wait();
    ASSERT_EQ(read.code(), Errc::ok);
    const Words words = words_in(some);
    ASSERT_EQ(words.size(), count / 2);
    for (std::size_t i = 0; i < words.size(); ++i) ASSERT_EQ(words[i], i / 10 * 20 + i % 10);
}

TEST_F(RemoteOfFiles, all_or_blocks_are_written_from_a_file_with_and_without_a_version) {
    const PatternFile file(8 * count);
    const Words written = words_in(file);
    for (const Names names : {Names::this_version, Names::any_version}) {
        const RemoteSpan<std::uint64_t> to = shared_.span(names).at(pair_.to);
        std::iota(memory_.begin(), memory_.end(), 0u);
        EXPECT_EQ(hl::write_blocks(user(), to.token(), blocks_, file.region(0, 4 * count)).wait().code(), Errc::ok);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(memory_[i], i % 20 < 10 ? written[i / 20 * 10 + i % 20] : i);
        EXPECT_EQ(to.write(user(), file.region(0, 8 * count)).wait().code(), Errc::ok);
        EXPECT_EQ(memory_, written);
    }
}

// Over a network that cannot take memory away from a peer: each fence fails.
TEST(RemoteOfDevices, shared_memory_is_not_lent_to_the_owner_of_a_device) {
    constexpr std::size_t bytes = 200'000;
    support::LogWatch log;
    log.allow("stays in quarantine");
    const auto world = sim::World::numbered(6900, {.profile = sim::Profile::rdma_strict, .fence_failed_one_in = 1});
    const Node owner = Node::listen("sim://owner?world=6900").value();
    const Node user = Node::open("sim://user?world=6900").value();
    const Addr to = user.lookup(owner.address()).value();
    const Region device = Region::of_far(std::make_shared<MadeUpFar>(bytes), Access::read_write).value();
    const bulk::Blocks blocks = bulk::Blocks::strided(0, 100, 200, bytes / 200).value();
    for (const Names names : {Names::this_version, Names::any_version}) {
        const Region region = owner.allocate(bytes).value();
        hl::SharedBytes shared = hl::share_bytes(owner, region, Access::read_write).value();
        const RemoteSpan<std::byte> all(shared.token(names).at(to));
        // Whether they succeed does not matter here.
        (void)all.read(user, device).wait();
        (void)all.write(user, device).wait();
        (void)hl::read_blocks(user, all.token(), blocks, device.slice(0, bytes / 2)).wait();
        (void)hl::write_blocks(user, all.token(), blocks, device.slice(0, bytes / 2)).wait();
        EXPECT_FALSE(region.quarantined());
        EXPECT_EQ(shared.withdraw(), Errc::ok);
    }
}

}  // namespace
}  // namespace cinnabar
