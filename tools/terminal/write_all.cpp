// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/write_all.hpp"

#include <unistd.h>

#include <cerrno>

namespace cinnabar::tools {

void write_all(int fd, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t count = ::write(fd, text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

}  // namespace cinnabar::tools
