// SPDX-License-Identifier: BSD-3-Clause
// Tagged messages over bare libfabric, one in flight or many.
#include "fabric_port.hpp"

#include <vector>

namespace cinnabar::bench {
namespace {

constexpr double overtime_seconds_max = 10;
constexpr std::uint64_t request_tag = 2;
constexpr std::uint64_t reply_tag = 3;

// One end, which sends messages of one kind and receives messages of the other. Twice as many receives are posted as
// messages are in flight, so that each message finds one.
class TaggedEnd {
  public:
    struct Kind {
        std::uint64_t tag;
        std::size_t bytes;
    };
    TaggedEnd(FabricPort& port, Kind goes, Kind comes, std::size_t in_flight)
        : port_(port),
          goes_(goes),
          comes_(comes),
          message_(goes.bytes, std::byte{0x5a}),
          rooms_(2 * in_flight, std::vector<std::byte>(comes.bytes)) {
        for (auto& room : rooms_) idle_.push_back(&room);
        post_receives();
    }

    // Returns how many messages have arrived.
    std::size_t poll() {
        const auto before = idle_.size();
        port_.poll([this](void* context) {
            if (context) idle_.push_back(static_cast<std::vector<std::byte>*>(context));
        });
        return idle_.size() - before;
    }
    // False: there is no room until a later poll().
    [[nodiscard]] bool send() { return port_.send(message_, goes_.tag, nullptr); }
    void post_receives() {
        while (!idle_.empty() && port_.receive(*idle_.back(), comes_.tag, idle_.back())) idle_.pop_back();
    }

  private:
    FabricPort& port_;
    Kind goes_;
    Kind comes_;
    std::vector<std::byte> message_;
    std::vector<std::vector<std::byte>> rooms_;
    std::vector<std::vector<std::byte>*> idle_;
};

class FabricPingPong : public Subject {
  public:
    FabricPingPong(Cores cores, Fabric fabric, FrameBytes frame, std::size_t in_flight)
        : in_flight_(in_flight),
          partner_(cores.server, [=](PartnerSide& side) { serve(side, fabric, frame, in_flight); }),
          port_(fabric),
          end_(port_, {request_tag, frame.request}, {reply_tag, frame.reply}, in_flight) {
        partner_.begin_slice();
        port_.meet_server(partner_.announced());
        partner_.finish_slice();
    }

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(partner_, [&] { return call_for(duration); });
    }

  private:
    double call_for(std::chrono::milliseconds duration) {
        const double seconds = std::chrono::duration<double>(duration).count();
        const auto end = seconds_now() + seconds;
        SpinLimit limit{seconds + overtime_seconds_max, "replies over libfabric do not come"};
        std::uint64_t calls = 0;
        std::uint64_t look_at = 8;
        std::size_t busy = 0;
        for (bool more = true; more || busy > 0;) {
            const auto came = end_.poll();
            busy -= came;
            calls += came;
            if (calls >= look_at) {
                look_at = calls + 8;
                if (seconds_now() >= end) more = false;
            }
            while (more && busy < in_flight_ && end_.send()) ++busy;
            end_.post_receives();
            if (came == 0) limit.look();
        }
        return static_cast<double>(calls);
    }

    static void serve(PartnerSide& side, Fabric fabric, FrameBytes frame, std::size_t in_flight) {
        FabricPort port{fabric};
        TaggedEnd end{port, {reply_tag, frame.reply}, {request_tag, frame.request}, in_flight};
        side.announce(port.address());
        if (!side.wait_slice()) return;
        port.meet_client();
        side.end_slice();
        while (side.wait_slice()) {
            std::size_t pending = 0;
            while (side.running()) {
                pending += end.poll();
                for (; pending > 0 && end.send(); --pending) {
                }
                end.post_receives();
            }
            side.end_slice();
        }
    }

    std::size_t in_flight_;
    Partner partner_;
    FabricPort port_;
    TaggedEnd end_;
};

}  // namespace

std::unique_ptr<Subject> make_fabric_ping_pong(Cores cores, Fabric fabric, FrameBytes frame, std::size_t in_flight) {
    return std::make_unique<FabricPingPong>(cores, fabric, frame, in_flight);
}

}  // namespace cinnabar::bench
