// SPDX-License-Identifier: BSD-3-Clause
// Which extended attributes are transferred.
#pragma once

#include <cinnabar/files/attributes.hpp>

#include <string_view>

namespace cinnabar::files {

// Whether an extended attribute of this name is of one of these kinds. False for the service's own attributes.
[[nodiscard]] bool is_kept(std::string_view name, const ExtendedKinds& kinds) noexcept;

}  // namespace cinnabar::files
