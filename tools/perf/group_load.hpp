// SPDX-License-Identifier: BSD-3-Clause
// What `cinnabar perf group` measures: collective calls among processes that all run the same rows in the same order.
#pragma once

#include "perf/histogram.hpp"

#include <cinnabar/group/group.hpp>

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace cinnabar::tools::perf {

enum class Collective : std::uint8_t {
    broadcast,  // bytes from rank 0 to the others; each answers that it has them
    reduce,     // a vector of as many bytes from each, which rank 0 gets the sum of
    barrier,    // of no bytes
};
[[nodiscard]] std::string_view to_string(Collective collective) noexcept;

struct GroupRow {
    Collective collective = Collective::barrier;
    std::uint32_t members = 0;  // ranks 0 to members - 1
    std::uint64_t bytes = 0;
    std::uint32_t rounds = 0;
};

struct GroupFigures {
    Histogram times;                       // of the rounds that went well, at rank 0
    std::map<Errc, std::uint64_t> failed;  // rounds in which a member failed, by its first error
    std::uint64_t wrong = 0;               // rounds with a wrong result
};

// Serves what the rows call. exists: it does already.
[[nodiscard]] Result<void> serve_rows(const cinnabar::group::Group& group);
// This process's part of a row; figures are complete at rank 0 only. Waits for all members of the group before it and
// after it. timed_out: some did not come within `patience`.
[[nodiscard]] hl::Task<Result<GroupFigures>> run_row(cinnabar::group::Group group, GroupRow row, Microseconds patience);

// Waits for all members of the group; also called at the end, so that none leaves early.
[[nodiscard]] hl::Task<Result<void>> all_here(cinnabar::group::Group group, Microseconds patience);

}  // namespace cinnabar::tools::perf
