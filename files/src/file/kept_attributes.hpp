// SPDX-License-Identifier: BSD-3-Clause
// Which extended attributes travel.
#pragma once

#include <cinnabar/files/attributes.hpp>

#include <string_view>

namespace cinnabar::files {

// Whether an extended attribute of this name is one of these kinds. The service's own attributes are of none.
[[nodiscard]] bool is_kept(std::string_view name, const ExtendedKinds& kinds) noexcept;

}  // namespace cinnabar::files
