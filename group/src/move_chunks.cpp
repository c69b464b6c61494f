// SPDX-License-Identifier: BSD-3-Clause
// Transfers a member's portion: requests its chunks in order, several at a time. If a source fails, requests the
// missing chunks from the next source. If the source is on this host and has all bytes, copies larger pieces first.
#include "portion_state.hpp"

#include <cinnabar/bulk/checksum.hpp>
#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <mutex>
#include <optional>

namespace cinnabar::group {
namespace {

constexpr unsigned checksum_attempts_max = 3;

struct Chunk {
    std::uint64_t offset;
    std::uint64_t bytes;
};

// Parts of the task may run on several threads, if it runs on a pool.
class Move {
  public:
    Move(Asking of, bulk::Region memory, std::shared_ptr<Holding> to)
        : asking(std::move(of)), region(std::move(memory)), holding(std::move(to)) {
        if (region.bytes() != 0) left_.push_back({0, region.bytes()});
    }

    const Asking asking;
    const bulk::Region region;
    const std::shared_ptr<Holding> holding;

    // Empty if all chunks have begun, or one has failed.
    std::optional<Chunk> take_next() {
        const std::lock_guard lock(mutex_);
        return take(asking.terms.chunk_bytes);
    }
    // Takes several chunks as one piece. Empty also after a piece was not lent.
    std::optional<Chunk> take_piece() {
        const std::lock_guard lock(mutex_);
        if (!lent_) return {};
        const std::uint64_t chunk = asking.terms.chunk_bytes;
        return take(std::max(lent_piece_bytes / chunk * chunk, chunk));
    }
    void not_lent(const Chunk& piece) {
        const std::lock_guard lock(mutex_);
        lent_ = false;
        left_.push_back(piece);
    }
    void in_place(const Chunk& done) {
        if (!holding) return;
        const std::uint64_t each = asking.terms.chunk_bytes;
        for (std::uint64_t at = 0; at < done.bytes; at += each) holding->set_in_place((done.offset + at) / each);
    }
    void fail(const Result<void>& why) {
        const std::lock_guard lock(mutex_);
        outcome_ = why;
    }
    [[nodiscard]] Result<void> outcome() const {
        const std::lock_guard lock(mutex_);
        return outcome_;
    }

  private:
    std::optional<Chunk> take(std::uint64_t bytes_max) {
        if (!outcome_ || left_.empty()) return {};
        Chunk& from = left_.back();
        const Chunk taken{from.offset, std::min(bytes_max, from.bytes)};
        from.offset += taken.bytes;
        from.bytes -= taken.bytes;
        if (from.bytes == 0) left_.pop_back();
        return taken;
    }

