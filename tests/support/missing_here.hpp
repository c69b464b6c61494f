// SPDX-License-Identifier: BSD-3-Clause
// A test may be skipped only if this build, or this machine's libfabric, lacks the transport. A transport that exists
// and does not open is a failure.
#pragma once

#include <cinnabar/base/result.hpp>

#include <string>

namespace cinnabar::support {

// The reason to skip; empty if the transport opened, or should have.
template <typename T>
[[nodiscard]] std::string missing_here(const Result<T>& opened) {
    return opened || opened.code() != Errc::unsupported ? std::string() : opened.error().message();
}

}  // namespace cinnabar::support
