// SPDX-License-Identifier: BSD-3-Clause
// Tells the owner of shared memory of a write that asked for it: by the first byte that was written.
#pragma once

#include "remote_contracts.hpp"
#include "remote_table.hpp"

#include <cinnabar/hl/request.hpp>

namespace cinnabar::hl {

// Of a write to pieces of several grants.
template <class In>
void notify_of_pieces(RemoteTable& table, Request<In>& request) {
    if (!request->notify) return;
    const remote_calls::Piece& first = request->pieces.front();
    table.notify(request->grants[first.grant],
                 {*request->notify, first.offset, request->from.size(), request.source()});
}

// Of a write to a list of blocks.
template <class In>
void notify_of_blocks(RemoteTable& table, Request<In>& request) {
    if (!request->notify) return;
    bulk::BlockPiece first;
    (void)bulk::BlockWalk(request->blocks.list).next(1, first);
    table.notify(request->grant, {*request->notify, first.offset, request->from.size(), request.source()});
}

}  // namespace cinnabar::hl
