// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "log_levels.hpp"

namespace cinnabar::detail {

[[nodiscard]] LogFormat log_format() noexcept;

}  // namespace cinnabar::detail
