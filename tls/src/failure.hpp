// SPDX-License-Identifier: BSD-3-Clause
// Turns OpenSSL's reasons into messages for the people who run the two sides. Pure.
#pragma once

#include <cinnabar/base/error.hpp>

namespace cinnabar::tls {

struct TlsFailure {
    Errc code = Errc::protocol;  // permission, protocol
    const char* what = "";       // the predicate of a sentence about the other side, with advice
};

// `reason` is ERR_GET_REASON of a libssl error.
[[nodiscard]] TlsFailure tls_failure_of(int reason) noexcept;
// Returns why the other side's certificate was refused, as the predicate of a sentence about that side. Requires:
// `error` is an X509_V_ERR code other than X509_V_OK.
[[nodiscard]] const char* tls_disbelief_of(long error) noexcept;

}  // namespace cinnabar::tls
