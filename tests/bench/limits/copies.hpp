// SPDX-License-Identifier: BSD-3-Clause
// How fast this machine writes a block of memory many times.
#pragma once

#include "../harness/usage.hpp"

#include <cstddef>
#include <memory>

namespace cinnabar::bench {

// Two threads, on a core each, copy a half each. Pages are touched by the constructor.
class MemoryCopies {
  public:
    MemoryCopies(Cores cores, std::size_t bytes);

    // Copies the whole block `times` times; returns the seconds.
    [[nodiscard]] double run(std::size_t times);

  private:
    Cores cores_;
    std::size_t bytes_;
    std::unique_ptr<std::byte[]> from_;
    std::unique_ptr<std::byte[]> to_;
};

}  // namespace cinnabar::bench
