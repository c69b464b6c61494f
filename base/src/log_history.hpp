// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinnabar/base/log.hpp>

namespace cinnabar::detail {

// Keeps the line for recent_log(), if it is a warning or an error. Never waits.
void remember_line(const LogLine& line) noexcept;

}  // namespace cinnabar::detail
