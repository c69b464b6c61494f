// SPDX-License-Identifier: BSD-3-Clause
// A ring of records in shared memory with one writer and one reader; no lock, no system call. docs/wire-format-shm.md.
//
// A record is published by its first word: the reader looks at the word where the next record begins, which is 0 until
// the writer stores it, last, in front of a record that is whole. The writer has put a 0 behind the record before. So a
// small message costs the reader one or two cache lines, and half a record is never seen, whenever its writer dies.
//
// The reader trusts nothing: it keeps its own position, copies the first word once, and checks it against its own
// bounds. What a hostile writer can do is send nonsense, or end the session. Each side: one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cinnabar::shm {

// The page in front of the records. A line belongs to the side that writes it.
struct RingHeader {
    alignas(64) std::atomic<std::uint64_t> read;         // 0, reader: everything before is consumed
    alignas(64) std::atomic<std::uint64_t> armed;        // 64, reader: 0, or how it wants to be rung (session.hpp)
    alignas(64) std::atomic<std::uint64_t> room_wanted;  // 128, writer: changes when it begins to wait for room
    alignas(64) std::atomic<std::uint64_t> holding;      // 192, writer: the lease slot + 1 that it accesses, or 0
};
static_assert(offsetof(RingHeader, armed) == 64 && offsetof(RingHeader, room_wanted) == 128);
static_assert(offsetof(RingHeader, holding) == 192 && sizeof(RingHeader) == 256);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::size_t ring_header_bytes = 4096;
inline constexpr std::size_t record_header_bytes = 16;
inline constexpr std::size_t ring_bytes_min = 64 * 1024;
inline constexpr std::size_t ring_bytes_max = 64 * 1024 * 1024;

// Bytes of a ring for records with at most so many bytes behind their header: a power of two that holds three of them,
// so that a writer who waits for room has the reader's attention (RingReader::room_due).
[[nodiscard]] std::size_t ring_bytes_for(std::size_t record_bytes_max) noexcept;
[[nodiscard]] constexpr std::size_t record_size(std::size_t bytes) noexcept {
    return record_header_bytes + ((bytes + 15) & ~std::size_t{15});
}

enum class RecordKind : std::uint8_t {
    skip = 1,  // nothing more before the end of the ring
    unexpected = 2,
    expected = 3,
    get = 16,
    get_data = 17,
    get_failed = 18,
    put = 19,
    put_done = 20,
    stop = 21,
    fetch_add = 22,
    compare_swap = 23,
    atomic_done = 24,
    notify = 25,
    bye = 26,  // the last one
};

// The header of a record.
struct Record {
    RecordKind kind = RecordKind::skip;
    std::uint8_t flags = 0;
    std::uint8_t status = 0;
    std::uint32_t bytes = 0;
    std::uint64_t id = 0;

    [[nodiscard]] bool is_message() const noexcept {
        const auto first = static_cast<unsigned>(RecordKind::unexpected);
        return static_cast<unsigned>(kind) - first <= 1 && (flags | status) == 0;
    }
};

class RingWriter {
  public:
    // `memory`: the header page and `ring_bytes` of records, all zeros.
    void attach(std::byte* memory, std::size_t ring_bytes) noexcept;

    // Where the payload of the next record goes, 16-byte aligned; null when there is no room, or when the reader's
    // position makes no sense (broken).
    [[nodiscard]] std::byte* reserve(std::uint32_t bytes) noexcept;
    // Publishes it. Requires: reserve(record.bytes) gave room just before.
    void publish(const Record& record) noexcept;

    // Bytes that the reader has not given back; at least as many as it has not read.
    [[nodiscard]] std::size_t used() noexcept;
    [[nodiscard]] std::size_t ring_bytes() const noexcept { return mask_ + 1; }
    [[nodiscard]] bool broken() const noexcept { return broken_; }
    // Whether the reader gave room back since it was last looked at.
    [[nodiscard]] bool room_came() const noexcept;
    [[nodiscard]] RingHeader& header() const noexcept { return *header_; }

  private:
    void look() noexcept;
    RingHeader* header_ = nullptr;
    std::byte* records_ = nullptr;
    std::size_t mask_ = 0;
    std::uint64_t at_ = 0;    // of the next record
    std::uint64_t read_ = 0;  // the reader's position when last looked at
    std::size_t skip_ = 0;    // of the reserved record
    bool broken_ = false;
};

class RingReader {
  public:
    enum class Look : std::uint8_t { none, record, broken };

    void attach(std::byte* memory, std::size_t ring_bytes, std::size_t record_bytes_max) noexcept;

    [[nodiscard]] bool empty() const noexcept { return first_word().load(std::memory_order_acquire) == 0; }
    // The next record: its header is a copy, its payload (see payload()) lies in shared memory still.
    [[nodiscard]] Look next(Record& out) noexcept;
    // Of the record that next() gave. The writer may change it at any time: copy it, once, before it is looked at.
    [[nodiscard]] const std::byte* payload() const noexcept { return records_ + (at_ & mask_) + record_header_bytes; }
    // Done with it.
    void consume() noexcept { at_ += size_; }

    // So much is consumed that a writer who waits for room may need it.
    [[nodiscard]] bool room_due() const noexcept { return at_ - given_back_ > (mask_ + 1) / 4; }
    void give_back() noexcept;
    [[nodiscard]] RingHeader& header() const noexcept { return *header_; }

  private:
    [[nodiscard]] std::atomic<std::uint64_t>& first_word() const noexcept {
        return *reinterpret_cast<std::atomic<std::uint64_t>*>(records_ + (at_ & mask_));
    }
    RingHeader* header_ = nullptr;
    std::byte* records_ = nullptr;
    std::size_t mask_ = 0;
    std::size_t record_bytes_max_ = 0;
    std::uint64_t at_ = 0;
    std::uint64_t given_back_ = 0;
    std::size_t size_ = 0;  // of the present record
};

}  // namespace cinnabar::shm
