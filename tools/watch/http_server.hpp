// SPDX-License-Identifier: BSD-3-Clause
// A small HTTP server over libmicrohttpd: answers GET with the result of a function. Limits how many connections there
// may be, in all and per address, and how long a connection may last.
#pragma once

#include <cinnabar/base/result.hpp>

#include <functional>
#include <memory>
#include <string>

namespace cinnabar::tools::watch {

struct HttpAnswer {
    unsigned status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body;
};

class HttpServer {
  public:
    static constexpr unsigned connections_max = 16;
    static constexpr unsigned connections_of_one_max = 8;
    static constexpr unsigned silence_seconds_max = 10;

    // Starts a server, which calls `make` for the path of each request, on the server's one thread; `make` must not
    // throw. `host`: a numeric IPv4 address. A request that does not name this host by a numeric address, as localhost,
    // or by the host's own name is answered 403. bad_address: `host` is no IPv4 address. Also the errors of bind(2).
    [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(const std::string& host, std::uint16_t port,
                                                                    std::function<HttpAnswer(const std::string&)> make);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    [[nodiscard]] std::uint16_t port() const;

  private:
    struct Impl;
    explicit HttpServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace cinnabar::tools::watch
