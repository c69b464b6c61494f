// SPDX-License-Identifier: BSD-3-Clause
// The owner's side of operations whose chunks are compared (RemoteOptions::checked), by the transfers of
// checked_move.hpp. Host memory is written through a buffer of the node, so that damaged chunks never get into it.
#include "checked_move.hpp"
#include "remote_contracts.hpp"
#include "remote_notice.hpp"
#include "remote_pieces.hpp"
#include "remote_staging.hpp"
#include "remote_table.hpp"

#include <cinnabar/bulk/far_memory.hpp>
#include <cinnabar/hl/chunk_sums.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cinnabar::hl {
namespace {

using namespace remote_calls;
using Table = std::shared_ptr<RemoteTable>;

// As in remote_serve_blocks.cpp.
constexpr std::uint64_t checked_window_blocks = 4096;

// One operation: the caller's memory, and how many chunks may still be moved again. The caller asks for that number,
// but the number is limited, because the caller is not trusted.
struct Checked {
    Checked(const Bulk& of_caller, std::uint32_t again_asked, RemoteTransfer& of) noexcept
        : other(of_caller), transfer(of), again_left(std::min(again_asked, again_max_default)) {}
    const Bulk& other;
    RemoteTransfer& transfer;
    std::uint32_t again_left;
};

// Moves one part of the caller's memory. `options` says which part, and how it is checked.
Task<Result<void>> move_part(Checked& checked, bulk::Direction direction, bulk::Region local, TransferOptions options) {
    detail::CheckedMove move{direction,  &checked.other.remote(), std::move(local),
                             options,    checked.other.request(), nullptr,
                             na::Addr(), &checked.again_left};
    auto moving = with_stop(detail::move_checked(std::move(move)), checked.transfer.stop_token());
    const auto moved = co_await std::move(moving);
    if (const Errc late = checked.transfer.check(); late != Errc::ok) co_return late;
    if (!moved) co_return moved.error();
    co_return Result<void>();
}

Task<Result<void>> push_part(Checked& checked, bulk::Region from, std::uint64_t offset) {
    TransferOptions options;
    options.offset = offset;
    options.read_back = true;
    return move_part(checked, bulk::Direction::push, std::move(from), options);
}

// As push_staged: for memory that the caller moves itself.
template <typename In, typename Load>
Task<Result<void>> push_steps(Checked& checked, Request<In>& request, Load load) {
    const std::uint64_t bytes = checked.other.size();
    CINNABAR_CO_TRY(const Buffer buffer, take_staging(request.node().buffers(), bytes, request.source()));
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t step = std::min<std::uint64_t>(buffer.size(), bytes - done);
        const Errc refused = load(done, buffer.bytes().first(static_cast<std::size_t>(step)));
        if (refused != Errc::ok) co_return refused;
        const bulk::Region part = buffer.region().slice(0, step);
        CINNABAR_CO_TRY_VOID(co_await push_part(checked, part, done));
        done += step;
    }
    co_return Result<void>();
}

// As pull_staged, in steps of whole chunks.
template <typename In, typename Store>
Task<Result<void>> pull_steps(Checked& checked, Request<In>& request, Store store) {
    const std::uint64_t bytes = checked.other.size();
    CINNABAR_CO_TRY(const Buffer buffer, take_staging(request.node().buffers(), bytes, request.source()));
    // A buffer that is smaller than a chunk has room for all bytes.
    const std::uint64_t room = std::max(buffer.size() / remote_chunk_bytes, std::uint64_t{1}) * remote_chunk_bytes;
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t step = std::min(room, bytes - done);
        const std::uint64_t chunks = (step + remote_chunk_bytes - 1) / remote_chunk_bytes;
        const ChunkSums sums = request->sums.part(done / remote_chunk_bytes, chunks);
        TransferOptions options;
        options.offset = done;
        options.sums = &sums;
        const bulk::Region part = buffer.region().slice(0, step);
        CINNABAR_CO_TRY_VOID(co_await move_part(checked, bulk::Direction::pull, part, options));
        const Errc refused = store(done, ConstBytes(buffer.bytes()).first(static_cast<std::size_t>(step)));
        if (refused != Errc::ok) co_return refused;
        done += step;
    }
    co_return Result<void>();
}

// Whether some of the bytes are host memory.
bool has_host_memory(const bulk::Region& memory) noexcept {
    const auto far = memory.far_segments();
    const auto ends = memory.segment_ends();
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < far.size(); ++i) {
        const bool inside = ends[i] > memory.offset() && begin < memory.offset() + memory.bytes();
        if (inside && !far[i].memory) return true;
        begin = ends[i];
    }
    return far.empty();
}

bool fit(const ChunkSums& sums, const Bulk& from) noexcept {
    return sums.bytes() == from.size() && sums.chunk_bytes() == remote_chunk_bytes;
}

}  // namespace

