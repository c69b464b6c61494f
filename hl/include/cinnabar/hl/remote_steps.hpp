// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes of remote memory in steps, which report their progress, and how many bytes were moved if the
// operation ends early.
//
//     std::uint64_t moved = 0;
//     const auto read = co_await read_in_steps(node, table.token(), region, {.progress = &show, .moved = &moved});
//
// Each step is an operation of its own (remote.hpp), and two are in progress at a time. The owner checks the token at
// each step: if the contents are renewed between two steps, the operation ends with `stale`, and the bytes moved before
// belong to the earlier version.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/remote_token.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>

namespace cinnabar::hl {

// Must stay trivially destructible; see CallOptions.
struct RemoteSteps {
    std::uint64_t step_bytes = std::uint64_t{8} << 20;
    // Called when more bytes have been moved. `bytes_done`: how many bytes from the start have been moved without a
    // gap; grows from call to call. Two calls never overlap. The function runs where the task runs, must be short, must
    // not block or throw, and must live until the task has ended.
    const std::function<void(std::uint64_t bytes_done)>* progress = nullptr;
    // Receives the final `bytes_done` at the end, even if the operation ends early. Must live until the task has ended.
    // The error of an operation that ended early contains the number, too.
    std::uint64_t* moved = nullptr;
    std::optional<Microseconds> deadline = {};  // of all steps together; unset: each step has that of a call
    bool follow_owner = false;                  // as RemoteOptions::follow_owner
};
static_assert(std::is_trivially_destructible_v<RemoteSteps>);

// Reads or writes all bytes of the token. Requires: the region has as many bytes as the token. Returns the number of
// bytes moved. Errors: those of the first step that failed (remote.hpp); invalid_argument: steps of 0 bytes.
[[nodiscard]] CINNABAR_API Task<Result<std::uint64_t>> read_in_steps(NodeRef node, RemoteBytes from, bulk::Region into,
                                                                     RemoteSteps steps = {});
[[nodiscard]] CINNABAR_API Task<Result<std::uint64_t>> write_in_steps(NodeRef node, RemoteBytes to, bulk::Region from,
                                                                      RemoteSteps steps = {});

}  // namespace cinnabar::hl
