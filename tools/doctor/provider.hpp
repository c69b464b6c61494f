// SPDX-License-Identifier: BSD-3-Clause
// Which of libfabric's providers are a poor choice where another one works.
#pragma once

#include <string_view>

namespace cinnabar::tools::doctor {

// What is bad about the provider of a scheme such as "ofi+sockets". Empty: nothing is known to be, or the scheme names
// none.
[[nodiscard]] std::string_view drawback_of(std::string_view scheme) noexcept;

}  // namespace cinnabar::tools::doctor
