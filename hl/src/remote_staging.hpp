// SPDX-License-Identifier: BSD-3-Clause
// Operations that copy through buffers of the node, instead of moving the shared memory directly. Writes that name a
// version need buffers so that no bytes arrive after the contents were renewed. Operations with a file or device memory
// of the caller need buffers because the caller itself moves the bytes of such memory: without buffers, the shared
// memory would have to be lent to the caller, which might keep using it. Operations on shared far memory need no
// buffers, because transfers of far memory have staging buffers of their own.
#pragma once

#include "remote_table.hpp"

#include <cinnabar/bulk/far_lender.hpp>
#include <cinnabar/hl/buffers.hpp>
#include <cinnabar/hl/serve.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <algorithm>

namespace cinnabar::hl {

// Takes a buffer; it is smaller than requested if the node's buffers, or the peer's share of them, run short.
[[nodiscard]] Result<Buffer> take_staging(Buffers& buffers, std::uint64_t bytes, const na::Addr& peer);

// Whether the caller moves the bytes of this memory itself, so that a transfer lends the local memory to the caller.
[[nodiscard]] inline bool is_moved_by_caller(const Bulk& memory) noexcept {
    return !memory.remote().key_for(bulk::far_scheme).empty();
}

// Pulls the caller's data, one buffer at a time. `store` is given the offset and the bytes and returns an Errc; it must
// not write if the token is no longer valid. All arguments but `store` must outlive the task.
template <typename In, typename Store>
Task<Result<void>> pull_staged(Request<In>& request, RemoteTransfer& transfer, Store store) {
    const std::uint64_t bytes = request->from.size();
    CINNABAR_CO_TRY(const Buffer buffer, take_staging(request.node().buffers(), bytes, request.source()));
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t step = std::min<std::uint64_t>(buffer.size(), bytes - done);
        const TransferOptions options{.offset = done, .bytes = step};
        const auto pulled = co_await with_stop(request->from.pull(buffer, options), transfer.stop_token());
        if (const Errc late = transfer.check(); late != Errc::ok) co_return late;
        if (!pulled) co_return pulled.error();
        const Errc refused = store(done, buffer.bytes().first(static_cast<std::size_t>(step)));
        if (refused != Errc::ok) co_return refused;
        done += step;
    }
    co_return Result<void>();
}

// Pushes to the caller's memory, one buffer at a time. `load` is given the offset and the room, and returns an Errc.
// All arguments but `load` must outlive the task.
template <typename In, typename Load>
Task<Result<void>> push_staged(Request<In>& request, RemoteTransfer& transfer, Load load) {
    const std::uint64_t bytes = request->into.size();
    CINNABAR_CO_TRY(const Buffer buffer, take_staging(request.node().buffers(), bytes, request.source()));
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t step = std::min<std::uint64_t>(buffer.size(), bytes - done);
        const Errc refused = load(done, buffer.bytes().first(static_cast<std::size_t>(step)));
        if (refused != Errc::ok) co_return refused;
        const TransferOptions options{.offset = done, .bytes = step};
        const auto pushed = co_await with_stop(request->into.push(buffer, options), transfer.stop_token());
        if (const Errc late = transfer.check(); late != Errc::ok) co_return late;
        if (!pushed) co_return pushed.error();
        done += step;
    }
    co_return Result<void>();
}

}  // namespace cinnabar::hl
