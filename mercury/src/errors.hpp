// SPDX-License-Identifier: BSD-3-Clause
// From the core's error codes to Mercury's return values. Values; any thread.
#pragma once

#include "mercury_core_types.h"

#include <cinnabar/base/error.hpp>

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>

namespace cinnabar::mercury {

[[nodiscard]] hg_return_t to_hg(Errc code) noexcept;
// How an answer travels that HG makes itself (a handler that returned an error).
[[nodiscard]] Errc to_errc(hg_return_t value) noexcept;
// Goes with it, so that the origin is told the very value; 0 where HG has no name for it.
[[nodiscard]] std::uint32_t app_code_of(hg_return_t value) noexcept;
// What a call ended with: the value that an app code has, else the result's.
[[nodiscard]] hg_return_t told_by(Errc result, std::uint32_t app_code) noexcept;
// Both lists have the same names in the same order, up to HG_HOSTFIREWALL.
[[nodiscard]] inline na_return_t to_na(hg_return_t value) noexcept { return static_cast<na_return_t>(value); }
[[nodiscard]] inline na_return_t to_na(Errc code) noexcept { return to_na(to_hg(code)); }

// Logs why, once, and returns the value: what the user sees is only that.
hg_return_t failed(const char* what, const Error& error) noexcept;
hg_return_t failed(const char* what, Errc code) noexcept;
hg_return_t failed(const char* what, hg_return_t value) noexcept;

// Runs `make`, which may run out of memory: no exception crosses into C.
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
