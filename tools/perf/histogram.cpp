// SPDX-License-Identifier: BSD-3-Clause
#include "perf/histogram.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace cinnabar::tools::perf {
namespace {

void append_number(std::string& bytes, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(static_cast<unsigned char>(value | 0x80));
    bytes += static_cast<char>(static_cast<unsigned char>(value));
}

// Removes the next number from the beginning of `bytes`. False: `bytes` ends within the number, or the number has more
// than 64 bits.
bool take_number(std::string_view& bytes, std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        if (shift == 63 && byte > 1) return false;
        value |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

}  // namespace

Histogram::Histogram(unsigned bits)
    : bits_(bits),
      shift_(53 - bits),
      exact_below_(std::uint64_t{1} << (bits - 1)),
      offset_(std::uint64_t{1023 + bits - 2} << (bits - 1)),
      counts_(index_of(value_max) + 1) {}

void Histogram::record_long(std::uint64_t nanoseconds) noexcept {
    ++counts_.back();
    sum_ += static_cast<double>(nanoseconds);
}

void Histogram::add(const Histogram& other) {
    CINNABAR_ASSERT(other.bits_ == bits_);
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
}

std::uint64_t Histogram::quantile(double fraction) const noexcept {
    const std::size_t bucket = log_linear_quantile(counts_, fraction);
    return bucket == counts_.size() ? 0 : std::clamp(upper_edge(bucket), min_, max_);
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
    std::vector<Bucket> held;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] > 0) held.push_back({std::clamp(upper_edge(i), min_, max_), counts_[i]});
    }
    return held;
}

std::string Histogram::encoded() const {
    std::string bytes;
    for (const std::uint64_t value : {std::uint64_t{bits_}, min_, max_, std::bit_cast<std::uint64_t>(sum_)})
        append_number(bytes, value);
    std::size_t last = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] == 0) continue;
        append_number(bytes, i - std::exchange(last, i));
        append_number(bytes, counts_[i]);
    }
    return bytes;
}

std::optional<Histogram> Histogram::decoded(std::string_view bytes, unsigned bits) {
    Histogram result(bits);
    std::uint64_t its_bits = 0;
    std::uint64_t sum = 0;
    const bool begins = take_number(bytes, its_bits) && take_number(bytes, result.min_) &&
                        take_number(bytes, result.max_) && take_number(bytes, sum);
    if (!begins || its_bits != bits) return std::nullopt;
    result.sum_ = std::bit_cast<double>(sum);
    std::size_t at = 0;
    while (!bytes.empty()) {
        std::uint64_t gap = 0;
        std::uint64_t count = 0;
        if (!take_number(bytes, gap) || !take_number(bytes, count)) return std::nullopt;
        if (gap >= result.counts_.size() - at || count == 0 || count > ~result.count_) return std::nullopt;
        at += static_cast<std::size_t>(gap);
        if (result.counts_[at] != 0) return std::nullopt;
        result.counts_[at] = count;
        result.count_ += count;
    }
    if (!result.consistent()) return std::nullopt;
    return result;
}

bool Histogram::consistent() const noexcept {
    if (count_ == 0) return min_ == ~std::uint64_t{0} && max_ == 0 && sum_ == 0;
    const auto held = [](std::uint64_t count) { return count > 0; };
    const auto first = std::ranges::find_if(counts_, held) - counts_.begin();
    const auto beyond = std::ranges::find_if(counts_.rbegin(), counts_.rend(), held).base() - counts_.begin();
    const auto bucket = [this](std::uint64_t value) {
        return static_cast<std::ptrdiff_t>(index_of(std::min(value, value_max)));
    };
    return min_ <= max_ && bucket(min_) == first && bucket(max_) == beyond - 1 && std::isfinite(sum_) && sum_ >= 0;
}

}  // namespace cinnabar::tools::perf
