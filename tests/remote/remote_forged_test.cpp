// SPDX-License-Identifier: BSD-3-Clause
// Peers that forge or change tokens, and call the owner without this library's checks.
#include "remote_contracts.hpp"
#include "remote_fixture.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>

#include <functional>

namespace cinnabar {
namespace {

using namespace test;
using hl::RemoteGrant;

class RemoteForged : public RemoteWords {
  protected:
    RemoteForged() : RemoteWords(way_named("tcp")) {}

    [[nodiscard]] RemoteBytes forged(const RemoteGrant& grant) const { return RemoteBytes(grant, pair_.to); }
    // Tries each operation with that grant, and expects all to return the same code and to read or write nothing.
    [[nodiscard]] Errc tried(const RemoteGrant& grant) {
        const RemoteSpan<std::uint64_t> token(forged(grant));
        Words few(2, untouched), many(1000, untouched);
        const Errc code = token.subspan(0, 2).read(user(), few).wait().code();
        EXPECT_EQ(token.subspan(0, 1000).read(user(), many).wait().code(), code);
        if (na::allows(grant.access, Access::write)) {
            EXPECT_EQ(token.subspan(0, 2).write(user(), few).wait().code(), code);
            EXPECT_EQ(token.subspan(0, 1000).write(user(), many).wait().code(), code);
            EXPECT_EQ(token[0].fetch_add(user(), 1).wait().code(), code);
        }
        EXPECT_EQ(few, Words(2, untouched));
        EXPECT_EQ(many, Words(1000, untouched));
        EXPECT_EQ(memory_, counted(count));
        return code;
    }
    [[nodiscard]] RemoteGrant grant(std::uint64_t first = 0, std::uint64_t words = count,
                                    Access access = Access::read_write) const {
        return shared_.token(first * 8, words * 8, access).grant();
    }

