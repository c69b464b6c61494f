// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinnabar/group/profile.hpp>

#include <string>

namespace cinnabar::test {

// The profile of a member with this address.
inline group::Profile profile_at(const std::string& address) { return {na::Addr::parse(address).value(), {}}; }

}  // namespace cinnabar::test
