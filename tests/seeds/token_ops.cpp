// SPDX-License-Identifier: BSD-3-Clause
// The operations of a run on spans, lists of blocks, objects and words.
#include "token_run.hpp"

#include <algorithm>
#include <numeric>

namespace cinnabar::seeds {
namespace {

// The number of words of one read or write: few enough for the call itself, or moved in bulk.
std::size_t any_count(Random& random, std::size_t most) {
    const std::size_t bound = random.chance(2) ? most : std::min<std::size_t>(most, 200);
    return 1 + static_cast<std::size_t>(random.below(bound));
}

// Every so many-th group of words.
struct Groups {
    std::size_t first;
    std::size_t each;  // words of a group
    std::size_t stride;
    std::size_t groups;

    Groups(Random& random, std::size_t words) {
        each = 1 + static_cast<std::size_t>(random.below(40));
        stride = each + static_cast<std::size_t>(random.below(2 * each));
        const std::size_t most = std::min<std::size_t>((words - each) / stride + 1, 200);
        groups = 1 + static_cast<std::size_t>(random.below(most));
        first = static_cast<std::size_t>(random.below(words - (groups - 1) * stride - each + 1));
    }
    [[nodiscard]] bulk::Blocks list() const {
        return bulk::Blocks::strided(first * sizeof(Word), each * sizeof(Word), stride * sizeof(Word), groups).value();
    }
};

}  // namespace

void TokenRun::read(Host& from) {
    const Token token = any_token(from, Owned::Use::versions);
    const std::size_t words = any_count(random_, Owned::version_words);
    const auto first = static_cast<std::size_t>(random_.below(Owned::version_words - words + 1));
    Op& op = begin(from, "a read", {token}, words);
    may_check(op);
    const auto check = [this, &op, version = token.version, first](const Result<std::uint64_t>& moved) {
        if (!moved) return;
        const std::string other = other_than(inner(op.memory), version, first);
        expect(other.empty(), op, "read other bytes: " + other);
    };
    const TokenSpan part = token.span.subspan(first, words);
    if (!op.checked && words * sizeof(Word) <= hl::remote_inline_bytes_max && random_.chance(2))
        post(op, part.read(*from.node, inner(op.memory), options_of(op)), check);
    else
        post(op, part.read(*from.node, op.region, options_of(op)), check);
}

// Of one owner or of several. Not where a fence may fail: without a region nobody knows when the local memory is free.
void TokenRun::read_several(Host& from) {
    if (climate_.strict()) return read(from);
    static constexpr std::size_t words = 90;
    const std::size_t parts = 2 + static_cast<std::size_t>(random_.below(12));
    std::vector<Token> names;
    std::vector<std::size_t> firsts;
    for (std::size_t i = 0; i < parts; ++i) {
        names.push_back(any_token(from, Owned::Use::versions));
        firsts.push_back(static_cast<std::size_t>(random_.below(Owned::version_words - words + 1)));
    }
    Op& op = begin(from, "a read of many", names, parts * words);
    std::vector<hl::RemoteRead> reads;
    for (std::size_t i = 0; i < parts; ++i) {
        const Bytes into = std::as_writable_bytes(inner(op.memory).subspan(i * words, words));
        reads.push_back({names[i].span.subspan(firsts[i], words).token(), into});
    }
    post(op, hl::read_many(*from.node, reads, options_of(op)), [this, &op, firsts](const Result<std::uint64_t>& moved) {
        if (!moved) return;
        for (std::size_t i = 0; i < firsts.size(); ++i) {
            const std::span<const Word> part = inner(op.memory).subspan(i * words, words);
            const std::string other = other_than(part, op.names[i].version, firsts[i]);
            expect(other.empty(), op, "read other bytes: " + other);
        }
    });
}

// Writes what is there already, so that only a write that comes too late changes anything.
void TokenRun::write(Host& from) {
    const Token token = any_token(from, Owned::Use::versions);
    const std::size_t words = any_count(random_, Owned::version_words);
    const auto first = static_cast<std::size_t>(random_.below(Owned::version_words - words + 1));
    Op& op = begin(from, "a write", {token}, words);
    may_check(op);
    fill_version(inner(op.memory), token.version, first);
    will_notify(op);
    const auto check = [](const Result<std::uint64_t>&) {};
    const TokenSpan part = token.span.subspan(first, words);
    if (!op.checked && words * sizeof(Word) <= hl::remote_inline_bytes_max && random_.chance(2))
        post(op, part.write(*from.node, std::span<const Word>(inner(op.memory)), options_of(op)), check);
    else
        post(op, part.write(*from.node, op.region, options_of(op)), check);
}

void TokenRun::read_blocks(Host& from) {
    const Token token = any_token(from, Owned::Use::versions);
    const Groups groups(random_, Owned::version_words);
    Op& op = begin(from, "a read of blocks", {token}, groups.groups * groups.each);
    may_check(op);
    const auto check = [this, &op, groups, version = token.version](const Result<std::uint64_t>& moved) {
        if (!moved) return;
        for (std::size_t i = 0; i < groups.groups; ++i) {
            const std::span<const Word> group = inner(op.memory).subspan(i * groups.each, groups.each);
            const std::string other = other_than(group, version, groups.first + i * groups.stride);
            expect(other.empty(), op, "read other bytes: " + other);
        }
    };
    post(op, hl::read_blocks(*from.node, token.span.token(), groups.list(), op.region, options_of(op)), check);
}

void TokenRun::write_blocks(Host& from) {
    const Token token = any_token(from, Owned::Use::versions);
    const Groups groups(random_, Owned::version_words);
    Op& op = begin(from, "a write of blocks", {token}, groups.groups * groups.each);
    may_check(op);
    for (std::size_t i = 0; i < groups.groups; ++i) {
        const std::span<Word> group = inner(op.memory).subspan(i * groups.each, groups.each);
        fill_version(group, token.version, groups.first + i * groups.stride);
    }
    will_notify(op);
    post(op, hl::write_blocks(*from.node, token.span.token(), groups.list(), op.region, options_of(op)),
         [](const Result<std::uint64_t>&) {});
}

// A board of which this process uses no blocks at the moment.
std::optional<TokenRun::Token> TokenRun::free_board(Host& from) {
    Token token = any_token(from, Owned::Use::board);
    if (token.owned->in_use[from.index]) return std::nullopt;
    return token;
}

// Gives each of these blocks a stamp of its own, which the operation is about to write.
void TokenRun::stamp(Op& op, const Token& board, const std::vector<std::size_t>& blocks) {
    op.board = board.owned;
    op.board->in_use[op.from->index] = true;
    for (const std::size_t block : blocks) {
        op.stamped.push_back({block, ++stamps_});
        op.board->board[op.from->index][block].may.push_back(stamps_);
    }
}

void TokenRun::end_stamps(Op& op, bool succeeded) {
    Owned& owned = *op.board;
    owned.in_use[op.from->index] = false;
    for (const Stamped& each : op.stamped) {
        Owned::Block& block = owned.board[op.from->index][each.block];
        if (!succeeded) block.uncertain = true;
        if (!block.uncertain) block.may = {each.stamp};
    }
    if (owned.over) return;
    for (std::size_t i = 0; i < Owned::blocks; ++i) {
        const bool fits = Owned::fits(owned.block(op.from->index, i), owned.board[op.from->index][i]);
        expect(fits, op, "left other bytes in a block than were written");
    }
}

// Some blocks of its own: neighbours by one span, or others as many parts.
void TokenRun::write_stamps(Host& from) {
    const auto token = free_board(from);
    if (!token) return;
    std::vector<std::size_t> blocks(1 + static_cast<std::size_t>(random_.below(Owned::blocks)));
    const auto first = static_cast<std::size_t>(random_.below(Owned::blocks - blocks.size() + 1));
    std::iota(blocks.begin(), blocks.end(), first);
    Op& op = begin(from, "a write to a board", {*token}, blocks.size() * Owned::block_words);
    stamp(op, *token, blocks);
    for (std::size_t i = 0; i < blocks.size(); ++i)
        std::ranges::fill(inner(op.memory).subspan(i * Owned::block_words, Owned::block_words), op.stamped[i].stamp);
    will_notify(op);
    const auto check = [this, &op](const Result<std::uint64_t>& moved) { end_stamps(op, moved.ok()); };
    if (climate_.strict() || random_.chance(2)) {  // as in read_several
        const std::size_t words = blocks.size() * Owned::block_words;
        const TokenSpan part = token->span.subspan(token->owned->first_of(from.index, first), words);
        return post(op, part.write(*from.node, op.region, options_of(op)), check);
    }
    std::vector<hl::RemoteWrite> parts;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const TokenSpan part = token->span.subspan(token->owned->first_of(from.index, blocks[i]), Owned::block_words);
        const std::span<const Word> local = inner(op.memory).subspan(i * Owned::block_words, Owned::block_words);
        parts.push_back({part.token(), std::as_bytes(local)});
    }
    post(op, hl::write_many(*from.node, parts, options_of(op)), check);
}

