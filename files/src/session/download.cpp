// SPDX-License-Identifier: BSD-3-Clause
#include "session/download.hpp"

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

hl::Task<Result<ReadOut>> Download::send(std::uint64_t offset, const hl::Bulk& window) {
    if (failure_) co_return *failure_;
    Result<ReadOut> outcome = ReadOut{};
    if (auto fits = check(offset, window); !fits) outcome = std::move(fits).error();
    if (outcome) outcome = co_await move(offset, window);
    if (!outcome) close(outcome.error());
    co_return outcome;
}

hl::Task<Result<ReadOut>> Download::move(std::uint64_t offset, const hl::Bulk& window) {
    const std::uint64_t bytes = window.size();
    if (const Errc turn = co_await reading_.reach(offset); turn != Errc::ok) co_return reason(turn);
    Result<Buffer> buffer = co_await buffers_.take(share_);
    if (!buffer) co_return reason(buffer.code());
    const Bytes content = buffer->bytes().first(bytes);
    bool hole = false;
    Result<void> got = co_await disk_.run([this, content, offset, &hole]() -> Result<void> {
        hole = file_.sparse() && file_.is_hole(offset, content.size());
        if (hole) {
            sum_.update_zeros(content.size());
            return {};
        }
        auto outcome = file_.read(offset, content);
        if (outcome) sum_.update(content);
        return outcome;
    });
    if (!got) co_return std::move(got).error();
    reading_.advance(offset + bytes);
    if (hole) co_return ReadOut{true};

    hl::TransferOptions options;
    options.deadline = window_time_max;
    Result<std::uint64_t> moved = co_await window.push(buffer->region().slice(0, bytes), options);
    if (!moved) co_return std::move(moved).error();
    if (*moved != bytes) co_return Error{Errc::protocol, "the window went short"};
    co_return ReadOut{};
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
