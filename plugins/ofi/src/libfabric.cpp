// SPDX-License-Identifier: BSD-3-Clause
#include "libfabric.hpp"

namespace cinnabar::ofi {

Errc errc_of(long fi_error) noexcept {
    switch (fi_error < 0 ? -fi_error : fi_error) {
        case FI_SUCCESS:
            return Errc::ok;
        case FI_EAGAIN:
            return Errc::again;
        case FI_ECANCELED:
            return Errc::canceled;
        case FI_ECONNREFUSED:
            return Errc::refused;
        case FI_EHOSTUNREACH:
        case FI_ENETUNREACH:
        case FI_EADDRNOTAVAIL:
        case FI_EHOSTDOWN:
        case FI_ENETDOWN:
            return Errc::unreachable;
        case FI_ETIMEDOUT:
            return Errc::timed_out;
        case FI_EADDRINUSE:
            return Errc::address_in_use;
        case FI_EACCES:
        case FI_EPERM:
            return Errc::permission;
        case FI_ENOMEM:
            return Errc::out_of_memory;
        case FI_EMSGSIZE:
        case FI_ETRUNC:
        case FI_ETOOSMALL:
            return Errc::too_large;
        case FI_EMFILE:
        case FI_ENOSPC:
        case FI_EOVERRUN:
            return Errc::overloaded;
        case FI_ENODATA:
        case FI_ENOSYS:
        case FI_EOPNOTSUPP:
            return Errc::unsupported;
        case FI_EINVAL:
            return Errc::invalid_argument;
        default:
            return Errc::peer_lost;  // providers have many codes for a lost connection
    }
}

Error error_of(long fi_error, std::string_view hint, std::string_view detail) {
    const int positive = static_cast<int>(fi_error < 0 ? -fi_error : fi_error);
    std::string text(detail);
    if (!text.empty()) text += ": ";
    text += fabric_library().strerror(positive);
    return Error(errc_of(positive), hint, text, positive);
}

}  // namespace cinnabar::ofi
