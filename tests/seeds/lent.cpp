// SPDX-License-Identifier: BSD-3-Clause
#include "lent.hpp"

#include "support/sanitizers.hpp"

#include <algorithm>
#include <cstring>

namespace cinnabar::seeds {
namespace {

constexpr std::size_t guard_bytes = 32;
constexpr std::byte guard{0xa7};
constexpr std::byte grave{0x5a};

std::uint64_t word_of(std::uint64_t seed, std::uint64_t index) noexcept {
    std::uint64_t z = (seed + 1) * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u;
    return (z ^ (z >> 29)) * 0x94d049bb133111ebu;
}

bool all_are(const std::byte* from, std::size_t bytes, std::byte value) noexcept {
    return bytes == 0 || (*from == value && std::memcmp(from, from + 1, bytes - 1) == 0);
}

// Calls f(place, count, word, shift) for each run of bytes that belong to one word.
template <typename F>
void for_each_word(std::size_t bytes, std::uint64_t seed, std::uint64_t first, F&& f) noexcept {
    for (std::size_t at = 0; at < bytes;) {
        const std::uint64_t position = first + at;
        const std::size_t skip = position % 8;
        const std::size_t count = std::min(8 - skip, bytes - at);
        const std::uint64_t word = word_of(seed, position / 8) >> (8 * skip);
        f(at, count, word);
        at += count;
    }
}

}  // namespace

std::byte pattern_byte(std::uint64_t seed, std::uint64_t position) noexcept {
    return static_cast<std::byte>(word_of(seed, position / 8) >> (8 * (position % 8)));
}

void fill_pattern(Bytes bytes, std::uint64_t seed, std::uint64_t first) noexcept {
    for_each_word(bytes.size(), seed, first, [&](std::size_t at, std::size_t count, std::uint64_t word) {
        std::memcpy(bytes.data() + at, &word, count);
    });
}

bool holds_pattern(ConstBytes bytes, std::uint64_t seed, std::uint64_t first) noexcept {
    bool right = true;
    for_each_word(bytes.size(), seed, first, [&](std::size_t at, std::size_t count, std::uint64_t word) {
        right = right && std::memcmp(bytes.data() + at, &word, count) == 0;
    });
    return right;
}

Lent::Lent(Random& random, std::size_t bytes, unsigned segments_max, na::Access access, std::uint64_t seed)
    : bytes_(bytes), access_(access), seed_(seed) {
    const auto count = std::min<std::size_t>(1 + random.below(segments_max), bytes);
    storage_.assign(bytes + (count + 1) * guard_bytes, guard);
    std::byte* at = storage_.data() + guard_bytes;
    for (std::size_t i = 0, left = bytes; i < count; ++i) {
        const std::size_t others = count - i - 1;
        const std::size_t size =
            others == 0 ? left : 1 + random.below(std::min(left - others, 2 * left / (others + 1)));
        segments_.push_back({at, size});
        at += size + guard_bytes;
        left -= size;
    }
    region_ = *bulk::Region::expose(segments_, access);
    fill(seed, 0);
}

Lent::~Lent() { support::allow_access(storage_.data(), storage_.size()); }

std::vector<na::Segment> Lent::pieces(std::uint64_t offset, std::uint64_t bytes) const {
    std::vector<na::Segment> found;
    for (const na::Segment& segment : segments_) {
        if (bytes == 0) break;
        if (offset >= segment.bytes) {
            offset -= segment.bytes;
            continue;
        }
        const std::size_t take = std::min<std::uint64_t>(segment.bytes - offset, bytes);
        found.push_back({segment.base + offset, take});
        bytes -= take;
        offset = 0;
    }
    return found;
}

void Lent::fill(std::uint64_t seed, std::uint64_t position) noexcept {
    for (const na::Segment& segment : segments_) {
        fill_pattern(Bytes(segment.base, segment.bytes), seed, position);
        position += segment.bytes;
    }
}

bool Lent::holds(std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed, std::uint64_t position) const noexcept {
    for (const na::Segment& piece : pieces(offset, bytes)) {
        if (!holds_pattern(ConstBytes(piece.base, piece.bytes), seed, position)) return false;
        position += piece.bytes;
    }
    return true;
}

void Lent::bury() noexcept {
    region_ = {};
    if (quarantined_) return;
    buried_ = true;
    for (const na::Segment& segment : segments_) std::fill_n(segment.base, segment.bytes, grave);
    support::forbid_access(storage_.data(), storage_.size());
}

bool Lent::intact() const noexcept {
    support::allow_access(storage_.data(), storage_.size());
    const bool is = holds_guards();
    if (buried_) support::forbid_access(storage_.data(), storage_.size());
    return is;
}

bool Lent::holds_guards() const noexcept {
    const std::byte* at = storage_.data();
    for (const na::Segment& segment : segments_) {
        if (!all_are(at, static_cast<std::size_t>(segment.base - at), guard)) return false;
        if (buried_ && !all_are(segment.base, segment.bytes, grave)) return false;
        at = segment.base + segment.bytes;
    }
    return all_are(at, static_cast<std::size_t>(storage_.data() + storage_.size() - at), guard);
}

}  // namespace cinnabar::seeds
