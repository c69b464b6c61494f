// SPDX-License-Identifier: BSD-3-Clause
#include "session/copy_side.hpp"

#include "session/remote_error.hpp"

#include <cinnabar/files/file_error.hpp>

#include <utility>

namespace cinnabar::files {

Error side_error(const CopySide& side, Error error, const na::Addr& server) {
    switch (error.code) {
        case Errc::refused:
        case Errc::unreachable:
        case Errc::peer_lost:
        case Errc::timed_out:
            if (error.hint == server_says) break;
            if (error.code == Errc::refused) error.code = Errc::peer_lost;  // the session was open before
            error.hint = side.lost;
            error.subject = server.to_string();
            return error;
        default:
            break;
    }
    if (error.hint == server_says) error.hint = side.says;
    return error;
}

Error call_error(const CopySide& side, Error error, const na::Addr& server) {
    return side_error(side, from_remote(std::move(error)), server);
}

}  // namespace cinnabar::files
