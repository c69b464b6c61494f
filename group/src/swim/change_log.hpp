// SPDX-License-Identifier: BSD-3-Clause
// ChangeLog: changes of members, collected for readers of the view.
#pragma once

#include "swim/table.hpp"

#include <cinnabar/base/export.hpp>
#include <cinnabar/group/view.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace cinnabar::group {

struct Change {
    Happened happened;
    Rank rank;
    std::uint32_t incarnation;
};

class CINNABAR_API ChangeLog {
  public:
    // Records that the table's entry of a member has changed. Adds nothing if readers of the view cannot see the
    // difference.
    void note(Rank rank, const Entry& before, const Entry& now);
    // Returns the changes since the last call, in their order.
    [[nodiscard]] std::vector<Change> take() noexcept { return std::exchange(changes_, {}); }

  private:
    std::vector<Change> changes_;
};

}  // namespace cinnabar::group
