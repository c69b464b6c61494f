// SPDX-License-Identifier: BSD-3-Clause
// Measures collective calls among processes that all run the same rows in the same order.
#pragma once

#include "perf/histogram.hpp"

#include <cinnabar/group/group.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace cinnabar::tools::perf {

enum class Collective : std::uint8_t {
    broadcast,  // rank 0 sends `bytes` to the others, and each confirms them
    reduce,     // each member gives a vector of `bytes`; rank 0 gets the sum
    barrier,    // without data
    // In bulk, `bytes` for each member:
    broadcast_bulk,  // rank 0 sends the same memory to all others
    scatter_bulk,    // rank 0 sends each other member memory of its own
    gather_bulk,     // rank 0 fetches memory of each other member
};
[[nodiscard]] constexpr bool is_bulk(Collective collective) noexcept {
    return collective >= Collective::broadcast_bulk;
}
[[nodiscard]] std::string_view to_string(Collective collective) noexcept;

struct GroupRow {
    Collective collective = Collective::barrier;
    std::uint32_t members = 0;  // ranks 0 to members - 1
    std::uint64_t bytes = 0;
    std::uint32_t rounds = 0;
};

// The outcome of one round.
struct Outcome {
    Errc failed = Errc::ok;  // the first error of a member
    bool right = true;
};
template <typename Told>
[[nodiscard]] Outcome outcome_of(const Result<Told>& told, bool right) {
    if (!told) return {told.code(), true};
    if (!told->failures.empty()) return {told->failures.front().code, true};
    return {Errc::ok, right};
}

struct GroupFigures {
    Histogram times;                       // of successful rounds, at rank 0
    std::map<Errc, std::uint64_t> failed;  // rounds in which a member failed, by its first error
    std::uint64_t wrong = 0;               // rounds with a wrong result

    void record(const Outcome& outcome, std::uint64_t took_ns);
};

// Selects the members of a row, with or without rank 0.
class Among {
  public:
    Among(const GroupRow& row, bool with_self);
    // Valid as long as this object.
    [[nodiscard]] cinnabar::group::CollectiveOptions options() const;
    [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }

  private:
    std::vector<cinnabar::group::Rank> ranks_;
};

class BulkMemory;

// Serves the RPCs that the rows call. exists: they are served already.
[[nodiscard]] Result<void> serve_rows(const cinnabar::group::Group& group, const std::shared_ptr<BulkMemory>& memory);
// Measures one row: runs this process's part of the load, and waits for all members of the group before and after it.
// The figures are complete at rank 0 only. timed_out: some members did not arrive within `patience`.
[[nodiscard]] hl::Task<Result<GroupFigures>> run_row(cinnabar::group::Group group, GroupRow row,
                                                     std::shared_ptr<BulkMemory> memory, Microseconds patience);

// Waits for all members of the group. Also called at the end, so that no member leaves early.
[[nodiscard]] hl::Task<Result<void>> all_here(cinnabar::group::Group group, Microseconds patience);

}  // namespace cinnabar::tools::perf
