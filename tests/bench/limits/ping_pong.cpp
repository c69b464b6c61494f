// SPDX-License-Identifier: BSD-3-Clause
// Raw ping-pong: spinning, and asleep in epoll_wait.
#include "limits.hpp"
#include "tcp_pair.hpp"

#include <sys/epoll.h>

#include <stdexcept>
#include <vector>

namespace cinnabar::bench {
namespace {

using Buffer = std::vector<std::byte>;

class SpinningPingPong : public Subject {
  public:
    SpinningPingPong(Cores cores, FrameBytes frame)
        : request_(frame.request),
          reply_(frame.reply),
          partner_(cores.server, [&](PartnerSide& side) { serve(side, sockets_.server.get(), frame); }) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        const int fd = sockets_.client.get();
        return measure(partner_, [&] {
            return repeat_for(duration, [&] {
                send_all(fd, request_.data(), request_.size(), Wait::spin);
                receive_all(fd, reply_.data(), reply_.size(), Wait::spin);
            });
        });
    }

  private:
    static void serve(PartnerSide& side, int fd, FrameBytes frame) {
        Buffer request(frame.request);
        const Buffer reply(frame.reply);
        side.announce("ready");
        while (side.wait_slice()) {
            while (side.running()) {
                const auto first = receive_some(fd, request.data(), request.size());
                if (first == 0) continue;
                receive_all(fd, request.data(), request.size() - first, Wait::spin);
                send_all(fd, reply.data(), reply.size(), Wait::spin);
            }
            side.end_slice();
        }
    }

    Buffer request_;
    Buffer reply_;
    TcpPair sockets_ = make_tcp_pair();
    Partner partner_;
};

// epoll_wait, then receives what has arrived: three system calls on each side of a call.
class Sleeper {
  public:
    explicit Sleeper(int fd) : fd_(fd), poll_(epoll_create1(EPOLL_CLOEXEC)) {
        epoll_event event{};
        event.events = EPOLLIN;
        if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) throw std::runtime_error{"epoll_ctl"};
    }
    void receive(Buffer& message) {
        for (std::size_t got = 0; got < message.size();) {
            epoll_event event{};
            if (epoll_wait(poll_.get(), &event, 1, -1) != 1) continue;
            got += receive_some(fd_, message.data() + got, message.size() - got);
        }
    }
    void send(const Buffer& message) { send_all(fd_, message.data(), message.size(), Wait::spin); }

  private:
    int fd_;
    UniqueFd poll_;
};

class SleepingPingPong : public Subject {
  public:
    SleepingPingPong(Cores cores, FrameBytes frame)
        : request_(frame.request),
          reply_(frame.reply),
          partner_(cores.server, [&](PartnerSide& side) { serve(side, sockets_.server.get(), frame); }) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(
            partner_, [&] { return repeat_for(duration, [&] { call(); }); },
            [&] {
                call();
                return 1;
            });
    }

  private:
    void call() {
        sleeper_.send(request_);
        sleeper_.receive(reply_);
    }
    static void serve(PartnerSide& side, int fd, FrameBytes frame) {
        Buffer request(frame.request);
        const Buffer reply(frame.reply);
        Sleeper sleeper{fd};
        side.announce("ready");
        while (side.wait_slice()) {
            bool more = true;
            while (more) {
                sleeper.receive(request);
                more = side.running();
                sleeper.send(reply);
            }
            side.end_slice();
        }
    }

    Buffer request_;
    Buffer reply_;
    TcpPair sockets_ = make_tcp_pair();
    Sleeper sleeper_{sockets_.client.get()};
    Partner partner_;
};

}  // namespace

std::unique_ptr<Subject> make_spinning_ping_pong(Cores cores, FrameBytes frame) {
    return std::make_unique<SpinningPingPong>(cores, frame);
}

std::unique_ptr<Subject> make_sleeping_ping_pong(Cores cores, FrameBytes frame) {
    return std::make_unique<SleepingPingPong>(cores, frame);
}

}  // namespace cinnabar::bench
