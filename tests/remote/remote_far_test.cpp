// SPDX-License-Identifier: BSD-3-Clause
// Files and other far memory that a node shares, and plans whose local memory is far.
#include "far/far_fixture.hpp"
#include "remote_contracts.hpp"
#include "remote_fixture.hpp"

#include <cinnabar/hl/remote_blocks.hpp>
#include <cinnabar/hl/remote_writes.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace cinnabar {
namespace {

using namespace test;
using bulk::Blocks;
using hl::RemoteRead;
using hl::TransferPlan;

Words words_of(const std::vector<std::byte>& bytes) {
    Words words(bytes.size() / sizeof(std::uint64_t));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint64_t));
    return words;
}

Region region_of_words(Words& words) {
    return Region::expose(std::as_writable_bytes(std::span(words)), Access::read_write).value();
}

class RemoteFar : public RemoteWords {
  protected:
    static constexpr std::uint64_t all_bytes = count * sizeof(std::uint64_t);

    [[nodiscard]] RemoteSpan<std::uint64_t> of_file(Names names) { return in_file_.span(names).at(pair_.to); }
    [[nodiscard]] Words in_file() const { return words_of(file_.bytes()); }

    const PatternFile file_{all_bytes};
    Shared<std::uint64_t> in_file_ = share<std::uint64_t>(owner(), file_.region(0, all_bytes)).value();
};

TEST_P(RemoteFar, a_file_is_read_all_or_in_part) {
    const Words content = in_file();
    for (const Names names : {Names::this_version, Names::any_version}) {
        const auto token = of_file(names);
        EXPECT_TRUE(token.token().is_far());
        EXPECT_EQ(token.token().access(), Access::read_write);
        Words all(count), few(5);
        EXPECT_EQ(token.read(user(), all).wait().value(), all_bytes);
        EXPECT_EQ(all, content);
        EXPECT_EQ(token.subspan(70, 5).read(user(), few).wait().value(), 40u);
        EXPECT_TRUE(std::equal(few.begin(), few.end(), content.begin() + 70));
    }
}

TEST_P(RemoteFar, a_file_is_written_all_or_in_part) {
    const auto token = of_file(Names::any_version);
    ASSERT_TRUE(token.write(user(), counted(count, 3)).wait().ok());
    EXPECT_EQ(in_file(), counted(count, 3));
    ASSERT_TRUE(token.subspan(2, 3).write(user(), Words{7, 8, 9}).wait().ok());
    Words expected = counted(count, 3);
    std::ranges::copy(Words{7, 8, 9}, expected.begin() + 2);
    EXPECT_EQ(in_file(), expected);
    // Few bytes are lent, too, until they are sent.
    hl::RemoteWrites writes(user());
    const Words three{4, 5, 6};
    ASSERT_TRUE(writes.write(token.subspan(8, 3), three).ok());
    writes.fence();
    ASSERT_TRUE(writes.write(token.subspan(9, 1), std::span(three).first(1)).ok());
    ASSERT_TRUE(writes.flush(hl::WriteLevel::sent).wait().ok());
    ASSERT_TRUE(writes.flush().wait().ok());
    std::ranges::copy(Words{4, 4, 6}, expected.begin() + 8);
    EXPECT_EQ(in_file(), expected);
}

