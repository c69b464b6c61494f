// SPDX-License-Identifier: BSD-3-Clause
#include "failure.hpp"

#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <array>

namespace cinnabar::tls {
namespace {

struct Row {
    int reason;
    TlsFailure failure;
};

constexpr TlsFailure other_key{Errc::permission,
                               "proves another key than this side has by that name: compare the key files"};
constexpr TlsFailure refuses_key{Errc::permission,
                                 "does not accept this side's key: it has another one by that name, compare the key "
                                 "files"};
// Some versions of OpenSSL send this alert for a key as well.
constexpr TlsFailure refuses_signature{Errc::permission,
                                       "does not accept this side's key: it has another one by that name, compare the "
                                       "key files; or its certificate: it has another CA by that name, compare the "
                                       "files of ca"};
constexpr TlsFailure proves_nothing{Errc::permission,
                                    "proves no key that is known here, nor shows a certificate: compare the key files"};
constexpr TlsFailure knows_nobody{Errc::permission,
                                  "knows neither a key nor a certificate of this side: compare the key files, or give "
                                  "a certificate"};
constexpr TlsFailure refuses_certificate{Errc::permission,
                                         "does not accept this side's certificate: look at its log, at the dates, and "
                                         "at who signed it"};
// OpenSSL's alerts about certificates; some have several causes (ssl_x509err2alert).
constexpr TlsFailure knows_no_ca{Errc::permission,
                                 "does not accept this side's certificate: no CA in its file of ca has signed it, or "
                                 "its file of crl has no list of that CA: compare these files"};
constexpr TlsFailure says_expired{Errc::permission,
                                  "does not accept this side's certificate: it, or the list of its CA there, has "
                                  "expired: get a new one, unless a clock is wrong"};
constexpr TlsFailure says_early{Errc::permission,
                                "does not accept this side's certificate: its time has not come yet (compare the "
                                "clocks), or it is for other hosts than the one that was dialled"};
constexpr TlsFailure says_misused{Errc::permission,
                                  "does not accept this side's certificate: it is not for this side of a connection, "
                                  "make one with `cinnabar cert server` or `cinnabar cert client`"};
constexpr TlsFailure says_revoked{Errc::permission,
                                  "says that this side's certificate was revoked: get another one from the CA"};
constexpr TlsFailure wants_certificate{Errc::permission, "wants a certificate, and this side has none: give cert"};
constexpr TlsFailure other_version{Errc::protocol, "does not speak TLS 1.3"};
constexpr TlsFailure not_cinnabar{Errc::protocol, "speaks TLS, but is no Cinnabar peer"};
constexpr TlsFailure not_tls{Errc::protocol, "does not speak TLS: reach it without TLS, by tcp:// or ofi+PROVIDER://"};
constexpr TlsFailure changed{Errc::protocol, "sent or received a record that was changed on the way"};

constexpr std::array rows{
    Row{SSL_R_BINDER_DOES_NOT_VERIFY, other_key},
    Row{SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER, refuses_key},
    Row{SSL_R_TLSV1_ALERT_DECRYPT_ERROR, refuses_signature},
    Row{SSL_R_TLSV1_ALERT_UNKNOWN_PSK_IDENTITY, knows_nobody},
    Row{SSL_R_NO_SHARED_CIPHER, proves_nothing},
    Row{SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, proves_nothing},
    Row{SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, proves_nothing},
    Row{SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, knows_nobody},
    Row{SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, wants_certificate},
    Row{SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, says_early},
    Row{SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, says_expired},
    Row{SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, says_revoked},
    Row{SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, refuses_certificate},
    Row{SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, says_misused},
    Row{SSL_R_TLSV1_ALERT_UNKNOWN_CA, knows_no_ca},
    Row{SSL_R_TLSV1_ALERT_ACCESS_DENIED, refuses_certificate},
    Row{SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, other_version},
    Row{SSL_R_UNSUPPORTED_PROTOCOL, other_version},
    Row{SSL_R_VERSION_TOO_LOW, other_version},
    Row{SSL_R_NO_APPLICATION_PROTOCOL, not_cinnabar},
    Row{SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, not_cinnabar},
    Row{SSL_R_WRONG_VERSION_NUMBER, not_tls},
    Row{SSL_R_HTTP_REQUEST, not_tls},
    Row{SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, changed},
    Row{SSL_R_SSLV3_ALERT_BAD_RECORD_MAC, changed},
};

}  // namespace

TlsFailure tls_failure_of(int reason) noexcept {
    const auto row = std::ranges::find(rows, reason, &Row::reason);
    return row == rows.end() ? TlsFailure{Errc::protocol, "does not keep to TLS"} : row->failure;
}

const char* tls_disbelief_of(long error) noexcept {
    switch (error) {
        case X509_V_ERR_CERT_REVOKED:
            return "has a certificate that was revoked: it wants another one from the CA";
        case X509_V_ERR_UNABLE_TO_GET_CRL:
        case X509_V_ERR_CRL_SIGNATURE_FAILURE:
            return "has a certificate of a CA that has no list in the file of crl, so that it may have been revoked";
        case X509_V_ERR_CRL_HAS_EXPIRED:
        case X509_V_ERR_CRL_NOT_YET_VALID:
            return "has a certificate of a CA whose list in the file of crl is out of its time: get a new one";
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
            return "has a certificate that is not believed: no CA in this side's file of ca has signed it, compare the "
                   "files of ca";
        case X509_V_ERR_HOSTNAME_MISMATCH:
            return "has a certificate that is not believed: it is for other hosts, so dial one of these, or give the "
                   "name in it (name, --peer-name)";
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return "has a certificate that is not believed: it has expired and wants a new one, unless a clock is "
                   "wrong";
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return "has a certificate that is not believed: its time has not come yet, compare the clocks";
        case X509_V_ERR_INVALID_PURPOSE:
            return "has a certificate that is not believed: it is not for its side of a connection, make one with "
                   "`cinnabar cert server` or `cinnabar cert client`";
        default:
            return "has a certificate that is not believed";
    }
}

}  // namespace cinnabar::tls
