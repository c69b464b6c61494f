// SPDX-License-Identifier: BSD-3-Clause
// What a test may be skipped for: this build, or this machine's libfabric, does not have that transport at all. A
// transport that is there and does not open is a failure.
#pragma once

#include <cinnabar/base/result.hpp>

#include <string>

namespace cinnabar::support {

// Why `opened` could not be had here; empty: it could, or should have been.
template <typename T>
[[nodiscard]] std::string missing_here(const Result<T>& opened) {
    return opened || opened.code() != Errc::unsupported ? std::string() : opened.error().message();
}

}  // namespace cinnabar::support
