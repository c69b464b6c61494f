// SPDX-License-Identifier: BSD-3-Clause
#include "session/download.hpp"

#include "file/journal.hpp"
#include "session/move_ranges.hpp"
#include "session/protocol.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::files {

Download::~Download() { disk_.dispose(std::move(file_)); }

void Download::close(Error why) {
    if (failure_) return;
    const Errc code = why.code;
    failure_ = std::move(why);
    reading_.close(code);
    share_.close(code);
}

Result<void> Download::check(std::uint64_t offset, const hl::Bulk& window) const {
    const std::uint64_t step = buffers_.buffer_bytes();
    const bool fits = offset < bytes() && offset % step == 0 && window.size() == std::min(step, bytes() - offset);
    if (!fits) return Error{Errc::invalid_argument, "the file has no such window"};
    return {};
}

hl::Task<Result<ReadOut>> Download::send(const ReadIn& in, bool may_come_again) {
    if (failure_) co_return *failure_;
    const MovingWindows::Entry moving(moving_, in.offset);
    Result<ReadOut> outcome = ReadOut{};
    if (auto fits = check(in.offset, in.window); !fits) outcome = std::move(fits).error();
    if (outcome && in.again && in.offset < reading_.position()) {
        outcome = co_await move_again(in);
    } else if (outcome) {
        outcome = co_await move(in);
    }
    // A window that was read can be read again.
    if (!outcome && !(may_come_again && in.offset < reading_.position())) close(outcome.error());
    co_return outcome;
}

// Runs on a disk thread.
Result<ReadOut> Download::read(const ReadIn& in, Bytes content) {
    if (file_.sparse() && file_.is_hole(in.offset, content.size())) {
        sum_.update_zeros(content.size());
        return ReadOut{true, 0};
    }
    CINNABAR_TRY_VOID(file_.read(in.offset, content));
    sum_.update(content);
    return ReadOut{};
}

// Runs on a disk thread. Returns the ranges of a window that the client lacks.
std::vector<ByteRange> Download::lacking(const ReadIn& in, ConstBytes content) {
    if (in.offered && block_checksum(content) == in.checksum) return {};
    if (in.blocks.empty()) return {{0, content.size()}};
    return changed_ranges(block_checksums(content, content.size()), in.blocks, content.size());
}

hl::Task<Result<ReadOut>> Download::move(const ReadIn& in) {
    const std::uint64_t bytes = in.window.size();
    if (const Errc turn = co_await reading_.reach(in.offset); turn != Errc::ok) co_return reason(turn);
    Result<Buffer> buffer = co_await buffers_.take(share_);
    if (!buffer) co_return reason(buffer.code());
    const Bytes content = buffer->bytes().first(bytes);
    std::vector<ByteRange> ranges;
    Result<ReadOut> got = co_await disk_.run([this, &in, &ranges, content] {
        auto outcome = read(in, content);
        if (outcome && !outcome->hole) ranges = lacking(in, content);
        return outcome;
    });
    if (!got) co_return got;
    reading_.advance(in.offset + bytes);
    if (got->hole) co_return got;
    auto pushing = push(in, *buffer, std::move(ranges));
    co_return co_await std::move(pushing);
}

hl::Task<Result<ReadOut>> Download::push(const ReadIn& in, const Buffer& buffer, std::vector<ByteRange> ranges) {
    Result<void> pushed = co_await push_ranges(buffer, in.window, ranges);
    if (!pushed) co_return std::move(pushed).error();
    co_return ReadOut{false, in.window.size() - bytes_of(ranges)};
}

hl::Task<Result<ReadOut>> Download::move_again(const ReadIn& in) {
    Share share(buffers_, session_);  // in the share of the file, one task at a time may wait: that whose turn it is
    Result<Buffer> buffer = co_await buffers_.take(share);
    if (!buffer) co_return reason(buffer.code());
    const Bytes content = buffer->bytes().first(in.window.size());
    std::vector<ByteRange> ranges;
    Result<bool> hole = co_await disk_.run([this, &in, &ranges, content]() -> Result<bool> {
        if (file_.sparse() && file_.is_hole(in.offset, content.size())) return true;
        CINNABAR_TRY_VOID(file_.read(in.offset, content));
        ranges = lacking(in, content);
        return false;
    });
    if (!hole) co_return std::move(hole).error();
    if (*hole) co_return ReadOut{true, 0};
    auto pushing = push(in, *buffer, std::move(ranges));
    co_return co_await std::move(pushing);
}

hl::Task<Result<LendOut>> Download::lend(const LendIn& in, const Give& give) {
    if (failure_) co_return *failure_;
    Result<LendOut> outcome = LendOut{};
    const bool fits =
        in.bytes != 0 && in.bytes <= buffers_.buffer_bytes() && in.offset < bytes() && in.bytes <= bytes() - in.offset;
    if (!fits) outcome = Error{Errc::invalid_argument, "the file has no such window"};
    if (outcome) outcome = co_await hand_out(in, give);
    if (!outcome) close(outcome.error());
    co_return outcome;
}

hl::Task<Result<LendOut>> Download::hand_out(const LendIn& in, const Give& give) {
    if (const Errc turn = co_await reading_.reach(in.offset); turn != Errc::ok) co_return reason(turn);
    Result<Buffer> buffer = co_await buffers_.take(share_);
    if (!buffer) co_return reason(buffer.code());
    const Bytes content = buffer->bytes().first(in.bytes);
    ReadIn read;
    read.offset = in.offset;
    TakeIn take;
    Result<ReadOut> got = co_await disk_.run([&, content] {
        auto outcome = this->read(read, content);
        if (outcome && !outcome->hole && in.offered) take.checksum = block_checksum(content);
        if (outcome && !outcome->hole && in.compares) take.blocks = block_checksums(content, content.size());
        return outcome;
    });
    if (!got) co_return std::move(got).error();
    reading_.advance(in.offset + in.bytes);
    if (got->hole) co_return LendOut{true};
    take.window = hl::Bulk(buffer->region().slice(0, in.bytes), na::Access::read).forwardable();
    Result<void> given = co_await give(take);
    if (!given) co_return std::move(given).error();
    co_return LendOut{};
}

// Uses one buffer at a time, so that other files can use the disk in between.
hl::Task<Result<void>> Download::sum(std::chrono::steady_clock::time_point until) {
    ReadIn in;
    in.offset = reading_.position();
    while (!failure_ && in.offset < bytes()) {
        Result<Buffer> buffer = co_await buffers_.take(share_);
        if (!buffer) co_return reason(buffer.code());
        const auto content =
            buffer->bytes().first(std::min<std::uint64_t>(buffers_.buffer_bytes(), bytes() - in.offset));
        Result<ReadOut> got = co_await disk_.run([this, &in, content] { return read(in, content); });
        if (!got) co_return std::move(got).error();
        in.offset += content.size();
        reading_.advance(in.offset);
        if (std::chrono::steady_clock::now() >= until) break;
    }
    if (failure_) co_return *failure_;
    co_return Result<void>();
}

hl::Task<Result<std::uint64_t>> Download::finish() {
    if (failure_) co_return *failure_;
    if (reading_.position() != bytes())
        co_return Error{Errc::invalid_argument, "not all windows of the file were read"};
    Result<void> settled = co_await disk_.run([this] { return file_.settled(); });
    if (!settled) co_return std::move(settled).error();
    co_return sum_.digest();
}

}  // namespace cinnabar::files
