// SPDX-License-Identifier: BSD-3-Clause
// A log-linear histogram of nanoseconds (base/log_linear.hpp), like HdrHistogram: 11 bits give 0.1 % precision. Fixed
// memory. One thread.
#pragma once

#include <cinnabar/base/log_linear.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools::perf {

class Histogram {
  public:
    static constexpr unsigned fine_bits = 11;
    static constexpr unsigned coarse_bits = 5;
    static constexpr std::uint64_t value_max = (std::uint64_t{1} << 44) - 1;  // about five hours; larger values count
                                                                              // as this

    explicit Histogram(unsigned bits = fine_bits);

    // Inlined, so that a value that is recorded twice is converted once.
    [[gnu::always_inline]] void record(std::uint64_t nanoseconds) noexcept {
        ++count_;
        if (nanoseconds < min_) min_ = nanoseconds;
        if (nanoseconds > max_) max_ = nanoseconds;
        if (nanoseconds > value_max) [[unlikely]]
            return record_long(nanoseconds);
        // As log_linear_bucket_of_short(), with the sum's floating-point number.
        const auto value = static_cast<double>(static_cast<std::int64_t>(nanoseconds));
        sum_ += value;
        const std::uint64_t upper = std::bit_cast<std::uint64_t>(value) >> shift_;
        ++counts_[nanoseconds < exact_below_ ? nanoseconds : upper - offset_];
    }
    // Requires: both have the same number of bits.
    void add(const Histogram& other);

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] std::uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }  // exact
    [[nodiscard]] std::uint64_t max() const noexcept { return max_; }                    // exact
    [[nodiscard]] double mean() const noexcept { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
    // Returns the quantile `fraction` (0 to 1): the largest value of the first bucket at which at least this fraction
    // of all values has been counted; at most max(). 0 if the histogram is empty.
    [[nodiscard]] std::uint64_t quantile(double fraction) const noexcept;

    struct Bucket {
        std::uint64_t upper;  // the largest value in this bucket
        std::uint64_t count;
    };
    // The non-empty buckets, in order.
    [[nodiscard]] std::vector<Bucket> buckets() const;

    // Returns the histogram as bytes for another process; the length grows with the number of non-empty buckets. The
    // bytes are variable-length numbers, 7 bits to a byte, the lowest bits first: the precision in bits, minimum,
    // maximum, sum (a double), and for each non-empty bucket its distance from the previous non-empty bucket and its
    // count.
    [[nodiscard]] std::string encoded() const;
    // The reverse of encoded(). The bytes are untrusted. Empty: the bytes are malformed, or have another precision than
    // `bits`.
    [[nodiscard]] static std::optional<Histogram> decoded(std::string_view bytes, unsigned bits);

  private:
    [[gnu::cold, gnu::noinline]] void record_long(std::uint64_t nanoseconds) noexcept;
    // Whether minimum and maximum fit the counts: the minimum lies in the first bucket that is not empty, the maximum
    // in the last.
    [[nodiscard]] bool consistent() const noexcept;
    [[nodiscard]] std::size_t index_of(std::uint64_t value) const noexcept { return log_linear_bucket(value, bits_); }
    [[nodiscard]] std::uint64_t upper_edge(std::size_t index) const noexcept { return log_linear_to(index, bits_); }

    unsigned bits_;
    unsigned shift_;  // to the exponent and the upper bits of a double, which are the bucket but for `offset_`
    std::uint64_t exact_below_;  // smaller values have a bucket each
    std::uint64_t offset_;
    std::vector<std::uint64_t> counts_;
    std::uint64_t count_ = 0;
    std::uint64_t min_ = ~std::uint64_t{0};
    std::uint64_t max_ = 0;
    double sum_ = 0;
};

}  // namespace cinnabar::tools::perf
