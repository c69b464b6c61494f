// SPDX-License-Identifier: BSD-3-Clause
// TLS 1.3 for the connections of a transport, by OpenSSL 3. OpenSSL is loaded when the first guards are made. For
// plugins. Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/session/stream_guards.hpp>
#include <cinnabar/na/types.hpp>
#include <cinnabar/na/uri.hpp>

#include <cstddef>
#include <memory>

namespace cinnabar::tls {

// The scheme whose connections are protected.
struct ProtectedScheme {
    const char* name = "";  // "tcps", "ofis"; static storage
    // The size of the transport's greeting without TLS, at most na::greeting_bytes_max: a peer that greets without TLS
    // is rejected by a greeting of this size.
    std::size_t plain_greeting_bytes = 0;
};

// The options of an address that guards_of() reads, as in na::PluginInfo::options.
#define CINNABAR_TLS_ADDRESS_OPTIONS "key, cert, cert_key, ca, crl, name, key_update, resume"

// Makes guards with the keys and certificates in the files that the address names; files that the address does not name
// are taken from `options`. A thread, which lives as long as the guards, checks the files, and the guards follow
// changes of the files. Blocks while it reads the files. unsupported: OpenSSL cannot be loaded. invalid_argument:
// neither a key nor certificates, only a part of the certificate files is given, a file is malformed, or an option is
// out of range. not_found, permission, io: of a file; io: also if the thread cannot be started.
[[nodiscard]] CINNABAR_API Result<std::unique_ptr<na::StreamGuards>> guards_of(const na::Uri& uri,
                                                                               const na::TransportOptions& options,
                                                                               const ProtectedScheme& scheme);

}  // namespace cinnabar::tls
