// SPDX-License-Identifier: BSD-3-Clause
// Plans: made once for a token and a local region, and posted again and again with other lists of blocks.
#include "token_run.hpp"

#include <algorithm>
#include <numeric>

namespace cinnabar::seeds {
namespace {

constexpr std::size_t plans_max = 3;  // of one process
constexpr std::size_t list_max = 16;

// `count` numbers with equal distances below `all`.
struct Regular {
    std::size_t first;
    std::size_t distance;

    Regular(Random& random, std::size_t all, std::size_t count)
        : first(0), distance(count > 1 ? 1 + static_cast<std::size_t>(random.below((all - 1) / (count - 1))) : 1) {
        first = static_cast<std::size_t>(random.below(all - (count - 1) * distance));
    }
    [[nodiscard]] std::vector<std::uint32_t> numbers(std::size_t count) const {
        std::vector<std::uint32_t> made;
        for (std::size_t i = 0; i < count; ++i) made.push_back(static_cast<std::uint32_t>(first + i * distance));
        return made;
    }
    [[nodiscard]] bulk::Blocks list(std::size_t count, std::size_t block_bytes) const {
        return bulk::Blocks::strided(first * block_bytes, block_bytes, distance * block_bytes, count).value();
    }
};

}  // namespace

// Of memory with versions, or of the blocks of this process on a board.
void TokenRun::make_plan(Host& from) {
    const bool board = random_.chance(2);
    const Token token = any_token(from, board ? Owned::Use::board : Owned::Use::versions);
    Plan& plan = plans_.emplace_back();
    plan.token = token;
    plan.block_words = board ? Owned::block_words : 1 + static_cast<std::size_t>(random_.below(64));
    if (board)
        plan.token.span = token.span.subspan(token.owned->first_of(from.index, 0), Owned::blocks * Owned::block_words);
    plan.there = static_cast<std::size_t>(plan.token.span.size()) / plan.block_words;
    plan.here = 4 + static_cast<std::size_t>(random_.below(20));
    plan.memory.assign(plan.here * plan.block_words + 2 * border_words, border_word);
    const std::span<Word> local = inner(plan.memory);
    std::ranges::fill(local, ended_word);
    plan.expected = plan.memory;
    plan.region = Region::expose(std::as_writable_bytes(local), Access::read_write).value();
    plan.plan.emplace(
        hl::TransferPlan::make(*from.node, plan.token.span.token(), plan.region, plan.block_words * sizeof(Word))
            .value());
    from.plans.push_back(&plan);
}

// So many different numbers below `all`, in any order.
std::vector<std::uint32_t> TokenRun::some_of(std::size_t all, std::size_t wanted) {
    std::vector<std::uint32_t> numbers(all);
    std::iota(numbers.begin(), numbers.end(), 0u);
    for (std::size_t i = 0; i < wanted; ++i)
        std::swap(numbers[i], numbers[i + static_cast<std::size_t>(random_.below(all - i))]);
    numbers.resize(wanted);
    return numbers;
}

TokenRun::Lists TokenRun::any_lists(const Plan& plan, bool writes) {
    const std::size_t most = std::min({plan.there, plan.here, list_max});
    const std::size_t size = 1 + static_cast<std::size_t>(random_.below(most));
    Lists lists;
    if (random_.chance(3)) {
        const std::size_t block_bytes = plan.block_words * sizeof(Word);
        const Regular there(random_, plan.there, size);
        const Regular here(random_, plan.here, size);
        lists.there = there.numbers(size);
        lists.here = here.numbers(size);
        lists.strided_there = there.list(size, block_bytes);
        lists.strided_here = here.list(size, block_bytes);
        return lists;
    }
    lists.there = some_of(plan.there, size);
    lists.here = some_of(plan.here, size);
    if (!writes && random_.chance(3)) lists.there.back() = lists.there.front();  // a block may be read twice
    return lists;
}

// It is not posted any more; its memory stays until the run is over.
void TokenRun::give_up_plan(Host& from, Plan& plan) {
    plan.plan.reset();
    plan.region = {};
    std::erase(from.plans, &plan);
}

void TokenRun::post_plan(Host& from) {
    if (from.plans.size() < plans_max && (from.plans.empty() || random_.chance(4))) make_plan(from);
    Plan& plan = *from.plans[random_.below(from.plans.size())];
    if (plan.in_flight || plan.given_up) return;
    check_between_posts(nullptr, plan);
    if (is_stale(plan.token) && random_.chance(2)) return give_up_plan(from, plan);
    const bool board = plan.token.owned->use == Owned::Use::board;
    if (board && plan.token.owned->in_use[from.index]) return;
    const bool writes = random_.chance(2);
    const Lists lists = any_lists(plan, writes);
    plan.in_flight = true;
    if (writes)
        post_write(from, plan, lists);
    else
        post_read(from, plan, lists);
}

void TokenRun::post_read(Host& from, Plan& plan, const Lists& lists) {
    Op& op = begin(from, "a read by a plan", {plan.token}, 0);
    const bool board = plan.token.owned->use == Owned::Use::board;
    if (board) stamp(op, plan.token, {});
    const auto check = [this, &op, &plan, lists](const Result<std::uint64_t>& moved) {
        const std::size_t words = plan.block_words;
        for (std::size_t i = 0; moved && i < lists.here.size(); ++i) {
            const std::span<const Word> block = inner(plan.memory).subspan(lists.here[i] * words, words);
            if (!op.board) {
                const std::string other = other_than(block, plan.token.version, lists.there[i] * words);
                expect(other.empty(), op, "moved another block: " + other);
            } else {
                const bool fits = Owned::fits(block, op.board->board[op.from->index][lists.there[i]]);
                expect(fits, op, "moved another block of a board");
            }
        }
        if (op.board) end_stamps(op, moved.ok());
        end_post(op, plan, lists.here);
    };
    Lists posted = lists;
    if (posted.there.size() > 1 && posted.there.front() != posted.there.back() && breaks(Broken::other_blocks)) {
        std::swap(posted.there.front(), posted.there.back());
        posted.strided_there.reset();
    }
    const hl::RemoteOptions options = options_of(op);
    if (posted.strided_there)
        post(op, plan.plan->read(*posted.strided_there, *posted.strided_here, options), check);
    else
        post(op, plan.plan->read(posted.there, posted.here, options), check);
}

// To memory with versions it writes what is there already; to a board, new stamps.
void TokenRun::post_write(Host& from, Plan& plan, const Lists& lists) {
    Op& op = begin(from, "a write by a plan", {plan.token}, 0);
    const bool board = plan.token.owned->use == Owned::Use::board;
    if (board) stamp(op, plan.token, std::vector<std::size_t>(lists.there.begin(), lists.there.end()));
    for (std::size_t i = 0; i < lists.here.size(); ++i) {
        const std::size_t words = plan.block_words;
        const std::span<Word> block = inner(plan.memory).subspan(lists.here[i] * words, words);
        if (board)
            std::ranges::fill(block, op.stamped[i].stamp);
        else
            fill_version(block, plan.token.version, lists.there[i] * words);
    }
    plan.expected = plan.memory;
    will_notify(op);
    const auto check = [this, &op, &plan](const Result<std::uint64_t>& moved) {
        if (op.board) end_stamps(op, moved.ok());
        end_post(op, plan, {});
    };
    const hl::RemoteOptions options = options_of(op);
    if (lists.strided_there)
        post(op, plan.plan->write(*lists.strided_there, *lists.strided_here, options), check);
    else
        post(op, plan.plan->write(lists.there, lists.here, options), check);
}

// Between two posts nobody changes the local memory of a plan.
void TokenRun::check_between_posts(const Op* op, Plan& plan) {
    if (plan.in_flight || plan.given_up || plan.memory == plan.expected) return;
    if (op) return find(*op, "changed local blocks that it was not posted with");
    findings_.add("the local memory of a plan changed after the end of a post");
}

// `changed`: the local blocks that may have been written to.
void TokenRun::end_post(Op& op, Plan& plan, const std::vector<std::uint32_t>& changed) {
    plan.in_flight = false;
    plan.given_up = plan.region.quarantined();
    if (plan.given_up) return;
    const std::size_t words = plan.block_words;
    for (const std::uint32_t block : changed) {
        const std::span<const Word> written = inner(plan.memory).subspan(block * words, words);
        std::ranges::copy(written, inner(plan.expected).begin() + static_cast<std::ptrdiff_t>(block * words));
    }
    check_between_posts(&op, plan);
}

}  // namespace cinnabar::seeds
