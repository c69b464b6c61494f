// SPDX-License-Identifier: BSD-3-Clause
// How exactly a file system stores the permissions and the modification time that a file is given. vfat rounds times
// down to even seconds, has no times before 1980, and ignores most permission bits; some file systems store whole
// seconds. Attributes are the same on a file system if it stores the same values for them. Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/files/attributes.hpp>

#include <cstdint>
#include <limits>

namespace cinnabar::files {

struct AttributePrecision {
    // The coarsest steps of time that are known, those of vfat.
    static constexpr std::uint64_t time_step_ns_max = 2'000'000'000;

    std::uint64_t time_step_ns = 1;  // a time of modification is cut to a multiple of it
    std::int64_t oldest_s = std::numeric_limits<std::int64_t>::min();  // seconds since 1970; earlier times become it
    std::uint32_t mode_bits = 0777;  // the permission bits that can be set and cleared

    // Whether a file system of this precision holds the same permissions, or also the same time, for both.
    [[nodiscard]] CINNABAR_API bool same_mode(const Attributes& a, const Attributes& b) const noexcept;
    [[nodiscard]] CINNABAR_API bool same_mode_and_time(const Attributes& a, const Attributes& b) const noexcept;
    // False for values that no file system has, so a peer that sends them is not believed.
    [[nodiscard]] constexpr bool is_possible() const noexcept {
        return time_step_ns > 0 && time_step_ns <= time_step_ns_max && mode_bits <= 0777;
    }
    friend bool operator==(const AttributePrecision&, const AttributePrecision&) = default;
};

}  // namespace cinnabar::files
