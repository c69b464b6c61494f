// SPDX-License-Identifier: BSD-3-Clause
// Says in the errors of a copy which of the two servers failed. Any thread.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/na/addr.hpp>

#include <string_view>

namespace cinnabar::files {

struct CopySide {
    std::string_view says;
    std::string_view lost;
};
inline constexpr CopySide copied_from{"the source server says", "the source server is lost, or does not answer"};
inline constexpr CopySide copied_to{"the destination server says",
                                    "the destination server is lost, or does not answer"};

// `error`: as from_remote() returns it, or as a server has reported it for one file.
[[nodiscard]] Error side_error(const CopySide& side, Error error, const na::Addr& server);
// `error`: as a call returned it.
[[nodiscard]] Error call_error(const CopySide& side, Error error, const na::Addr& server);

}  // namespace cinnabar::files
