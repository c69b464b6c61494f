// SPDX-License-Identifier: BSD-3-Clause
// unique_ptr types for OpenSSL's objects. Private to this folder.
#pragma once

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

namespace cinnabar::tools::security {

template <auto Function>
struct FreedBy {
    template <typename T>
    void operator()(T* one) const noexcept {
        Function(one);
    }
};
using Bio = std::unique_ptr<BIO, FreedBy<&BIO_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreedBy<&EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreedBy<&X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, FreedBy<&X509_EXTENSION_free>>;
using Number = std::unique_ptr<BIGNUM, FreedBy<&BN_free>>;
using Integer = std::unique_ptr<ASN1_INTEGER, FreedBy<&ASN1_INTEGER_free>>;
using Time = std::unique_ptr<ASN1_TIME, FreedBy<&ASN1_TIME_free>>;
using RevocationList = std::unique_ptr<X509_CRL, FreedBy<&X509_CRL_free>>;
using Revocation = std::unique_ptr<X509_REVOKED, FreedBy<&X509_REVOKED_free>>;

}  // namespace cinnabar::tools::security
