// SPDX-License-Identifier: BSD-3-Clause
// What the errors of calls say of a handshake that failed.
#include "failure.hpp"

#include <gtest/gtest.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

#include <set>
#include <string>
#include <string_view>

namespace cinnabar::tls {
namespace {

// What na::Peer::lost_because promises, and hl does not cut off.
constexpr std::size_t because_bytes_max = 200;

TEST(TlsFailures, EveryReasonOfOpenSslHasATextOfBoundedLength) {
    constexpr int reasons_max = 1 << 12;
    for (int reason = 0; reason < reasons_max; ++reason) {
        const std::string_view what = tls_failure_of(reason).what;
        EXPECT_FALSE(what.empty()) << reason;
        EXPECT_LE(what.size(), because_bytes_max) << what;
    }
    for (long error = 1; error < 200; ++error) {
        const std::string_view what = tls_disbelief_of(error);
        EXPECT_FALSE(what.empty()) << error;
        EXPECT_LE(what.size(), because_bytes_max) << what;
    }
}

TEST(TlsFailures, AlertsWithACauseOfTheirOwnAreToldApart) {
    const std::set<std::string> texts{
        tls_failure_of(SSL_R_TLSV1_ALERT_UNKNOWN_CA).what,
        tls_failure_of(SSL_R_SSLV3_ALERT_BAD_CERTIFICATE).what,
        tls_failure_of(SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED).what,
        tls_failure_of(SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED).what,
        tls_failure_of(SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE).what,
        tls_failure_of(SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED).what,
        tls_failure_of(SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE).what,
        tls_failure_of(SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER).what,
        tls_failure_of(SSL_R_TLSV1_ALERT_PROTOCOL_VERSION).what,
        tls_failure_of(SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL).what,
    };
    EXPECT_EQ(texts.size(), 10u);
}

}  // namespace
}  // namespace cinnabar::tls
