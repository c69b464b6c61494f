// SPDX-License-Identifier: BSD-3-Clause
#include "ring.hpp"

#include <algorithm>
#include <bit>

namespace cinnabar::shm {
std::size_t ring_bytes_for(std::size_t record_bytes_max) noexcept {
    return std::max(ring_bytes_min, std::bit_ceil(3 * record_size(record_bytes_max)));
}

void RingWriter::attach(std::byte* memory, std::size_t ring_bytes) noexcept {
    *this = {};
    header_ = reinterpret_cast<RingHeader*>(memory);
    records_ = memory + ring_header_bytes;
    mask_ = ring_bytes - 1;
}

void RingWriter::look() noexcept {
    const std::uint64_t read = header_->read.load(std::memory_order_acquire);
    if (at_ - read > mask_ + 1) {
        broken_ = true;
    } else {
        read_ = read;
    }
}

bool RingWriter::write_at_an_end(RecordKind kind, std::uint64_t id, const void* from, std::uint32_t bytes) noexcept {
    std::byte* const to = reserve(bytes);
    if (!to) return false;
    std::memcpy(to, from, bytes);
    publish({kind, 0, 0, bytes, id});
    return true;
}

std::size_t RingWriter::used() noexcept {
    look();
    return static_cast<std::size_t>(at_ - read_);
}

bool RingWriter::room_came() const noexcept { return header_->read.load(std::memory_order_acquire) != full_at_; }

void RingReader::attach(std::byte* memory, std::size_t ring_bytes, std::size_t record_bytes_max) noexcept {
    *this = {};
    header_ = reinterpret_cast<RingHeader*>(memory);
    records_ = memory + ring_header_bytes;
    mask_ = ring_bytes - 1;
    record_bytes_max_ = record_bytes_max;
}

void RingReader::give_back() noexcept {
    given_back_ = at_;
    header_->read.store(at_, std::memory_order_release);
}

}  // namespace cinnabar::shm
