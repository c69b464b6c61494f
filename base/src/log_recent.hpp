// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinnabar/base/log.hpp>

namespace cinnabar::detail {

// Keeps a warning or an error for recent_log(). Never waits.
void remember_line(const LogLine& line) noexcept;

}  // namespace cinnabar::detail
