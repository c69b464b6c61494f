// SPDX-License-Identifier: BSD-3-Clause
// What each caller has under way in a context, over all its connections, where the policy has a quota for it
// (access.cpp). Owner of the context only.
#pragma once

#include "verdicts.hpp"

#include <cinnabar/na/addr.hpp>
#include <cinnabar/rpc/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace cinnabar::rpc {

struct CallerAccount {
    std::uint32_t requests = 0;  // that were given to handlers and are not over
    std::uint32_t requests_max = 0;
    std::string quota;  // the name of the rule
};

// Of one connection of a caller that has an account.
struct CountedCaller {
    std::shared_ptr<CallerAccount> account;
    Verdicts verdicts;
};

class CallerAccounts {
  public:
    // That of the caller, with this quota from now on. Null: memory is out.
    [[nodiscard]] std::shared_ptr<CallerAccount> of(const na::Addr& source, const Policy::Quota& quota) noexcept;

  private:
    static constexpr std::size_t unused_max = 64;

    // By caller_name(). Those that no connection and no request refers to go when there are twice as many as there were
    // after the last time.
    std::map<std::string, std::shared_ptr<CallerAccount>, std::less<>> accounts_;
    std::size_t look_at_ = unused_max;
};

}  // namespace cinnabar::rpc