TEST_P(RemoteFar, its_blocks_and_pieces_are_moved) {
    const auto token = of_file(Names::any_version);
    const Words content = in_file();
    const Blocks blocks = Blocks::strided(80, 80, 160, 5000).value();
    Words picked(50'000), few(3);
    EXPECT_EQ(hl::read_blocks(user(), token.token(), blocks, region_of_words(picked)).wait().value(), 400'000u);
    for (std::size_t i = 0; i < picked.size(); ++i) ASSERT_EQ(picked[i], content[10 + i / 10 * 20 + i % 10]) << i;
    picked.assign(picked.size(), 4);
    EXPECT_EQ(hl::write_blocks(user(), token.token(), blocks, region_of_words(picked)).wait().value(), 400'000u);
    const Words now = in_file();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(now[i], i % 20 >= 10 ? 4 : content[i]) << i;
    // Of a file and of host memory, in one call.
    const RemoteSpan<std::uint64_t> host = shared_.span(Names::any_version).at(pair_.to);
    const auto part = [&few](std::size_t i) { return std::as_writable_bytes(std::span(few).subspan(i, 1)); };
    const std::array parts{RemoteRead{token[5].token(), part(0)}, RemoteRead{host[99].token(), part(1)},
                           RemoteRead{token[10].token(), part(2)}};
    EXPECT_EQ(hl::read_many(user(), parts).wait().value(), 24u);
    EXPECT_EQ(few, (Words{content[5], 99, 4}));
}

TEST_P(RemoteFar, files_on_both_sides) {
    const PatternFile mine(all_bytes, 2);
    const auto token = of_file(Names::any_version);
    EXPECT_EQ(token.write(user(), mine.region(0, all_bytes)).wait().value(), all_bytes);
    EXPECT_EQ(file_.bytes(), mine.bytes());
    const PatternFile back(0);
    EXPECT_EQ(token.subspan(10, 60'000).read(user(), back.region(0, 480'000)).wait().value(), 480'000u);
    const Words content = in_file(), got = words_of(back.bytes());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), content.begin() + 10));
    EXPECT_EQ(got.size(), 60'000u);
}

TEST_P(RemoteFar, what_it_does_not_have_is_refused) {
    const auto token = of_file(Names::any_version);
    const Words content = in_file();
    EXPECT_EQ(token[3].read(user()).wait().code(), Errc::unsupported);
    EXPECT_EQ(token[3].write(user(), 1).wait().code(), Errc::unsupported);
    EXPECT_EQ(token[3].fetch_add(user(), 1).wait().code(), Errc::unsupported);
    const auto versioned = of_file(Names::this_version);
    EXPECT_EQ(versioned.write(user(), counted(count)).wait().code(), Errc::unsupported);
    const Blocks blocks = Blocks::strided(0, 8, 16, 10).value();
    Words ten(10);
    const auto refused = hl::write_blocks(user(), versioned.token(), blocks, region_of_words(ten)).wait();
    EXPECT_EQ(refused.code(), Errc::unsupported);
    EXPECT_NE(refused.error().message().find("any_version"), std::string::npos);
    hl::RemoteWrites writes(user());
    EXPECT_EQ(writes.write(token[3], 1).code(), Errc::unsupported);
    EXPECT_EQ(in_file(), content);
}

TEST_P(RemoteFar, it_becomes_stale_and_is_withdrawn) {
    const auto old = of_file(Names::this_version);
    Words words(count);
    in_file_.renew();
    EXPECT_EQ(old.read(user(), words).wait().code(), Errc::stale);
    const auto fresh = of_file(Names::this_version);
    EXPECT_TRUE(fresh.read(user(), words).wait().ok());
    EXPECT_EQ(in_file_.withdraw(), Errc::ok);
    EXPECT_EQ(fresh.read(user(), words).wait().code(), Errc::stale);
}

// A handler keeps what its caller shares in a file: the plan refers to the token that came with the request.
TEST_P(RemoteFar, a_plan_moves_between_a_token_that_was_received_and_a_file) {
    struct Keep {
        RemoteSpan<std::uint64_t> from;
        std::vector<std::uint32_t> there;
        std::vector<std::uint32_t> here;
    };
    constexpr Rpc<std::uint64_t(Keep)> keep{"keep"};
    const PatternFile kept(all_bytes);
    const auto handler = [&kept](Request<Keep> request) -> Task<Result<std::uint64_t>> {
        const Region local = kept.region(0, all_bytes);
        CINNABAR_CO_TRY(const TransferPlan plan, TransferPlan::make(request.node(), request->from.token(), local, 400));
        CINNABAR_CO_TRY(const std::uint64_t read, co_await plan.read(request->there, request->here));
        CINNABAR_CO_TRY(const std::uint64_t written, co_await plan.write(request->here, request->there));
        co_return read + written;
    };
    ASSERT_TRUE(owner().serve(keep, handler).ok());
    const Words before = words_of(kept.bytes());
    Words mine = counted(count);
    auto shared = share(user(), std::span(mine)).value();
    const Keep in{shared.span(Names::any_version), {7, 1999, 3, 4}, {0, 11, 12, 1500}};
    EXPECT_EQ(user().call(keep, pair_.to, in).wait().value(), 3200u);
    // Blocks 7, 1999, 3 and 4 of the memory went to blocks 0, 11, 12 and 1500 of the file; then the file's blocks 7,
    // 1999, 3 and 4 went to blocks 0, 11, 12 and 1500 of the memory.
    const Words file = words_of(kept.bytes());
    for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t k = 0; k < 50; ++k) {
            ASSERT_EQ(file[in.here[i] * 50 + k], in.there[i] * 50 + k);
            ASSERT_EQ(mine[in.here[i] * 50 + k], before[in.there[i] * 50 + k]);
        }
    }
}

CINNABAR_ON_EACH_REMOTE_WAY(RemoteFar);

// The bytes of a request decide nothing: a token without the mark of far memory has no valid seal.
TEST(RemoteFarTcp, the_owner_reads_no_far_memory_where_the_request_is_read) {
    Pair pair(way_named("tcp"));
    const auto far = std::make_shared<MadeUpFar>(8000);
    auto shared = share<std::uint64_t>(pair.owner, Region::of_far(far, Access::read_write).value()).value();
    hl::RemoteGrant grant = shared.token(Names::any_version).grant();
    const auto looked = [&] {
        return pair.user.call(hl::remote_calls::look, pair.to, hl::remote_calls::Look{grant, 0, 8}).wait().code();
    };
    EXPECT_EQ(looked(), Errc::unsupported);
    grant.access = Access::read_write;
    EXPECT_EQ(looked(), Errc::permission);
}

}  // namespace
}  // namespace cinnabar
