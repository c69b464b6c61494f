// SPDX-License-Identifier: BSD-3-Clause
// The number of requests that each caller with a quota has in progress in a context, over all its connections
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
    std::uint32_t requests = 0;  // passed to handlers and not yet freed
    std::uint32_t requests_max = 0;
    std::string quota;  // name of the quota's rule
};

// A connection whose caller has an account.
struct CountedCaller {
    std::shared_ptr<CallerAccount> account;
    Verdicts verdicts;
};

class CallerAccounts {
  public:
    // Returns the account of the caller, and sets its quota. Null: memory is out.
    [[nodiscard]] std::shared_ptr<CallerAccount> of(const na::Addr& source, const Policy::Quota& quota) noexcept;

  private:
    static constexpr std::size_t unused_max = 64;

    // By caller_name(). Accounts without a connection or request are removed when there are twice as many accounts as
    // after the last removal.
    std::map<std::string, std::shared_ptr<CallerAccount>, std::less<>> accounts_;
    std::size_t look_at_ = unused_max;
};

}  // namespace cinnabar::rpc
