// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/pipe_memory.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <new>
#include <utility>

namespace cinnabar::na {

PipeMemory::PipeMemory(Transport& transport, std::size_t bytes, UniqueFd read_end, UniqueFd write_end)
    : Memory(transport, std::array{Segment{nullptr, bytes}}, Access::read),
      read_end_(std::move(read_end)),
      write_end_(std::move(write_end)) {}

std::unique_ptr<PipeMemory> PipeMemory::make(Transport& transport, std::size_t bytes) noexcept {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return nullptr;
    UniqueFd read_end(ends[0]);
    UniqueFd write_end(ends[1]);
    // Two extra pages: the first and the last page of the range each take up a whole page of the pipe, even if only a
    // part of the page is wanted.
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t room = bytes + 2 * page;
    const int given = ::fcntl(write_end.get(), F_SETPIPE_SZ, static_cast<int>(room));
    if (given < 0 || static_cast<std::size_t>(given) < room) return nullptr;
    try {
        return std::unique_ptr<PipeMemory>(new PipeMemory(transport, bytes, std::move(read_end), std::move(write_end)));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

PipeMemory* PipeMemory::of(Memory& memory) noexcept {
    const auto segments = memory.segments();
    if (segments.size() != 1 || segments.front().base) [[likely]]
        return nullptr;
    return dynamic_cast<PipeMemory*>(&memory);
}

ssize_t PipeMemory::fill(int file, std::uint64_t offset, std::size_t bytes) noexcept {
    CINNABAR_ASSERT(left_ == 0 && bytes <= this->bytes());
    while (left_ < bytes) {
        auto from = static_cast<loff_t>(offset + left_);
        const ssize_t moved =
            ::splice(file, &from, write_end_.get(), nullptr, static_cast<std::size_t>(bytes - left_), 0);
        if (moved < 0 && errno == EINTR) continue;
        if (moved < 0) return -1;
        if (moved == 0) break;
        left_ += static_cast<std::uint64_t>(moved);
    }
    return static_cast<ssize_t>(left_);
}

}  // namespace cinnabar::na
