// SPDX-License-Identifier: BSD-3-Clause
// Transfers that compare each chunk after it has arrived, and move damaged chunks again (TransferOptions::sums and
// read_back).
#pragma once

#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstdint>

namespace cinnabar::hl::detail {

// What a TransferOp was made of; exactly one of `request` and `node` is set. What it points to lives until the end.
struct CheckedMove {
    bulk::Direction direction;
    const bulk::RemoteRegion* remote;
    bulk::Region local;
    TransferOptions options;
    rpc::Request* request;
    NodeCore* node;
    na::Addr peer;  // with `node`
    // If not null: how many more chunks may be moved again, in place of options.again_max. Several moves may share the
    // number; each chunk that is moved again decrements it.
    std::uint32_t* again_left = nullptr;
};

[[nodiscard]] Task<Result<std::uint64_t>> move_checked(CheckedMove move);

}  // namespace cinnabar::hl::detail
