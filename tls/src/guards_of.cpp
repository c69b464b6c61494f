// SPDX-License-Identifier: BSD-3-Clause
#include "renewal.hpp"

#include <cinnabar/base/parse_number.hpp>
#include <cinnabar/tls/guards_of.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace cinnabar::tls {
namespace {

// Parameters of the address override the options.
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

constexpr std::uint64_t key_update_bytes_min = 1u << 16;
constexpr std::uint32_t resume_seconds_max = 3600;

template <typename Number>
Result<Number> number_of(const na::Uri& uri, std::string_view name, Number usual, Number least, Number most,
                         std::string_view advice) {
    const std::string_view text = uri.option(name);
    if (text.empty()) return usual;
    const auto number = parse_number<Number>(text);
    if (!number || *number < least || *number > most) return Error(Errc::invalid_argument, advice, std::string(text));
    return *number;
}

Result<TlsTuning> tuning_of(const na::Uri& uri) {
    TlsTuning tuning;
    CINNABAR_TRY(tuning.key_update_bytes,
                 number_of(uri, "key_update", tuning.key_update_bytes, key_update_bytes_min, tuning.key_update_bytes,
                           "key_update is a number of bytes from 65536 to 2^36"));
    CINNABAR_TRY(tuning.resume_seconds,
                 number_of(uri, "resume", tuning.resume_seconds, 0u, resume_seconds_max,
                           "resume is a number of seconds up to 3600; 0: sessions are not resumed"));
    return tuning;
}

}  // namespace

Result<std::unique_ptr<na::StreamGuards>> guards_of(const na::Uri& uri, const na::TransportOptions& options,
                                                    const ProtectedScheme& scheme) {
    CINNABAR_TRY(TlsTuning tuning, tuning_of(uri));
    tuning.scheme = scheme;
    CINNABAR_TRY(auto guards, RenewedGuards::make(options_of(uri, options), tuning));
    return std::unique_ptr<na::StreamGuards>(std::move(guards));
}

}  // namespace cinnabar::tls
