// SPDX-License-Identifier: BSD-3-Clause
// View: the members of a group, as one process knows them at one moment. Immutable and shared; usable from any thread.
//
// No leader numbers the views. Each rank goes through its states in one order (alive in its first incarnation, gone,
// alive in the second, ...), and a view holds, for each rank, the latest state that this process has heard of. The
// version counts the steps of all ranks together: it only grows, and two processes with the same knowledge have the
// same version. Two processes with different knowledge may also have the same version; the digest tells them apart.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/group/member.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cinnabar::group {

// Identifies the contents of a view. Suspicion is not part of it: a suspect is still a member.
struct Stamp {
    std::uint64_t version = 0;
    std::uint64_t digest = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
};

class CINNABAR_API View {
  public:
    View() = default;
    // Requires: ascending ranks.
    View(Stamp stamp, std::vector<Member> members);

    [[nodiscard]] const Stamp& stamp() const noexcept { return stamp_; }
    // All members that ever joined, by rank, including those that left or were excluded.
    [[nodiscard]] std::span<const Member> members() const noexcept { return *members_; }
    // Null if there is no member of that rank.
    [[nodiscard]] const Member* find(Rank rank) const noexcept;
    // Members that are alive or suspect, in ascending order of rank.
    [[nodiscard]] std::span<const Rank> present() const noexcept { return *present_; }

  private:
    Stamp stamp_;
    std::shared_ptr<const std::vector<Member>> members_ = std::make_shared<std::vector<Member>>();
    std::shared_ptr<const std::vector<Rank>> present_ = std::make_shared<std::vector<Rank>>();
};

// What happened to a member.
enum class Happened : std::uint8_t {
    joined,     // for the first time, or again with another incarnation
    suspected,  // does not answer, or is said by others to have left
    trusted,    // was suspected, and has answered since
    left,
    excluded,
    drifted,  // its clock is ahead of this host's by more than ClockOptions::drift_max, and its times are ignored;
              // reported once, and again only after a correct time
    missed,   // not about a member: the reader was too slow and events were dropped; read the view instead
};

struct Event {
    Happened happened = Happened::missed;
    Rank rank = no_rank;
    std::uint32_t incarnation = 0;
    Stamp stamp;  // of the view after it
};

}  // namespace cinnabar::group
