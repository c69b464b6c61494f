// SPDX-License-Identifier: BSD-3-Clause
// What OpenSSL's reasons mean to those who run the two sides. Pure.
#pragma once

#include <cinnabar/base/error.hpp>

namespace cinnabar::tcp {

struct TlsFailure {
    Errc code = Errc::protocol;  // permission, protocol
    const char* what = "";       // the other side is the subject; with what to do
};

// `reason`: ERR_GET_REASON of an error of libssl.
[[nodiscard]] TlsFailure tls_failure_of(int reason) noexcept;
// Why the other side's certificate is not believed: X509_V_ERR, not X509_V_OK. The other side is the subject.
[[nodiscard]] const char* tls_disbelief_of(long error) noexcept;

}  // namespace cinnabar::tcp
