// SPDX-License-Identifier: BSD-3-Clause
// A region of many segments, each between guards; one pattern continues through all of them.
#pragma once

#include "support/patterns.hpp"

#include <cinnabar/bulk/region.hpp>

#include <memory>
#include <vector>

namespace cinnabar::support {

class Scattered {
  public:
    Scattered(const std::vector<std::size_t>& sizes, na::Access access) {
        for (std::size_t size : sizes) {
            buffers_.push_back(std::make_unique<GuardedBuffer>(size));
            segments_.push_back(buffers_.back()->segment());
        }
        region = bulk::Region::expose(segments_, access).value();
    }
    explicit Scattered(std::size_t size, na::Access access = na::Access::read_write)
        : Scattered(std::vector<std::size_t>{size}, access) {}

    bulk::Region region;

    void fill(std::uint64_t seed) {
        std::uint64_t first = 0;
        for (auto& buffer : buffers_) {
            fill_pattern(buffer->bytes(), seed, first);
            first += buffer->size();
        }
    }
    // All bytes of the region, after checking the guards.
    [[nodiscard]] std::vector<std::byte> bytes() {
        std::vector<std::byte> all;
        for (auto& buffer : buffers_) {
            EXPECT_TRUE(buffer->guards_intact());
            all.insert(all.end(), buffer->data(), buffer->data() + buffer->size());
        }
        return all;
    }

  private:
    std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
    std::vector<na::Segment> segments_;
};

}  // namespace cinnabar::support