// Blocks as writes of their own, a fence, and one block more.
void TokenRun::write_fenced(Host& from) {
    const auto token = free_board(from);
    if (!token) return;
    std::vector<std::size_t> blocks(2 + static_cast<std::size_t>(random_.below(Owned::blocks - 1)));
    std::iota(blocks.begin(), blocks.end(), std::size_t{0});
    Op& op = begin(from, "writes with a fence", {*token}, blocks.size() * Owned::block_words);
    op.last += static_cast<TimeUs>(op.span.count());  // the last write is sent when the others have ended
    const auto& models = token->owned->board[from.index];
    const bool certain = std::ranges::none_of(blocks, [&models](std::size_t block) { return models[block].uncertain; });
    stamp(op, *token, blocks);
    hl::RemoteWritesOptions options;
    options.deadline = op.span;
    op.writes.emplace(*from.node, options);
    bool all_taken = true;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const std::span<Word> local = inner(op.memory).subspan(i * Owned::block_words, Owned::block_words);
        std::ranges::fill(local, op.stamped[i].stamp);
        if (i + 1 == blocks.size()) op.writes->fence();
        const TokenSpan part = token->span.subspan(token->owned->first_of(from.index, blocks[i]), Owned::block_words);
        all_taken = op.writes->write(part, local).ok() && all_taken;
    }
    const auto check = [this, &op, certain, all_taken](const Result<void>& flushed) {
        end_stamps(op, flushed.ok() && all_taken);
        expect(all_taken || !flushed, op, "a write was not taken, and the flush succeeded");
        Owned& owned = *op.board;
        const std::size_t host = op.from->index;
        if (!certain || owned.over) return;
        const Stamped& last = op.stamped.back();
        if (!all_words_are(owned.block(host, last.block), last.stamp)) return;
        for (const Stamped& each : op.stamped)
            expect(all_words_are(owned.block(host, each.block), each.stamp), op, "the last write overtook a fence");
    };
    post(op, op.writes->flush(), check);
}

