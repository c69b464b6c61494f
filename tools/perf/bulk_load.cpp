// SPDX-License-Identifier: BSD-3-Clause
#include "perf/bulk_load.hpp"

#include "perf/clock.hpp"
#include "perf/slots.hpp"

#include <cinnabar/hl/future.hpp>
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace cinnabar::tools::perf {
namespace {

constexpr std::uint64_t round_bytes = 32u << 20;  // bytes per round, large enough that start and end of a round hardly
                                                  // matter
constexpr std::uint32_t slots_max = 1024;
constexpr std::uint64_t check_bytes_max = 2u << 20;  // verified per call, since the call occupies the server's loop
constexpr std::uint32_t failures_max = 100;          // in a row

class BulkRun {
  public:
    BulkRun(hl::Connected& connected, const BulkShape& shape, const Plan& plan, Slots& slots, std::uint64_t arena)
        : connected_(connected), plan_(plan), slots_(slots), arena_(arena), took_ns_(slots.count()) {
        result_.shape = shape;
        result_.slots = slots.count();
    }

    // Runs the warm-up, then the repeats.
    Result<BulkResult> run(const std::stop_token& stop) {
        for (std::uint32_t repeat = 0; repeat <= plan_.repeats && !result_.gave_up; ++repeat) {
            const bool warm_up = repeat == 0;
            const auto wanted = static_cast<std::uint64_t>((warm_up ? plan_.warm_up_seconds : plan_.seconds) * 1e9);
            std::uint64_t spent = 0;
            std::uint64_t good_ns = 0;
            std::uint64_t good_bytes = 0;
            do {
                if (stop.stop_requested()) return Error{Errc::canceled, "interrupted before it was measured"};
                const Round round = run_round(!warm_up);
                spent += std::max<std::uint64_t>(round.took_ns, 1);
                if (round.all_well) good_ns += round.took_ns;
                if (round.all_well) good_bytes += slots_.count() * result_.shape.bytes;
            } while (spent < wanted && !result_.gave_up);
            if (warm_up) continue;
            const double rate = static_cast<double>(good_bytes) / static_cast<double>(good_ns) * 1e9;
            if (good_ns > 0) result_.bandwidths.push_back(rate);
            result_.seconds += static_cast<double>(spent) * 1e-9;
        }
        return std::move(result_);
    }

  private:
    struct Round {
        std::uint64_t took_ns = 0;
        bool all_well = true;
    };

    Round run_round(bool counts) {
        seed_ += std::uint64_t{1} << 32;
        next_ = 0;
        failed_ = 0;
        std::fill(took_ns_.begin(), took_ns_.end(), 0);
        Round round;
        if (const auto filled = fill(); !filled) return given_up(filled.code());
        const std::uint64_t begin = now_ns();
        if (const auto moved = hl::sync_wait(move_all()); !moved) return given_up(moved.code());
        round.took_ns = now_ns() - begin;
        const auto wrong = check();
        if (!wrong) return given_up(wrong.code());
        for (const std::uint32_t slot : *wrong) {
            // A failed transfer is reported as failed, not as wrong.
            if (slot >= took_ns_.size() || took_ns_[slot] == 0) continue;
            ++result_.outcomes.wrong;
            round.all_well = false;
            took_ns_[slot] = 0;
        }
        // The data of a round that was given up was not verified, so it does not count.
        if (!result_.gave_up) count_good(counts);
        round.all_well = round.all_well && failed_ == 0;
        return round;
    }
    Round given_up(Errc code) {
        result_.outcomes.fail(code);
        result_.gave_up = true;
        return {0, false};
    }
    void count_good(bool counts) {
        for (const std::uint64_t took : took_ns_) {
            if (took == 0 || !counts) continue;
            ++result_.outcomes.done;
            result_.latency.record(took);
        }
    }

    hl::Task<void> move_all() {
        std::vector<hl::Task<void>> workers;
        const std::uint32_t depth = std::min(result_.shape.depth, slots_.count());
        for (std::uint32_t i = 0; i < depth; ++i) workers.push_back(move_some());
        (void)co_await hl::when_all(std::move(workers));
    }
    hl::Task<void> move_some() {
        while (next_ < slots_.count() && !result_.gave_up) {
            const std::uint32_t slot = next_++;
            const bool push = result_.shape.direction == Direction::push;
            MoveIn in{arena_, slot, push, hl::Bulk(slots_.at(slot), push ? na::Access::write : na::Access::read)};
            const std::uint64_t begin = now_ns();
            auto call = connected_.node.call(move_rpc, connected_.peer, in, plan_.deadline);
            const auto moved = co_await call;
            if (moved && moved->bytes == result_.shape.bytes) {
                took_ns_[slot] = std::max<std::uint64_t>(now_ns() - begin, 1);
                failures_in_row_ = 0;
            } else {
                fail(moved ? Errc::protocol : moved.code());
            }
        }
    }
    void fail(Errc code) {
        ++failed_;
        result_.outcomes.fail(code);
        // If the server is gone, gives up at once instead of letting every transfer time out.
        const bool gone = blast_of(code) == BlastRadius::peer || code == Errc::refused || code == Errc::unreachable;
        if (gone || ++failures_in_row_ >= failures_max) result_.gave_up = true;
    }

    // Calls `f(first, count)` for ranges of slots of a bounded size.
    template <typename F>
    Result<void> for_ranges(F f) {
        const auto each = static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(check_bytes_max / result_.shape.bytes, 1, slots_.count()));
        for (std::uint32_t first = 0; first < slots_.count(); first += each)
            CINNABAR_TRY_VOID(f(SlotsIn{arena_, first, std::min(each, slots_.count() - first), seed_}));
        return {};
    }
    Result<void> fill() {
        if (result_.shape.direction == Direction::pull) return slots_.fill(seed_);
        return for_ranges([&](const SlotsIn& in) -> Result<void> {
            return connected_.node.call(fill_rpc, connected_.peer, in, plan_.deadline).wait();
        });
    }
    // The slots whose bytes at the receiving side are wrong.
    Result<std::vector<std::uint32_t>> check() {
        std::vector<std::uint32_t> wrong;
        if (result_.gave_up) return wrong;
        if (result_.shape.direction == Direction::push) {
            for (std::uint32_t i = 0; i < slots_.count(); ++i) {
                CINNABAR_TRY(const bool right, slots_.has(i, seed_));
                if (!right) wrong.push_back(i);
            }
            return wrong;
        }
        CINNABAR_TRY_VOID(for_ranges([&](const SlotsIn& in) -> Result<void> {
            const auto checked = connected_.node.call(check_rpc, connected_.peer, in, plan_.deadline).wait();
            if (!checked) return checked.error();
            wrong.insert(wrong.end(), checked->wrong.begin(), checked->wrong.end());
            return {};
        }));
        return wrong;
    }

    hl::Connected& connected_;
    const Plan& plan_;
    Slots& slots_;
    const std::uint64_t arena_;
    BulkResult result_;
    std::vector<std::uint64_t> took_ns_;  // duration per slot in this round; 0: not moved, or wrong
    std::uint64_t seed_ = 0;
    std::uint32_t next_ = 0;
    std::uint32_t failed_ = 0;
    std::uint32_t failures_in_row_ = 0;
};

Result<std::uint32_t> slot_count(const Target& target, const BulkShape& shape) {
    if (shape.bytes == 0 || shape.segments == 0 || shape.bytes % shape.segments != 0)
        return Error{Errc::invalid_argument, "--size must be a multiple of --segments, and not 0"};
    if (shape.segments > 1 && shape.memory != MemoryKind::exposed)
        return Error{Errc::invalid_argument, "only --memory exposed can have several --segments"};
    if (shape.bytes > target.about.arena_bytes_max)
        return Error{Errc::too_large, "the server gives no memory of that size: start it with a larger --memory"};
    const std::uint64_t most = std::min<std::uint64_t>(target.about.arena_bytes_max / shape.bytes, slots_max);
    const std::uint64_t wanted = std::max<std::uint64_t>(round_bytes / shape.bytes, shape.depth);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, most));
}

}  // namespace

