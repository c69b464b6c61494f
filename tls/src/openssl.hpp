// SPDX-License-Identifier: BSD-3-Clause
// OpenSSL 3, loaded when the first address with TLS is opened, so programs that use other transports do not need
// OpenSSL. The functions listed here are looked up by name.
#pragma once

#include <cinnabar/base/result.hpp>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <string>
#include <string_view>

// F(library, name); the library is libssl or libcrypto.
#define CINNABAR_OPENSSL_FUNCTIONS(F)             \
    F(ssl, OPENSSL_init_ssl)                      \
    F(ssl, SSL_CIPHER_find)                       \
    F(ssl, SSL_CTX_check_private_key)             \
    F(ssl, SSL_CTX_ctrl)                          \
    F(ssl, SSL_CTX_free)                          \
    F(ssl, SSL_CTX_get_cert_store)                \
    F(ssl, SSL_CTX_load_verify_file)              \
    F(ssl, SSL_CTX_new)                           \
    F(ssl, SSL_CTX_sess_set_new_cb)               \
    F(ssl, SSL_CTX_set_alpn_protos)               \
    F(ssl, SSL_CTX_set_alpn_select_cb)            \
    F(ssl, SSL_CTX_set_ciphersuites)              \
    F(ssl, SSL_CTX_set_num_tickets)               \
    F(ssl, SSL_CTX_set_options)                   \
    F(ssl, SSL_CTX_set_psk_find_session_callback) \
    F(ssl, SSL_CTX_set_psk_use_session_callback)  \
    F(ssl, SSL_CTX_set_session_id_context)        \
    F(ssl, SSL_CTX_set_verify)                    \
    F(ssl, SSL_CTX_use_PrivateKey)                \
    F(ssl, SSL_CTX_use_certificate_chain_file)    \
    F(ssl, SSL_SESSION_dup)                       \
    F(ssl, SSL_SESSION_free)                      \
    F(ssl, SSL_SESSION_get0_peer)                 \
    F(ssl, SSL_SESSION_get0_ticket)               \
    F(ssl, SSL_SESSION_get0_ticket_appdata)       \
    F(ssl, SSL_SESSION_new)                       \
    F(ssl, SSL_SESSION_set1_id_context)           \
    F(ssl, SSL_SESSION_set1_master_key)           \
    F(ssl, SSL_SESSION_set1_ticket_appdata)       \
    F(ssl, SSL_SESSION_set_cipher)                \
    F(ssl, SSL_SESSION_set_protocol_version)      \
    F(ssl, SSL_SESSION_set_timeout)               \
    F(ssl, SSL_do_handshake)                      \
    F(ssl, SSL_export_keying_material)            \
    F(ssl, SSL_free)                              \
    F(ssl, SSL_get0_alpn_selected)                \
    F(ssl, SSL_get0_peer_certificate)             \
    F(ssl, SSL_get0_verified_chain)               \
    F(ssl, SSL_get_ex_data)                       \
    F(ssl, SSL_get_ex_data_X509_STORE_CTX_idx)    \
    F(ssl, SSL_get_peer_cert_chain)               \
    F(ssl, SSL_get_session)                       \
    F(ssl, SSL_get_shutdown)                      \
    F(ssl, SSL_get_verify_result)                 \
    F(ssl, SSL_has_pending)                       \
    F(ssl, SSL_in_init)                           \
    F(ssl, SSL_key_update)                        \
    F(ssl, SSL_new)                               \
    F(ssl, SSL_new_session_ticket)                \
    F(ssl, SSL_read_ex)                           \
    F(ssl, SSL_session_reused)                    \
    F(ssl, SSL_set_accept_state)                  \
    F(ssl, SSL_set_bio)                           \
    F(ssl, SSL_set_connect_state)                 \
    F(ssl, SSL_set_ex_data)                       \
    F(ssl, SSL_set_session)                       \
    F(ssl, SSL_shutdown)                          \
    F(ssl, SSL_want)                              \
    F(ssl, SSL_write_ex)                          \
    F(ssl, TLS_method)                            \
    F(crypto, ASN1_STRING_get0_data)              \
    F(crypto, ASN1_STRING_length)                 \
    F(crypto, ASN1_TIME_to_tm)                    \
    F(crypto, BIO_clear_flags)                    \
    F(crypto, BIO_free)                           \
    F(crypto, BIO_get_data)                       \
    F(crypto, BIO_meth_free)                      \
    F(crypto, BIO_meth_new)                       \
    F(crypto, BIO_meth_set_ctrl)                  \
    F(crypto, BIO_meth_set_read)                  \
    F(crypto, BIO_meth_set_write)                 \
    F(crypto, BIO_new)                            \
    F(crypto, BIO_new_mem_buf)                    \
    F(crypto, BIO_set_data)                       \
    F(crypto, BIO_set_flags)                      \
    F(crypto, BIO_set_init)                       \
    F(crypto, ERR_clear_error)                    \
    F(crypto, ERR_peek_last_error)                \
    F(crypto, ERR_reason_error_string)            \
    F(crypto, EVP_CIPHER_CTX_ctrl)                \
    F(crypto, EVP_CIPHER_CTX_free)                \
    F(crypto, EVP_CIPHER_CTX_new)                 \
    F(crypto, EVP_DecryptFinal_ex)                \
    F(crypto, EVP_DecryptInit_ex)                 \
    F(crypto, EVP_DecryptUpdate)                  \
    F(crypto, EVP_EncryptFinal_ex)                \
    F(crypto, EVP_EncryptInit_ex)                 \
    F(crypto, EVP_EncryptUpdate)                  \
    F(crypto, EVP_PKEY_free)                      \
    F(crypto, EVP_aes_128_gcm)                    \
    F(crypto, OPENSSL_cleanse)                    \
    F(crypto, OPENSSL_sk_num)                     \
    F(crypto, OPENSSL_sk_value)                   \
    F(crypto, OpenSSL_version)                    \
    F(crypto, PEM_read_bio_PrivateKey)            \
    F(crypto, X509_CRL_get0_nextUpdate)           \
    F(crypto, X509_LOOKUP_file)                   \
    F(crypto, X509_NAME_ENTRY_get_data)           \
    F(crypto, X509_NAME_get_entry)                \
    F(crypto, X509_NAME_get_index_by_NID)         \
    F(crypto, X509_OBJECT_get0_X509_CRL)          \
    F(crypto, X509_STORE_CTX_free)                \
    F(crypto, X509_STORE_CTX_get_current_cert)    \
    F(crypto, X509_STORE_CTX_get_error)           \
    F(crypto, X509_STORE_CTX_get_error_depth)     \
    F(crypto, X509_STORE_CTX_get_ex_data)         \
    F(crypto, X509_STORE_CTX_init)                \
    F(crypto, X509_STORE_CTX_new)                 \
    F(crypto, X509_STORE_CTX_set_default)         \
    F(crypto, X509_STORE_CTX_set_error)           \
    F(crypto, X509_STORE_CTX_set_flags)           \
    F(crypto, X509_STORE_add_lookup)              \
    F(crypto, X509_STORE_get0_objects)            \
    F(crypto, X509_STORE_set_flags)               \
    F(crypto, X509_check_host)                    \
    F(crypto, X509_check_ip_asc)                  \
    F(crypto, X509_get0_notAfter)                 \
    F(crypto, X509_get_subject_name)              \
    F(crypto, X509_load_crl_file)                 \
    F(crypto, X509_verify_cert)                   \
    F(crypto, X509_verify_cert_error_string)

namespace cinnabar::tls {

struct OpenSsl {
    // Loads the libraries on the first call and keeps them for the life of the process. unsupported: the libraries
    // cannot be loaded; the subject has the loader's message. Any thread.
    [[nodiscard]] static Result<void> load();

    // NOLINTBEGIN(readability-identifier-naming): OpenSSL's own names
#define CINNABAR_OPENSSL_MEMBER(library, name) decltype(&(::name)) name = nullptr;
    CINNABAR_OPENSSL_FUNCTIONS(CINNABAR_OPENSSL_MEMBER)
#undef CINNABAR_OPENSSL_MEMBER
    // NOLINTEND(readability-identifier-naming)
};

// The libraries after a successful load(). Any thread.
[[nodiscard]] const OpenSsl& openssl() noexcept;

// invalid_argument; OpenSSL's last error on this thread is appended to the subject.
[[nodiscard]] Error openssl_error(std::string_view hint, const std::string& subject);

}  // namespace cinnabar::tls
