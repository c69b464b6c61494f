// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "swim/claim.hpp"

#include <memory>
#include <string>

namespace cinnabar::test {

// The profile of a member with this address.
inline std::shared_ptr<const group::Profile> profile_at(const std::string& address) {
    auto profile = std::make_shared<group::Profile>();
    profile->address = na::Addr::parse(address).value();
    return profile;
}

}  // namespace cinnabar::test
