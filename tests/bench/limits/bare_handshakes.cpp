// SPDX-License-Identifier: BSD-3-Clause
#include "bare_tls.hpp"
#include "tcp_pair.hpp"

#include <fcntl.h>

#include <stdexcept>

namespace cinnabar::bench {
namespace {

class BareHandshakes final : public Subject {
  public:
    BareHandshakes(const na::TlsOptions& server, const na::TlsOptions& client, bool resumed)
        : resumes_(resumed), server_(make_tls_context(server)), client_(make_tls_context(client)) {
        if (resumes_) {
            SSL_CTX_set_session_cache_mode(client_.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
            SSL_CTX_sess_set_new_cb(client_.get(), &keep);
        }
        SSL_CTX_set_ex_data(client_.get(), 0, this);
        (void)shake();
    }

    Slice run_slice(std::chrono::milliseconds duration) override {
        Slice slice;
        const auto used = usage_now();
        const auto begin = seconds_now();
        slice.work = repeat_for(duration, [&] {
            if (shake() != resumes_) throw std::runtime_error{"a bare handshake is not of the kind that is measured"};
        });
        slice.seconds = seconds_now() - begin;
        slice.client = usage_now() - used;
        return slice;
    }

  private:
    static int keep(SSL* connection, SSL_SESSION* session) {
        auto* const self = static_cast<BareHandshakes*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), 0));
        self->session_.reset(SSL_SESSION_dup(session));
        return 0;
    }
    static bool step(SSL* connection) {
        const int done = SSL_do_handshake(connection);
        if (done != 1 && SSL_get_error(connection, done) != SSL_ERROR_WANT_READ)
            throw std::runtime_error{"a bare handshake failed"};
        return done == 1;
    }
    static UniqueFd prepared(UniqueFd fd) {
        reset_at_close(fd.get());
        if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) throw std::runtime_error{"O_NONBLOCK"};
        return fd;
    }
    // Returns whether the session was resumed.
    bool shake() {
        const UniqueFd client_fd = prepared(dial(port_of(listener_.get())));
        const UniqueFd server_fd = prepared(accept_from(listener_.get()));
        const TlsConnection client = make_tls_connection(client_.get(), client_fd.get(), TlsSide::client);
        const TlsConnection server = make_tls_connection(server_.get(), server_fd.get(), TlsSide::server);
        if (session_) SSL_set_session(client.get(), session_.get());
        session_.reset();
        for (bool done = false; !done;) {
            const bool one = step(client.get());
            done = step(server.get()) && one;
        }
        char byte = 0;
        if (SSL_write(server.get(), &byte, 1) != 1) throw std::runtime_error{"nothing can be sent"};
        while (SSL_read(client.get(), &byte, 1) != 1) {
        }
        return SSL_session_reused(client.get()) == 1;
    }

    bool resumes_;
    UniqueFd listener_ = listen_on_loopback();
    TlsContext server_;
    TlsContext client_;
    std::unique_ptr<SSL_SESSION, FreeTls> session_;
};

}  // namespace

std::unique_ptr<Subject> make_bare_handshakes(const na::TlsOptions& server, const na::TlsOptions& client,
                                              bool resumed) {
    return std::make_unique<BareHandshakes>(server, client, resumed);
}

}  // namespace cinnabar::bench