void TokenRun::count(Host& from) {
    const Token token = any_token(from, Owned::Use::counters);
    const auto index = static_cast<std::size_t>(random_.below(Owned::adders));
    Op& op = begin(from, "an addition", {token}, 0);
    ++token.owned->added[index].started;
    const auto check = [this, &op, index](const Result<Word>& before) {
        Owned& owned = *op.names.front().owned;
        Owned::Adder& adder = owned.added[index];
        if (before.code() == Errc::stale) ++adder.without_effect;
        if (!before) return;
        ++adder.succeeded;
        expect(adder.before.insert(*before).second, op, "two additions found the same number");
        expect(*before < adder.started, op, "more was added before than was asked for");
        if (owned.over) return;
        if (broken_ == Broken::counts_twice) ++owned.words[index];
        expect(owned.words[index] >= adder.succeeded, op, "was not counted");
        expect(owned.words[index] <= adder.started - adder.without_effect, op, "an addition was counted twice");
    };
    post(op, token.span[index].fetch_add(*from.node, 1, options_of(op)), check);
}

void TokenRun::swap(Host& from) {
    const Token token = any_token(from, Owned::Use::counters);
    const auto index = static_cast<std::size_t>(random_.below(Owned::swapped));
    Owned& owned = *token.owned;
    Owned::Swapped& model = owned.swaps[index];
    const Word desired = ++stamps_;
    const Word expected = owned.over || random_.chance(4) ? 0 : owned.words[Owned::adders + index];
    const bool always = random_.chance(3);
    Op& op = begin(from, always ? "an exchange" : "a compare_swap", {token}, 0);
    model.given.insert(desired);
    const auto check = [this, &op, &model, expected, always](const Result<Word>& before) {
        if (!before) return;
        expect(model.given.contains(*before), op, "found a value that nobody gave");
        if (!always && *before != expected) return;
        expect(model.replaced.insert(*before).second, op, "replaced a value that was replaced before");
    };
    const hl::Remote<Word> word = token.span[Owned::adders + index];
    if (always)
        post(op, word.exchange(*from.node, desired, options_of(op)), check);
    else
        post(op, word.compare_swap(*from.node, expected, desired, options_of(op)), check);
}

}  // namespace cinnabar::seeds
