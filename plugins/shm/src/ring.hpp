// SPDX-License-Identifier: BSD-3-Clause
// A ring of records in shared memory, with one writer and one reader; no lock, no system call. docs/wire-format-shm.md.
//
// The first word of a record publishes it. The reader polls the word where the next record will begin, which is 0 until
// that record is published. To publish a record, the writer writes all of the record but the first word, then a 0 where
// the following record will begin, and the first word last. So a small message costs the reader one or two cache lines,
// and the reader never sees half a record, even if the writer dies.
//
// The reader trusts nothing: it keeps its own position, reads the first word once, and checks it against its own
// bounds. All that a hostile writer can do is send malformed records, or end the session. Each side: one thread at a
// time.
#pragma once

#include "full_barrier.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cinnabar::shm {

// The maximum number of mappings for direct access that a session has at a time.
inline constexpr unsigned direct_slots = 48;

// The page before the records. Each cache line is written by one side only.
struct RingHeader {
    alignas(64) std::atomic<std::uint64_t> read;  // by the reader: all records before this position are consumed
    // By the reader: how it wants to be woken (session.hpp); 0: it polls the ring.
    alignas(64) std::atomic<std::uint64_t> armed;
    // By the writer: changes when it begins to wait for room.
    alignas(64) std::atomic<std::uint64_t> room_wanted;
    // By the writer: 1 + the board slot of the lease that it accesses right now, or 0.
    alignas(64) std::atomic<std::uint64_t> holding;
    // By the writer: bit i is set while it may use accesses[i].
    std::atomic<std::uint64_t> mapped_slots;
    // By both: 1 once one of them has ended the session, after which no direct access begins.
    alignas(64) std::atomic<std::uint64_t> ended;
    // By the writer, any thread: as `holding`, of direct accesses (direct.hpp).
    struct alignas(64) DirectAccess {
        std::atomic<std::uint64_t> slot;
    };
    std::array<DirectAccess, direct_slots> accesses;
};
static_assert(offsetof(RingHeader, armed) == 64 && offsetof(RingHeader, room_wanted) == 128);
static_assert(offsetof(RingHeader, holding) == 192 && offsetof(RingHeader, mapped_slots) == 200);
static_assert(offsetof(RingHeader, ended) == 256 && offsetof(RingHeader, accesses) == 320);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Calls found(1 + slot) for each slot of the lease board that the ring's writer accesses directly, until found()
// returns true. Returns whether it did.
template <typename Found>
[[nodiscard]] bool find_direct(const RingHeader& ring, const Found& found) noexcept {
    std::uint64_t left = ring.mapped_slots.load(std::memory_order_seq_cst);
    for (unsigned direct = 0; direct < direct_slots && left != 0; ++direct, left >>= 1) {
        if ((left & 1) == 0) continue;
        const std::uint64_t slot = ring.accesses[direct].slot.load(std::memory_order_seq_cst);
        if (slot != 0 && found(slot)) return true;
    }
    return false;
}
[[nodiscard]] inline bool accesses_directly(const RingHeader& ring) noexcept {
    return find_direct(ring, [](std::uint64_t) noexcept { return true; });
}

inline constexpr std::size_t ring_header_bytes = 4096;
static_assert(sizeof(RingHeader) <= ring_header_bytes);
inline constexpr std::size_t record_header_bytes = 16;
inline constexpr std::size_t ring_bytes_min = 64 * 1024;
inline constexpr std::size_t ring_bytes_max = 64 * 1024 * 1024;

// The ring size for records of at most `record_bytes_max` without header: a power of two with room for three such
// records. A waiting writer then always gets room, because the reader gives room back when it has consumed over a
// quarter of the ring (RingReader::room_due).
[[nodiscard]] std::size_t ring_bytes_for(std::size_t record_bytes_max) noexcept;
[[nodiscard]] constexpr std::size_t record_size(std::size_t bytes) noexcept {
    return record_header_bytes + ((bytes + 15) & ~std::size_t{15});
}

