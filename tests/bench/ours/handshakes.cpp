// SPDX-License-Identifier: BSD-3-Clause
#include "handshakes.hpp"

#include "../limits/tcp_pair.hpp"
#include "greeting.hpp"
#include "guards.hpp"
#include "secrets.hpp"
#include "stream.hpp"

#include <cinnabar/na/addr.hpp>

#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

class End {
  public:
    explicit End(UniqueFd fd) : stream_(std::move(fd)) {}
    [[nodiscard]] na::Stream& stream() noexcept { return stream_; }
    // True once the connection is established.
    bool step() {
        std::uint32_t events = 0;
        if (state_ == Errc::again) state_ = stream_.guard()->establish(events);
        if (state_ != Errc::ok && state_ != Errc::again)
            throw std::runtime_error{"a handshake ended with " + std::string{to_string(state_)}};
        return state_ == Errc::ok;
    }
    [[nodiscard]] bool resumed() const { return static_cast<const tls::TlsStream&>(*stream_.guard()).resumed(); }

  private:
    na::Stream stream_;
    Errc state_ = Errc::again;
};

class OurHandshakes final : public Subject {
  public:
    explicit OurHandshakes(Handshake kind)
        : resumes_(kind == Handshake::resumed),
          server_(tls::TlsGuards::make(secrets().server, tuning(true)).value()),
          client_(tls::TlsGuards::make(secrets().client, tuning(resumes_)).value()),
          addr_(na::Addr::parse("tcps://127.0.0.1:" + std::to_string(port_of(listener_.get()))).value()) {
        (void)shake();
    }

    Slice run_slice(std::chrono::milliseconds duration) override {
        Slice slice;
        const auto used = usage_now();
        const auto begin = seconds_now();
        slice.work = repeat_for(duration, [&] {
            if (shake() != resumes_) throw std::runtime_error{"a handshake is not of the kind that is measured"};
        });
        slice.seconds = seconds_now() - begin;
        slice.client = usage_now() - used;
        return slice;
    }

  private:
    // The server gives out a ticket in any case.
    static tls::TlsTuning tuning(bool resumes) {
        tls::TlsTuning tuning;
        tuning.scheme = {"tcps", tcp::Greeting::wire_bytes};
        if (!resumes) tuning.resume_seconds = 0;
        return tuning;
    }
    // Returns whether the session was resumed.
    bool shake() {
        End client{dial(port_of(listener_.get()))};
        End server{accept_from(listener_.get())};
        reset_at_close(client.stream().fd());
        reset_at_close(server.stream().fd());
        if (server_->protect_accepted(server.stream()) != Errc::ok ||
            client_->protect_dialled(client.stream(), addr_) != Errc::ok)
            throw std::runtime_error{"a connection cannot be protected"};
        for (bool done = false; !done;) {
            const bool one = client.step();
            done = server.step() && one;
        }
        std::byte byte{};
        if (server.stream().send(&byte, 1).bytes != 1) throw std::runtime_error{"nothing can be sent"};
        while (client.stream().receive(&byte, 1).bytes == 0) {
        }
        return client.resumed() && server.resumed();
    }

    bool resumes_;
    UniqueFd listener_ = listen_on_loopback();
    std::shared_ptr<const tls::TlsGuards> server_;
    std::shared_ptr<const tls::TlsGuards> client_;
    na::Addr addr_;
};

}  // namespace

std::unique_ptr<Subject> make_our_handshakes(Handshake kind) { return std::make_unique<OurHandshakes>(kind); }

}  // namespace cinnabar::bench
