// SPDX-License-Identifier: BSD-3-Clause
#include "ring.hpp"

#include "full_fence.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cinnabar::shm {
namespace {

// The first word: bytes 0-3 the length, 4 the kind, 5 flags, 6 status, 7 always 1, so that it is never 0.
constexpr std::uint64_t present = std::uint64_t{1} << 56;

std::uint64_t word_of(const Record& record) noexcept {
    return record.bytes | std::uint64_t{static_cast<std::uint8_t>(record.kind)} << 32 |
           std::uint64_t{record.flags} << 40 | std::uint64_t{record.status} << 48 | present;
}

std::atomic<std::uint64_t>& word_at(std::byte* at) noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(at);
}

}  // namespace

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

std::size_t RingWriter::used() noexcept {
    look();
    return static_cast<std::size_t>(at_ - read_);
}

bool RingWriter::room_came() const noexcept { return header_->read.load(std::memory_order_acquire) != read_; }

std::byte* RingWriter::reserve(std::uint32_t bytes) noexcept {
    const std::size_t offset = at_ & mask_;
    const std::size_t size = record_size(bytes);
    const std::size_t to_end = mask_ + 1 - offset;
    skip_ = to_end < size ? to_end : 0;
    // Behind the record there is a 0, within what is free.
    const std::size_t need = skip_ + size + record_header_bytes;
    if (need > mask_ + 1 - (at_ - read_)) {
        look();
        if (broken_ || need > mask_ + 1 - (at_ - read_)) return nullptr;
    }
    return records_ + ((at_ + skip_) & mask_) + record_header_bytes;
}

void RingWriter::publish(const Record& record) noexcept {
    std::byte* const place = records_ + ((at_ + skip_) & mask_);
    const std::uint64_t end = at_ + skip_ + record_size(record.bytes);
    std::memcpy(place + 8, &record.id, sizeof record.id);
    word_at(records_ + (end & mask_)).store(0, std::memory_order_relaxed);
    order_for_sanitizer();
    word_at(place).store(word_of(record), std::memory_order_release);
    if (skip_ != 0) word_at(records_ + (at_ & mask_)).store(word_of({}), std::memory_order_release);
    at_ = end;
}

void RingReader::attach(std::byte* memory, std::size_t ring_bytes, std::size_t record_bytes_max) noexcept {
    *this = {};
    header_ = reinterpret_cast<RingHeader*>(memory);
    records_ = memory + ring_header_bytes;
    mask_ = ring_bytes - 1;
    record_bytes_max_ = record_bytes_max;
}

RingReader::Look RingReader::next(Record& out) noexcept {
    for (;;) {
        const std::uint64_t word = first_word().load(std::memory_order_acquire);
        if (word == 0) return Look::none;
        order_for_sanitizer();
        const std::size_t offset = at_ & mask_;
        const std::size_t to_end = mask_ + 1 - offset;
        if (word >> 56 != present >> 56) return Look::broken;
        out.bytes = static_cast<std::uint32_t>(word);
        out.kind = static_cast<RecordKind>(word >> 32 & 0xff);
        out.flags = static_cast<std::uint8_t>(word >> 40);
        out.status = static_cast<std::uint8_t>(word >> 48);
        if (out.kind == RecordKind::skip) {
            // From the begin it would lead round and round.
            if (offset == 0) return Look::broken;
            at_ += to_end;
            continue;
        }
        if (out.bytes > record_bytes_max_ || record_size(out.bytes) > to_end) return Look::broken;
        size_ = record_size(out.bytes);
        std::memcpy(&out.id, records_ + offset + 8, sizeof out.id);
        return Look::record;
    }
}

void RingReader::give_back() noexcept {
    given_back_ = at_;
    header_->read.store(at_, std::memory_order_release);
}

}  // namespace cinnabar::shm
