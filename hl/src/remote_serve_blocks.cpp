// SPDX-License-Identifier: BSD-3-Clause
// The owner's side of operations on lists of blocks. A list of a few bytes can name very many blocks, so the blocks are
// moved in windows. Only one window at a time needs memory.
#include "remote_contracts.hpp"
#include "remote_notice.hpp"
#include "remote_staging.hpp"
#include "remote_table.hpp"

#include <cinnabar/hl/with_deadline.hpp>

#include <utility>

namespace cinnabar::hl {
namespace {

using namespace remote_calls;
using Table = std::shared_ptr<RemoteTable>;

constexpr std::uint64_t window_blocks = 4096;

// Moves all blocks between this memory and the caller's, in their order.
Task<Result<void>> move_blocks(bulk::Direction direction, const bulk::Region& memory, const bulk::Blocks& list,
                               const Bulk& other, RemoteTransfer& transfer) {
    const auto access = direction == bulk::Direction::push ? na::Access::read : na::Access::write;
    bulk::BlockParts parts(list);
    bulk::Blocks part;
    for (std::uint64_t done = 0; parts.next(window_blocks, part); done += part.bytes()) {
        CINNABAR_CO_TRY(const bulk::Region window, memory.select(part, access));
        const TransferOptions options{.offset = done};
        auto moving = direction == bulk::Direction::push ? other.push(window, options) : other.pull(window, options);
        const auto moved = co_await with_stop(std::move(moving), transfer.stop_token());
        if (const Errc late = transfer.check(); late != Errc::ok) co_return late;
        if (!moved) co_return moved.error();
    }
    co_return Result<void>();
}

Task<Result<void>> write_staged(RemoteTable& table, Request<ScatterBlocks>& request, RemoteTransfer& transfer) {
    return pull_staged(request, transfer,
                       [&table, &request, to = bulk::BlockWalk(request->blocks.list)](
                           std::uint64_t, ConstBytes bytes) mutable { return table.write(request->grant, to, bytes); });
}

Task<Result<void>> read_staged(RemoteTable& table, Request<GatherBlocks>& request, RemoteTransfer& transfer) {
    return push_staged(request, transfer,
                       [&table, &request, from = bulk::BlockWalk(request->blocks.list)](
                           std::uint64_t, Bytes bytes) mutable { return table.read(request->grant, from, bytes); });
}

}  // namespace

Task<Result<RemoteReply>> do_gather_blocks(Table table, Request<GatherBlocks> request) {
    RemoteTransfer transfer(table);
    const bulk::Blocks& list = request->blocks.list;
    CINNABAR_CO_TRY(const bulk::Region memory, transfer.begin(request->grant, list, na::Access::read));
    if (list.bytes() != request->into.size()) co_return Errc::invalid_argument;
    if (!memory.is_far() && is_moved_by_caller(request->into))
        CINNABAR_CO_TRY_VOID(co_await read_staged(*table, request, transfer));
    else
        CINNABAR_CO_TRY_VOID(co_await move_blocks(bulk::Direction::push, memory, list, request->into, transfer));
    co_return RemoteReply();
}

Task<Result<RemoteReply>> do_scatter_blocks(Table table, Request<ScatterBlocks> request) {
    RemoteTransfer transfer(table);
    const bulk::Blocks& list = request->blocks.list;
    CINNABAR_CO_TRY(const bulk::Region memory, transfer.begin(request->grant, list, na::Access::write));
    if (list.bytes() != request->from.size() || list.overlap()) co_return Errc::invalid_argument;
    if (memory.is_far() && transfer.names_version()) co_return Errc::unsupported;  // as in remote_serve.cpp
    if (!memory.is_far() && (transfer.names_version() || is_moved_by_caller(request->from)))
        CINNABAR_CO_TRY_VOID(co_await write_staged(*table, request, transfer));
    else
        CINNABAR_CO_TRY_VOID(co_await move_blocks(bulk::Direction::pull, memory, list, request->from, transfer));
    notify_of_blocks(*table, request);
    co_return RemoteReply();
}

}  // namespace cinnabar::hl
