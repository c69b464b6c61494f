// SPDX-License-Identifier: BSD-3-Clause
#include "tls/renewal.hpp"

#include <cinnabar/base/parse_number.hpp>
#include <cinnabar/plugins/tcp.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace cinnabar::tcp {
namespace {

// What stands in the address counts more.
na::TlsOptions options_of(const na::Uri& uri, const na::TransportOptions& options) {
    na::TlsOptions tls = options.tls;
    const auto take = [&](std::string_view name, std::string& into) {
        if (const std::string_view value = uri.option(name); !value.empty()) into = value;
    };
    take("key", tls.key_file);
    take("cert", tls.certificate_file);
    take("cert_key", tls.private_key_file);
    take("ca", tls.ca_file);
    take("crl", tls.crl_file);
    take("name", tls.peer_name);
    return tls;
}

// Far below what one key of AES-GCM is good for, 2^24 full records.
constexpr std::uint64_t key_update_bytes_default = std::uint64_t{1} << 36;
constexpr std::uint64_t key_update_bytes_min = 1u << 16;

Result<std::uint64_t> key_update_bytes_of(const na::Uri& uri) {
    const std::string_view text = uri.option("key_update");
    if (text.empty()) return key_update_bytes_default;
    const auto bytes = parse_number<std::uint64_t>(text);
    if (!bytes || *bytes < key_update_bytes_min || *bytes > key_update_bytes_default)
        return Error(Errc::invalid_argument, "key_update is a number of bytes from 65536 to 2^36", std::string(text));
    return *bytes;
}

Result<std::unique_ptr<na::Transport>> open_tls(const na::Uri& uri, const na::TransportOptions& options) {
    CINNABAR_TRY(const std::uint64_t key_update_bytes, key_update_bytes_of(uri));
    CINNABAR_TRY(auto guards, RenewedGuards::make(options_of(uri, options), key_update_bytes));
    return TcpTransport::open_guarded(uri, options, TlsGuards::scheme, std::move(guards));
}

}  // namespace

const na::PluginInfo tls_plugin_info{na::plugin_abi, TlsGuards::scheme,
                                     "TCP sockets with TLS 1.3, by shared keys or certificates; needs OpenSSL 3",
                                     &open_tls, "key, cert, cert_key, ca, crl, name, key_update"};

}  // namespace cinnabar::tcp