enum class RecordKind : std::uint8_t {
    skip = 1,  // the rest of the ring up to its end is unused
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
    bye = 26,  // the last record: the writer closes the session
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
    // `memory`: the header page followed by `ring_bytes` of records, all zeros.
    void attach(std::byte* memory, std::size_t ring_bytes) noexcept;

    // Writes and publishes a record without flags. False: reserve() would return null.
    [[nodiscard]] bool write(RecordKind kind, std::uint64_t id, const void* from, std::uint32_t bytes) noexcept;
    // Returns the place for the payload of the next record, 16-byte aligned. Null: there is no room, or the reader's
    // position is invalid (broken()).
    [[nodiscard]] std::byte* reserve(std::uint32_t bytes) noexcept;
    // Publishes the record. Requires: reserve(record.bytes) returned a place just before.
    void publish(const Record& record) noexcept;

    // Bytes that the reader has not given back; never less than what it has not read.
    [[nodiscard]] std::size_t used() noexcept;
    [[nodiscard]] std::size_t ring_bytes() const noexcept { return mask_ + 1; }
    [[nodiscard]] bool broken() const noexcept { return broken_; }
    // Begins to wait for room, after a write found too little. Keeps the reader's position that this write saw, because
    // later writes, which may be smaller and succeed, read the position anew.
    void wait_for_room() noexcept { full_at_ = read_; }
    // Whether the reader has given back room since wait_for_room().
    [[nodiscard]] bool room_came() const noexcept;
    [[nodiscard]] RingHeader& header() const noexcept { return *header_; }

  private:
    [[gnu::cold, gnu::noinline]] bool write_at_an_end(RecordKind kind, std::uint64_t id, const void* from,
                                                      std::uint32_t bytes) noexcept;
    void look() noexcept;
    RingHeader* header_ = nullptr;
    std::byte* records_ = nullptr;
    std::size_t mask_ = 0;
    std::uint64_t at_ = 0;       // position of the next record
    std::uint64_t read_ = 0;     // the reader's position when last read
    std::uint64_t full_at_ = 0;  // the reader's position when there was no room
    std::size_t skip_ = 0;       // bytes skipped before the reserved record
    bool broken_ = false;
};

class RingReader {
  public:
    enum class Look : std::uint8_t { none, record, broken };

    void attach(std::byte* memory, std::size_t ring_bytes, std::size_t record_bytes_max) noexcept;

    [[nodiscard]] bool empty() const noexcept { return first_word().load(std::memory_order_acquire) == 0; }
    // The next record. Its header is a copy; its payload (see payload()) is still in shared memory.
    [[nodiscard]] Look next(Record& out) noexcept;
    // As next(), for the common case: a message of at most `bytes_max`. If the `payload` of the result is null, call
    // next(): there is no record, or a record of another kind.
    struct Message {
        const std::byte* payload = nullptr;  // still in shared memory, as payload()
        std::uint32_t bytes = 0;
        RecordKind kind = RecordKind::skip;
        std::uint64_t id = 0;
    };
    [[nodiscard]] Message next_message(std::size_t bytes_max) noexcept;
    // The payload of the record that next() returned. The writer may change it at any time: copy it once, and check the
    // copy.
    [[nodiscard]] const std::byte* payload() const noexcept { return records_ + (at_ & mask_) + record_header_bytes; }
    // Frees the record that was read.
    void consume() noexcept { at_ += size_; }

    // Whether over a quarter of the ring is consumed and not given back: the writer may be waiting for it.
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
    std::size_t size_ = 0;  // of the current record
};

namespace detail {

// The first word of a record: bytes 0-3 the length, 4 the kind, 5 flags, 6 status, 7 always 1, so that it is never 0.
inline constexpr std::uint64_t record_present = std::uint64_t{1} << 56;

inline std::uint64_t word_of(const Record& record) noexcept {
    return record.bytes | std::uint64_t{static_cast<std::uint8_t>(record.kind)} << 32 |
           std::uint64_t{record.flags} << 40 | std::uint64_t{record.status} << 48 | record_present;
}

// The first word of a message, without its length.
inline constexpr std::uint64_t message_word(RecordKind kind) noexcept {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << 32 | record_present;
}

inline std::atomic<std::uint64_t>& word_at(std::byte* at) noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(at);
}

}  // namespace detail

