// SPDX-License-Identifier: BSD-3-Clause
// The exchange of addresses by PMIx. The caller passes its address as text; exchange_by_pmix() takes it from a node.
#pragma once

#include <cinnabar/group/pmix.hpp>

#include <chrono>
#include <string>

namespace cinnabar::group {

// Puts `address` under a key that contains `group`, waits for all processes of the job, and gets the addresses that
// they have put under that key. Blocks. Errors of exchange_by_pmix().
[[nodiscard]] CINNABAR_API Result<PmixJob> exchange_addresses(const std::string& group, const std::string& address,
                                                              std::chrono::seconds limit);

}  // namespace cinnabar::group
