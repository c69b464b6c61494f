// SPDX-License-Identifier: BSD-3-Clause
#include "perf/mesh_bulk_load.hpp"

#include "perf/busy_time.hpp"
#include "perf/clock.hpp"
#include "perf/mesh_load.hpp"
#include "perf/outcomes.hpp"
#include "perf/protocol.hpp"
#include "perf/slots.hpp"

#include <cinnabar/hl/future.hpp>
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace cinnabar::tools::perf {
namespace {

constexpr std::uint32_t pair_failures_max = 100;  // in a row; then the pair gives up
constexpr std::uint64_t seed_step = 1u << 16;     // over load_depth_max, since slot i has the pattern of seed + i

// The transfers with one target.
struct BulkPair {
    BulkPair(std::uint64_t from_ns, std::uint64_t to_ns) : busy(from_ns, to_ns) {}

    std::string transport;
    na::Addr peer;
    std::optional<Slots> slots;  // of this side
    std::uint64_t arena = 0;     // of the target: a slot for each of these
    hl::Future<void> held;       // the arena exists until this is destroyed
    Outcomes outcomes;           // of the warm-up, only what failed or was wrong
    std::uint64_t done_within = 0;
    Histogram latency{load_latency_bits};
    BusyTime busy;
    std::uint64_t seed = 0;
    std::uint32_t failures_in_row = 0;
    bool gave_up = false;
};

class BulkLoad {
  public:
    BulkLoad(const hl::Node& node, const BulkLoadIn& in, const std::stop_token& stop)
        : node_(node),
          in_(in),
          stop_(stop),
          deadline_(static_cast<std::int64_t>(in.call_us)),
          from_ns_(now_ns() + in.warm_up_us * 1000),
          to_ns_(from_ns_ + in.measured_us * 1000),
          busy_(from_ns_, to_ns_) {
        for (const auto& target : in.targets) {
            BulkPair& pair = pairs_.emplace_back(from_ns_, to_ns_);
            pair.seed = pairs_.size() << 48;  // so that pairs never have the same pattern
            const auto peer = node.lookup(target);
            if (!peer) {
                give_up(pair, peer.code());
                continue;
            }
            pair.peer = *peer;
            pair.transport = node.transport_to(*peer);
        }
    }

    Result<BulkLoadOut> run() {
        CINNABAR_TRY_VOID(hl::sync_wait(run_pairs(), stop_));
        if (stop_.stop_requested()) return Error{Errc::canceled, "nobody waits for this load any more"};
        BulkLoadOut out;
        out.busy_us = to_us(busy_.busy_ns());
        for (const BulkPair& pair : pairs_) out.pairs.push_back(told_of(pair));
        return out;
    }

  private:
    static std::uint64_t to_us(std::uint64_t ns) noexcept { return (ns + 999) / 1000; }

    hl::Task<void> run_pairs() {
        std::vector<hl::Task<void>> all;
        for (BulkPair& pair : pairs_) {
            if (!pair.gave_up) all.push_back(run_pair(pair));
        }
        (void)co_await hl::when_all(std::move(all));
    }
    hl::Task<void> run_pair(BulkPair& pair) {
        BulkShape shape;
        shape.bytes = in_.size;
        auto slots = Slots::make(node_, shape, in_.depth);
        if (!slots) {
            give_up(pair, slots.code());
            co_return;
        }
        pair.slots.emplace(*std::move(slots));
        auto opening = node_.call(open_rpc, pair.peer, OpenIn{in_.size, in_.depth}, deadline_);
        const auto opened = co_await opening;
        if (!opened) {
            give_up(pair, opened.code());
            co_return;
        }
        pair.arena = opened->arena;
        pair.held = node_.call(hold_rpc, pair.peer, HoldIn{pair.arena}, hl::no_deadline).future();
        std::vector<hl::Task<void>> movers;
        for (std::uint32_t slot = 0; slot < in_.depth; ++slot) movers.push_back(move_by(pair, slot));
        (void)co_await hl::when_all(std::move(movers));
    }
    hl::Task<void> move_by(BulkPair& pair, std::uint32_t slot) {
        while (goes_on(pair)) {
            const std::uint64_t seed = pair.seed += seed_step;
            const SlotsIn range{pair.arena, slot, 1, seed};
            if (in_.push) {
                auto filling = node_.call(fill_rpc, pair.peer, range, deadline_);
                const auto filled = co_await filling;
                if (!filled) {
                    fail(pair, filled.code());
                    continue;
                }
            } else if (const auto filled = pair.slots->fill(slot, seed); !filled) {
                fail(pair, filled.code());
                continue;
            }
            const MoveIn wanted{pair.arena, slot, in_.push,
                                hl::Bulk(pair.slots->at(slot), in_.push ? na::Access::write : na::Access::read)};
            const std::uint64_t begin = now_ns();
            pair.busy.begin(begin);
            busy_.begin(begin);
            auto moving = node_.call(move_rpc, pair.peer, wanted, deadline_);
            const auto moved = co_await moving;
            const std::uint64_t end = now_ns();
            pair.busy.end(end);
            busy_.end(end);
            if (!moved || moved->bytes != in_.size) {
                fail(pair, moved ? Errc::protocol : moved.code());
                continue;
            }
            bool right = false;
            if (in_.push) {
                const auto has = pair.slots->has(slot, seed);
                if (!has) {
                    fail(pair, has.code());
                    continue;
                }
                right = *has;
            } else {
                auto checking = node_.call(check_rpc, pair.peer, range, deadline_);
                const auto checked = co_await checking;
                if (!checked) {
                    fail(pair, checked.code());
                    continue;
                }
                right = checked->wrong.empty();
            }
            count(pair, begin, end, right);
        }
    }

    [[nodiscard]] bool goes_on(const BulkPair& pair) const noexcept {
        return !pair.gave_up && !stop_.stop_requested() && now_ns() < to_ns_;
    }
    void count(BulkPair& pair, std::uint64_t begin, std::uint64_t end, bool right) const {
        pair.failures_in_row = 0;
        if (!right) {
            ++pair.outcomes.wrong;
            return;
        }
        if (end > from_ns_ && end < to_ns_) ++pair.done_within;  // some of it was in the window
        if (begin < from_ns_ || begin >= to_ns_) return;
        ++pair.outcomes.done;
        pair.latency.record(std::max<std::uint64_t>(end - begin, 1));
    }
    static void give_up(BulkPair& pair, Errc code) noexcept {
        pair.outcomes.fail(code);
        pair.gave_up = true;
    }
    // If the target is gone, gives up at once instead of letting every transfer time out.
    static void fail(BulkPair& pair, Errc code) noexcept {
        const bool gone = blast_of(code) == BlastRadius::peer || code == Errc::refused || code == Errc::unreachable;
        if (gone || ++pair.failures_in_row >= pair_failures_max) return give_up(pair, code);
        pair.outcomes.fail(code);
    }
    [[nodiscard]] BulkLoadPair told_of(const BulkPair& pair) const {
        BulkLoadPair told;
        LoadPair& out = told.transfers;
        out.transport = pair.transport;
        out.done = pair.outcomes.done;
        out.done_within = pair.done_within;
        out.wrong = pair.outcomes.wrong;
        out.failed_by.assign(pair.outcomes.failed_by.begin(), pair.outcomes.failed_by.end());
        out.first_failure = static_cast<std::uint8_t>(pair.outcomes.first_failure);
        out.gave_up = pair.gave_up;
        out.checked_bytes = (pair.outcomes.done + pair.outcomes.wrong) * in_.size;
        out.latency = pair.latency.encoded();
        told.busy_us = to_us(pair.busy.busy_ns());
        return told;
    }

    const hl::Node& node_;
    const BulkLoadIn& in_;
    const std::stop_token& stop_;
    const Microseconds deadline_;
    const std::uint64_t from_ns_;
    const std::uint64_t to_ns_;
    BusyTime busy_;  // with any target
    std::deque<BulkPair> pairs_;
};

}  // namespace

Result<void> check_load(const BulkLoadIn& in) {
    LoadIn same;  // apart from its sizes
    same.warm_up_us = in.warm_up_us;
    same.measured_us = in.measured_us;
    same.call_us = in.call_us;
    same.size = std::min<std::uint64_t>(in.size, 1);
    same.depth = in.depth;
    same.targets = in.targets;
    CINNABAR_TRY_VOID(check_load(same));
    if (in.size > bulk_load_bytes_max || in.targets.size() * in.depth > bulk_load_bytes_max / in.size)
        return Error{Errc::too_large,
                     "the transfers to all targets that are in flight at once have at most 256 MiB: give a lower depth "
                     "or size"};
    return {};
}

Result<BulkLoadOut> run_load(const BulkLoadIn& in, const na::TlsOptions& tls, const std::stop_token& stop) {
    CINNABAR_TRY_VOID(check_load(in));
    hl::NodeOptions options;
    options.progress_thread = false;  // this thread drives it
    options.transport.tls = tls;
    CINNABAR_TRY(const hl::Node node, node_towards(in.targets, in.transport, std::move(options)));
    BulkLoad load(node, in, stop);
    return load.run();
}

}  // namespace cinnabar::tools::perf
