// SPDX-License-Identifier: BSD-3-Clause
#include "session/upload.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::tools {
namespace {

// A client that stopped in the middle of a window keeps its buffers this long, however late its own deadline is.
constexpr std::chrono::microseconds stall_limit = std::chrono::seconds(30);

}  // namespace

Upload::Upload(Buffers& buffers, Disk& disk, NewFile file, std::uint64_t bytes) noexcept
    : buffers_(buffers), disk_(disk), file_(std::move(file)), bytes_(bytes), share_(buffers) {}

Upload::~Upload() { disk_.dispose(std::move(file_)); }

void Upload::close(Error why) {
    if (failure_) return;
    const Errc code = why.code;
    failure_ = std::move(why);
    taking_.close(code);
    share_.close(code);
    writing_.close(code);
}

Result<void> Upload::check(std::uint64_t offset, const hl::Bulk& window) const {
    const std::uint64_t step = buffers_.buffer_bytes();
    const bool fits = offset < bytes_ && offset % step == 0 && window.size() == std::min(step, bytes_ - offset);
    if (!fits) return Error{Errc::invalid_argument, "the file has no such window"};
    return {};
}

hl::Task<Result<void>> Upload::receive(std::uint64_t offset, const hl::Bulk& window) {
    if (failure_) co_return *failure_;
    Result<void> outcome = check(offset, window);
    if (outcome) outcome = co_await move(offset, window);
    if (!outcome) close(outcome.error());
    co_return outcome;
}

hl::Task<Result<void>> Upload::move(std::uint64_t offset, const hl::Bulk& window) {
    const std::uint64_t bytes = window.size();
    // Buffers are taken in the order of the file: the window that must be written next always has one.
    if (const Errc turn = co_await taking_.reach(offset); turn != Errc::ok) co_return reason(turn);
    Result<Buffer> buffer = co_await buffers_.take(share_);
    if (!buffer) co_return reason(buffer.code());
    taking_.advance(offset + bytes);

    hl::TransferOptions options;
    options.deadline = stall_limit;
    Result<std::uint64_t> moved = co_await window.pull(buffer->region().slice(0, bytes), options);
    if (!moved) co_return std::move(moved).error();
    if (*moved != bytes) co_return Error{Errc::protocol, "the window came short"};

    if (const Errc turn = co_await writing_.reach(offset); turn != Errc::ok) co_return reason(turn);
    const ConstBytes content = buffer->bytes().first(bytes);
    Result<void> written = co_await disk_.run([this, content, offset] {
        sum_.update(content);
        return file_.write(offset, content);
    });
    if (!written) co_return written;
    writing_.advance(offset + bytes);
    co_return Result<void>();
}

hl::Task<Result<void>> Upload::commit(std::uint64_t checksum) {
    if (failure_) co_return *failure_;
    if (writing_.position() != bytes_) {
        close(Error{Errc::invalid_argument, "not all windows of the file came"});
        co_return *failure_;
    }
    close(Error{Errc::closed, "the file is being committed"});
    if (sum_.digest() != checksum) co_return Error{Errc::bad_checksum, "what arrived is not what was sent"};
    co_return co_await disk_.run([this] { return file_.commit(); });
}

}  // namespace cinnabar::tools
