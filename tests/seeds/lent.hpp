// SPDX-License-Identifier: BSD-3-Clause
// Memory of several segments that is lent, or to which transfers write, with guard bytes around each segment. It knows
// at any time which bytes it must contain.
#pragma once

#include <cinnabar/base/random.hpp>
#include <cinnabar/bulk/region.hpp>

#include <cstdint>
#include <vector>

namespace cinnabar::seeds {

// The byte of pattern `seed` at `position`.
[[nodiscard]] std::byte pattern_byte(std::uint64_t seed, std::uint64_t position) noexcept;
void fill_pattern(Bytes bytes, std::uint64_t seed, std::uint64_t first) noexcept;
[[nodiscard]] bool holds_pattern(ConstBytes bytes, std::uint64_t seed, std::uint64_t first) noexcept;

class Lent {
  public:
    // `bytes` in one to `segments_max` segments of random sizes, filled with pattern `seed`.
    Lent(Random& random, std::size_t bytes, unsigned segments_max, na::Access access, std::uint64_t seed);
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    ~Lent();

    [[nodiscard]] const bulk::Region& region() const noexcept { return region_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] na::Access access() const noexcept { return access_; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
    // Fills all of it with the pattern from `position` on.
    void fill(std::uint64_t seed, std::uint64_t position) noexcept;
    // Whether the bytes at `offset` are those of the pattern at `position`.
    [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed,
                             std::uint64_t position) const noexcept;

    // From now on it must not be accessed. It is overwritten and deregistered, so that a late write is detected; under
    // AddressSanitizer a late read is, too.
    void bury() noexcept;
    // A peer may still write to the buried memory: only the guard bytes are checked.
    void quarantine() noexcept { quarantined_ = true; }
    [[nodiscard]] bool intact() const noexcept;

  private:
    [[nodiscard]] std::vector<na::Segment> pieces(std::uint64_t offset, std::uint64_t bytes) const;
    [[nodiscard]] bool holds_guards() const noexcept;
    std::vector<std::byte> storage_;
    std::vector<na::Segment> segments_;
    bulk::Region region_;
    const std::uint64_t bytes_;
    const na::Access access_;
    const std::uint64_t seed_;
    bool buried_ = false;
    bool quarantined_ = false;
};

}  // namespace cinnabar::seeds
