// SPDX-License-Identifier: BSD-3-Clause
// Errors of an application's own: a handler returns one, the caller finds the code in Error::app_code and the text in
// Error::subject.
#pragma once

#include <cinnabar/base/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cinnabar::hl {

// The first 256 bytes of the text travel.
[[nodiscard]] inline Error app_error(std::uint32_t app_code, std::string_view text = {}) {
    Error error(Errc::application, {}, std::string(text));
    error.app_code = app_code;
    return error;
}

}  // namespace cinnabar::hl
