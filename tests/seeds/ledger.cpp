// SPDX-License-Identifier: BSD-3-Clause
#include "ledger.hpp"

#include "mesh.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::seeds {
namespace {

// How late a call may end after its deadline and the grace: revocations take time, and a round may be late.
constexpr TimeUs slack_us = 2'000;
constexpr TimeUs real_slack_us = 10'000'000;  // the machine may be busy
constexpr std::uint64_t grave_bytes_max = 4u << 20;

}  // namespace

const char* name_of(Kind kind) noexcept {
    switch (kind) {
        case Kind::echo:
            return "echo";
        case Kind::hold:
            return "hold";
        case Kind::relay:
            return "relay";
        case Kind::move:
            return "move";
        case Kind::note:
            return "note";
        case Kind::unknown:
            return "unknown";
    }
    return "?";
}

Sent& Ledger::add(Process& origin, Kind kind, rpc::Call& call) {
    Sent& sent = all_.emplace_back();
    sent.id = all_.size();
    sent.kind = kind;
    sent.origin = &origin;
    sent.life = origin.life();
    sent.call = &call;
    sent.call_id = call.id();
    sent.ledger = this;
    ++tally.calls;
    return sent;
}

void Ledger::on_done(rpc::Call& call, void* user) noexcept {
    auto& sent = *static_cast<Sent*>(user);
    sent.ledger->end(sent, call);
}

void Ledger::end(Sent& sent, rpc::Call& call) {
    SCOPED_TRACE(std::string(name_of(sent.kind)) + " " + std::to_string(sent.id) + " at " +
                 std::to_string(mesh_.now_us()) + " us");
    ++sent.endings;
    EXPECT_EQ(sent.endings, 1u) << "a second ending";
    EXPECT_FALSE(sent.abandoned) << "an ending after the release";
    EXPECT_EQ(sent.call, &call);
    EXPECT_EQ(sent.call_id, call.id());
    std::erase(live_, &sent);
    const Errc result = call.result();
    note(sent.id << 8 | static_cast<std::uint64_t>(result));
    note(mesh_.now_us());
    check_time(sent);
    check_result(sent, result);
    if (result == Errc::ok) ++tally.ok;
    if (result == Errc::ok && sent.kind != Kind::note) check_reply(sent, call.output());
    EXPECT_TRUE(call.fenced() || mesh_.climate().world.fence_failed_one_in != 0 || sent.origin->closing);
    for (auto& memory : sent.lent) {
        EXPECT_TRUE(!call.fenced() || !memory->region().quarantined());
        if (!call.fenced()) memory->quarantine();
        bury(std::move(memory));
    }
    sent.lent.clear();
    if (sent.then) sent.then(sent, result);
    if (mesh_.random().chance(4)) {
        kept_.push_back(&sent);
    } else {
        release(sent);
    }
}

void Ledger::release(Sent& sent) { std::exchange(sent.call, nullptr)->release(); }

void Ledger::abandon(Sent& sent) {
    sent.abandoned = true;
    std::erase(live_, &sent);
    release(sent);
}

void Ledger::check_time(const Sent& sent) const {
    if (sent.deadline == time_never || sent.origin->closing) return;
    const auto grace = static_cast<TimeUs>(mesh_.climate().rpc.fence_grace.count());
    const TimeUs last =
        std::max(sent.deadline, sent.origin->resumed_at) + grace + (mesh_.is_real() ? real_slack_us : slack_us);
    EXPECT_LE(mesh_.now_us(), last) << "too late: the deadline was " << sent.deadline;
}

bool Ledger::plausible(const Sent& sent, Errc result) const {
    const Climate& climate = mesh_.climate();
    switch (result) {
        case Errc::ok:
            return sent.kind != Kind::unknown;
        case Errc::canceled:
            return sent.canceled || sent.origin->closing || sent.kind == Kind::hold || climate.kills || climate.drains;
        case Errc::timed_out:
            if (mesh_.is_real()) return sent.deadline != time_never;
            return sent.deadline <= mesh_.now_us() || climate.slow_dials();
        case Errc::peer_lost:
        case Errc::refused:
            return climate.stormy();
        case Errc::unreachable:
            // Also a process that does not listen and whose idle connection was closed to make room.
            return climate.stormy() || climate.few_connections();
        case Errc::overloaded:
            return climate.tight;
        case Errc::no_such_rpc:
            return sent.kind == Kind::unknown;
        case Errc::shutting_down:
        case Errc::closed:
            return climate.drains;
        case Errc::application:
            return sent.kind == Kind::move || sent.kind == Kind::relay || sent.kind == Kind::hold;
        default:
            return false;
    }
}

