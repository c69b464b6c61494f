// SPDX-License-Identifier: BSD-3-Clause
// Application errors, which handlers return. The caller finds the code in Error::app_code and the text in
// Error::subject.
#pragma once

#include <cinnabar/base/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cinnabar::hl {

// Only the first 256 bytes of the text are sent.
[[nodiscard]] inline Error app_error(std::uint32_t app_code, std::string_view text = {}) {
    Error error(Errc::application, {}, std::string(text));
    error.app_code = app_code;
    return error;
}

}  // namespace cinnabar::hl