Task<Result<RemoteReply>> do_checked_gather(Table table, Request<CheckedGather> request) {
    RemoteTransfer transfer(table);
    CINNABAR_CO_TRY(const bulk::Region from, transfer.begin(request->grants, request->pieces, na::Access::read));
    if (from.bytes() != request->into.size()) co_return Errc::invalid_argument;
    Checked checked(request->into, request->again_max, transfer);
    if (from.is_far() || !is_moved_by_caller(request->into)) {
        CINNABAR_CO_TRY_VOID(co_await push_part(checked, from, 0));
        co_return RemoteReply();
    }
    const auto read = [&table](const RemoteGrant& grant, std::uint64_t offset, Bytes to) {
        return table->read(grant, offset, to);
    };
    const auto load = [&request, read](std::uint64_t done, Bytes bytes) {
        return each_piece(*request, done, bytes, read);
    };
    CINNABAR_CO_TRY_VOID(co_await push_steps(checked, request, load));
    co_return RemoteReply();
}

Task<Result<RemoteReply>> do_checked_scatter(Table table, Request<CheckedScatter> request) {
    RemoteTransfer transfer(table);
    CINNABAR_CO_TRY(const bulk::Region to, transfer.begin(request->grants, request->pieces, na::Access::write));
    if (to.bytes() != request->from.size() || !fit(request->sums, request->from)) co_return Errc::invalid_argument;
    if (to.is_far() && transfer.names_version()) co_return Errc::unsupported;  // as in remote_serve.cpp
    // Far memory is written directly, and then nothing would keep damaged bytes out of host memory beside it.
    if (to.is_far() && has_host_memory(to)) co_return Errc::unsupported;
    Checked checked(request->from, request->again_max, transfer);
    if (to.is_far()) {
        TransferOptions options;
        options.sums = &request->sums;
        CINNABAR_CO_TRY_VOID(co_await move_part(checked, bulk::Direction::pull, to, options));
    } else {
        const auto write = [&table](const RemoteGrant& grant, std::uint64_t offset, ConstBytes from) {
            return table->write(grant, offset, from);
        };
        const auto store = [&request, write](std::uint64_t done, ConstBytes bytes) {
            return each_piece(*request, done, bytes, write);
        };
        CINNABAR_CO_TRY_VOID(co_await pull_steps(checked, request, store));
    }
    notify_of_pieces(*table, request);
    co_return RemoteReply();
}

Task<Result<RemoteReply>> do_checked_gather_blocks(Table table, Request<CheckedGatherBlocks> request) {
    RemoteTransfer transfer(table);
    const bulk::Blocks& list = request->blocks.list;
    CINNABAR_CO_TRY(const bulk::Region memory, transfer.begin(request->grant, list, na::Access::read));
    if (list.bytes() != request->into.size()) co_return Errc::invalid_argument;
    Checked checked(request->into, request->again_max, transfer);
    if (!memory.is_far() && is_moved_by_caller(request->into)) {
        const auto load = [&table, &request, from = bulk::BlockWalk(list)](std::uint64_t, Bytes bytes) mutable {
            return table->read(request->grant, from, bytes);
        };
        CINNABAR_CO_TRY_VOID(co_await push_steps(checked, request, load));
        co_return RemoteReply();
    }
    bulk::BlockParts parts(list);
    bulk::Blocks part;
    for (std::uint64_t done = 0; parts.next(checked_window_blocks, part); done += part.bytes()) {
        CINNABAR_CO_TRY(const bulk::Region window, memory.select(part, na::Access::read));
        CINNABAR_CO_TRY_VOID(co_await push_part(checked, window, done));
    }
    co_return RemoteReply();
}

Task<Result<RemoteReply>> do_checked_scatter_blocks(Table table, Request<CheckedScatterBlocks> request) {
    RemoteTransfer transfer(table);
    const bulk::Blocks& list = request->blocks.list;
    CINNABAR_CO_TRY(const bulk::Region memory, transfer.begin(request->grant, list, na::Access::write));
    if (list.bytes() != request->from.size() || list.overlap() || !fit(request->sums, request->from))
        co_return Errc::invalid_argument;
    if (memory.is_far()) co_return Errc::unsupported;  // its windows do not end where chunks do
    Checked checked(request->from, request->again_max, transfer);
    const auto store = [&table, &request, to = bulk::BlockWalk(list)](std::uint64_t, ConstBytes bytes) mutable {
        return table->write(request->grant, to, bytes);
    };
    CINNABAR_CO_TRY_VOID(co_await pull_steps(checked, request, store));
    notify_of_blocks(*table, request);
    co_return RemoteReply();
}

}  // namespace cinnabar::hl