void Ledger::check_result(const Sent& sent, Errc result) const {
    EXPECT_TRUE(plausible(sent, result)) << "how can it end with: " << to_string(result);
}

void Ledger::check_reply(const Sent& sent, ConstBytes output) {
    ByteReader reader(output);
    EXPECT_EQ(reader.u64(), sent.id) << "the reply of another call";
    check_lent(sent, reader);
    const ConstBytes rest = reader.view(reader.left());
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(rest.size(), sent.reply_bytes);
    EXPECT_TRUE(holds_pattern(rest, ~sent.id, 0)) << "a reply with other bytes";
}

// The reply says what was pushed where; all other bytes must be unchanged.
void Ledger::check_lent(const Sent& sent, ByteReader& reader) {
    const unsigned windows = reader.u8();
    if (windows == still_writing) return;
    struct Window {
        unsigned index;
        std::uint64_t offset;
        std::uint64_t bytes;
    };
    std::vector<Window> pushed;
    for (unsigned i = 0; i < windows; ++i) pushed.push_back({reader.u8(), reader.u64(), reader.u64()});
    ASSERT_TRUE(reader.ok());
    for (unsigned i = 0; i < sent.lent.size(); ++i) {
        const Lent& memory = *sent.lent[i];
        const auto window = std::find_if(pushed.begin(), pushed.end(), [i](const Window& w) { return w.index == i; });
        const std::uint64_t begin = window == pushed.end() ? 0 : window->offset;
        const std::uint64_t bytes = window == pushed.end() ? 0 : window->bytes;
        ASSERT_LE(begin + bytes, memory.bytes());
        EXPECT_TRUE(memory.holds(0, begin, memory.seed(), 0)) << "before the window";
        EXPECT_TRUE(memory.holds(begin, bytes, ~memory.seed(), begin)) << "in the window";
        const std::uint64_t end = begin + bytes;
        EXPECT_TRUE(memory.holds(end, memory.bytes() - end, memory.seed(), end)) << "behind the window";
        tally.bytes_moved += bytes;
    }
}

Sent* Ledger::any_live() { return live_.empty() ? nullptr : live_[mesh_.random().below(live_.size())]; }

void Ledger::cancel_any_id(rpc::Context& context) {
    if (all_.empty()) return;
    const rpc::CallId id = all_[mesh_.random().below(all_.size())].call_id;
    for (Sent* sent : live_) {
        if (&sent->origin->context() == &context && sent->call_id == id) sent->canceled = true;
    }
    context.cancel(id);
}

void Ledger::describe_live() const {
    for (const Sent* sent : live_) {
        ADD_FAILURE() << name_of(sent->kind) << " " << sent->id << " of " << sent->origin->name()
                      << " has not ended; its deadline is " << sent->deadline;
    }
}

void Ledger::release_one_kept() {
    if (kept_.empty()) return;
    const std::size_t index = mesh_.random().below(kept_.size());
    release(*kept_[index]);
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Ledger::release_kept() {
    for (Sent* sent : std::exchange(kept_, {})) release(*sent);
}

void Ledger::before_end(Process& process) {
    std::erase_if(kept_, [&](Sent* sent) {
        if (sent->origin != &process || mesh_.random().chance(2)) return false;
        release(*sent);
        return true;
    });
}

void Ledger::after_end(Process& process) {
    for (const Sent* sent : live_) {
        EXPECT_NE(sent->origin, &process) << name_of(sent->kind) << " " << sent->id << " did not end with its context";
    }
    std::erase_if(kept_, [&](Sent* sent) {
        if (sent->origin != &process) return false;
        release(*sent);
        return true;
    });
}

void Ledger::bury(std::unique_ptr<Lent> memory) {
    EXPECT_TRUE(memory->intact()) << "bytes beside the segments";
    memory->bury();
    grave_bytes_ += memory->bytes();
    graves_.push_back(std::move(memory));
    while (grave_bytes_ > grave_bytes_max) {
        EXPECT_TRUE(graves_.front()->intact()) << "written to after the end";
        grave_bytes_ -= graves_.front()->bytes();
        graves_.pop_front();
    }
}

void Ledger::check_graves() {
    for (const auto& memory : graves_) EXPECT_TRUE(memory->intact()) << "written to after the end";
}

}  // namespace cinnabar::seeds