std::string_view to_string(Direction direction) noexcept { return direction == Direction::pull ? "pull" : "push"; }
std::string_view to_string(MemoryKind kind) noexcept {
    switch (kind) {
        case MemoryKind::exposed:
            return "exposed";
        case MemoryKind::allocated:
            return "allocated";
        case MemoryKind::file:
            return "file";
        case MemoryKind::device:
            return "device";
    }
    return "";
}

Result<BulkResult> run_bulk(const Target& target, const BulkShape& shape, const Plan& plan,
                            const std::stop_token& stop) {
    CINNABAR_TRY(const auto count, slot_count(target, shape));
    CINNABAR_TRY(auto connected, connect_to(target, 1));
    CINNABAR_TRY(auto slots, Slots::make(connected.node, shape, count));
    const OpenIn wanted{shape.bytes, count};
    CINNABAR_TRY(const auto opened, connected.node.call(open_rpc, connected.peer, wanted, plan.deadline).wait());
    // The arena exists until this future is destroyed or the connection ends.
    const auto held = connected.node.call(hold_rpc, connected.peer, HoldIn{opened.arena}, hl::no_deadline).future();
    BulkRun run(connected, shape, plan, slots, opened.arena);
    return run.run(stop);
}

}  // namespace cinnabar::tools::perf
