// SPDX-License-Identifier: BSD-3-Clause
#include "session/remote_error.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/hl/app_error.hpp>

#include <system_error>
#include <utility>

namespace cinnabar::files {

Error to_remote(const Error& error) {
    std::string text(error.hint);
    if (error.os_errno != 0) {
        if (!text.empty()) text += ": ";
        text += std::generic_category().message(error.os_errno);
    }
    return hl::app_error(static_cast<std::uint32_t>(error.code), text);
}

Error from_remote(Error error) {
    if (error.code != Errc::application) {
        // The subject has the RPC and the address, which do not help a user who saves files, except when the RPC itself
        // is the problem.
        if (error.code != Errc::no_such_rpc && error.code != Errc::bad_signature) error.subject.clear();
        if (error.code == Errc::canceled) error.hint = "interrupted before it was done";
        return error;
    }
    // Unknown codes, and `ok`, which would turn a failure into a success, become `protocol`.
    const auto code = error.app_code < errc_count ? static_cast<Errc>(error.app_code) : Errc::ok;
    error.code = code != Errc::ok && is_known(code) ? code : Errc::protocol;
    error.app_code = 0;
    error.hint = server_says;
    error.subject = printable(error.subject);  // it may contain terminal control sequences
    return error;
}

Error in_the_middle(Error error) {
    error = from_remote(std::move(error));
    if (error.code != Errc::refused) return error;
    error.code = Errc::peer_lost;
    error.hint = "the server went away while a file was in progress: start it and repeat the command";
    return error;
}

bool leaves_unknown(Errc code) noexcept {
    switch (code) {
        case Errc::refused:
        case Errc::unreachable:
        case Errc::peer_lost:
        case Errc::timed_out:
        case Errc::canceled:
        case Errc::closed:
        case Errc::shutting_down:
        case Errc::overloaded:
            return true;
        default:
            return false;
    }
}

}  // namespace cinnabar::files
