// SPDX-License-Identifier: BSD-3-Clause
#include "kernel.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace cinnabar::tls {

// An unconnected socket cannot use kTLS, but the kernel looks it up first: ENOENT means that it is missing.
bool kernel_has_tls() noexcept {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    constexpr char name[] = "tls";
    return socket &&
           (::setsockopt(socket.get(), IPPROTO_TCP, TCP_ULP, name, sizeof name - 1) == 0 || errno == ENOTCONN);
}

}  // namespace cinnabar::tls
