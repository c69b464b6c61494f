// SPDX-License-Identifier: BSD-3-Clause
// Small calls during a bulk transfer of 1 GiB between the same two contexts, and the same calls alone: two subjects on
// one pair of processes. A slice is one sample: its work is 1, its time is the median round trip of the slice.
#pragma once

#include "../harness/subject.hpp"
#include "../limits/limits.hpp"

#include <memory>
#include <utility>

namespace cinnabar::bench {

struct LoadedAndIdle {
    std::unique_ptr<Subject> loaded;
    std::unique_ptr<Subject> idle;
};
[[nodiscard]] LoadedAndIdle make_rtt_under_bulk(Cores cores, Direction direction, std::size_t payload_bytes);

}  // namespace cinnabar::bench
