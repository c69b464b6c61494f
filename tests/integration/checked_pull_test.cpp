// SPDX-License-Identifier: BSD-3-Clause
// Pulls that compare each chunk with the checksums of the owner.
#include "far/far_fixture.hpp"
#include "ways.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/chunk_sums.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;

struct Summed {
    Bulk data;
    ChunkSums sums;
};
constexpr Rpc<std::uint64_t(Summed)> keep{"keep"};

class CheckedPull : public testing::TestWithParam<Way> {
  protected:
    static constexpr std::size_t bytes = (std::size_t{5} << 20) + 1000;
    static constexpr std::uint64_t chunk = std::uint64_t{1} << 20;

    CheckedPull() {
        for (std::size_t i = 0; i < bytes; ++i) there_[i] = static_cast<std::byte>(i * 31 >> 3);
        EXPECT_TRUE(server_.serve(keep, [this](Request<Summed> request) { return pull(std::move(request)); }).ok());
    }
    Task<Result<std::uint64_t>> pull(Request<Summed> request) {
        const std::function<void(std::uint64_t)> progress = [this](std::uint64_t right) {
            told_.push_back(right);
            if (told_.size() < 5 || !repair_) return;
            flip();
            repair_ = false;
        };
        const Region memory = Region::expose(std::as_writable_bytes(std::span(here_)), Access::read_write).value();
        const Region into = file_ ? file_ : memory;
        auto ended = co_await pull_checked(request->data, into, request->sums,
                                           {.progress = &progress, .moved = &moved_}, again_max_);
        if (!ended) said_ = ended.error().message();
        co_return ended;
    }
    // Changes the lender's memory, which the network may have read before; ThreadSanitizer cannot see that order.
    [[gnu::noinline, gnu::no_sanitize("thread")]] void flip() noexcept {
        reinterpret_cast<unsigned char*>(there_.data())[damaged] ^= damage;
    }
    [[nodiscard]] Errc call(const ChunkSums& sums) {
        const auto region = client_.expose(std::span(there_)).value();
        return client_.call(keep, to_, Summed{region, sums}, 60s).wait().code();
    }
    [[nodiscard]] ChunkSums sums() { return ChunkSums::of(client_.expose(std::span(there_)).value()); }

    static constexpr std::size_t damaged = (std::size_t{2} << 20) + 77;
    static constexpr unsigned char damage = 0x10;
    std::vector<std::byte> there_ = std::vector<std::byte>(bytes);
    std::vector<std::byte> here_ = std::vector<std::byte>(bytes);
    std::vector<std::uint64_t> told_;
    bool repair_ = false;  // repairs the damage once all other chunks were correct
    std::uint32_t again_max_ = 16;
    std::uint64_t moved_ = 0;
    std::string said_;
    Region file_;  // if set, the pull writes to it
    Node server_ = Node::listen(GetParam().listen).value();
    Node client_ = Node::open(GetParam().open).value();
    Addr to_ = client_.lookup(server_.address()).value();
};

TEST_P(CheckedPull, undamaged_chunks_are_accepted) {
    EXPECT_EQ(call(sums()), Errc::ok);
    EXPECT_EQ(here_, there_);
    EXPECT_EQ(moved_, bytes);
    EXPECT_EQ(told_.size(), 6u);
}

TEST_P(CheckedPull, a_damaged_chunk_is_fetched_again) {
    const ChunkSums right = sums();
    flip();
    repair_ = true;
    again_max_ = 1'000'000;
    EXPECT_EQ(call(right), Errc::ok) << said_;
    EXPECT_FALSE(repair_);
    EXPECT_EQ(here_, there_);
    EXPECT_EQ(ChunkSums::of(client_.expose(std::span(here_)).value()).bytes(), bytes);
}

CINNABAR_ON_EACH_WAY(CheckedPull);

// Cases that do not depend on the network.
class CheckedPullTcp : public CheckedPull {};
INSTANTIATE_TEST_SUITE_P(Over, CheckedPullTcp, testing::Values(ways().front()),
                         [](const auto& each) { return each.param.name; });

TEST_P(CheckedPullTcp, a_chunk_that_stays_damaged_ends_the_pull_within_the_budget) {
    const ChunkSums right = sums();
    flip();
    again_max_ = 3;
    EXPECT_EQ(call(right), Errc::bad_checksum);
    EXPECT_LT(moved_, bytes);
    EXPECT_NE(said_.find("chunk 2 of 6"), std::string::npos) << said_;
    EXPECT_NE(said_.find(std::to_string(moved_) + " of " + std::to_string(bytes)), std::string::npos) << said_;
}

TEST_P(CheckedPullTcp, sums_of_other_memory_are_refused) {
    std::vector<std::byte> more(bytes + 1);
    EXPECT_EQ(call(ChunkSums::of(client_.expose(std::span(more)).value())), Errc::invalid_argument);
    here_.resize(bytes - 1);
    EXPECT_EQ(call(sums()), Errc::invalid_argument);
}

TEST_P(CheckedPullTcp, into_a_file_reads_it_again) {
    const PatternFile file(bytes);
    file_ = file.region(0, bytes);
    EXPECT_EQ(call(sums()), Errc::ok) << said_;
    EXPECT_EQ(file.bytes(), there_);
    file_ = file.region(0, bytes, Access::write);
    EXPECT_EQ(call(sums()), Errc::permission);
}

// Checksum lists that this library never sends.
TEST_P(CheckedPullTcp, sums_that_do_not_fit_together_are_malformed) {
    const auto plausible = [](std::uint64_t chunk_bytes, std::uint64_t size, std::size_t count) {
        std::vector<std::byte> wire(1000);
        rpc::Encoder encoder(wire);
        encoder(chunk_bytes, size, std::vector<std::uint32_t>(count));
        rpc::Decoder decoder(ConstBytes(wire).first(encoder.position()));
        ChunkSums decoded;
        decoded.proc(decoder);
        return decoder.error();
    };
    EXPECT_EQ(plausible(10, 20, 2), Errc::ok);
    EXPECT_EQ(plausible(10, 21, 3), Errc::ok);
    EXPECT_EQ(plausible(10, 21, 2), Errc::protocol);
    EXPECT_EQ(plausible(10, 20, 3), Errc::protocol);
    EXPECT_EQ(plausible(0, 20, 2), Errc::protocol);
    EXPECT_EQ(plausible(1, ~std::uint64_t{0}, 2), Errc::protocol);
}

}  // namespace
}  // namespace cinnabar
