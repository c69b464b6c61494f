// SPDX-License-Identifier: BSD-3-Clause
// Conversion between the core's error codes and Mercury's return values.
#pragma once

#include "mercury_core_types.h"

#include <cinnabar/base/error.hpp>

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>

namespace cinnabar::mercury {

[[nodiscard]] hg_return_t to_hg(Errc code) noexcept;
// The error code of a response that HG generates, for a handler that returned an error.
[[nodiscard]] Errc to_errc(hg_return_t value) noexcept;
// The app code that is sent with that error code, so that the origin gets exactly this value; 0: it is no HG value.
[[nodiscard]] std::uint32_t app_code_of(hg_return_t value) noexcept;
// The return value of a call: from the app code if there is one, otherwise from the result.
[[nodiscard]] hg_return_t told_by(Errc result, std::uint32_t app_code) noexcept;
// Both lists have the same names in the same order, up to HG_HOSTFIREWALL.
[[nodiscard]] inline na_return_t to_na(hg_return_t value) noexcept { return static_cast<na_return_t>(value); }
[[nodiscard]] inline na_return_t to_na(Errc code) noexcept { return to_na(to_hg(code)); }

// Logs the reason, once, and returns the value, which is all that the user gets.
hg_return_t failed(const char* what, const Error& error) noexcept;
hg_return_t failed(const char* what, Errc code) noexcept;
hg_return_t failed(const char* what, hg_return_t value) noexcept;

// Runs `make` and turns exceptions, such as bad_alloc, into a return value: none may reach C code.
template <typename F>
hg_return_t guarded(F&& make) noexcept {
    try {
        return make();
    } catch (const std::bad_alloc&) {
        return HG_NOMEM;
    } catch (const std::length_error&) {
        return HG_INVALID_ARG;
    }
}

}  // namespace cinnabar::mercury