// Only the common case is inline: the record does not reach the end of the ring, and fits into the room that was free
// when the reader's position was last read.
inline bool RingWriter::write(RecordKind kind, std::uint64_t id, const void* from, std::uint32_t bytes) noexcept {
    const std::size_t size = record_size(bytes);
    const std::size_t begin = at_ & mask_;
    const bool plain = begin + size < mask_ && at_ - read_ + size + record_header_bytes <= mask_;
    if (!plain) return write_at_an_end(kind, id, from, bytes);
    std::byte* const place = records_ + begin;
    const std::uint64_t word = detail::message_word(kind) | bytes;
    at_ += size;
    std::memcpy(place + 8, &id, sizeof id);
    detail::word_at(place + size).store(0, std::memory_order_relaxed);
    std::memcpy(place + record_header_bytes, from, bytes);
    order_for_sanitizer();
    detail::word_at(place).store(word, std::memory_order_release);
    return true;
}

inline std::byte* RingWriter::reserve(std::uint32_t bytes) noexcept {
    const std::size_t size = record_size(bytes);
    const std::size_t to_end = mask_ + 1 - (at_ & mask_);
    skip_ = to_end < size ? to_end : 0;
    // Includes the 0 word after the record.
    const std::size_t need = skip_ + size + record_header_bytes;
    if (need > mask_ + 1 - (at_ - read_)) {
        look();
        if (broken_ || need > mask_ + 1 - (at_ - read_)) return nullptr;
    }
    return records_ + ((at_ + skip_) & mask_) + record_header_bytes;
}

inline void RingWriter::publish(const Record& record) noexcept {
    std::byte* const place = records_ + ((at_ + skip_) & mask_);
    const std::uint64_t end = at_ + skip_ + record_size(record.bytes);
    std::memcpy(place + 8, &record.id, sizeof record.id);
    detail::word_at(records_ + (end & mask_)).store(0, std::memory_order_relaxed);
    order_for_sanitizer();
    detail::word_at(place).store(detail::word_of(record), std::memory_order_release);
    if (skip_ != 0) {
        detail::word_at(records_ + (at_ & mask_)).store(detail::word_of({}), std::memory_order_release);
    }
    at_ = end;
}

inline RingReader::Message RingReader::next_message(std::size_t bytes_max) noexcept {
    const std::size_t offset = at_ & mask_;
    const std::byte* const place = records_ + offset;
    const std::uint64_t word = first_word().load(std::memory_order_acquire);
    constexpr std::uint64_t first_kind = detail::message_word(RecordKind::unexpected) >> 32;
    static_assert(detail::message_word(RecordKind::expected) >> 32 == first_kind + 1);
    if ((word >> 32) - first_kind > 1) return {};
    order_for_sanitizer();
    const auto bytes = static_cast<std::uint32_t>(word);
    const std::size_t size = record_size(bytes);
    if (bytes > bytes_max || offset + size > mask_ + 1) return {};
    size_ = size;
    Message message{place + record_header_bytes, bytes, static_cast<RecordKind>(word >> 32 & 0xff)};
    std::memcpy(&message.id, place + 8, sizeof message.id);
    return message;
}

inline RingReader::Look RingReader::next(Record& out) noexcept {
    for (;;) {
        const std::uint64_t word = first_word().load(std::memory_order_acquire);
        if (word == 0) return Look::none;
        order_for_sanitizer();
        const std::size_t offset = at_ & mask_;
        const std::size_t to_end = mask_ + 1 - offset;
        if (word >> 56 != detail::record_present >> 56) return Look::broken;
        out.bytes = static_cast<std::uint32_t>(word);
        out.kind = static_cast<RecordKind>(word >> 32 & 0xff);
        out.flags = static_cast<std::uint8_t>(word >> 40);
        out.status = static_cast<std::uint8_t>(word >> 48);
        if (out.kind == RecordKind::skip) {
            // A skip at the beginning of the ring would loop forever.
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

}  // namespace cinnabar::shm
