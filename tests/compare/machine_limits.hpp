// SPDX-License-Identifier: BSD-3-Clause
// What the machine allows, as contenders: bare system calls that move the same bytes (peers/machine_limit.cpp). They
// show how much of it is used, and are never counted as faster.
#pragma once

#include "contender.hpp"

namespace cinnabar::compare {

inline constexpr const char* machine_limit_program = "compare_machine_limit";

// `name`: an argument of the program. `remark`: what the limit does.
[[nodiscard]] Contender machine_limit(const char* name, const char* remark);

}  // namespace cinnabar::compare
