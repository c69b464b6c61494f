// SPDX-License-Identifier: BSD-3-Clause
#include "watch/http_server.hpp"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <strings.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace cinnabar::tools::watch {

struct HttpServer::Impl {
    std::function<HttpAnswer(const std::string&)> make;
    MHD_Daemon* daemon = nullptr;

    static MHD_Result answer(void* self, MHD_Connection* connection, const char* path, const char* method, const char*,
                             const char*, std::size_t*, void**);
};

namespace {

// Returns whether a Host header names this host: by a numeric address, as localhost, or by the host's own name. If
// other names were accepted, a web page could let its own name resolve to this host, and read the answers (DNS
// rebinding). A request without the header is accepted, because it does not come from a browser.
bool is_named_right(const char* header) {
    if (!header) return true;
    std::string host(header);
    if (const auto colon = host.rfind(':'); colon != std::string::npos && host.find(']', colon) == std::string::npos)
        host.resize(colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    in6_addr number{};
    if (::inet_pton(AF_INET, host.c_str(), &number) == 1 || ::inet_pton(AF_INET6, host.c_str(), &number) == 1)
        return true;
    std::array<char, 256> own{};
    (void)::gethostname(own.data(), own.size() - 1);
    return ::strcasecmp(host.c_str(), "localhost") == 0 || ::strcasecmp(host.c_str(), own.data()) == 0;
}

MHD_Result send(MHD_Connection* connection, const HttpAnswer& answer, bool with_body) {
    MHD_Response* const response = MHD_create_response_from_buffer(
        answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
    if (!response) return MHD_NO;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str());
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    (void)MHD_add_response_header(response, "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (!with_body) (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    const MHD_Result queued = MHD_queue_response(connection, answer.status, response);
    MHD_destroy_response(response);
    return queued;
}

}  // namespace

MHD_Result HttpServer::Impl::answer(void* self, MHD_Connection* connection, const char* path, const char* method,
                                    const char*, const char*, std::size_t* upload_bytes, void**) {
    const std::string_view verb = method;
    if (verb != "GET" && verb != "HEAD") {
        *upload_bytes = 0;  // discards the body
        return send(connection, {MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain; charset=utf-8", "use GET or HEAD\n"}, false);
    }
    if (!is_named_right(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
        return send(connection,
                    {MHD_HTTP_FORBIDDEN, "text/plain; charset=utf-8",
                     "use the number of this host, its own name or localhost in the address\n"},
                    true);
    return send(connection, static_cast<Impl*>(self)->make(path), true);
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const std::string& host, std::uint16_t port,
                                                       std::function<HttpAnswer(const std::string&)> make) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    if (::inet_pton(AF_INET, host.c_str(), &name.sin_addr) != 1)
        return Error(Errc::bad_address, "give a numeric address, such as 127.0.0.1:9464", host);
    auto impl = std::make_unique<Impl>();
    impl->make = std::move(make);
    errno = 0;
    impl->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, nullptr, nullptr, &Impl::answer, impl.get(),
                                    MHD_OPTION_SOCK_ADDR, reinterpret_cast<sockaddr*>(&name),
                                    MHD_OPTION_CONNECTION_LIMIT, connections_max, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
                                    connections_of_one_max, MHD_OPTION_CONNECTION_TIMEOUT, silence_seconds_max,
                                    MHD_OPTION_CONNECTION_MEMORY_LIMIT, std::size_t{16 * 1024}, MHD_OPTION_END);
    if (!impl->daemon) {
        const Errc code = errno == 0 ? Errc::io : errc_from_errno(errno);
        return Error(code, "the page cannot listen there", host + ":" + std::to_string(port), errno);
    }
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { MHD_stop_daemon(impl_->daemon); }

std::uint16_t HttpServer::port() const {
    const MHD_DaemonInfo* const info = MHD_get_daemon_info(impl_->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

}  // namespace cinnabar::tools::watch
