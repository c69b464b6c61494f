// SPDX-License-Identifier: BSD-3-Clause
// Fences of calls. When a call that lent memory ends without an answer, this side sends a cancel, which asks the target
// to release the memory, and waits for `released` for at most fence_grace. Then it revokes the leases by force
// (fences.hpp), and completes the call only after the revocation. Memory that is shown by a handle has no lease to
// revoke: this side waits for `released` for shown_grace, after which the fence has failed. Far memory is copied by
// this side, which lent it; if a disk hangs, the fence fails after shown_grace, too. Owner of the context only.
#pragma once

#include "context_base.hpp"

namespace cinnabar::rpc {

class Fences;
class LargeValues;
class Origin;
class Target;

class CallFences {
  public:
    CallFences(ContextBase& base, Origin& origin, Target& target, LargeValues& large_values, Fences& fences) noexcept
        : base_(base), origin_(origin), target_(target), large_values_(large_values), fences_(fences) {}

    // Call when a call has ended. Takes back the memory that the call lent, unless the target is first asked to release
    // it.
    void begin(Call& call) noexcept;
    // Call when the target no longer uses the memory that the call lent, or when its time to release it is over.
    void released(Call& call) noexcept;
    // When the context closes: revokes all lent memory by force.
    void end_all() noexcept;

  private:
    // Runs when the target's time to release the memory is over.
    void not_released(Call& call) noexcept;
    void revoke_leases(Call& call) noexcept;
    void give_up_copies(Call& call) noexcept;
    static void tell_shown(Call& call) noexcept;
    template <typename F>
    void drive_while(F&& left) noexcept;

    ContextBase& base_;
    Origin& origin_;
    Target& target_;
    LargeValues& large_values_;
    Fences& fences_;
};

}  // namespace cinnabar::rpc
