// SPDX-License-Identifier: BSD-3-Clause
// How the operations of a run begin and end, and what holds for all of them.
#include "token_run.hpp"

#include <algorithm>

namespace cinnabar::seeds {
namespace {

// How late an operation may end after its deadline and the grace: revocations take time, and so do processes that
// close.
constexpr TimeUs late_max_us = 5'000'000;

// Of a call, in virtual time: none, a short one, or one that most operations meet.
Microseconds any_span(Random& random) {
    const std::uint64_t kind = random.below(20);
    if (kind < 2) return Microseconds(1 + static_cast<std::int64_t>(random.below(300)));
    if (kind < 7) return Microseconds(1 + static_cast<std::int64_t>(random.below(20'000)));
    if (kind < 12) return Microseconds(1'000'000);
    return hl::default_deadline;
}

}  // namespace

// A token that the process has had for a while, which may be stale, or a new one.
TokenRun::Token TokenRun::any_token(Host& from, Owned::Use use) {
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < from.tokens.size(); ++i) {
        if (from.tokens[i].owned->use == use) kept.push_back(i);
    }
    if (!kept.empty() && random_.chance(2)) return from.tokens[kept[random_.below(kept.size())]];
    const std::size_t owner = random_.below(owners_);
    const Host& host = *hosts_[owner];
    Token made;
    made.owned = host.owned[static_cast<std::size_t>(use)];
    made.owner = owner;
    const bool versioned = use == Owned::Use::versions;
    made.version = versioned ? made.owned->version : 0;
    const Addr to = from.node->lookup("sim://" + host.name).value();
    made.span = made.owned->shared.span(versioned ? hl::Names::this_version : hl::Names::any_version).at(to);
    static constexpr std::size_t tokens_max = 12;
    if (from.tokens.size() < tokens_max)
        from.tokens.push_back(made);
    else
        from.tokens[random_.below(tokens_max)] = made;
    return made;
}

bool TokenRun::is_stale(const Token& token) noexcept {
    return token.owned->over || (token.version != 0 && token.version != token.owned->version);
}

bool TokenRun::is_current(const Token& token) noexcept { return !token.owned->ends && !is_stale(token); }

TokenRun::Op& TokenRun::begin(Host& from, std::string_view what, std::vector<Token> names, std::size_t local_words) {
    Op& op = ops_.emplace_back();
    op.id = ops_.size();
    op.what = what;
    op.from = &from;
    op.life = from.life;
    op.names = std::move(names);
    op.were_stale = std::ranges::any_of(op.names, &TokenRun::is_stale);
    op.span = any_span(random_);
    op.deadline = op.last = now() + static_cast<TimeUs>(op.span.count());
    op.token = op.stop.get_token();
    op.memory.assign(local_words + 2 * border_words, border_word);
    if (local_words > 0)
        op.region = Region::expose(std::as_writable_bytes(inner(op.memory)), Access::read_write).value();
    live_.push_back(&op);
    return op;
}

hl::RemoteOptions TokenRun::options_of(const Op& op) noexcept {
    hl::RemoteOptions options;
    options.deadline = op.span;
    options.stop = &op.token;
    options.notify = op.notify;
    options.checked = op.checked;
    return options;
}

bool TokenRun::borders_hold(const Words& memory) noexcept {
    const std::span<const Word> all(memory);
    return all_words_are(all.first(border_words), border_word) && all_words_are(all.last(border_words), border_word);
}

bool TokenRun::ended(Op& op, Errc result) {
    if (breaks(Broken::no_end)) return false;
    ++op.endings;
    expect(op.endings == 1, op, "a second end");
    std::erase(live_, &op);
    note(op.id << 8 | static_cast<std::uint64_t>(result));
    note(now());
    if (op.life == op.from->life && !op.from->ending) {
        const auto grace = static_cast<TimeUs>(climate_.rpc.fence_grace.count());
        expect(now() <= op.last + grace + late_max_us, op, "ended too late");
    }
    expect(is_possible(op, result), op, "how can it end with: " + std::string(to_string(result)));
    expect(result != Errc::ok || !op.were_stale, op, "an old token was accepted");
    expect(borders_hold(op.memory), op, "changed words beside the local memory");
    if (op.notify && result == Errc::ok) expect(op.notices == 1, op, "succeeded, and its owner was not told");
    if (result == Errc::ok) ++succeeded_;
    if (result == Errc::stale) ++stale_;
    return true;
}

bool TokenRun::is_possible(const Op& op, Errc result) const {
    switch (result) {
        case Errc::ok:
            return true;
        case Errc::stale:
            return !std::ranges::all_of(op.names, &TokenRun::is_current);
        case Errc::timed_out:
            return op.deadline <= now() || faulty_;
        case Errc::canceled:
            return op.canceled || op.from->ending || faulty_;
        case Errc::peer_lost:
        case Errc::refused:
        case Errc::unreachable:
        case Errc::closed:
        case Errc::shutting_down:
        case Errc::no_such_rpc:  // a process that has just begun again
            return faulty_;
        default:
            return false;
    }
}

// From now on nobody accesses the local memory, so it must stay what it is made here.
void TokenRun::bury(Op& op) {
    const bool quarantined = op.region.quarantined();
    op.region = {};
    if (quarantined) return;
    op.ended = true;
    const std::span<Word> local = inner(op.memory);
    std::ranges::fill(local, ended_word);
    if (!local.empty() && breaks(Broken::late_byte)) local.front() ^= 1;
}

void TokenRun::find(const Op& op, std::string_view what) {
    findings_.add(std::string(op.what) + " " + std::to_string(op.id) + " of " + op.from->name + " at " +
                  std::to_string(now()) + " us: " + std::string(what));
}

void TokenRun::cancel_one() {
    if (live_.empty()) return;
    Op& op = *live_[random_.below(live_.size())];
    op.canceled = true;
    op.stop.request_stop();
    if (op.writes) op.writes.reset();
}

void TokenRun::will_notify(Op& op) {
    if (!random_.chance(3)) return;
    op.notify = static_cast<std::uint32_t>(op.id);
    notified_[*op.notify] = &op;
}

void TokenRun::noticed(Owned& owned, std::uint32_t value) {
    const auto found = notified_.find(value);
    if (found == notified_.end()) return findings_.add("an owner was told of a write that nobody made");
    Op& op = *found->second;
    expect(++op.notices == 1, op, "its owner was told twice");
    expect(&owned == op.names.front().owned, op, "another owner was told");
    if (op.board != &owned) return;
    for (const Stamped& each : op.stamped) {
        const Owned::Block& model = owned.board[op.from->index][each.block];
        const auto there = owned.block(op.from->index, each.block);
        const bool there_now = model.uncertain ? Owned::fits(there, model) : all_words_are(there, each.stamp);
        expect(there_now, op, "its owner was told before the bytes were in place");
    }
}

}  // namespace cinnabar::seeds
