// SPDX-License-Identifier: BSD-3-Clause
#include "session/move_ranges.hpp"

#include "session/protocol.hpp"

#include <cinnabar/hl/when_all.hpp>

#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

hl::TransferOptions options_for(const ByteRange& range) {
    hl::TransferOptions options;
    options.offset = range.offset;
    options.bytes = range.bytes;
    options.deadline = window_time_max;
    return options;
}

hl::Task<Result<void>> pull_range(const Buffer& buffer, const hl::Bulk& window, ByteRange range) {
    hl::TransferOptions options = options_for(range);
    options.follow_owner = true;  // allowed by Service::may_follow
    Result<std::uint64_t> moved = co_await window.pull(buffer.region().slice(range.offset, range.bytes), options);
    if (!moved && !window.remote().owner().empty())
        co_return Error{moved.code(), "it could not read the bytes from the server that lends them"};
    if (!moved) co_return std::move(moved).error();
    if (*moved != range.bytes) co_return Error{Errc::protocol, "the window is incomplete"};
    co_return Result<void>();
}

hl::Task<Result<void>> push_range(const Buffer& buffer, const hl::Bulk& window, ByteRange range) {
    Result<std::uint64_t> moved =
        co_await window.push(buffer.region().slice(range.offset, range.bytes), options_for(range));
    if (!moved) co_return std::move(moved).error();
    if (*moved != range.bytes) co_return Error{Errc::protocol, "the window was sent incompletely"};
    co_return Result<void>();
}

hl::Task<Result<void>> move_all_of(std::vector<hl::Task<Result<void>>> moves) {
    if (moves.empty()) co_return Result<void>();
    auto outcomes = co_await hl::when_all(std::move(moves));
    for (auto& outcome : outcomes) {
        if (!outcome) co_return std::move(outcome).error();
    }
    co_return Result<void>();
}

}  // namespace

hl::Task<Result<void>> pull_ranges(const Buffer& buffer, const hl::Bulk& window, std::span<const ByteRange> ranges) {
    if (ranges.size() == 1) return pull_range(buffer, window, ranges.front());
    std::vector<hl::Task<Result<void>>> moves;
    for (const auto& range : ranges) moves.push_back(pull_range(buffer, window, range));
    return move_all_of(std::move(moves));
}

hl::Task<Result<void>> push_ranges(const Buffer& buffer, const hl::Bulk& window, std::span<const ByteRange> ranges) {
    if (ranges.size() == 1) return push_range(buffer, window, ranges.front());
    std::vector<hl::Task<Result<void>>> moves;
    for (const auto& range : ranges) moves.push_back(push_range(buffer, window, range));
    return move_all_of(std::move(moves));
}

}  // namespace cinnabar::files
