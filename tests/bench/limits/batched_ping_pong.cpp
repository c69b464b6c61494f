// SPDX-License-Identifier: BSD-3-Clause
// Raw batched calls: whatever is there is sent in one send and received in one recv, up to the number in flight.
#include "limits.hpp"
#include "tcp_pair.hpp"

#include <vector>

namespace cinnabar::bench {
namespace {

class BatchedPingPong : public Subject {
  public:
    BatchedPingPong(Cores cores, FrameBytes frame, std::size_t in_flight)
        : frame_(frame),
          in_flight_(in_flight),
          requests_(frame.request * in_flight),
          replies_(frame.reply * in_flight),
          partner_(cores.server, [&](PartnerSide& side) { serve(side, sockets_.server.get(), frame, in_flight); }) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(partner_, [&] {
            std::size_t sent = 0;  // bytes of this slice
            std::size_t received = 0;
            repeat_for(duration, [&] { round(sent, received, true); });
            while (received / frame_.reply < (sent + frame_.request - 1) / frame_.request) round(sent, received, false);
            const std::size_t replies = received / frame_.reply;
            return static_cast<double>(replies);
        });
    }

  private:
    // Sends what the window allows, or, if `more` is false, only the rest of a partly sent message; then receives what
    // has arrived.
    void round(std::size_t& sent, std::size_t& received, bool more) {
        const int fd = sockets_.client.get();
        const auto answered = received / frame_.reply;
        const auto begun = (sent + frame_.request - 1) / frame_.request;
        const auto allowed = (more ? answered + in_flight_ : begun) * frame_.request;
        if (allowed > sent) sent += send_some(fd, requests_.data(), allowed - sent);
        received += receive_some(fd, replies_.data(), replies_.size());
    }

    static void serve(PartnerSide& side, int fd, FrameBytes frame, std::size_t in_flight) {
        std::vector<std::byte> requests(frame.request * in_flight);
        const std::vector<std::byte> replies(frame.reply * in_flight);
        side.announce("ready");
        while (side.wait_slice()) {
            std::size_t received = 0;
            std::size_t sent = 0;
            while (side.running()) {
                received += receive_some(fd, requests.data(), requests.size());
                const auto pending = received / frame.request * frame.reply - sent;
                if (pending > 0) sent += send_some(fd, replies.data(), pending);
            }
            side.end_slice();
        }
    }

    FrameBytes frame_;
    std::size_t in_flight_;
    std::vector<std::byte> requests_;
    std::vector<std::byte> replies_;
    TcpPair sockets_ = make_tcp_pair();
    Partner partner_;
};

}  // namespace

std::unique_ptr<Subject> make_batched_ping_pong(Cores cores, FrameBytes frame, std::size_t in_flight) {
    return std::make_unique<BatchedPingPong>(cores, frame, in_flight);
}

}  // namespace cinnabar::bench
