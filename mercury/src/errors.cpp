// SPDX-License-Identifier: BSD-3-Clause
#include "errors.hpp"

#include "log.hpp"
#include "mercury.h"

namespace cinnabar::mercury {

hg_return_t to_hg(Errc code) noexcept {
    switch (code) {
        case Errc::ok:
            return HG_SUCCESS;
        case Errc::again:
        case Errc::overloaded:
            return HG_AGAIN;
        case Errc::canceled:
            return HG_CANCELED;
        case Errc::timed_out:
            return HG_TIMEOUT;
        case Errc::refused:
        case Errc::unreachable:
        case Errc::peer_lost:
        case Errc::closed:
        case Errc::shutting_down:
            return HG_HOSTUNREACH;
        case Errc::no_such_rpc:
        case Errc::not_found:
            return HG_NOENTRY;
        case Errc::bad_signature:
        case Errc::protocol:
            return HG_PROTOCOL_ERROR;
        case Errc::too_large:
            return HG_OVERFLOW;
        case Errc::permission:
            return HG_PERMISSION;
        case Errc::out_of_memory:
        case Errc::no_space:
            return HG_NOMEM;
        case Errc::invalid_argument:
        case Errc::bad_address:
            return HG_INVALID_ARG;
        case Errc::unsupported:
            return HG_OPNOTSUPPORTED;
        case Errc::busy:
            return HG_BUSY;
        case Errc::exists:
            return HG_EXIST;
        case Errc::bad_checksum:
            return HG_CHECKSUM_ERROR;
        case Errc::io:
            return HG_IO_ERROR;
        case Errc::address_in_use:
            return HG_ADDRINUSE;
        case Errc::would_deadlock:
        case Errc::application:
        case Errc::handler_failed:
        case Errc::stale:
            return HG_OTHER_ERROR;
    }
    return HG_OTHER_ERROR;
}

Errc to_errc(hg_return_t value) noexcept {
    switch (value) {
        case HG_SUCCESS:
            return Errc::ok;
        case HG_PERMISSION:
        case HG_ACCESS:
            return Errc::permission;
        case HG_NOENTRY:
            return Errc::no_such_rpc;
        case HG_AGAIN:
            return Errc::overloaded;
        case HG_NOMEM:
            return Errc::out_of_memory;
        case HG_BUSY:
            return Errc::busy;
        case HG_EXIST:
            return Errc::exists;
        case HG_INVALID_ARG:
            return Errc::invalid_argument;
        case HG_PROTOCOL_ERROR:
            return Errc::protocol;
        case HG_OVERFLOW:
        case HG_MSGSIZE:
            return Errc::too_large;
        case HG_OPNOTSUPPORTED:
        case HG_PROTONOSUPPORT:
            return Errc::unsupported;
        case HG_TIMEOUT:
            return Errc::timed_out;
        case HG_CANCELED:
            return Errc::canceled;
        case HG_IO_ERROR:
            return Errc::io;
        case HG_CHECKSUM_ERROR:
            return Errc::bad_checksum;
        default:
            return Errc::handler_failed;
    }
}

namespace {
constexpr std::uint32_t app_codes = 0x4847'0000;  // "HG", and a value; docs/mercury.md
}

std::uint32_t app_code_of(hg_return_t value) noexcept {
    return value > HG_SUCCESS && value < HG_RETURN_MAX ? app_codes + static_cast<std::uint32_t>(value) : 0;
}

hg_return_t told_by(Errc result, std::uint32_t app_code) noexcept {
    const std::uint32_t value = app_code - app_codes;
    const bool named = result != Errc::ok && value > HG_SUCCESS && value < HG_RETURN_MAX;
    return named ? static_cast<hg_return_t>(value) : to_hg(result);
}

hg_return_t failed(const char* what, const Error& error) noexcept {
    log_error("%s: %s", what, error.message().c_str());
    return to_hg(error.code);
}

hg_return_t failed(const char* what, Errc code) noexcept {
    const std::string_view name = to_string(code);
    log_error("%s: %.*s", what, static_cast<int>(name.size()), name.data());
    return to_hg(code);
}

hg_return_t failed(const char* what, hg_return_t value) noexcept {
    log_error("%s: %s", what, HG_Error_to_string(value));
    return value;
}

}  // namespace cinnabar::mercury

#define X(name) #name,
const char* HG_Error_to_string(hg_return_t value) {
    static const char* const names[] = {HG_RETURN_VALUES};
    return value >= 0 && value < HG_RETURN_MAX ? names[value] : "HG_UNKNOWN";
}

const char* NA_Error_to_string(na_return_t value) {
    static const char* const names[] = {NA_RETURN_VALUES};
    return value >= 0 && value < NA_RETURN_MAX ? names[value] : "NA_UNKNOWN";
}
#undef X