    static constexpr std::uint64_t untouched = 0x5555555555555555;
};

TEST_F(RemoteForged, each_field_is_sealed) {
    const RemoteGrant good = grant(1000, 5000);
    const auto changed = [&](const std::function<void(RemoteGrant&)>& change) {
        RemoteGrant made(good);
        change(made);
        return tried(made);
    };
    EXPECT_EQ(changed([](auto& grant) { grant.first = 0; }), Errc::permission);
    EXPECT_EQ(changed([](auto& grant) { grant.bytes += 8; }), Errc::permission);
    EXPECT_EQ(changed([](auto& grant) { grant.bytes = ~std::uint64_t{7}; }), Errc::permission);
    EXPECT_EQ(changed([](auto& grant) { ++grant.seal; }), Errc::permission);
    EXPECT_EQ(changed([](auto& grant) { ++grant.version; }), Errc::permission);
    EXPECT_EQ(changed([](auto& grant) { grant.version = 0; }), Errc::permission);
    EXPECT_EQ(changed([](auto& grant) { ++grant.lease; }), Errc::stale);
    EXPECT_EQ(changed([](auto& grant) { ++grant.slot; }), Errc::stale);
    EXPECT_EQ(changed([](auto& grant) { grant.slot = ~0u; }), Errc::stale);
    EXPECT_EQ(changed([](auto& grant) { ++grant.node; }), Errc::stale);
}

TEST_F(RemoteForged, access_is_sealed) {
    RemoteGrant made = grant(0, 5000, Access::read);
    Words few(2);
    EXPECT_TRUE(RemoteSpan<std::uint64_t>(forged(made)).subspan(0, 2).read(user(), few).wait().ok());
    EXPECT_EQ(RemoteSpan<std::uint64_t>(forged(made)).subspan(0, 2).write(user(), few).wait().code(), Errc::permission);
    made.access = Access::read_write;
    EXPECT_EQ(tried(made), Errc::permission);
}

TEST_F(RemoteForged, a_token_of_other_memory_opens_this_one_not) {
    Words others = counted(count, 7);
    auto shared = share(owner(), std::span(others)).value();
    RemoteGrant made = shared.token().grant();
    ASSERT_NE(made.slot, grant().slot);
    made.slot = grant().slot;
    made.lease = grant().lease;
    EXPECT_EQ(tried(made), Errc::permission);
}

TEST_F(RemoteForged, grants_made_up_at_random_open_nothing) {
    for_each_seed([this](std::uint64_t seed) {
        Random random(seed);
        RemoteGrant made = grant();
        const RemoteGrant good(made);
        if (random.chance(2)) made.seal = random.next();
        if (random.chance(2)) made.first = random.below(count * 8);
        if (random.chance(2)) made.bytes = random.next() & ~std::uint64_t{7};
        if (random.chance(2)) made.version = random.below(3);
        if (random.chance(4)) made.lease = static_cast<std::uint32_t>(random.below(4));
        if (random.chance(4)) made.slot = static_cast<std::uint32_t>(random.next());
        if (random.chance(4)) made.node = random.next();
        if (made == good || made.bytes < 8) return;
        const Errc code = RemoteSpan<std::uint64_t>(forged(made))[0].read(user()).wait().code();
        EXPECT_TRUE(code == Errc::permission || code == Errc::stale) << to_string(code);
    });
}

// The sender of a token cannot make the receiver call an address of the sender's choice.
TEST_F(RemoteForged, the_owner_that_a_caller_names_is_called_only_if_it_is_followed) {
    constexpr Rpc<std::uint64_t(Remote<std::uint64_t>, bool)> read_it{"read_it"};
    const Node reader = Node::listen("tcp://127.0.0.1:0").value();
    const auto read = [](Request<std::tuple<Remote<std::uint64_t>, bool>> request) -> Task<Result<std::uint64_t>> {
        const auto& [token, follow] = *request;
        co_return co_await token.read(request.node(), {.follow_owner = follow});
    };
    ASSERT_TRUE(reader.serve(read_it, read).ok());
    const Addr to = user().lookup(reader.address()).value();
    const Remote<std::uint64_t> third_party = token()[42];
    EXPECT_EQ(user().call(read_it, to, third_party, true).wait().value(), 42u);
    const Errc code = user().call(read_it, to, third_party, false).wait().code();
    // The caller shares nothing, so it does not serve this call. After it shares something, the answer is stale.
    EXPECT_EQ(code, Errc::no_such_rpc);
    Words own = counted(50);
    auto shared = share(user(), std::span(own)).value();
    EXPECT_EQ(user().call(read_it, to, third_party, false).wait().code(), Errc::stale);
}

// Calls that this library never makes.
class RemoteRaw : public RemoteForged {
  protected:
    template <typename R, typename In>
    [[nodiscard]] Errc sent(const R& rpc, const In& arguments) {
        return user().call(rpc, pair_.to, arguments).wait().code();
    }
    Words mine_ = Words(1000, untouched);
    Region lent_ = user().expose(std::span(mine_)).value();
    RemoteGrant part_ = grant(1000, 1000);
};

TEST_F(RemoteRaw, what_lies_outside_of_the_grant_is_refused) {
    using namespace hl::remote_calls;
    const std::array<std::byte, 16> bytes{};
    for (const std::uint64_t offset :
         {std::uint64_t{8000}, std::uint64_t{7992}, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
        EXPECT_EQ(sent(look, Look{part_, offset, 16}), Errc::permission);
        EXPECT_EQ(sent(put, Put{part_, offset, {}, bytes}), Errc::permission);
        EXPECT_EQ(sent(gather, Gather{{part_}, {{0, offset, 8000}}, Bulk(lent_)}), Errc::permission);
        EXPECT_EQ(sent(scatter, Scatter{{part_}, {{0, 0, 7984}, {0, offset, 16}}, {}, Bulk(lent_)}), Errc::permission);
    }
    EXPECT_EQ(sent(word, Word{part_, 8000, hl::detail::WordOp::exchange, 8, 1, 0}), Errc::permission);
    EXPECT_EQ(sent(word, Word{part_, 7996, hl::detail::WordOp::exchange, 8, 1, 0}), Errc::permission);
    EXPECT_EQ(memory_, counted(count));
    EXPECT_EQ(mine_, Words(1000, untouched));
}

TEST_F(RemoteRaw, calls_have_their_bounds) {
    using namespace hl::remote_calls;
    const std::vector<std::byte> large(hl::remote_inline_bytes_max + 8);
    EXPECT_EQ(sent(look, Look{part_, 0, large.size()}), Errc::too_large);
    EXPECT_EQ(sent(look, Look{part_, 0, ~std::uint64_t{0}}), Errc::too_large);
    EXPECT_EQ(sent(put, Put{part_, 0, {}, large}), Errc::too_large);
    const std::vector<RemoteGrant> grants(hl::remote_grants_max + 1, part_);
    EXPECT_EQ(sent(gather, Gather{grants, {{0, 0, 8000}}, Bulk(lent_)}), Errc::too_large);
    const std::vector<Piece> pieces(hl::remote_parts_max + 1, Piece{0, 0, 1});
    EXPECT_EQ(sent(scatter, Scatter{{part_}, pieces, {}, Bulk(lent_)}), Errc::too_large);
    EXPECT_EQ(memory_, counted(count));
}

TEST_F(RemoteRaw, what_does_not_fit_together_is_refused) {
    using namespace hl::remote_calls;
    const auto scattered = [&](const std::vector<RemoteGrant>& grants, const std::vector<Piece>& pieces) {
        const Errc code = sent(gather, Gather{grants, pieces, Bulk(lent_)});
        EXPECT_EQ(sent(scatter, Scatter{grants, pieces, {}, Bulk(lent_)}), code);
        return code;
    };
    EXPECT_EQ(scattered({part_}, {{0, 0, 7992}}), Errc::invalid_argument);  // fewer bytes than are lent
    EXPECT_EQ(scattered({part_}, {{1, 0, 8000}}), Errc::invalid_argument);  // no such grant
    EXPECT_EQ(scattered({part_}, {{0, 0, 8000}, {0, 0, 0}}), Errc::invalid_argument);
    EXPECT_EQ(scattered({part_}, {}), Errc::invalid_argument);
    EXPECT_EQ(scattered({}, {}), Errc::invalid_argument);
    EXPECT_EQ(scattered({}, {{0, 0, 8000}}), Errc::invalid_argument);
    EXPECT_EQ(sent(gather, Gather{{part_}, {{0, 0, 8000}}, Bulk()}), Errc::invalid_argument);
    EXPECT_EQ(sent(word, Word{part_, 0, hl::detail::WordOp::exchange, 3, 1, 0}), Errc::invalid_argument);
    EXPECT_EQ(sent(word, Word{part_, 4, hl::detail::WordOp::exchange, 8, 1, 0}), Errc::invalid_argument);
    EXPECT_EQ(memory_, counted(count));
    EXPECT_FALSE(shared_.in_use());
}

TEST_F(RemoteRaw, an_operation_on_words_that_is_not_known_changes_nothing) {
    using namespace hl::remote_calls;
    EXPECT_EQ(sent(word, Word{part_, 0, static_cast<hl::detail::WordOp>(77), 8, 1, 0}), Errc::invalid_argument);
    EXPECT_EQ(sent(word, Word{part_, 0, static_cast<hl::detail::WordOp>(3), 4, 1, 0}), Errc::invalid_argument);
    EXPECT_EQ(memory_, counted(count));
}

// An owner whose answer has another size than requested.
TEST(RemoteLiar, an_answer_of_another_size_is_malformed) {
    Pair pair(way_named("tcp"));
    const auto answer = [](std::size_t bytes) {
        hl::RemoteReply reply;
        (void)reply.resize(bytes);
        return reply;
    };
    ASSERT_TRUE(pair.owner
                    .serve(hl::remote_calls::look,
                           [&](hl::remote_calls::Look call) { return answer(call.bytes == 16 ? 5000 : 3); })
                    .ok());
    ASSERT_TRUE(pair.owner.serve(hl::remote_calls::word, [&](hl::remote_calls::Word) { return answer(0); }).ok());
    ASSERT_TRUE(
        pair.owner.serve(hl::remote_calls::gather, [&](Request<hl::remote_calls::Gather>) { return answer(8); }).ok());
    RemoteGrant grant;
    grant.node = 1;
    grant.bytes = 80'000;
    grant.access = Access::read_write;
    const RemoteSpan<std::uint64_t> token(RemoteBytes(grant, pair.to));
    Words words(10'000);
    EXPECT_EQ(token[0].read(pair.user).wait().code(), Errc::protocol);
    EXPECT_EQ(token.subspan(0, 2).read(pair.user, std::span(words).first(2)).wait().code(), Errc::protocol);
    EXPECT_EQ(token.read(pair.user, words).wait().code(), Errc::protocol);
    EXPECT_EQ(token[0].fetch_add(pair.user, 1).wait().code(), Errc::protocol);
}

}  // namespace
}  // namespace cinnabar
