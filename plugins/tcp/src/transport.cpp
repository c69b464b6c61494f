// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include "port.hpp"

#include <sys/resource.h>

#include <utility>

namespace cinnabar::tcp {

TcpTransport::TcpTransport(const na::TransportOptions& options, std::string_view scheme,
                           std::unique_ptr<na::StreamGuards> guards)
    : GuardedTransport(options, std::move(guards)), scheme_(scheme) {
    let_receive_slots_grow();
}

Result<std::unique_ptr<na::Transport>> TcpTransport::open(const na::Uri& uri, const na::TransportOptions& options) {
    return open_guarded(uri, options, "tcp", nullptr);
}

Result<std::unique_ptr<na::Transport>> TcpTransport::open_guarded(const na::Uri& uri,
                                                                  const na::TransportOptions& options,
                                                                  std::string_view scheme,
                                                                  std::unique_ptr<na::StreamGuards> guards) {
    constexpr std::size_t message_bytes_limit = 64 * 1024 * 1024;
    if (options.message_bytes_max > message_bytes_limit) {
        return Error(Errc::invalid_argument, "message_bytes_max is at most 64 MiB");
    }
    std::unique_ptr<TcpTransport> transport(new TcpTransport(options, scheme, std::move(guards)));
    CINNABAR_TRY_VOID(transport->open_socket(uri));
    return std::unique_ptr<na::Transport>(std::move(transport));
}

bool TcpTransport::reaches(std::string_view endpoint) const noexcept {
    return endpoint.starts_with(scheme_) && endpoint.substr(scheme_.size()).starts_with("://");
}

Result<std::unique_ptr<na::Port>> TcpTransport::open_port(na::PortHost& host) {
    auto port = std::make_unique<TcpPort>(*this, host);
    CINNABAR_TRY_VOID(ports().add(*port, options()));
    if (!port->handshakes().watch(listener())) {
        return Error(errc_from_errno(errno), "watching the listening socket", {}, errno);
    }
    return std::unique_ptr<na::Port>(std::move(port));
}

std::string TcpTransport::diagnosis() const {
    rlimit files{};
    (void)::getrlimit(RLIMIT_NOFILE, &files);
    return listens_at() + "; at most " + std::to_string(files.rlim_cur) + " open files" +
           (guards() ? "; " + guards()->diagnosis() : std::string());
}

}  // namespace cinnabar::tcp
