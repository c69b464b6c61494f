// SPDX-License-Identifier: BSD-3-Clause
// Which of libfabric's providers are a poor choice where another one works.
#pragma once

#include <string_view>

namespace cinnabar::tools::doctor {

// Returns the drawback of the provider that a scheme such as "ofi+sockets" names. Empty: no drawback is known, or the
// scheme names no provider.
[[nodiscard]] std::string_view drawback_of(std::string_view scheme) noexcept;

}  // namespace cinnabar::tools::doctor