    mutable std::mutex mutex_;
    std::vector<Chunk> left_;  // ranges that have not begun; each starts where a chunk does
    bool lent_ = true;
    Result<void> outcome_;
};

hl::Task<Result<void>> ask(const Move& move, const ChunkSource& source, Chunk chunk) {
    const Terms& terms = move.asking.terms;
    const bulk::Region memory = move.region.slice(chunk.offset, chunk.bytes);
    const bool comes = terms.way == Way::to_members;
    ChunkRequest request;
    request.ticket = source.ticket;
    request.total = terms.bytes;
    request.offset = chunk.offset;
    if (terms.checksum && !comes) request.checksum = bulk::checksum_of(memory);
    request.memory = hl::Bulk(memory, comes ? na::Access::write : na::Access::read);
    hl::CallOptions options;
    options.provider = move.asking.provider;
    options.stop = &source.replaced;
    auto call = move.asking.node.call(chunk_rpc, source.address, request, options);
    const Result<ChunkAnswer> answer = co_await call;
    if (!answer) co_return answer.error();
    if (terms.checksum && comes && bulk::checksum_of(memory) != answer->checksum)
        co_return Error(Errc::bad_checksum, "a chunk did not arrive as it was sent");
    co_return Result<void>();
}

// Errors after which a chunk is not retried, neither later nor from another source.
bool is_final(Errc code) noexcept {
    return code == Errc::invalid_argument || code == Errc::permission || code == Errc::protocol ||
           code == Errc::too_large || code == Errc::unsupported || code == Errc::out_of_memory ||
           code == Errc::timed_out;
}
// Errors after which only another source can help.
bool is_gone(Errc code) noexcept {
    return code == Errc::not_found || code == Errc::no_such_rpc || code == Errc::closed || code == Errc::shutting_down;
}

// Errors after which the source may be dead; another delivery of the call may name a better one.
bool is_lost(Errc code) noexcept {
    return code == Errc::peer_lost || code == Errc::refused || code == Errc::unreachable || is_gone(code);
}

hl::Task<Result<void>> move_chunk(const Move& move, Chunk chunk) {
    const hl::TaskContext* task = co_await hl::this_task();
    const hl::StopScope* stop = task ? task->stop_scope() : nullptr;
    unsigned bad_checksums = 0;
    Microseconds pause{2'000};
    for (std::uint64_t last = 0;;) {
        const ChunkSource source = move.asking.sources->newest();
        if (source.number != last) pause = Microseconds(2'000);
        last = source.number;
        auto asking = ask(move, source, chunk);
        const Result<void> asked = co_await asking;
        if (asked || is_final(asked.code())) co_return asked;
        if (move.asking.only_source && is_gone(asked.code())) co_return asked;
        if (stop && stop->stopped()) co_return Errc::canceled;
        if (is_lost(asked.code())) move.asking.sources->failed(source.number);
        if (asked.code() == Errc::bad_checksum && ++bad_checksums == checksum_attempts_max) co_return asked;
        const Microseconds span = is_gone(asked.code()) ? Microseconds(std::chrono::hours(1)) : pause;
        auto waiting = move.asking.sources->wait_for_newer(move.asking.node, last, span);
        const Errc waited = co_await waiting;
        if (waited == Errc::canceled) co_return waited;
        pause = std::min(pause * 2, Microseconds(200'000));
    }
}

hl::Task<void> run_lane(Move& move) {
    for (auto chunk = move.take_next(); chunk; chunk = move.take_next()) {
        auto moving = move_chunk(move, *chunk);
        const Result<void> moved = co_await moving;
        if (!moved)
            move.fail(moved);
        else
            move.in_place(*chunk);
    }
}

bool is_lent(const Move& move) {
    const Asking& asking = move.asking;
    return asking.terms.lends && asking.terms.way == Way::to_members && !asking.terms.checksum && asking.wanted &&
           move.holding && !move.region.is_far() && is_near(asking.node, asking.sources->newest().address);
}

hl::Task<void> run_lent_lane(Move& move) {
    const Asking& asking = move.asking;
    const ChunkSource source = asking.sources->newest();
    for (auto piece = move.take_piece(); piece; piece = move.take_piece()) {
        Lender lender{asking.node, asking.provider, source.address, source.ticket, asking.terms.bytes, source.replaced};
        auto fetching = fetch_piece(std::move(lender), asking.wanted, move.holding, piece->offset, piece->bytes);
        const Errc fetched = co_await fetching;
        if (fetched == Errc::ok)
            move.in_place(*piece);
        else if (fetched == Errc::again)
            move.not_lent(*piece);
        else
            move.fail(Result<void>(fetched));
    }
}

void tell_moved(const Asking& asking) {
    const ChunkSource source = asking.sources->newest();
    hl::CallOptions options;
    options.provider = asking.provider;
    options.deadline = Microseconds(1'000'000);
    asking.node.call(moved_message, source.address, source.ticket, options).then([](const Result<void>&) {});
}

}  // namespace

hl::Task<Result<void>> move_chunks(Asking asking, bulk::Region region, std::shared_ptr<Holding> holding) {
    Move move(std::move(asking), std::move(region), std::move(holding));
    if (is_lent(move)) {
        std::vector<hl::Task<void>> lent_lanes;
        for (unsigned i = 0; i < lent_in_flight; ++i) lent_lanes.push_back(run_lent_lane(move));
        auto all_lent = hl::when_all(std::move(lent_lanes));
        (void)co_await all_lent;
    }
    std::vector<hl::Task<void>> lanes;
    for (unsigned i = 0; i < std::max<unsigned>(move.asking.terms.window, 1); ++i) lanes.push_back(run_lane(move));
    auto all = hl::when_all(std::move(lanes));
    (void)co_await all;
    Result<void> outcome = move.outcome();
    if (outcome) tell_moved(move.asking);
    co_return outcome;
}

namespace {

constexpr std::uint32_t copy_step = std::uint32_t{1} << 20;

// Copies by requests for chunks, as between processes. Only one chunk is requested at a time, because both ends of the
// transfers are in this process: the requests must leave room for serving them.
hl::Task<Result<void>> copy_by_calls(Asking asking, std::shared_ptr<Offers> offers, bulk::Region from,
                                     bulk::Region to) {
    asking.terms.way = Way::to_members;
    asking.terms.window = 1;
    asking.terms.chunk_bytes = std::min(asking.terms.chunk_bytes, copy_step);
    asking.terms.bytes = to.bytes();
    asking.sources = std::make_shared<ChunkSources>();
    asking.only_source = true;
    auto holding = std::make_shared<Holding>(asking.node, asking.terms.bytes, asking.terms.chunk_bytes);
    holding->hold_all(std::move(from));
    const Offers::Kept offer = Offers::open(offers, holding, asking.terms);
    asking.sources->add(asking.node.self_addr(), offer->ticket);
    auto moving = move_chunks(std::move(asking), std::move(to), nullptr);
    const Result<void> moved = co_await moving;
    holding->take_back();
    co_await holding->untouched();
    co_return moved;
}

// A copy from far memory to far memory goes through ordinary memory of this process. Otherwise the loads could hold all
// staging buffers of the process while they wait for the stores, which need staging buffers, too.
hl::Task<Result<void>> copy_far(Asking asking, std::shared_ptr<Offers> offers, bulk::Region from, bulk::Region to) {
    if (!from.is_far() || !to.is_far()) {
        auto copying = copy_by_calls(std::move(asking), std::move(offers), std::move(from), std::move(to));
        co_return co_await copying;
    }
    const std::uint64_t step = std::min<std::uint64_t>(copy_step, from.bytes());
    if (step == 0) co_return Result<void>();
    const auto between = asking.node.allocate(static_cast<std::size_t>(step));
    if (!between) co_return between.error();
    for (std::uint64_t offset = 0; offset < from.bytes(); offset += step) {
        const std::uint64_t bytes = std::min(step, from.bytes() - offset);
        const bulk::Region part = between->slice(0, bytes);
        auto loading = copy_by_calls(asking, offers, from.slice(offset, bytes), part);
        const Result<void> loaded = co_await loading;
        if (!loaded) co_return loaded;
        auto storing = copy_by_calls(asking, offers, part, to.slice(offset, bytes));
        const Result<void> stored = co_await storing;
        if (!stored) co_return stored;
    }
    co_return Result<void>();
}

hl::Task<Result<void>> copy_near(hl::NodeRef node, bulk::Region from, bulk::Region to) {
    constexpr std::uint64_t step = copy_step;
    if (!from.contiguous().empty() && from.contiguous().data() == to.contiguous().data()) co_return Result<void>();
    std::vector<std::byte> between(from.contiguous().empty() ? std::min(step, from.bytes()) : 0);
    for (std::uint64_t offset = 0; offset < from.bytes(); offset += step) {
        const std::uint64_t bytes = std::min(step, from.bytes() - offset);
        const Bytes part = between.empty() ? from.contiguous().subspan(offset, bytes) : Bytes(between).first(bytes);
        if (!between.empty()) from.copy_out(offset, part);
        to.copy_in(offset, part);
        const Errc paused = co_await node.sleep_for(Microseconds(0));
        if (paused != Errc::ok) co_return paused;
    }
    co_return Result<void>();
}

}  // namespace

hl::Task<Result<void>> copy_region(Asking asking, std::shared_ptr<Offers> offers, bulk::Region from, bulk::Region to) {
    if (from.is_far() || to.is_far())
        return copy_far(std::move(asking), std::move(offers), std::move(from), std::move(to));
    return copy_near(asking.node, std::move(from), std::move(to));
}

}  // namespace cinnabar::group
