// SPDX-License-Identifier: BSD-3-Clause
// The owner's side of operations on shared memory. Short operations run when the request arrives (decision 51):
// operations on words, reads and writes of at most remote_inline_bytes_max bytes, and mappings. A short write that
// notifies runs from trigger(), since it calls the owner's function. Everything else is done by transfers
// (RemoteTransfer), straight from or to the shared memory, or through buffers (remote_staging.hpp).
#include "remote_contracts.hpp"
#include "remote_notice.hpp"
#include "remote_pieces.hpp"
#include "remote_staging.hpp"
#include "remote_table.hpp"

#include <cinnabar/hl/serve.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <cstring>
#include <utility>

namespace cinnabar::hl {
namespace {

using namespace remote_calls;
using Table = std::shared_ptr<RemoteTable>;

Result<RemoteReply> do_word(RemoteTable& table, const Word& call) {
    std::uint64_t before = 0;
    if (const Errc refused = table.word(call, before); refused != Errc::ok) return refused;
    RemoteReply reply;
    std::memcpy(reply.resize(sizeof(before)).data(), &before, sizeof(before));
    return reply;
}

Result<RemoteReply> do_look(RemoteTable& table, const Look& call) {
    if (call.bytes > remote_inline_bytes_max) return Errc::too_large;
    RemoteReply reply;
    const Errc refused = table.read(call.grant, call.offset, reply.resize(static_cast<std::size_t>(call.bytes)));
    if (refused != Errc::ok) return refused;
    return reply;
}

Result<RemoteReply> do_map(RemoteTable& table, const Look& call) {
    RemoteReply reply;
    if (const Errc refused = table.map(call, reply); refused != Errc::ok) return refused;
    return reply;
}

Result<RemoteReply> do_put(RemoteTable& table, const Put& call) {
    if (call.contents.size() > remote_inline_bytes_max) return Errc::too_large;
    const Errc refused = table.write(call.grant, call.offset, call.contents);
    if (refused != Errc::ok) return refused;
    return RemoteReply();
}

Result<RemoteReply> do_put_and_notify(RemoteTable& table, const Request<Put>& request) {
    const Put& call = *request;
    Result<RemoteReply> put = do_put(table, call);
    if (put && call.notify)
        table.notify(call.grant, {*call.notify, call.offset, call.contents.size(), request.source()});
    return put;
}

Task<Result<void>> read_staged(RemoteTable& table, Request<Gather>& request, RemoteTransfer& transfer) {
    const auto read = [&table](const RemoteGrant& grant, std::uint64_t offset, Bytes to) {
        return table.read(grant, offset, to);
    };
    return push_staged(request, transfer, [&request, read](std::uint64_t done, Bytes bytes) {
        return each_piece(*request, done, bytes, read);
    });
}

Task<Result<void>> read_straight(const bulk::Region& from, Request<Gather>& request, RemoteTransfer& transfer) {
    const auto pushed = co_await with_stop(request->into.push(from), transfer.stop_token());
    if (const Errc late = transfer.check(); late != Errc::ok) co_return late;
    if (!pushed) co_return pushed.error();
    co_return Result<void>();
}

Task<Result<RemoteReply>> do_gather(Table table, Request<Gather> request) {
    RemoteTransfer transfer(table);
    CINNABAR_CO_TRY(const bulk::Region from, transfer.begin(request->grants, request->pieces, na::Access::read));
    if (from.bytes() != request->into.size()) co_return Errc::invalid_argument;
    if (!from.is_far() && is_moved_by_caller(request->into))
        CINNABAR_CO_TRY_VOID(co_await read_staged(*table, request, transfer));
    else
        CINNABAR_CO_TRY_VOID(co_await read_straight(from, request, transfer));
    co_return RemoteReply();
}

Task<Result<void>> write_staged(RemoteTable& table, Request<Scatter>& request, RemoteTransfer& transfer) {
    const auto write = [&table](const RemoteGrant& grant, std::uint64_t offset, ConstBytes from) {
        return table.write(grant, offset, from);
    };
    return pull_staged(request, transfer, [&request, write](std::uint64_t done, ConstBytes bytes) {
        return each_piece(*request, done, bytes, write);
    });
}

Task<Result<void>> write_straight(const bulk::Region& to, Request<Scatter>& request, RemoteTransfer& transfer) {
    const auto pulled = co_await with_stop(request->from.pull(to), transfer.stop_token());
    if (const Errc late = transfer.check(); late != Errc::ok) co_return late;
    if (!pulled) co_return pulled.error();
    co_return Result<void>();
}

Task<Result<RemoteReply>> do_scatter(Table table, Request<Scatter> request) {
    RemoteTransfer transfer(table);
    CINNABAR_CO_TRY(const bulk::Region to, transfer.begin(request->grants, request->pieces, na::Access::write));
    if (to.bytes() != request->from.size()) co_return Errc::invalid_argument;
    if (to.is_far() && transfer.names_version()) co_return Errc::unsupported;  // nothing keeps late bytes out of it
    if (!to.is_far() && (transfer.names_version() || is_moved_by_caller(request->from)))
        CINNABAR_CO_TRY_VOID(co_await write_staged(*table, request, transfer));
    else
        CINNABAR_CO_TRY_VOID(co_await write_straight(to, request, transfer));
    notify_of_pieces(*table, request);
    co_return RemoteReply();
}

}  // namespace

Result<void> serve_remote(const NodeRef& node, const Table& table, unsigned& served) {
    unsigned number = 0;
    const auto next = [&](const auto& rpc, auto handler, const auto&... how) -> Result<void> {
        if (number++ < served) return {};
        CINNABAR_TRY_VOID(node.serve(rpc, std::move(handler), how...));
        ++served;
        return {};
    };
    CINNABAR_TRY_VOID(next(
        word, [table](const Word& call) { return do_word(*table, call); }, on_arrival));
    CINNABAR_TRY_VOID(next(
        look, [table](const Look& call) { return do_look(*table, call); }, on_arrival));
    CINNABAR_TRY_VOID(next(
        put, [table](const Put& call) { return do_put(*table, call); }, on_arrival));
    CINNABAR_TRY_VOID(
        next(put_and_notify, [table](Request<Put> request) { return do_put_and_notify(*table, request); }));
    CINNABAR_TRY_VOID(next(gather, [table](Request<Gather> request) { return do_gather(table, std::move(request)); }));
    CINNABAR_TRY_VOID(
        next(scatter, [table](Request<Scatter> request) { return do_scatter(table, std::move(request)); }));
    CINNABAR_TRY_VOID(next(
        gather_blocks, [table](Request<GatherBlocks> request) { return do_gather_blocks(table, std::move(request)); }));
    CINNABAR_TRY_VOID(next(scatter_blocks, [table](Request<ScatterBlocks> request) {
        return do_scatter_blocks(table, std::move(request));
    }));
    CINNABAR_TRY_VOID(next(
        map, [table](const Look& call) { return do_map(*table, call); }, on_arrival));
    CINNABAR_TRY_VOID(next(checked_gather, [table](Request<CheckedGather> request) {
        return do_checked_gather(table, std::move(request));
    }));
    CINNABAR_TRY_VOID(next(checked_scatter, [table](Request<CheckedScatter> request) {
        return do_checked_scatter(table, std::move(request));
    }));
    CINNABAR_TRY_VOID(next(checked_gather_blocks, [table](Request<CheckedGatherBlocks> request) {
        return do_checked_gather_blocks(table, std::move(request));
    }));
    return next(checked_scatter_blocks, [table](Request<CheckedScatterBlocks> request) {
        return do_checked_scatter_blocks(table, std::move(request));
    });
}

}  // namespace cinnabar::hl
